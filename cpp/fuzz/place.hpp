// Puts things in the way: each grazes an allowed behaviour at the margin, give or take millimetres.
#pragma once

#include "caster.hpp"
#include "search.hpp"

namespace fuzz {

class Placer {
 public:
  Placer(Random& r, Figure& figure, const Case& c) : r_(r), f_(figure), m_(figure.model()), c_(c) {}

  // A point of the robot's surface and the direction from which something comes close to it.
  struct Spot {
    Vec at, normal;  // `at` is where the surface of the thing belongs
  };

  // At some time of the chunk, where the joints have strayed towards the spot as far as they may.
  bool spot(const Search& search, double rows, bool axis, Spot& out) {
    std::vector<std::size_t> moving;
    for (std::size_t b = 0; b < f_.bodies.size(); ++b)
      if (f_.bodies[b].outside)
        for (int n = b < f_.own ? 1 : 5; n > 0; --n) moving.push_back(b);
    if (moving.empty()) return false;
    const std::size_t body =
        moving[static_cast<std::size_t>(pick(r_, 0, static_cast<int>(moving.size()) - 1))];
    const double where = pick(r_, 0, 2) / 2.0,
                 time = chance(r_, 0.25) ? rows : uniform(r_, 0, rows);
    const int row = std::min(static_cast<int>(time), c_.rows - 1);
    const View& view = c_.things;
    std::vector<double> low(c_.q.size()), high(low), q(low);
    search.joints().box(row, time - row, low.data(), high.data());
    std::vector<double> knobs(
        static_cast<std::size_t>(std::max(search.base().knobs(), BaseMotion::kChanges)));
    for (double& k : knobs) k = chance(r_, 0.4) ? 1 : chance(r_, 0.5) ? 0 : uniform(r_, 0, 1);
    const Rigid base =
        planar(m_.mobile ? search.base().relative(view, time * c_.dt, knobs.data()) : Vec{});
    for (std::size_t j = 0; j < q.size(); ++j) q[j] = (low[j] + high[j]) / 2;
    f_.place(q.data(), body);
    const auto point = [&]() { return (1 - where) * f_.ends(body)[0] + where * f_.ends(body)[1]; };
    const Vec along = f_.ends(body)[1] - f_.ends(body)[0], here = point();
    const Vec way =
        base.back(base_way(search, view, time, knobs)) + joint_way(search, body, row, here);
    Vec n{uniform(r_, -1, 1), uniform(r_, -1, 1), uniform(r_, -1, 1)};
    if (axis) {
      n = {};
      n[static_cast<std::size_t>(pick(r_, 0, 2))] = chance(r_, 0.5) ? 1 : -1;
      n = base.back(n);
    } else if (norm(along) > 1e-6 && where == 0.5) {
      n = n - (dot(n, along) / dot(along, along)) * along;
    }
    // Beside its way, so that it is not in the way before or after.
    if (!axis && norm(way) > 1e-9 && chance(r_, 0.6)) n = n - (dot(n, way) / dot(way, way)) * way;
    if (norm(n) < 1e-3) return false;
    n = (1 / norm(n)) * n;
    const bool astray = chance(r_, 0.85);
    for (int i : f_.chain(f_.bodies[body].link)) {
      const int j = f_.hinges[static_cast<std::size_t>(i)].coordinate;
      if (j < 0) continue;
      const auto k = static_cast<std::size_t>(j);
      q[k] = !astray ? uniform(r_, low[k], high[k]) : f_.rate(i, here, n) > 0 ? high[k] : low[k];
    }
    f_.place(q.data(), body);
    const double gap = m_.envelope.world_margin + (chance(r_, 0.5) ? uniform(r_, -0.0004, 0.0004)
                                                                   : uniform(r_, -0.003, 0.006));
    out = {base(point() + (f_.bodies[body].radius + gap) * n), base.turn(n)};
    return true;
  }

  Thing thing(const Spot& s, int index) {
    Thing p;
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
    p.axes = {x, y, z, {}};
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
      const bool across = std::abs(s.normal[i]) < 0.5;
      const double centre = s.at[i] + (across ? uniform(r_, -0.55, 0.55) * g.side
                                              : std::copysign(g.side / 2, s.normal[i]));
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
  // Where the joints and the base take a point as time goes on, by its direction.
  Vec joint_way(const Search& search, std::size_t body, int row, const Vec& point) const {
    Vec out{};
    for (int i : f_.chain(f_.bodies[body].link)) {
      const int j = f_.hinges[static_cast<std::size_t>(i)].coordinate;
      if (j < 0) continue;
      const auto k = static_cast<std::size_t>(j);
      const double by = search.joints().nominal(k, row, 1) - search.joints().nominal(k, row, 0);
      out = out + by * Vec{f_.rate(i, point, {1, 0, 0}), f_.rate(i, point, {0, 1, 0}),
                           f_.rate(i, point, {0, 0, 1})};
    }
    return out;
  }
  Vec base_way(const Search& search, const View& view, double time,
               const std::vector<double>& knobs) const {
    if (!m_.mobile) return {};
    const Vec now = search.base().relative(view, time * c_.dt, knobs.data());
    const Vec later = search.base().relative(view, (time + 0.01) * c_.dt, knobs.data());
    return 100 * Vec{later[0] - now[0], later[1] - now[1], 0};
  }
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
  Figure& f_;
  const RobotModel& m_;
  const Case& c_;
};

}  // namespace fuzz
