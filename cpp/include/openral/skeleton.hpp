// A robot made ready for proofs: moving frames only, capsules hung on them, and how far each
// joint can move each capsule. Built once; read-only afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "openral/model.hpp"

namespace openral {

// One moving joint. Frame 0 is the base, which the three planar coordinates displace.
struct MovingFrame {
  int parent = 0;
  int coordinate = -1;
  bool revolute = true;
  double multiplier = 1, offset = 0;
  bool needed = false;  // something that is checked hangs on it
  // Lanes pose a frame in axes of its own, the third along the joint: first `turn` leads there from
  // the parent's axes, then comes θ about the third. Where the joint lies along one of the parent's
  // axes, `turn` merely swaps them: columns axis[0], axis[1] and ±axis[2] of the parent's.
  std::array<float, 9> turn{};
  bool swaps = false, backward = false;
  std::array<int, 3> axis{0, 1, 2};
  std::array<float, 3> origin{};                          // in the parent's axes
  std::array<double, 9> axes{1, 0, 0, 0, 1, 0, 0, 0, 1};  // its own axes in the joint's frame
  Pose exact_origin;                                      // joint in the parent frame
  Vec3 exact_axis{};                                      // in the joint's own frame
  double low = -kNone, high = kNone;  // range of θ, a little wider than the limits
};

// Motion of something per unit of a coordinate; lists are sparse.
struct Lever {
  std::int32_t coordinate;
  float length;
  float turn;  // rad per unit: joints that follow this one count too
};
struct LeverList {
  std::int32_t first = 0, last = 0;  // range in Skeleton::levers
};

// One joint on the way from the base (or a common link) to a capsule, and its lever.
struct Swing {
  std::int32_t frame;
  float length;  // m per unit of the joint itself
};

struct SkeletonCapsule {
  int frame = 0, link = 0;
  Vec3 p0{}, p1{};                       // ends of its segment, in the joint's frame
  std::array<float, 3> middle{}, way{};  // of its segment, in the frame's own axes
  float radius = 0, half_length = 0;
  float slack = 0;  // covers every rounding error in placing it, m
  bool against_world = true;
  LeverList motion;  // in the world, the planar base included
  LeverList swing;   // range in Skeleton::swings, the joint nearest to the base first
};

struct SkeletonPair {
  int a = 0, b = 0;
  float radii = 0, slack = 0;
  LeverList motion;            // joints between the two links only
  LeverList swing_a, swing_b;  // from the link that both hang on
};

struct CapsulePair {
  std::int32_t a, b;
};

struct SkeletonTool {
  int frame = 0;
  std::array<float, 3> point{};  // tool centre point in its frame's own axes
  Pose exact_tcp;                // tool in its frame
  float slack = 0;
  LeverList in_base;       // in the base's frame
  std::vector<int> chain;  // frames from the base to the tool
};

// How far each of many things may move, eight side by side: `fixed` + Σ_j lever_j · half width of
// coordinate j. Levers are ordered by eight, then by coordinate.
struct Reaches {
  static constexpr std::size_t kSide = 8;
  std::size_t count = 0;
  std::vector<float> fixed, levers;
};

struct Skeleton {
  // Throws std::invalid_argument when the model does not hold together or is too large.
  explicit Skeleton(const RobotModel& model);

  std::size_t dof = 0;          // joint coordinates
  std::size_t coordinates = 0;  // dof + 3: then come the base's x, y, yaw displacement
  std::vector<MovingFrame> frames;
  std::vector<SkeletonCapsule> capsules;
  std::vector<SkeletonPair> pairs;
  std::vector<CapsulePair> capsule_pairs;  // the same once more, closer together
  std::vector<SkeletonTool> tools;
  std::vector<Lever> levers;
  std::vector<Swing> swings;
  Reaches capsule_reach, pair_reach;  // radii, slack and half lengths, without the margin
  bool mobile = false;
  float reach = 0;  // no capsule point is farther from the base's origin
};

// Fills in what lanes read, from everything else; the last step of building a skeleton.
void prepare_lanes(Skeleton& skeleton);

}  // namespace openral
