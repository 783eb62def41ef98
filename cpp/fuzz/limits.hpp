// Limits that an accepted chunk must keep: ranges and speeds of joints, grippers, tools and the
// base.
#pragma once

#include "figure.hpp"
#include "joint_motion.hpp"

namespace fuzz {

class Limits {
 public:
  // `c` is what is executed; `resolved` where it came from a path of a tool.
  Limits(Figure& f, const Case& c, const JointMotion& joints, bool resolved)
      : f_(f), m_(f.model()), c_(c), joints_(joints), resolved_(resolved) {}

  // The limit that is broken, or nothing.
  std::string broken() {
    for (const Slot& s : c_.slots) {
      if (s.mode == Mode::kBodyTwist) base(s);
      for (std::size_t k = 0; k < s.coordinates.size(); ++k)
        joint(s, static_cast<int>(k), static_cast<std::size_t>(s.coordinates[k]));
    }
    tools();
    return found_;
  }

 private:
  static constexpr double kMore = 1 + 1e-5, kRoom = 2e-6;

  void base(const Slot& s) {
    const openral::Envelope& e = m_.envelope;
    for (int r = 0; r < c_.rows; ++r) {
      if (std::hypot(s.at(r, 0), s.at(r, 1)) > e.base_speed * kMore ||
          std::abs(s.at(r, 2)) > e.base_rate * kMore)
        found_ = "base speed";
      if (m_.differential && std::abs(s.at(r, 1)) > 1e-6) found_ = "sideways";
    }
  }

  void joint(const Slot& s, int column, std::size_t j) {
    const openral::Coordinate& k = m_.coordinates[j];
    const bool grips = k.role == openral::Role::kGripper;
    const double gone = std::abs(c_.qd[j]) * c_.age;
    const double low = std::min(k.lower, c_.q[j]), high = std::max(k.upper, c_.q[j]);
    for (int r = 0; r < c_.rows; ++r) {
      if (s.mode == Mode::kJointTorque) {
        if (std::abs(s.at(r, column)) > k.effort * kMore) found_ = "effort of " + k.name;
      } else if (s.mode == Mode::kJointVelocity) {
        if (std::abs(s.at(r, column)) > k.velocity * kMore)
          found_ =
              "speed of " + k.name + " " + std::to_string(std::abs(s.at(r, column)) / k.velocity);
        velocity_range(j, r, low, high, grips);
      } else if (grips) {
        const double goal = JointMotion::goal(s, r, column, k);
        if (goal < k.lower - kRoom || goal > k.upper + kRoom) found_ = "range of " + k.name;
        const bool paced = by_place(s.mode) && r > 0;
        if (paced && std::abs(goal - s.at(r - 1, column)) > k.velocity * c_.dt * kMore + kRoom)
          found_ = "speed of gripper " + k.name;
      } else if (by_place(s.mode)) {
        const double at = s.at(r, column), before = r == 0 ? c_.q[j] : s.at(r - 1, column);
        if (at < low - kRoom || at > high + kRoom) found_ = "position of " + k.name;
        const double slack = kRoom + (r == 0 ? k.tracking + gone : 0);
        if (std::abs(at - before) > k.velocity * c_.dt * kMore + slack)
          found_ = "velocity of " + k.name;
      }
    }
  }
  // Lag and jitter count; where a joint comes back from outside its range they do not.
  void velocity_range(std::size_t j, int r, double low, double high, bool grips) {
    const double way = joints_.nominal(j, r, 1) - c_.q[j];
    double least, most;
    joints_.uncertain(j, r, 1, least, most);
    const double room = grips ? 1e-5 : 1e-5;
    if ((way > 0 && most > high + room) || (way < 0 && least < low - room))
      found_ = "position of " + m_.coordinates[j].name;
  }

  void tools() {
    const openral::Envelope& e = m_.envelope;
    for (const Slot& s : c_.slots)
      if (!by_place(s.mode) && s.mode != Mode::kJointVelocity && s.mode != Mode::kBodyTwist) return;
    bool bounded = e.tool_speed < 100;
    for (double v : e.workspace_lower) bounded = bounded || v > -1e6;
    for (double v : e.workspace_upper) bounded = bounded || v < 1e6;
    if (!bounded) return;
    // A tool that follows its path by joints varies its speed a little.
    const double slack = resolved_ ? 1.021 : 1 + 1e-4;
    std::vector<double> q(c_.q.size());
    std::vector<Vec> last;
    for (int r = 0; r < c_.rows; ++r)
      for (int i = r == 0 ? 0 : 1; i <= 2; ++i) {
        for (std::size_t j = 0; j < q.size(); ++j) {
          q[j] = joints_.nominal(j, r, i / 2.0);
          // Row 0 begins where the robot is expected to be by now.
          const bool placed = joints_.owner(j) != nullptr && by_place(joints_.owner(j)->mode);
          const double lag = 0.5 * c_.qd[j] * c_.age;
          if (!placed) q[j] += lag;
          if (placed && r == 0) q[j] += lag * (1 - i / 2.0);
        }
        f_.place(q.data());
        for (std::size_t t = 0; t < m_.tools.size(); ++t) {
          const Vec p = f_.tool(t).at;
          if (last.size() == m_.tools.size()) {
            if (norm(p - last[t]) / (c_.dt / 2) > e.tool_speed * slack + 1e-5)
              found_ = "tool speed";
            last[t] = p;
          } else {
            last.push_back(p);
          }
          for (std::size_t k = 0; k < 3; ++k)
            if (p[k] < e.workspace_lower[k] - kRoom || p[k] > e.workspace_upper[k] + kRoom)
              found_ = "workspace";
        }
      }
  }

  Figure& f_;
  const openral::RobotModel& m_;
  const Case& c_;
  const JointMotion& joints_;
  bool resolved_;
  std::string found_;
};

}  // namespace fuzz
