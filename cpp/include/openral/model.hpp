// What the kernel must know about a robot, in plain numbers. Units: m, rad, s, N·m.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "openral/kinematics.hpp"

namespace openral {

inline constexpr double kNone = std::numeric_limits<double>::infinity();
inline constexpr std::size_t kMaxCoordinates = 64;  // the planar base's three included
inline constexpr std::size_t kMaxFrames = 72;
inline constexpr std::size_t kMaxCapsules = 96;
inline constexpr std::size_t kMaxPairs = 2048;
inline constexpr std::size_t kMaxTools = 4;

using Vec3 = std::array<double, 3>;

enum class Role : std::uint8_t { kBody, kGripper, kBase };

// One independent joint value.
struct Coordinate {
  std::string name;
  Role role = Role::kBody;
  double lower = -kNone, upper = kNone;
  double velocity = kNone, acceleration = kNone, effort = kNone;
  double tracking = 0;  // how far the joint may stray from the path it was given
};

struct Capsule {
  int link = 0;
  Vec3 p0{}, p1{};
  double radius = 0;
};

// A hand: what cartesian and gripper slots drive.
struct EndEffector {
  std::string name;
  std::string frame;  // its link's name
  int link = 0;
  Pose tcp;          // tool centre point in the link
  int gripper = -1;  // coordinate, or −1
};

// Limits beyond the joints' own; infinite where there is none.
struct Envelope {
  double self_margin = 0, world_margin = 0;
  Vec3 workspace_lower{-kNone, -kNone, -kNone}, workspace_upper{kNone, kNone, kNone};
  double tool_speed = kNone, tool_rate = kNone;     // end effector, m/s and rad/s
  double step = kNone, turn = kNone;                // one cartesian row, m and rad
  double follow_shift = 0.005, follow_turn = 0.05;  // a tool may miss its path by, m and rad
  double base_speed = kNone, base_rate = kNone;
  double base_tracking = 0, base_turn_tracking = 0;  // odometry error, m and rad
  double recheck = 0.1;                              // how soon the next verdict comes, s
  double stop_time = 0.1;                            // how long a stop takes, s
  double base_deceleration = 1;                      // m/s²
  double jitter = 0;            // relative error of the rate at which rows are executed
  double slow_distance = 0;     // what comes closer than this to the world is slowed; 0: never
  double slow_factor = 0.25;    // the least share of its speed
  double recovery_speed = 0.1;  // share of the velocity limits allowed while recovering
  std::int64_t state_age = 200'000'000, world_age = 1'000'000'000, voxel_age = 1'000'000'000,
               base_age = 200'000'000;  // oldest usable measurement, ns
};

// Joints that a slot can name together.
struct Group {
  std::string name;
  std::vector<int> coordinates;
};

struct RobotModel {
  std::vector<Joint> joints;  // joint i moves link i + 1
  std::vector<std::string> links;
  std::vector<Coordinate> coordinates;
  std::vector<Capsule> capsules;
  std::vector<std::pair<int, int>> pairs;  // capsules that must not touch each other
  std::vector<EndEffector> tools;
  std::vector<Group> groups;
  std::array<int, 3> base{-1, -1, -1};  // coordinates of the base's x, y and yaw, or −1
  bool mobile = false;
  bool differential = false;  // the base cannot move sideways
  Pose root;  // the root link in the base's frame when the base's joints are at zero
  std::string base_frame;
  std::uint32_t modes = 0;  // bit m set: control mode m is supported
  Envelope envelope;
};

}  // namespace openral
