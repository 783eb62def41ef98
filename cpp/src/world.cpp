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
  primitives_ = primitives;
  ids.clear();
  for (const Primitive& p : primitives) ids.push_back(p.id);
  size(primitives.size());
  for (std::size_t i = 0; i < primitives.size(); ++i) fill(i, primitives[i]);
}

void World::place(const World& other, const Planar& frame) noexcept {
  const double c = std::cos(frame.yaw), s = std::sin(frame.yaw);
  const auto moved = [&](const Vec3& p) -> Vec3 {
    return {frame.x + c * p[0] - s * p[1], frame.y + s * p[0] + c * p[1], p[2]};
  };
  size(other.primitives_.size());
  for (std::size_t i = 0; i < other.primitives_.size(); ++i) {
    const Primitive& from = other.primitives_[i];
    Primitive p;
    p.box = from.box;
    p.p0 = moved(from.p0);
    p.p1 = moved(from.p1);
    p.half = from.half;
    p.radius = from.radius;
    for (std::size_t k = 0; k < 3; ++k) {
      p.rotation[k] = c * from.rotation[k] - s * from.rotation[3 + k];
      p.rotation[3 + k] = s * from.rotation[k] + c * from.rotation[3 + k];
      p.rotation[6 + k] = from.rotation[6 + k];
    }
    fill(i, p);
  }
}

void World::reserve() {
  obstacles.reserve(kMaxPrimitives);
  radius.reserve(kMaxPrimitives);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre[axis].reserve(kMaxPrimitives);
    half[axis].reserve(kMaxPrimitives);
  }
}

void World::size(std::size_t count) {
  const std::size_t padded = (count + 7) / 8 * 8;
  obstacles.resize(count);
  radius.assign(padded, 0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre[axis].assign(padded, 1e30F);
    half[axis].assign(padded, 0);
  }
}

void World::fill(std::size_t i, const Primitive& p) {
  obstacles[i] = prepare(p);
  radius[i] = obstacles[i].radius;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double extent = std::abs(p.p1[axis] - p.p0[axis]) / 2;
    double middle = (p.p0[axis] + p.p1[axis]) / 2;
    if (p.box) {
      middle = p.p0[axis];
      extent = 0;
      for (std::size_t k = 0; k < 3; ++k) extent += std::abs(p.rotation[3 * axis + k]) * p.half[k];
    }
    centre[axis][i] = static_cast<float>(middle);
    half[axis][i] = static_cast<float>(extent * (1 + 1e-6));
  }
}

}  // namespace openral
