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

inline void write_link(const RobotModel& m, int link) {
  for (std::size_t c = 0; c < m.capsules.size(); ++c)
    if (m.capsules[c].link == link)
      write_capsule(m.capsules[c].p0, m.capsules[c].p1, m.capsules[c].radius, "c", c);
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
    write_link(m, static_cast<int>(i) + 1);
    std::printf("</body>");
  }
}

inline void write_things(const Oracle& oracle) {
  for (std::size_t o = 0; o < oracle.things.size(); ++o) {
    const openral::Primitive& p = oracle.things[o];
    if (!p.box) {
      write_capsule(p.p0, p.p1, p.radius, "o", o);
      continue;
    }
    std::printf("<geom name=\\\"o%zu\\\" type=\\\"box\\\" size=\\\"%.17g %.17g %.17g\\\" ", o,
                p.half[0], p.half[1], p.half[2]);
    write_pose(rigid({p.rotation, p.p0}));
    std::printf("/>");
  }
}

// One JSON object a line: the scene, joint values, and distances by pair of geoms.
inline int write_poses(long count, std::uint64_t seed, const std::vector<RobotModel>& shipped) {
  for (long n = 0; n < count; ++n) {
    Random r(seed * 7919 + static_cast<std::uint64_t>(n));
    const RobotModel m = !shipped.empty() && n % 2 == 1
                             ? shipped[static_cast<std::size_t>(n / 2) % shipped.size()]
                             : testing::robot(r);
    Oracle oracle(m);
    const std::vector<double> q = Caster(r, m, oracle).state();
    const Vec base = m.mobile ? Vec{0.3, -0.2, 0.7} : Vec{};
    Sample s{q, std::vector<double>(q.size() + 3, 0.0), base, 0, 0, {}, false};
    Placer placer(r, m, oracle);
    for (int i = 0; i < 6; ++i) {
      Placer::Spot spot;
      if (placer.spot(s, s, s, false, spot)) oracle.things.push_back(placer.thing(spot, i));
    }
    oracle.place(q.data(), base);
    Rigid root = turned({0, 0, 1}, base[2]);
    root.at = {base[0], base[1], 0};
    std::printf("{\"mjcf\": \"<mujoco><compiler angle=\\\"radian\\\"/><worldbody>");
    write_things(oracle);
    std::printf("<body ");
    write_pose(root * rigid(m.root));
    std::printf(">");
    write_link(m, 0);
    std::printf("</body></worldbody></mujoco>\", \"joints\": {");
    bool first = true;
    for (std::size_t i = 0; i < m.joints.size(); ++i) {
      const openral::Joint& j = m.joints[i];
      if (j.kind == openral::JointKind::kFixed ||
          m.coordinates[static_cast<std::size_t>(j.coordinate)].role == Role::kBase)
        continue;
      std::printf("%s\"j%zu\": %.17g", first ? "" : ", ", i,
                  j.multiplier * q[static_cast<std::size_t>(j.coordinate)] + j.offset);
      first = false;
    }
    std::printf("}, \"distances\": [");
    first = true;
    const auto line = [&](const char* kind, std::size_t a, std::size_t b, double distance) {
      std::printf("%s[\"c%zu\", \"%s%zu\", %.12g]", first ? "" : ", ", a, kind, b, distance);
      first = false;
    };
    for (const auto& [a, b] : m.pairs)
      line("c", static_cast<std::size_t>(a), static_cast<std::size_t>(b),
           oracle.excess(Near::kSelf, a, b) + m.envelope.self_margin);
    for (std::size_t c = 0; c < m.capsules.size(); ++c)
      for (std::size_t o = 0; o < oracle.things.size(); ++o)
        line("o", c, o,
             oracle.excess(Near::kThing, static_cast<int>(c), static_cast<int>(o)) +
                 m.envelope.world_margin);
    std::printf("]}\n");
  }
  return 0;
}

}  // namespace fuzz
