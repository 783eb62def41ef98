#include "openral/body.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace openral {
namespace {

// The link that carries all that cannot move relative to this one.
int carrier(const RobotModel& m, int link) {
  while (link > 0) {
    const Joint& joint = m.joints[static_cast<std::size_t>(link - 1)];
    const bool base = joint.coordinate >= 0 &&
                      m.coordinates[static_cast<std::size_t>(joint.coordinate)].role == Role::kBase;
    if (joint.kind != JointKind::kFixed && !base) break;
    link = joint.parent;
  }
  return link;
}

bool may_touch(const RobotModel& m, const Held& object, int link) {
  return carrier(m, link) == carrier(m, object.link) ||
         std::find(object.touches.begin(), object.touches.end(), link) != object.touches.end();
}

RobotModel holding(const RobotModel& own, const std::vector<Held>& objects) {
  RobotModel m = own;
  for (const Held& object : objects) {
    const auto self = static_cast<int>(m.capsules.size());
    for (int c = 0; c < static_cast<int>(own.capsules.size()); ++c)
      if (!may_touch(own, object, own.capsules[static_cast<std::size_t>(c)].link))
        m.pairs.emplace_back(c, self);
    for (int c = static_cast<int>(own.capsules.size()); c < self; ++c)
      if (carrier(own, m.capsules[static_cast<std::size_t>(c)].link) != carrier(own, object.link))
        m.pairs.emplace_back(c, self);
    m.capsules.push_back({object.link, object.p0, object.p1, object.radius});
  }
  return m;
}

float reach(const RobotModel& m, const Skeleton& s, const LeverList& list) {
  double sum = 0;
  for (int k = list.first; k < list.last; ++k) {
    const Lever& l = s.levers[static_cast<std::size_t>(k)];
    const auto j = static_cast<std::size_t>(l.coordinate);
    const double tracking = j < s.dof        ? m.coordinates[j].tracking
                            : j == s.dof + 2 ? m.envelope.base_turn_tracking
                                             : m.envelope.base_tracking;
    sum += static_cast<double>(l.length) * tracking;
  }
  return static_cast<float>(sum);
}

}  // namespace

Body::Body(const RobotModel& own, const std::vector<Held>& objects)
    : held(objects),
      model(holding(own, objects)),
      skeleton(model),
      lowering(model, skeleton),
      own_capsules(own.capsules.size()) {
  capsule_margin.resize(skeleton.capsules.size() + 1);
  capsule_start = capsule_end = capsule_kept = only_capsules = rest_capsules = capsule_margin;
  pair_margin.resize(skeleton.pairs.size() + 1);
  pair_start = pair_end = only_pairs = rest_pairs = pair_margin;
  for (const SkeletonCapsule& c : skeleton.capsules)
    capsule_tracking.push_back(reach(model, skeleton, c.motion));
  for (const SkeletonPair& p : skeleton.pairs)
    pair_tracking.push_back(reach(model, skeleton, p.motion));
  for (float tracking : capsule_tracking)
    recovery_reach =
        std::max(recovery_reach, static_cast<float>(model.envelope.world_margin) + tracking);
  for (float tracking : pair_tracking)
    recovery_reach =
        std::max(recovery_reach, static_cast<float>(model.envelope.self_margin) + tracking);
  recovery_reach += 5e-3F;
}

bool Body::fits(const RobotModel& own, const std::vector<Held>& objects) {
  const std::size_t capsules = own.capsules.size() + objects.size();
  return capsules <= kMaxCapsules && holding(own, objects).pairs.size() <= kMaxPairs;
}

}  // namespace openral
