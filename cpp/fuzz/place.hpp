// Puts things in the way: each grazes the motion at the margin, give or take a few millimetres.
#pragma once

#include "cases.hpp"

namespace fuzz {

struct Grid {
  std::array<int, 3> shape{};
  Vec origin{};
  double side = 0;
  std::vector<std::uint8_t> cells;
};

class Placer {
 public:
  Placer(Random& r, const RobotModel& m, Oracle& oracle) : r_(r), m_(m), oracle_(oracle) {}

  // A point of the robot's surface and the direction from which something comes close to it.
  struct Spot {
    Vec at, normal;  // `at` is where the surface of the thing belongs
  };

  // `before` and `after` are the same motion a little earlier and later.
  bool spot(const Sample& s, const Sample& before, const Sample& after, bool axis, Spot& out) {
    std::vector<std::size_t> moving;
    for (std::size_t c = 0; c < m_.capsules.size(); ++c)
      if (oracle_.outside(c)) moving.push_back(c);
    if (moving.empty()) return false;
    const std::size_t c =
        moving[static_cast<std::size_t>(pick(r_, 0, static_cast<int>(moving.size()) - 1))];
    const double where = pick(r_, 0, 2) / 2.0;
    const auto point = [&](const Sample& at) {
      oracle_.place(at.q.data(), at.base);
      return (1 - where) * oracle_.ends(c)[0] + where * oracle_.ends(c)[1];
    };
    const Vec way = point(after) - point(before), here = point(s);
    const Vec along = oracle_.ends(c)[1] - oracle_.ends(c)[0];
    Vec n{uniform(r_, -1, 1), uniform(r_, -1, 1), uniform(r_, -1, 1)};
    if (axis) {
      n = {};
      n[static_cast<std::size_t>(pick(r_, 0, 2))] = chance(r_, 0.5) ? 1 : -1;
    } else {
      if (norm(along) > 1e-6 && where == 0.5) n = n - (dot(n, along) / dot(along, along)) * along;
      if (norm(way) > 1e-9 && chance(r_, 0.6)) n = n - (dot(n, way) / dot(way, way)) * way;
    }
    if (norm(n) < 1e-3) return false;
    n = (1 / norm(n)) * n;
    // What the tracking errors take away in this direction.
    double tube = 0;
    Sample other = s;
    for (std::size_t j = 0; j < s.width.size(); ++j) {
      if (s.width[j] == 0) continue;
      double& value = j < s.q.size() ? other.q[j] : other.base[j - s.q.size()];
      value += 1e-5;
      tube += std::abs(dot(n, point(other) - here)) * 1e5 * s.width[j];
      value -= 1e-5;
    }
    const double gap = m_.envelope.world_margin + tube + uniform(r_, -0.003, 0.006);
    out = {here + (m_.capsules[c].radius + gap) * n, n};
    return true;
  }

  openral::Primitive thing(const Spot& s, int index) {
    openral::Primitive p;
    p.id = "thing" + std::to_string(index);
    const double size = chance(r_, 0.5) ? uniform(r_, 0.0005, 0.004) : uniform(r_, 0.01, 0.15);
    const Vec side = perpendicular(s.normal);
    const int kind = pick(r_, 0, 3);
    if (kind <= 1) {
      p.radius = size;
      p.p0 = p.p1 = s.at + size * s.normal;
      if (kind == 1) {
        const double length = uniform(r_, 0.01, 0.5);
        p.p0 = p.p0 + (-length) * side;
        p.p1 = p.p1 + (length * uniform(r_, 0, 1)) * side;
      }
      return p;
    }
    p.box = true;
    p.half = {size, uniform(r_, 0.001, 0.2), uniform(r_, 0.001, 0.2)};
    Vec x = s.normal, y = side, z = cross(x, y), corner = s.at;
    if (kind == 3) {  // an edge first
      const double turn = uniform(r_, 0.1, 1.4);
      x = std::cos(turn) * s.normal + std::sin(turn) * side;
      y = cross(z, x);
      corner = corner + (dot(y, s.normal) > 0 ? p.half[1] : -p.half[1]) * y;
    }
    p.p0 = p.p1 = corner + p.half[0] * x;
    for (std::size_t i = 0; i < 3; ++i)
      p.rotation[3 * i] = x[i], p.rotation[3 * i + 1] = y[i], p.rotation[3 * i + 2] = z[i];
    return p;
  }

  // A grid with one occupied cell at the spot, often at the grid's own edge, and a few others.
  Grid grid(const Spot& s) {
    Grid g;
    g.side = chance(r_, 0.3) ? uniform(r_, 0.004, 0.01) : uniform(r_, 0.015, 0.06);
    std::array<int, 3> at{};
    for (std::size_t i = 0; i < 3; ++i) {
      g.shape[i] = pick(r_, 1, 24);
      at[i] = chance(r_, 0.5) ? pick(r_, 0, g.shape[i] - 1) : chance(r_, 0.5) ? 0 : g.shape[i] - 1;
      const double centre = s.at[i] + s.normal[i] * g.side / 2 +
                            (s.normal[i] == 0 ? uniform(r_, -0.55, 0.55) * g.side : 0);
      g.origin[i] = centre - (at[i] + 0.5) * g.side;
    }
    g.cells.assign(static_cast<std::size_t>(g.shape[0] * g.shape[1] * g.shape[2]), 0);
    occupy(g, at);
    for (int i = pick(r_, 0, 3); i-- > 0;)
      occupy(g, {pick(r_, 0, g.shape[0] - 1), pick(r_, 0, g.shape[1] - 1),
                 pick(r_, 0, g.shape[2] - 1)});
    return g;
  }

 private:
  static void occupy(Grid& g, const std::array<int, 3>& at) {
    g.cells[static_cast<std::size_t>((at[0] * g.shape[1] + at[1]) * g.shape[2] + at[2])] = 1;
  }
  Vec perpendicular(const Vec& n) {
    Vec side;
    do side = cross(n, {uniform(r_, -1, 1), uniform(r_, -1, 1), uniform(r_, -1, 1)});
    while (norm(side) < 1e-3);
    return (1 / norm(side)) * side;
  }

  Random& r_;
  const RobotModel& m_;
  Oracle& oracle_;
};

inline std::vector<Vec> centres(const Grid& g) {
  std::vector<Vec> out;
  for (int i = 0; i < g.shape[0]; ++i)
    for (int j = 0; j < g.shape[1]; ++j)
      for (int k = 0; k < g.shape[2]; ++k)
        if (g.cells[static_cast<std::size_t>((i * g.shape[1] + j) * g.shape[2] + k)])
          out.push_back({g.origin[0] + (i + 0.5) * g.side, g.origin[1] + (j + 0.5) * g.side,
                         g.origin[2] + (k + 0.5) * g.side});
  return out;
}

}  // namespace fuzz
