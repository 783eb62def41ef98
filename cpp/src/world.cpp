#include "openral/world.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace openral {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);

double norm(const Vec3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

void check(const Primitive& p) {
  double sum = p.radius;
  for (std::size_t i = 0; i < 3; ++i) sum += p.p0[i] + p.p1[i] + p.half[i];
  for (double r : p.rotation) sum += r;
  if (!std::isfinite(sum) || norm(p.p0) + norm(p.p1) + norm(p.half) + p.radius > 1e6)
    throw std::invalid_argument("obstacle '" + p.id + "': its numbers must be finite, below 1e6 m");
  if (p.radius < 0 || *std::min_element(p.half.begin(), p.half.end()) < 0)
    throw std::invalid_argument("obstacle '" + p.id + "': a size is negative");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = i; k < 3; ++k) {
      double product = 0;
      for (std::size_t m = 0; m < 3; ++m) product += p.rotation[3 * m + i] * p.rotation[3 * m + k];
      if (std::abs(product - (i == k ? 1 : 0)) > 1e-6)
        throw std::invalid_argument("obstacle '" + p.id + "': its orientation is not a rotation");
    }
}

// What an obstacle's radius grows by to cover every rounding of the tests.
double rounding(const Primitive& p) {
  const double bound =
      p.box ? norm(p.half) : norm({p.p1[0] - p.p0[0], p.p1[1] - p.p0[1], p.p1[2] - p.p0[2]}) / 2;
  // Every product and sum of the tests stays below the obstacle's extent plus the robot's, which
  // has a slack of its own; 64 rounding units and the orthogonality tolerance cover ours.
  const double extent = norm(p.p0) + norm(p.p1) + 2 * bound;
  return 64 * kUnit * extent + (p.box ? 1e-6 * 2 * bound : 0);
}

Obstacle prepare(const Primitive& p) {
  Obstacle o;
  o.box = p.box;
  o.aligned = p.box && p.rotation == Primitive{}.rotation;
  for (std::size_t i = 0; i < 3; ++i) {
    o.p[i] = static_cast<float>(p.p0[i]);
    o.d[i] = static_cast<float>(p.box ? p.half[i] : p.p1[i] - p.p0[i]);
  }
  for (std::size_t i = 0; i < 9; ++i) o.rotation[i] = static_cast<float>(p.rotation[i]);
  o.radius = static_cast<float>((p.radius + rounding(p)) * (1 + 1e-6));
  return o;
}

}  // namespace

void World::assign(const std::vector<Primitive>& primitives) {
  for (const Primitive& p : primitives) check(p);
  obstacles.clear();
  ids.clear();
  for (const Primitive& p : primitives) {
    obstacles.push_back(prepare(p));
    ids.push_back(p.id);
  }
  const std::size_t padded = (obstacles.size() + 7) / 8 * 8;
  radius.assign(padded, 0);
  for (std::size_t i = 0; i < obstacles.size(); ++i) radius[i] = obstacles[i].radius;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre[axis].assign(padded, 1e30F);
    half[axis].assign(padded, 0);
    for (std::size_t i = 0; i < primitives.size(); ++i) {
      const Primitive& p = primitives[i];
      double size = std::abs(p.p1[axis] - p.p0[axis]) / 2, middle = (p.p0[axis] + p.p1[axis]) / 2;
      if (p.box) {
        middle = p.p0[axis];
        size = 0;
        for (std::size_t k = 0; k < 3; ++k) size += std::abs(p.rotation[3 * axis + k]) * p.half[k];
      }
      centre[axis][i] = static_cast<float>(middle);
      half[axis][i] = static_cast<float>(size * (1 + 1e-6));
    }
  }
}

}  // namespace openral
