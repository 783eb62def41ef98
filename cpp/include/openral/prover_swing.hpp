// Point 2 of the argument in prover.hpp: how far a capsule can come closer along one direction.
#pragma once

#include "openral/prover_broad.hpp"
#include "openral/prover_fill.hpp"

namespace openral::OPENRAL_LANES {

// Both ends of a segment along a direction: the nominal motion, signed, and what widths add.
struct Approach {
  V nominal[2], wide[2];
  V bend, bend_wide;  // second-order terms: of everything, and of the widths alone
};

// Adds a joint whose half-widths are `half` and `wide` and whose lever is `length`.
OPENRAL_INLINE void bend(Approach& a, V& turned, V& turned_wide, bool revolute, V half, V wide,
                         S length) {
  const V own = splat(revolute ? static_cast<S>(0.5) : static_cast<S>(0));
  a.bend += length * half * (own * half + turned);
  a.bend_wide += length * wide * (own * wide + turned_wide);
  if (!revolute) return;
  turned += half;
  turned_wide += wide;
}

inline Approach Block::approach(const V3& n, const Segment& g, const LeverList& swing,
                                const LeverList* motion) const {
  const V zero = splat(0);
  Approach a{{zero, zero}, {zero, zero}, zero, zero};
  V turned = zero, turned_wide = zero;
  const V3 ends[2] = {g.p, g.p + g.d};
  if (planar_ && motion != nullptr) {
    const std::size_t d = s_.dof;
    const V move[3] = {load(move_[d]), load(move_[d + 1]), load(move_[d + 2])};
    for (int e = 0; e < 2; ++e) {
      const V3 arm = ends[e] - posed_.origin[0];
      const V turn = n.y * arm.x - n.x * arm.y;
      a.nominal[e] += n.x * move[0] + n.y * move[1] + turn * move[2];
      if (q_.path.base_seen)
        a.wide[e] += vabs(n.x) * load(wide_[d]) + vabs(n.y) * load(wide_[d + 1]) +
                     vabs(turn) * load(wide_[d + 2]);
    }
    // The error of where the base was has no known direction.
    for (int k = motion->first; k < motion->last; ++k) {
      const Lever& l = s_.levers.data()[k];
      if (l.coordinate < static_cast<int>(d)) continue;
      const V wide = load(wide_[l.coordinate]), half = load(half_[l.coordinate]);
      for (V& w : a.wide)
        if (!q_.path.base_seen) w += static_cast<S>(l.length) * wide;
      bend(a, turned, turned_wide, l.turn > 0, half, wide, static_cast<S>(l.length));
    }
  }
  for (int k = swing.first; k < swing.last; ++k) {
    const Swing& joint = s_.swings.data()[k];
    const MovingFrame& f = s_.frames.data()[joint.frame];
    const auto times = static_cast<S>(f.multiplier);
    const V size = splat(times < 0 ? -times : times);
    const V3& axis = posed_.rotation[joint.frame].axis[2];
    // n · (axis × (p − o)) = (n × axis) · (p − o)
    const V3 turn = cross(n, axis);
    const V move = times * load(move_[f.coordinate]), wide = size * load(wide_[f.coordinate]);
    const V straight = dot(n, axis);
    for (int e = 0; e < 2; ++e) {
      const V rate = f.revolute ? dot(turn, ends[e] - posed_.origin[joint.frame]) : straight;
      a.nominal[e] += rate * move;
      a.wide[e] += vabs(rate) * wide;
    }
    bend(a, turned, turned_wide, f.revolute, size * load(half_[f.coordinate]), wide,
         static_cast<S>(joint.length));
  }
  return a;
}

// A hair more than computed: covers the rounding of the sums above.
OPENRAL_INLINE V padded(V motion) {
  return motion * static_cast<S>(1 + 1e-4) + static_cast<S>(2e-6);
}

inline Closing Block::closing(const Apart& apart, const Segment& g, int c) const {
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  const Approach a = approach(apart.n, g, capsule.swing, &capsule.motion);
  const V far = vmin(apart.start, apart.end);
  const V full = vmin(apart.start - vabs(a.nominal[0]) - a.wide[0],
                      apart.end - vabs(a.nominal[1]) - a.wide[1]);
  const V least = vmin(apart.start - a.wide[0], apart.end - a.wide[1]);
  return {padded(far - full + a.bend), padded(far - least + a.bend_wide)};
}

inline Closing Block::closing(const SkeletonPair& pair) {
  const Segment &one = segment(pair.a), &two = segment(pair.b);
  const Apart apart = between(one, two);
  const V3& n = apart.n;
  const Approach a = approach(n, one, pair.swing_a, nullptr);
  const Approach b = approach(n, two, pair.swing_b, nullptr);
  const V along[2] = {splat(0), dot(n, two.d)};
  const V behind = vmax(along[0], along[1]);  // apart.start and .end are measured from here
  V full = splat(static_cast<S>(1e30)), least = full;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      const V gap = (i == 0 ? apart.start : apart.end) + behind - along[k] - a.wide[i] - b.wide[k];
      full = vmin(gap - vabs(a.nominal[i] - b.nominal[k]), full);
      least = vmin(gap, least);
    }
  const V far = vmin(apart.start, apart.end);
  return {padded(far - full + a.bend + b.bend), padded(far - least + a.bend_wide + b.bend_wide)};
}

}  // namespace openral::OPENRAL_LANES
