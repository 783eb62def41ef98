// Scenes as MJCF with the distances that the oracle finds in them, for a comparison with MuJoCo.
#pragma once

#include <cstdio>

#include "place.hpp"

namespace fuzz {

inline void write_pose(const Rigid& r) {
  std::printf("pos=\\\"%.17g %.17g %.17g\\\" xyaxes=\\\"%.17g %.17g %.17g %.17g %.17g %.17g\\\"",
              r.at[0], r.at[1], r.at[2], r.x[0], r.x[1], r.x[2], r.y[0], r.y[1], r.y[2]);
}
inline void write_capsule(const Vec& a, const Vec& b, double radius, const char* kind,
                          std::size_t i) {
  if (norm(a - b) < 1e-9)
    std::printf(
        "<geom name=\\\"%s%zu\\\" type=\\\"sphere\\\" pos=\\\"%.17g %.17g %.17g\\\" "
        "size=\\\"%.17g\\\"/>",
        kind, i, a[0], a[1], a[2], radius);
  else
    std::printf(
        "<geom name=\\\"%s%zu\\\" type=\\\"capsule\\\" fromto=\\\"%.17g %.17g %.17g %.17g %.17g "
        "%.17g\\\" size=\\\"%.17g\\\"/>",
        kind, i, a[0], a[1], a[2], b[0], b[1], b[2], radius);
}

inline void write_link(const RobotModel& m, const Figure& f, int link) {
  for (std::size_t c = 0; c < f.bodies.size(); ++c)
    if (f.bodies[c].link == link)
      write_capsule(f.bodies[c].p0, f.bodies[c].p1, f.bodies[c].radius, "c", c);
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const openral::Joint& j = m.joints[i];
    if (j.parent != link) continue;
    std::printf("<body ");
    write_pose(rigid(j.origin));
    std::printf("><inertial pos=\\\"0 0 0\\\" mass=\\\"1\\\" diaginertia=\\\"1 1 1\\\"/>");
    const bool fixed = j.kind == openral::JointKind::kFixed ||
                       m.coordinates[static_cast<std::size_t>(j.coordinate)].role == Role::kBase;
    if (!fixed)
      std::printf("<joint name=\\\"j%zu\\\" type=\\\"%s\\\" axis=\\\"%.17g %.17g %.17g\\\"/>", i,
                  j.kind == openral::JointKind::kRevolute ? "hinge" : "slide", j.axis[0], j.axis[1],
                  j.axis[2]);
    write_link(m, f, static_cast<int>(i) + 1);
    std::printf("</body>");
  }
}

inline void write_things(const Scene& scene) {
  for (std::size_t o = 0; o < scene.things.size(); ++o) {
    const Thing& t = scene.things[o];
    if (!t.box) {
      write_capsule(t.p0, t.p1, t.radius, "o", o);
      continue;
    }
    std::printf("<geom name=\\\"o%zu\\\" type=\\\"box\\\" size=\\\"%.17g %.17g %.17g\\\" ", o,
                t.half[0], t.half[1], t.half[2]);
    Rigid place = t.axes;
    place.at = t.p0;
    write_pose(place);
    std::printf("/>");
  }
}

// One JSON object a line: the scene, joint values, and distances by pair of geoms.
inline int write_poses(long count, std::uint64_t seed, const std::vector<RobotModel>& shipped) {
  for (long n = 0; n < count; ++n) {
    Random r(seed * 7919 + static_cast<std::uint64_t>(n));
    RobotModel m = !shipped.empty() && n % 2 == 1
                       ? shipped[static_cast<std::size_t>(n / 2) % shipped.size()]
                       : drawn_robot(r);
    const std::vector<Attached> attached = draw_attached(r, m);
    Figure figure(m, attached);
    Case c;
    c.q = Caster(r, m, figure).state();
    c.qd.assign(c.q.size(), 0);
    c.rows = 1;
    c.slots.emplace_back();
    c.odometry = m.mobile ? Vec{0.3, -0.2, 0.7} : Vec{};
    Scene scene;
    Search search(r, figure, scene, c);
    Placer placer(r, figure, c);
    for (int i = 0; i < 6; ++i) {
      Placer::Spot spot;
      if (placer.spot(search, 1, false, spot)) scene.things.push_back(placer.thing(spot, i));
    }
    std::printf("{\"mjcf\": \"<mujoco><compiler angle=\\\"radian\\\"/><worldbody>");
    write_things(scene);
    std::printf("<body ");
    write_pose(planar(c.odometry) * rigid(m.root));
    std::printf(">");
    write_link(m, figure, 0);
    std::printf("</body></worldbody></mujoco>\", \"joints\": {");
    bool first = true;
    for (std::size_t i = 0; i < figure.hinges.size(); ++i) {
      const Figure::Hinge& h = figure.hinges[i];
      if (h.coordinate < 0) continue;
      std::printf("%s\"j%zu\": %.17g", first ? "" : ", ", i,
                  h.multiplier * c.q[static_cast<std::size_t>(h.coordinate)] + h.offset);
      first = false;
    }
    std::printf("}, \"distances\": [");
    first = true;
    const auto line = [&](const char* kind, const Touch& t, double margin) {
      const double excess = search.excess(t, c.q.data(), c.odometry, c.odometry);
      std::printf("%s[\"c%d\", \"%s%d\", %.12g]", first ? "" : ", ", t.a, kind, t.b,
                  excess + margin);
      first = false;
    };
    for (const auto& [a, b] : figure.pairs) line("c", {Kind::kSelf, a, b}, m.envelope.self_margin);
    for (std::size_t b = 0; b < figure.bodies.size(); ++b)
      for (std::size_t k = 0; k < scene.things.size(); ++k)
        line("o", {Kind::kThing, static_cast<int>(b), static_cast<int>(k)},
             m.envelope.world_margin);
    std::printf("]}\n");
  }
  return 0;
}

}  // namespace fuzz
