#include "openral/world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

Obstacle prepare(const Primitive& p) {
  Obstacle o;
  o.box = p.box;
  Vec3 centre = p.p0;
  double bound = norm(p.half);
  if (!p.box) {
    for (std::size_t i = 0; i < 3; ++i) centre[i] = (p.p0[i] + p.p1[i]) / 2;
    bound = norm({p.p1[0] - centre[0], p.p1[1] - centre[1], p.p1[2] - centre[2]});
  }
  // Every product and sum of the tests stays below the obstacle's extent plus the robot's, which
  // has a slack of its own; 64 rounding units and the orthogonality tolerance cover ours.
  const double extent = norm(p.p0) + norm(p.p1) + 2 * bound;
  const double slack = 64 * kUnit * extent + (p.box ? 1e-6 * 2 * bound : 0);
  for (std::size_t i = 0; i < 3; ++i) {
    o.p[i] = static_cast<float>(p.p0[i]);
    o.d[i] = static_cast<float>(p.box ? p.half[i] : p.p1[i] - p.p0[i]);
    o.centre[i] = static_cast<float>(centre[i]);
  }
  for (std::size_t i = 0; i < 9; ++i) o.rotation[i] = static_cast<float>(p.rotation[i]);
  o.radius = static_cast<float>((p.radius + slack) * (1 + 1e-6));
  o.bound = static_cast<float>((bound + p.radius + slack) * (1 + 1e-6));
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
  for (std::vector<float>* side : {&x, &y, &z, &bound}) side->reserve(kMaxPrimitives);
}

void World::size(std::size_t count) {
  obstacles.resize(count);
  const std::size_t padded = (count + 7) / 8 * 8;
  for (std::vector<float>* side : {&x, &y, &z, &bound})
    side->assign(padded, std::numeric_limits<float>::quiet_NaN());
}

void World::fill(std::size_t i, const Primitive& p) {
  obstacles[i] = prepare(p);
  x[i] = obstacles[i].centre[0];
  y[i] = obstacles[i].centre[1];
  z[i] = obstacles[i].centre[2];
  bound[i] = obstacles[i].bound;
}

}  // namespace openral
