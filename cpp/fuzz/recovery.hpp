// Recovery: slow motion that leads out of the margin, judged by the commanded path.
#pragma once

#include "search.hpp"

namespace fuzz {

inline std::vector<Touch> all_touches(const Figure& f, const Scene& s) {
  std::vector<Touch> touches;
  for (const auto& [a, b] : f.pairs) touches.push_back({Kind::kSelf, a, b});
  for (std::size_t a = 0; a < f.bodies.size(); ++a) {
    if (!f.bodies[a].outside) continue;
    for (std::size_t k = 0; k < s.things.size(); ++k)
      touches.push_back({Kind::kThing, static_cast<int>(a), static_cast<int>(k)});
    for (std::size_t k = 0; k < s.cells.size(); ++k)
      touches.push_back({Kind::kCell, static_cast<int>(a), static_cast<int>(k)});
  }
  return touches;
}

// What an accepted chunk of a recovering kernel breaks, or nothing.
inline std::string recovery_broken(Search& search, const Figure& f, const Scene& s, const Case& c) {
  const openral::RobotModel& m = f.model();
  const double share = m.envelope.recovery_speed * (1 + 1e-4);
  const JointMotion& joints = search.joints();
  double way = 0;
  for (int r = 0; r < c.rows; ++r)
    for (std::size_t j = 0; j < c.q.size(); ++j) {
      const openral::Coordinate& k = m.coordinates[j];
      const double step = std::abs(joints.nominal(j, r, 1) - joints.nominal(j, r, 0));
      way += step;
      if (k.role == openral::Role::kBody &&
          step > k.velocity * share * c.dt + 2e-6 + (r == 0 ? k.tracking : 0))
        return "recovery speed of " + k.name;
    }
  for (const Slot& slot : c.slots) {
    if (slot.mode == Mode::kJointTorque) return "torque while recovering";
    for (int r = 0; r < c.rows && slot.mode == Mode::kBodyTwist; ++r) {
      if (std::hypot(slot.at(r, 0), slot.at(r, 1)) > m.envelope.base_speed * share ||
          std::abs(slot.at(r, 2)) > m.envelope.base_rate * share)
        return "recovery speed of the base";
      way += c.dt * (std::hypot(slot.at(r, 0), slot.at(r, 1)) + std::abs(slot.at(r, 2)));
    }
  }
  const std::vector<Touch> touches = all_touches(f, s);
  std::vector<double> knobs(static_cast<std::size_t>(search.base().knobs()), 0.0), q(c.q.size());
  const auto place = [&](double t, std::vector<double>& out) {
    const int row = std::min(static_cast<int>(t), c.rows - 1);
    for (std::size_t j = 0; j < q.size(); ++j) q[j] = joints.nominal(j, row, t - row);
    const Vec one = m.mobile ? search.base().relative(c.things, t * c.dt, knobs.data()) : Vec{};
    const Vec two = m.mobile ? search.base().relative(c.cells, t * c.dt, knobs.data()) : Vec{};
    // Pairs of bodies each for itself, and each body by what is nearest to it.
    out.assign(f.bodies.size(), 1e9);
    for (const Touch& touch : touches) {
      const double excess = search.excess(touch, q.data(), one, two);
      double& world = out[static_cast<std::size_t>(touch.a)];
      if (touch.kind == Kind::kSelf)
        out.push_back(excess);
      else
        world = std::min(world, excess);
    }
  };
  std::vector<double> first, now;
  place(0, first);
  const int steps = std::clamp(static_cast<int>(way / 0.002), c.rows, 400);
  double nearer = 0;
  for (int i = 1; i <= steps; ++i) {
    place(static_cast<double>(i) * c.rows / steps, now);
    for (std::size_t k = 0; k < now.size(); ++k)
      nearer = std::max(nearer, std::min(first[k], 0.0) - now[k]);
  }
  if (nearer > 0.0005 + 2e-5)
    return "nearer by " + std::to_string(nearer * 1e3) + " mm, recovering:";
  double before = 1e9, after = 1e9;
  for (std::size_t k = 0; k < now.size(); ++k) {
    before = std::min(before, first[k]);
    after = std::min(after, now[k]);
  }
  return before < -1e-4 && after <= before - 2e-5 ? "no clearance gained" : "";
}

}  // namespace fuzz
