// Cartesian modes: the path that was asked of the tool, and an inverse kinematics of the fuzzer's
// own that says whether joints could follow it.
#pragma once

#include "figure.hpp"

namespace fuzz {

class Follower {
 public:
  Follower(const openral::RobotModel& model, Figure& figure, const Case& c, const Slot& slot)
      : m_(model), o_(figure), c_(c), slot_(slot), tool_(static_cast<std::size_t>(slot.tool)) {
    for (int link = m_.tools[tool_].link; link > 0;
         link = m_.joints[static_cast<std::size_t>(link) - 1].parent)
      chain_.push_back(link - 1);
    targets_.push_back(pose(c.q));
    for (int r = 0; r < c.rows; ++r) targets_.push_back(advance(targets_.back(), r, 1));
  }

  // How far a configuration's tool is from where it was asked to be, m and rad.
  std::array<double, 2> missed(const std::vector<double>& q, int r, double part) {
    const Rigid at = pose(q), wanted = advance(targets_[static_cast<std::size_t>(r)], r, part);
    return {norm(at.at - wanted.at), norm(difference(at, wanted))};
  }

  // Whether joints within their ranges and speeds reach every row.
  bool followable() {
    std::vector<double> q = c_.q;
    for (int r = 0; r < c_.rows; ++r) {
      const std::vector<double> before = q;
      if (!solve(targets_[static_cast<std::size_t>(r) + 1], q)) return false;
      for (std::size_t j = 0; j < q.size(); ++j) {
        const openral::Coordinate& k = m_.coordinates[j];
        if (std::abs(q[j] - before[j]) > k.velocity * c_.dt) return false;
        if (q[j] < std::min(k.lower, c_.q[j]) || q[j] > std::max(k.upper, c_.q[j])) return false;
      }
    }
    return true;
  }

 private:
  Rigid pose(const std::vector<double>& q) {
    o_.place(q.data());
    return o_.tool(tool_);
  }
  bool moves_base(const openral::Joint& j) const {
    return m_.coordinates[static_cast<std::size_t>(j.coordinate)].role == openral::Role::kBase;
  }

  Rigid advance(const Rigid& from, int r, double part) const {
    if (slot_.mode == Mode::kCartesianPose) {
      const Vec at{slot_.at(r, 0), slot_.at(r, 1), slot_.at(r, 2)};
      const Vec axis{slot_.at(r, 3), slot_.at(r, 4), slot_.at(r, 5)};
      const Rigid goal =
          norm(axis) > 1e-12 ? turned(axis, 2 * std::atan2(norm(axis), slot_.at(r, 6))) : Rigid{};
      return step(from, at - from.at, difference(from, goal), part);
    }
    const double scale = slot_.mode == Mode::kCartesianTwist ? c_.dt : 1;
    const Vec shift{slot_.at(r, 0) * scale, slot_.at(r, 1) * scale, slot_.at(r, 2) * scale};
    const Vec turn{slot_.at(r, 3) * scale, slot_.at(r, 4) * scale, slot_.at(r, 5) * scale};
    if (slot_.frame.empty()) return step(from, shift, turn, part);
    return step(from, from.turn(shift), from.turn(turn), part);
  }
  static Rigid step(const Rigid& from, const Vec& shift, const Vec& turn, double part) {
    Rigid to = from;
    if (norm(turn) > 1e-12) {
      const Rigid r = turned(turn, norm(turn) * part);
      to = {r.turn(from.x), r.turn(from.y), r.turn(from.z), from.at};
    }
    to.at = from.at + part * shift;
    return to;
  }
  // The turn from one orientation to another as a vector, for turns well below half a circle.
  static Vec difference(const Rigid& a, const Rigid& b) {
    const Vec w = 0.5 * (cross(a.x, b.x) + cross(a.y, b.y) + cross(a.z, b.z));
    const double sine = norm(w), cosine = (dot(a.x, b.x) + dot(a.y, b.y) + dot(a.z, b.z) - 1) / 2;
    return sine < 1e-12 ? w : (std::atan2(sine, cosine) / sine) * w;
  }

  bool solve(const Rigid& target, std::vector<double>& q) {
    const std::size_t n = q.size();
    for (int round = 0; round < 8; ++round) {
      const Rigid at = pose(q);
      const Vec shift = target.at - at.at, turn = difference(at, target);
      if (norm(shift) < 1e-7 && norm(turn) < 1e-7) return true;
      std::vector<std::array<double, 6>> columns(n, std::array<double, 6>{});
      for (int k : chain_) {
        const openral::Joint& joint = m_.joints[static_cast<std::size_t>(k)];
        if (joint.kind == openral::JointKind::kFixed || moves_base(joint)) continue;
        const Rigid& link = o_.link(k + 1);
        const Vec axis = (joint.multiplier / norm(joint.axis)) * link.turn(joint.axis);
        const bool turns = joint.kind == openral::JointKind::kRevolute;
        const Vec linear = turns ? cross(axis, at.at - link.at) : axis;
        auto& c = columns[static_cast<std::size_t>(joint.coordinate)];
        for (std::size_t i = 0; i < 3; ++i) {
          c[i] += linear[i];
          if (turns) c[3 + i] += axis[i];
        }
      }
      double a[6][7]{};
      for (std::size_t r = 0; r < 6; ++r) {
        for (std::size_t s = 0; s < 6; ++s)
          for (const auto& c : columns) a[r][s] += c[r] * c[s];
        a[r][r] += 1e-9;
        a[r][6] = r < 3 ? shift[r] : turn[r - 3];
      }
      if (!eliminate(a)) return false;
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t r = 0; r < 6; ++r) q[j] += columns[j][r] * a[r][6];
    }
    return false;
  }
  static bool eliminate(double (&a)[6][7]) {
    for (std::size_t i = 0; i < 6; ++i) {
      std::size_t best = i;
      for (std::size_t r = i + 1; r < 6; ++r)
        if (std::abs(a[r][i]) > std::abs(a[best][i])) best = r;
      if (std::abs(a[best][i]) < 1e-14) return false;
      std::swap(a[i], a[best]);
      for (std::size_t r = 0; r < 6; ++r) {
        if (r == i) continue;
        const double f = a[r][i] / a[i][i];
        for (std::size_t s = i; s < 7; ++s) a[r][s] -= f * a[i][s];
      }
    }
    for (std::size_t i = 0; i < 6; ++i) a[i][6] /= a[i][i];
    return true;
  }

  const openral::RobotModel& m_;
  Figure& o_;
  const Case& c_;
  const Slot& slot_;
  std::size_t tool_;
  std::vector<int> chain_;
  std::vector<Rigid> targets_;
};

}  // namespace fuzz
