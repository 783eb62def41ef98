// What stands around the robot: obstacles of simple shape and occupied cells of a grid.
#pragma once

#include <string>

#include "distance.hpp"

namespace fuzz {

struct Thing {
  bool box = false;
  std::string id;
  Vec p0{}, p1{};  // capsule: ends; box: p0 is the centre
  Vec half{};
  Rigid axes;  // box: its rotation
  double radius = 0;
};

struct Grid {
  std::array<int, 3> shape{};
  Vec origin{};
  double side = 0;
  std::vector<std::uint8_t> cells;
};

// Obstacles are in one frame (the base's when they were seen, or odometry's), cells in another.
struct Scene {
  std::vector<Thing> things;
  std::vector<Vec> cells;  // centres
  double side = 0;

  // From a robot's segment to an obstacle or a cell; `on_b` is on the axis of a capsule.
  Closest to_thing(const Vec& a, const Vec& b, std::size_t k) const {
    const Thing& t = things[k];
    if (!t.box) return segment_segment(a, b, t.p0, t.p1);
    Closest c = segment_box(t.axes.back(a - t.p0), t.axes.back(b - t.p0), t.half);
    c.on_a = t.axes.turn(c.on_a) + t.p0;
    c.on_b = t.axes.turn(c.on_b) + t.p0;
    return c;
  }
  Closest to_cell(const Vec& a, const Vec& b, std::size_t k) const {
    const double h = side / 2;
    Closest c = segment_box(a - cells[k], b - cells[k], {h, h, h});
    c.on_a = c.on_a + cells[k];
    c.on_b = c.on_b + cells[k];
    return c;
  }
  Vec centre(std::size_t k) const {
    return things[k].box ? things[k].p0 : 0.5 * (things[k].p0 + things[k].p1);
  }
  double ball(std::size_t k) const {
    const Thing& t = things[k];
    return t.box ? norm(t.half) : 0.5 * norm(t.p1 - t.p0) + t.radius;
  }
};

inline std::vector<Vec> centres(const Grid& g) {
  std::vector<Vec> out;
  std::size_t at = 0;
  for (int i = 0; i < g.shape[0]; ++i)
    for (int j = 0; j < g.shape[1]; ++j)
      for (int k = 0; k < g.shape[2]; ++k)
        if (g.cells[at++] != 0)
          out.push_back({g.origin[0] + (i + 0.5) * g.side, g.origin[1] + (j + 0.5) * g.side,
                         g.origin[2] + (k + 0.5) * g.side});
  return out;
}

}  // namespace fuzz
