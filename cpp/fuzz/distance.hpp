// Closest points of segments, spheres and boxes, in double precision.
#pragma once

#include "vectors.hpp"

namespace fuzz {

// Closest points, on the first body and on the second.
struct Closest {
  Vec on_a{}, on_b{};
  double distance = 1e9;
};

inline Vec nearest_on_segment(const Vec& p, const Vec& a, const Vec& b) {
  const Vec d = b - a;
  const double dd = dot(d, d);
  return a + (dd > 0 ? std::clamp(dot(p - a, d) / dd, 0.0, 1.0) : 0) * d;
}

// The least distance is at an end of one of them, or between interior points.
inline Closest segment_segment(const Vec& a, const Vec& b, const Vec& c, const Vec& d) {
  Closest best;
  const auto keep = [&](const Vec& on_a, const Vec& on_b) {
    const double distance = norm(on_a - on_b);
    if (distance < best.distance) best = {on_a, on_b, distance};
  };
  const Vec u = b - a, v = d - c, w = c - a, n = cross(u, v);
  const double nn = dot(n, n);
  if (nn > 0) {
    const double s = dot(cross(w, v), n) / nn, t = dot(cross(w, u), n) / nn;
    if (s > 0 && s < 1 && t > 0 && t < 1) keep(a + s * u, c + t * v);
  }
  keep(a, nearest_on_segment(a, c, d));
  keep(b, nearest_on_segment(b, c, d));
  keep(nearest_on_segment(c, a, b), c);
  keep(nearest_on_segment(d, a, b), d);
  return best;
}

// A segment and the box |x_i| ≤ half_i. The squared distance is convex along the segment with a
// piecewise linear slope: Newton's steps on the slope, kept between bounds.
inline Closest segment_box(const Vec& a, const Vec& b, const Vec& half) {
  const Vec d = b - a;
  Vec x{}, out{};
  const auto slope = [&](double t) {
    x = a + t * d;
    for (std::size_t i = 0; i < 3; ++i) out[i] = x[i] - std::clamp(x[i], -half[i], half[i]);
    return dot(d, out);
  };
  const auto made = [&]() -> Closest { return {x, x - out, norm(out)}; };
  if (slope(0) >= 0) return made();
  if (slope(1) <= 0) return made();
  double low = 0, high = 1, t = 0.5;
  for (int i = 0; i < 60 && high - low > 1e-13; ++i) {
    const double g = slope(t);
    (g > 0 ? high : low) = t;
    if (g == 0) break;
    double rise = 0;
    for (std::size_t k = 0; k < 3; ++k)
      if (out[k] != 0) rise += d[k] * d[k];
    const double next = rise > 0 ? t - g / rise : (low + high) / 2;
    if (std::abs(next - t) < 1e-13) break;
    t = next > low && next < high ? next : (low + high) / 2;
  }
  slope(t);
  return made();
}

}  // namespace fuzz
