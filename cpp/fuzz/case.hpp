// One question to the kernel: what was measured, what is in force, and the chunk that is proposed.
#pragma once

#include <string>

#include "vectors.hpp"

namespace fuzz {

enum class Mode : std::uint8_t {
  kJointPosition,
  kJointVelocity,
  kJointTorque,
  kJointTrajectory,
  kCartesianPose,
  kCartesianDelta,
  kCartesianTwist,
  kBodyTwist,
  kFootPlacement,
  kGripperBinary,
  kGripperPosition,
  kDexHandJoint,
  kComposite
};

inline bool by_tool(Mode m) {
  return m == Mode::kCartesianDelta || m == Mode::kCartesianPose || m == Mode::kCartesianTwist;
}
// Modes whose rows are places of joints.
inline bool by_place(Mode m) {
  return m == Mode::kJointPosition || m == Mode::kJointTrajectory || m == Mode::kDexHandJoint;
}

struct Slot {
  Mode mode = Mode::kJointPosition;
  std::string name, frame;
  std::vector<int> coordinates;  // that it drives; named in the message when `named`
  bool named = false;
  int tool = 0, width = 0;
  std::vector<double> data;
  double at(int row, int k) const {
    return data[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(k)];
  }
};

// A view of the world was taken from a pose of the base on the way from `from` to `to`; both are
// poses by odometry and the same where the view was stamped with one of them. Obstacles that are
// fixed in odometry's frame have both at the origin.
struct View {
  Vec from{}, to{};
  bool fixed = false;
  double age = 0;  // s, of its stamp when the chunk is judged
};

// An object that moves with a link.
struct Attached {
  std::string id;
  int link = 0;
  Vec p0{}, p1{};
  double radius = 0;
  std::vector<int> touches;
};

struct Case {
  std::vector<double> q, qd;
  double age = 0;  // of the joint state, s
  double dt = 0.05;
  int rows = 0;
  std::vector<Slot> slots;
  Vec odometry{};           // the last pose
  double odometry_age = 0;  // s
  View things, cells;
  std::vector<std::array<double, 2>> goals;  // of grippers, still in force: coordinate and place
  double valid = 1e9;                        // s that the acceptance may be used for
};

}  // namespace fuzz
