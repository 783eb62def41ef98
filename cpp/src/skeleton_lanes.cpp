// What lanes read of a skeleton: frames in axes that are cheap to turn, and levers side by side.
#include <cmath>

#include "openral/skeleton.hpp"

namespace openral {
namespace {

using Axes = std::array<double, 9>;  // row by row; the axes are its columns

Axes product(const Axes& a, const Axes& b) {
  Axes out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t m = 0; m < 3; ++m) out[3 * i + k] += a[3 * i + m] * b[3 * m + k];
  return out;
}
Axes transposed(const Axes& a) { return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]}; }
Vec3 times(const Axes& a, const Vec3& v) {
  Vec3 out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k) out[i] += a[3 * i + k] * v[k];
  return out;
}
Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Axes columns(const Vec3& u, const Vec3& v, const Vec3& w) {
  return {u[0], v[0], w[0], u[1], v[1], w[1], u[2], v[2], w[2]};
}
std::array<float, 3> rounded(const Vec3& v) {
  return {static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2])};
}

// A rotation whose third column is the unit vector `w`: the axes swapped where that will do.
Axes along(const Vec3& w, MovingFrame& f) {
  constexpr double kSame = 1e-9;  // rad, far below a float's rounding
  std::size_t least = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    if (std::abs(w[k]) < std::abs(w[least])) least = k;
    const std::size_t next = (k + 1) % 3, last = (k + 2) % 3;
    if (std::abs(w[next]) > kSame || std::abs(w[last]) > kSame) continue;
    f.swaps = true;
    f.backward = w[k] < 0;
    const std::size_t x = f.backward ? last : next, y = f.backward ? next : last;
    f.axis = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(k)};
    Vec3 u{}, v{}, z{};
    u[x] = v[y] = 1;
    z[k] = f.backward ? -1 : 1;
    return columns(u, v, z);
  }
  Vec3 away{};
  away[least] = 1;
  Vec3 u = cross(away, w);
  const double length = std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  for (double& x : u) x /= length;
  return columns(u, cross(w, u), w);
}

void choose_axes(Skeleton& s) {
  for (std::size_t i = 1; i < s.frames.size(); ++i) {
    MovingFrame& f = s.frames[i];
    const Axes parent = transposed(s.frames[static_cast<std::size_t>(f.parent)].axes);
    const Axes joint = product(parent, f.exact_origin.rotation);
    const Axes turn = along(times(joint, f.exact_axis), f);
    for (std::size_t k = 0; k < 9; ++k) f.turn[k] = static_cast<float>(turn[k]);
    f.axes = product(transposed(joint), turn);
    f.origin = rounded(times(parent, f.exact_origin.translation));
  }
}

void need(Skeleton& s, int frame) {
  for (; frame != 0; frame = s.frames[static_cast<std::size_t>(frame)].parent)
    s.frames[static_cast<std::size_t>(frame)].needed = true;
}

// One more thing, with the sparse levers of `list`.
void add(Reaches& r, const Skeleton& s, float fixed, const LeverList& list) {
  const std::size_t row = r.count / Reaches::kSide * s.coordinates, at = r.count % Reaches::kSide;
  if (at == 0) {
    r.fixed.resize(r.count + Reaches::kSide, 0);
    r.levers.resize((row + s.coordinates) * Reaches::kSide, 0);
  }
  r.fixed[r.count++] = fixed;
  for (int k = list.first; k < list.last; ++k) {
    const Lever& l = s.levers[static_cast<std::size_t>(k)];
    r.levers[(row + static_cast<std::size_t>(l.coordinate)) * Reaches::kSide + at] = l.length;
  }
}

}  // namespace

void prepare_lanes(Skeleton& s) {
  choose_axes(s);
  for (SkeletonCapsule& c : s.capsules) {
    const Axes axes = transposed(s.frames[static_cast<std::size_t>(c.frame)].axes);
    Vec3 middle{}, way{};
    for (std::size_t i = 0; i < 3; ++i) {
      middle[i] = (c.p0[i] + c.p1[i]) / 2;
      way[i] = c.p1[i] - c.p0[i];
    }
    c.middle = rounded(times(axes, middle));
    c.way = rounded(times(axes, way));
    need(s, c.frame);
    add(s.capsule_reach, s, c.radius + c.slack + c.half_length, c.motion);
  }
  for (const SkeletonPair& p : s.pairs) {
    const auto half = [&s](int c) { return s.capsules[static_cast<std::size_t>(c)].half_length; };
    s.capsule_pairs.push_back({p.a, p.b});
    add(s.pair_reach, s, p.radii + p.slack + half(p.a) + half(p.b), p.motion);
  }
  for (SkeletonTool& t : s.tools) {
    const Axes axes = transposed(s.frames[static_cast<std::size_t>(t.frame)].axes);
    t.point = rounded(times(axes, t.exact_tcp.translation));
    need(s, t.frame);
  }
}

}  // namespace openral
