// Obstacles with names: capsules, spheres (capsules of no length) and boxes, in the base's frame.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "openral/base_trail.hpp"
#include "openral/model.hpp"

namespace openral {

struct Primitive {
  bool box = false;
  std::string id;
  Vec3 p0{}, p1{};  // capsule: ends; box: p0 is the centre
  Vec3 half{};      // box: half extents
  std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};  // box: its axes are the columns
  double radius = 0;
};

// A primitive ready for eight-wide tests; its radius is grown by every rounding it suffers.
struct Obstacle {
  bool box = false;
  bool aligned = false;           // a box along the axes
  std::array<float, 3> p{}, d{};  // capsule: start and direction; box: centre and half extents
  std::array<float, 9> rotation{};
  float radius = 0;
};

struct World {
  static constexpr std::size_t kMaxPrimitives = 512;
  std::vector<Obstacle> obstacles;
  // Boxes along the axes, side by side: everything of an obstacle lies within `radius` of its
  // `centre` ± `half`. Padded to a multiple of eight with boxes far away.
  std::array<std::vector<float>, 3> centre, half;
  std::vector<float> radius;
  std::vector<std::string> ids;

  // Throws std::invalid_argument naming the first primitive with a number that is not finite,
  // a negative size or a rotation that is none. The caller has checked the count.
  void assign(const std::vector<Primitive>& primitives);
  // The same obstacles seen from a frame in which theirs lies at `frame`; without their names.
  // Allocates nothing after `reserve`.
  void place(const World& other, const Planar& frame) noexcept;
  void reserve();

 private:
  void size(std::size_t count);
  void fill(std::size_t index, const Primitive& primitive);
  std::vector<Primitive> primitives_;
};

}  // namespace openral
