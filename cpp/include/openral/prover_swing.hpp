// Point 2 of the argument in prover.hpp: how far a capsule can come closer along one direction.
#pragma once

#include "openral/prover_broad.hpp"
#include "openral/prover_fill.hpp"

namespace openral::OPENRAL_LANES {

// Both ends of a segment along a direction: the nominal motion, signed, and what widths add.
struct Approach {
  V nominal[2], wide[2];
  V bend, bend_wide;    // second-order terms: of everything, and of the widths alone
  V moved, moved_wide;  // the way in any direction, likewise
};

// Adds a joint whose half-widths are `half` and `wide`, after those that lie beyond it. `off` is
// how far the ends are from its axis at the middle; the joints beyond it add what they move them,
// and `lever` is the most that any of their values can make of it.
OPENRAL_INLINE void turn_by(Approach& a, bool revolute, V half, V wide, V off, S lever) {
  const V length = revolute ? vmin(off + a.moved, splat(lever)) : splat(lever);
  if (revolute) {
    const V own = static_cast<S>(0.5) * length;
    a.bend += half * (own * half + a.moved);
    a.bend_wide += wide * (own * wide + a.moved_wide);
  }
  a.moved += length * half;
  a.moved_wide += length * wide;
}

inline Approach Block::approach(const V3& n, const Segment& g, const LeverList& swing,
                                const LeverList* motion) const {
  const V zero = splat(0);
  Approach a{{zero, zero}, {zero, zero}, zero, zero, zero, zero};
  const V3 ends[2] = {g.p, g.p + g.d};
  for (int k = swing.last; k-- > swing.first;) {
    const Swing& joint = s_.swings.data()[k];
    const MovingFrame& f = s_.frames.data()[joint.frame];
    const auto times = static_cast<S>(f.multiplier);
    const V size = splat(times < 0 ? -times : times);
    const V3& axis = posed_.rotation[joint.frame].axis[2];
    const V move = times * load(move_[f.coordinate]), wide = size * load(wide_[f.coordinate]);
    V off = zero;
    for (int e = 0; e < 2; ++e) {
      const V3 way = f.revolute ? cross(axis, ends[e] - posed_.origin[joint.frame]) : axis;
      const V rate = dot(n, way);
      off = vmax(off, dot(way, way));
      a.nominal[e] += rate * move;
      a.wide[e] += vabs(rate) * wide;
    }
    turn_by(a, f.revolute, size * load(half_[f.coordinate]), wide, vsqrt(off),
            static_cast<S>(joint.length));
  }
  if (!planar_ || motion == nullptr) return a;
  const std::size_t d = s_.dof;
  V off = zero;
  for (int e = 0; e < 2; ++e) {
    const V3 arm = ends[e] - posed_.origin[0];
    const V rate[3] = {n.x, n.y, n.y * arm.x - n.x * arm.y};
    off = vmax(off, arm.x * arm.x + arm.y * arm.y);
    for (std::size_t i = 0; i < 3; ++i) {
      a.nominal[e] += rate[i] * load(move_[d + i]);
      a.wide[e] += vabs(rate[i]) * load(wide_[d + i]);
    }
  }
  for (int k = motion->last; k-- > motion->first;) {  // the heading, then the place
    const Lever& l = s_.levers.data()[k];
    if (l.coordinate < static_cast<int>(d)) break;
    turn_by(a, l.turn > 0, load(half_[l.coordinate]), load(wide_[l.coordinate]), vsqrt(off),
            static_cast<S>(l.length));
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
  return {padded(vmin(far - full + a.bend, a.moved)),
          padded(vmin(far - least + a.bend_wide, a.moved_wide))};
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
  return {padded(vmin(far - full + a.bend + b.bend, a.moved + b.moved)),
          padded(vmin(far - least + a.bend_wide + b.bend_wide, a.moved_wide + b.moved_wide))};
}

}  // namespace openral::OPENRAL_LANES
