// Vectors, rigid transforms, poses in the plane and random numbers of the fuzzer.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace fuzz {

using Vec = std::array<double, 3>;
inline Vec operator+(const Vec& a, const Vec& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec operator*(double s, const Vec& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Vec& a, const Vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline double norm(const Vec& a) { return std::sqrt(dot(a, a)); }
inline Vec cross(const Vec& a, const Vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct Rigid {
  Vec x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1}, at{};  // axes as columns, and where the origin is
  Vec turn(const Vec& v) const {
    return {v[0] * x[0] + v[1] * y[0] + v[2] * z[0], v[0] * x[1] + v[1] * y[1] + v[2] * z[1],
            v[0] * x[2] + v[1] * y[2] + v[2] * z[2]};
  }
  Vec back(const Vec& v) const { return {dot(x, v), dot(y, v), dot(z, v)}; }
  Vec operator()(const Vec& v) const { return turn(v) + at; }
  Rigid operator*(const Rigid& o) const { return {turn(o.x), turn(o.y), turn(o.z), (*this)(o.at)}; }
};

// A rotation about an axis of any length, by quaternion.
inline Rigid turned(const Vec& axis, double angle) {
  const double s = std::sin(angle / 2) / norm(axis), w = std::cos(angle / 2);
  const double x = axis[0] * s, y = axis[1] * s, z = axis[2] * s;
  return {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
          {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
          {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
          {}};
}

// Poses and twists in the plane are vectors of x, y and yaw.
inline Vec compose(const Vec& a, const Vec& b) {
  const double c = std::cos(a[2]), s = std::sin(a[2]);
  return {a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2]};
}
inline Vec inverted(const Vec& a) {
  const double c = std::cos(a[2]), s = std::sin(a[2]);
  return {-c * a[0] - s * a[1], s * a[0] - c * a[1], -a[2]};
}
inline Rigid planar(const Vec& pose) {
  const double c = std::cos(pose[2]), s = std::sin(pose[2]);
  return {{c, s, 0}, {-s, c, 0}, {0, 0, 1}, {pose[0], pose[1], 0}};
}
// Where a constant twist in the base's own frame leads: an arc, by its chord.
inline Vec drive(const Vec& from, const Vec& twist, double seconds) {
  const double turn = twist[2] * seconds, half = turn / 2;
  const double chord = std::abs(half) > 1e-7 ? std::sin(half) / half : 1 - half * half / 6;
  const double yaw = from[2] + half;
  const double c = std::cos(yaw) * chord * seconds, s = std::sin(yaw) * chord * seconds;
  return {from[0] + c * twist[0] - s * twist[1], from[1] + s * twist[0] + c * twist[1],
          from[2] + turn};
}

using Random = std::mt19937_64;
inline double uniform(Random& r, double low, double high) {
  return low + (high - low) * static_cast<double>(r() >> 11) * 0x1.0p-53;
}
inline int pick(Random& r, int low, int high) {
  return low + static_cast<int>(r() % static_cast<std::uint64_t>(high - low + 1));
}
inline bool chance(Random& r, double p) { return uniform(r, 0, 1) < p; }

}  // namespace fuzz
