// The robot together with what it holds, and the room that judging its motion needs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "openral/lowering.hpp"
#include "openral/skeleton.hpp"

namespace openral {

// An object that moves with a link: a capsule in the link's frame.
struct Held {
  std::string id;
  int link = 0;
  Vec3 p0{}, p1{};
  double radius = 0;
  std::vector<int> touches;  // links that may touch it, besides those rigid with its own
  bool operator==(const Held&) const = default;
};

struct Body {
  // Throws std::invalid_argument when the model does not hold together, or no longer does with the
  // objects. `fits` tells beforehand whether they are too many.
  Body(const RobotModel& own, const std::vector<Held>& objects);
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  static bool fits(const RobotModel& own, const std::vector<Held>& objects);

  std::vector<Held> held;
  RobotModel model;
  Skeleton skeleton;
  Lowering lowering;
  std::size_t own_capsules;  // the objects' come after them
  std::vector<float> capsule_margin, pair_margin;
  std::vector<float> only_capsules, only_pairs, rest_capsules, rest_pairs;  // of closer looks
  std::vector<float> capsule_tracking, pair_tracking;  // how far tracking errors can move them
  float recovery_reach = 0;  // distances beyond this do not matter to recovery
  std::vector<float> capsule_start, pair_start, capsule_end, pair_end;
  std::vector<float> capsule_kept;  // distance that is enough for a capsule that comes no nearer
};

}  // namespace openral
