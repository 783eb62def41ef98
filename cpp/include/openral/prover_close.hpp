// The narrow phase: one pair of bodies in eight lanes, from the cheapest certificate to the best.
#pragma once

#include "openral/prover_swing.hpp"

namespace openral::OPENRAL_LANES {

OPENRAL_INLINE int approach_work(const LeverList& swing) {
  return 2 + (swing.last - swing.first) / 4;
}

inline void Block::close_pair(int i, const V3& gap) {
  const SkeletonPair& pair = s_.pairs.data()[i];
  const Lever* lever = s_.levers.data();
  const S fixed = pair.radii + pair.slack + static_cast<S>(q_.pair_margin[i]);
  V need = fixed + sum(lever, pair.motion, half_);
  const Segment &first = segment(pair.a), &second = segment(pair.b);
  if ((active_ & ~bits(apart(gap, first.d, second.d, need))) == 0) return;
  const V bound = segment_segment(first, second);
  if ((active_ & ~bits(bound >= need)) == 0) return;
  if (spend(approach_work(pair.swing_a) + approach_work(pair.swing_b))) return;
  detail();
  const Closing by = closing(pair);
  need = vmin(fixed + by.full, need);
  const V rest = vmin(by.least, sum(lever, pair.motion, wide_));
  judge(*this, bound, need, fixed + rest, Finding::kSelf, pair.a, pair.b, pair.radii,
        static_cast<S>(q_.pair_margin[i]));
}

// A vector in a box's own axes.
OPENRAL_INLINE V3 in_box(const Obstacle& box, const V3& v) {
  if (box.aligned) return v;
  const auto& r = box.rotation;
  return {r[0] * v.x + r[3] * v.y + r[6] * v.z, r[1] * v.x + r[4] * v.y + r[7] * v.z,
          r[2] * v.x + r[5] * v.y + r[8] * v.z};
}
OPENRAL_INLINE V3 out_of_box(const Obstacle& box, const V3& v) {
  const auto& r = box.rotation;
  return {r[0] * v.x + r[1] * v.y + r[2] * v.z, r[3] * v.x + r[4] * v.y + r[5] * v.z,
          r[6] * v.x + r[7] * v.y + r[8] * v.z};
}

inline void Block::obstacle(int c, int o) {
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  const World& w = *q_.world;
  const Obstacle& other = w.obstacles.data()[o];
  const auto three = [o](const std::array<std::vector<float>, 3>& by) -> V3 {
    return {splat(by[0].data()[o]), splat(by[1].data()[o]), splat(by[2].data()[o])};
  };
  const V3 gap = posed_.middle[c] - three(w.centre);
  const V3 out = vmax(vabs(gap) - three(w.half), splat(0));
  const V far = splat((reach_[c] + static_cast<S>(other.radius)) * kRounded);
  if ((active_ & ~bits(dot(out, out) > far * far)) == 0) return;
  if (spend(1)) return;
  const S margin = static_cast<S>(q_.capsule_margin[c]);
  const S fixed = capsule.radius + capsule.slack + margin + static_cast<S>(other.radius);
  V all = fixed + full(c);
  const Segment& g = segment(c);
  Apart apart_by;
  if (other.box) {
    const Segment local{in_box(other, g.p - splat3(other.p.data())), in_box(other, g.d)};
    const V3 size = splat3(other.d.data());
    if ((active_ & ~bits(apart_box(local, size, all))) == 0) return;
    if (spend(3)) return;
    apart_by = beside(local, size);
    apart_by.n = out_of_box(other, apart_by.n);
  } else {
    const V3 d = splat3(other.d.data());
    if ((active_ & ~bits(apart(gap, g.d, d, all))) == 0) return;
    if (spend(1)) return;
    apart_by = between(g, {splat3(other.p.data()), d});
  }
  const V bound = vmin(apart_by.start, apart_by.end);
  if ((active_ & ~bits(bound >= all)) == 0) return;
  if (spend(approach_work(capsule.swing))) return;
  detail();
  const Closing by = closing(apart_by, g, c);
  all = vmin(fixed + by.full, all);
  const V rest = fixed + vmin(by.least, least(c));
  judge(*this, bound, all, rest, Finding::kWorld, c, o, capsule.radius + other.radius, margin);
}

}  // namespace openral::OPENRAL_LANES
