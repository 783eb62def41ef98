// Certified distances. Each function guesses the closest points and then evaluates the
// separating-direction bound  min n·A − max n·B  for the direction n between them. That bound
// holds for every n, so a bad guess can make the answer too small, never too large.
#pragma once

#include "openral/lanes.hpp"

namespace openral::OPENRAL_LANES {

struct Segment {
  V3 p, d;  // from p to p + d
};

// Whether the direction between the middles already separates two segments by `need`: a cheap
// certificate that settles most pairs.
OPENRAL_INLINE M apart(const V3& between, const V3& da, const V3& db, V need) {
  const V half = splat(static_cast<S>(0.5));
  const V nn = dot(between, between);
  return nn - half * (vabs(dot(between, da)) + vabs(dot(between, db))) >= need * vsqrt(nn);
}

// A unit direction, and how far beyond the other body the two ends of a segment are along it.
// The smaller of the two bounds the distance from below; NaN where the bodies touch.
struct Apart {
  V3 n;
  V start, end;
};

OPENRAL_INLINE Apart between(const Segment& a, const Segment& b) {
  const V tiny = splat(static_cast<S>(1e-12)), nothing = splat(static_cast<S>(1e-30));
  const V zero = splat(0), one = splat(1);
  const V3 r = a.p - b.p;
  const V aa = vmax(dot(a.d, a.d), tiny), bb = vmax(dot(b.d, b.d), tiny);
  const V ab = dot(a.d, b.d), ar = dot(a.d, r), br = dot(b.d, r);
  const V den = vmax(aa * bb - ab * ab, tiny * aa * bb);
  V s = clamp((ab * br - ar * bb) / den, zero, one);
  const V t = clamp((ab * s + br) / bb, zero, one);
  s = clamp((ab * t - ar) / aa, zero, one);
  const V3 n = r + s * a.d - t * b.d;
  const V inverse = one / vsqrt(dot(n, n) - nothing);  // NaN where there is no direction
  const V start = dot(n, r) - vmax(zero, dot(n, b.d));
  return {inverse * n, start * inverse, (start + dot(n, a.d)) * inverse};
}

// Lower bound of the distance between two segments; NaN where they cross.
OPENRAL_INLINE V segment_segment(const Segment& a, const Segment& b) {
  const Apart apart = between(a, b);
  return vmin(apart.start, apart.end);
}

// The same for a segment and the box |x_i| ≤ h_i: one of the box's own axes separates them.
OPENRAL_INLINE M apart_box(const Segment& g, const V3& h, V need) {
  const V half = splat(static_cast<S>(0.5));
  const auto room = [&](V p, V d, V size) { return vabs(p + half * d) - half * vabs(d) - size; };
  return vmax(vmax(room(g.p.x, g.d.x, h.x), room(g.p.y, g.d.y, h.y)), room(g.p.z, g.d.z, h.z)) >=
         need;
}

// The same for a segment and the box |x_i| ≤ h_i. The squared distance along the segment is convex
// with a piecewise linear slope, so the slope at the six slab crossings brackets the minimum and
// one secant step finds it.
OPENRAL_INLINE Apart beside(const Segment& g, const V3& h) {
  const V zero = splat(0), one = splat(1), nothing = splat(static_cast<S>(1e-30));
  const auto outside = [&](V t) -> V3 {
    const V3 x = g.p + t * g.d;
    return {x.x - clamp(x.x, -h.x, h.x), x.y - clamp(x.y, -h.y, h.y), x.z - clamp(x.z, -h.z, h.z)};
  };
  V t_low = zero, t_high = one;
  V g_low = dot(g.d, outside(zero)), g_high = dot(g.d, outside(one));
  const auto narrow = [&](V edge, V start, V slope) {
    const V t = clamp((edge - start) / slope, zero, one);
    const V value = dot(g.d, outside(t));
    const M up = both(value <= zero, t >= t_low), down = both(value >= zero, t <= t_high);
    t_low = select(up, t, t_low);
    g_low = select(up, value, g_low);
    t_high = select(down, t, t_high);
    g_high = select(down, value, g_high);
  };
  narrow(h.x, g.p.x, g.d.x);
  narrow(-h.x, g.p.x, g.d.x);
  narrow(h.y, g.p.y, g.d.y);
  narrow(-h.y, g.p.y, g.d.y);
  narrow(h.z, g.p.z, g.d.z);
  narrow(-h.z, g.p.z, g.d.z);
  const V mid = t_low - (t_high - t_low) * g_low / (g_high - g_low);
  const V t = select(g_low >= zero, t_low, select(g_high <= zero, t_high, clamp(mid, zero, one)));
  const V3 n = outside(t);
  const V reach = vabs(n.x) * h.x + vabs(n.y) * h.y + vabs(n.z) * h.z;
  const V inverse = one / vsqrt(dot(n, n) - nothing);  // NaN where there is no direction
  const V start = dot(n, g.p) - reach;
  return {inverse * n, start * inverse, (start + dot(n, g.d)) * inverse};
}

// Lower bound of the distance between a segment and that box; NaN where they touch.
OPENRAL_INLINE V segment_box(const Segment& g, const V3& h) {
  const Apart apart = beside(g, h);
  return vmin(apart.start, apart.end);
}

}  // namespace openral::OPENRAL_LANES
