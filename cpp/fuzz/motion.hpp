// What an accepted chunk may make the robot do, mode by mode: the kernel's contract written down
// a second time, as samples of configurations with the width that tracking errors add to them.
#pragma once

#include <random>
#include <string>

#include "openral/chunk.hpp"
#include "oracle.hpp"

namespace fuzz {

using openral::Mode;
using Random = std::mt19937_64;
inline double uniform(Random& r, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(r);
}
inline int pick(Random& r, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(r);
}
inline bool chance(Random& r, double p) { return uniform(r, 0, 1) < p; }

struct Slot {
  Mode mode = Mode::kJointPosition;
  std::string name, frame;
  std::vector<int> coordinates;  // of joint modes; named in the message when `named`
  bool named = false;
  int tool = 0, width = 0;
  std::vector<double> data;
  double at(int row, int k) const {
    return data[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(k)];
  }
};

struct Case {
  std::vector<double> q, qd;
  double dt = 0.05;
  int rows = 0;
  std::vector<Slot> slots;
  Vec moved{};     // the base's pose now, in the frame in which obstacles were seen
  double age = 0;  // of what was measured, s
};

// What nobody knows beforehand: how fast rows are executed, and how far the robot has gone on since
// it was measured, as a share of what its speed then makes it.
struct Luck {
  double jitter = 0, gone = 0;
  double rolled =
      0;  // of a base that nobody drives and that was found moving: share of its braking
};

struct Sample {
  std::vector<double> q, width;  // width: joints, then the base's x, y and yaw
  Vec base{};
  int row = 0;
  double part = 0;
  Luck luck;
  bool coasting = false;
};

inline Vec compose(const Vec& a, const Vec& b) {
  const double c = std::cos(a[2]), s = std::sin(a[2]);
  return {a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2]};
}
// A constant twist in the base's own frame, by many small steps.
inline Vec drive(const Vec& from, const Vec& twist, double seconds) {
  Vec at = from;
  const int steps = 24;
  for (int i = 0; i < steps; ++i) {
    const double h = seconds / steps, a = twist[2] * h;
    const double chord = std::abs(a) > 1e-9 ? std::sin(a / 2) / (a / 2) : 1;
    const double yaw = at[2] + a / 2, c = std::cos(yaw) * chord, s = std::sin(yaw) * chord;
    at = {at[0] + (c * twist[0] - s * twist[1]) * h, at[1] + (s * twist[0] + c * twist[1]) * h,
          at[2] + a};
  }
  return at;
}

class Motion {
 public:
  Motion(const openral::RobotModel& model, const Case& c) : m_(model), c_(c) {
    found_moving();
    poses_.push_back({});
    for (int r = 0; r < c.rows; ++r)
      poses_.push_back(twist_ == nullptr && !find_twist() ? Vec{}
                                                          : drive(poses_.back(), row(r), c.dt));
    reach();
    travel();
  }

  // Rows that an acceptance is good for: with torque, until the next check and the stop after it;
  // torque alone does the same in every row.
  int rows() const {
    bool torque = false;
    for (const Slot& s : c_.slots) torque = torque || s.mode == Mode::kJointTorque;
    if (!torque) return c_.rows;
    const double longest = m_.envelope.recheck + m_.envelope.stop_time;
    return c_.slots.size() == 1 ? 1 : std::clamp(static_cast<int>(longest / c_.dt), 1, c_.rows);
  }
  bool coasts() const {
    for (const Slot& s : c_.slots)
      if (s.mode == Mode::kJointVelocity || s.mode == Mode::kBodyTwist) return true;
    return false;
  }

  // The robot `part` of the way to row r.
  Sample along(int r, double part, const Luck& luck) const {
    Sample out{begun(luck), std::vector<double>(c_.q.size() + 3, 0.0), {}, r, part, luck, false};
    for (const Slot& s : c_.slots)
      for (std::size_t k = 0; k < s.coordinates.size(); ++k) {
        const int column = static_cast<int>(k);
        double& q = out.q[static_cast<std::size_t>(s.coordinates[k])];
        if (s.mode == Mode::kJointPosition || s.mode == Mode::kJointTrajectory) {
          const double before = r == 0 ? q : s.at(r - 1, column);
          q = before + (s.at(r, column) - before) * part;
        } else if (s.mode == Mode::kJointVelocity) {
          double sum = s.at(r, column) * part;
          for (int i = 0; i < r; ++i) sum += s.at(i, column);
          q += sum * c_.dt * (1 + luck.jitter);
        }
      }
    out.base = twist_ ? drive(poses_[static_cast<std::size_t>(r)], row(r), c_.dt * part) : Vec{};
    if (!driven_) out.base = drive({}, rolling_, braking(rolling_) * luck.rolled);
    finish(out);
    return out;
  }

  // At the start, a base that was found moving brakes.
  Sample brake(double share, const Luck& luck) const {
    Sample out = along(0, 0, luck);
    out.coasting = true;
    out.base = start(luck);
    out.base = compose(out.base, drive({}, rolling_, braking(rolling_) * share));
    return out;
  }
  bool rolls() const { return norm(rolling_) > 0; }

  // From `part` of row r on everything that is told velocities goes on while it stops, each at its
  // own pace, and all else stays where it is.
  Sample coast(int r, double part, double arm, double base, const Luck& luck) const {
    Sample out = along(r, part, luck);
    out.coasting = true;
    const openral::Envelope& e = m_.envelope;
    for (const Slot& s : c_.slots)
      for (std::size_t k = 0; k < s.coordinates.size() && s.mode == Mode::kJointVelocity; ++k) {
        const auto j = static_cast<std::size_t>(s.coordinates[k]);
        if (m_.coordinates[j].role != openral::Role::kBody) continue;
        const double q = out.q[j];
        out.q[j] =
            std::clamp(q + s.at(r, static_cast<int>(k)) * e.stop_time * arm,
                       std::min(q, m_.coordinates[j].lower), std::max(q, m_.coordinates[j].upper));
      }
    if (twist_) {
      const Vec v = row(r);
      out.base = drive(poses_[static_cast<std::size_t>(r)], v, c_.dt * part + braking(v) * base);
      out.base = compose(start(luck), out.base);
    }
    return out;
  }

 private:
  bool find_twist() {
    for (const Slot& s : c_.slots)
      if (s.mode == Mode::kBodyTwist) twist_ = &s;
    return twist_ != nullptr;
  }
  Vec row(int r) const { return {twist_->at(r, 0), twist_->at(r, 1), twist_->at(r, 2)}; }

  double braking(const Vec& v) const {
    const openral::Envelope& e = m_.envelope;
    return std::max(e.stop_time, std::hypot(v[0], v[1]) / (2 * e.base_deceleration));
  }
  // How the base moves by its joints, and whether the chunk drives it.
  void found_moving() {
    for (const Slot& s : c_.slots) {
      driven_ = driven_ || s.mode == Mode::kBodyTwist;
      for (int j : s.coordinates)
        driven_ =
            driven_ || m_.coordinates[static_cast<std::size_t>(j)].role == openral::Role::kBase;
    }
    if (m_.base[0] < 0) return;
    const auto at = [&](const std::vector<double>& v, std::size_t i) {
      return v[static_cast<std::size_t>(m_.base[i])];
    };
    const double c = std::cos(at(c_.q, 2)), s = std::sin(at(c_.q, 2));
    rolling_ = {c * at(c_.qd, 0) + s * at(c_.qd, 1), c * at(c_.qd, 1) - s * at(c_.qd, 0),
                at(c_.qd, 2)};
  }
  // The base by now: it has gone on since its pose was measured.
  Vec start(const Luck& luck) const {
    return compose(c_.moved, drive({}, rolling_, c_.age * luck.gone));
  }

  // Where the joints are by now.
  std::vector<double> begun(const Luck& luck) const {
    std::vector<double> q = c_.q;
    for (std::size_t j = 0; j < q.size(); ++j)
      if (m_.coordinates[j].role == openral::Role::kBody) q[j] += c_.qd[j] * c_.age * luck.gone;
    return q;
  }

  // How far torque can take each joint before the next check and the stop after it: pushed as hard
  // as its share allows, either way.
  void reach() {
    up_.assign(c_.q.size(), 0);
    down_ = up_;
    for (const Slot& s : c_.slots) {
      if (s.mode != Mode::kJointTorque) continue;
      double share = 0;
      for (int r = 0; r < c_.rows; ++r)
        for (std::size_t k = 0; k < s.coordinates.size(); ++k)
          share = std::max(share,
                           std::abs(s.at(r, static_cast<int>(k))) /
                               m_.coordinates[static_cast<std::size_t>(s.coordinates[k])].effort);
      for (int coordinate : s.coordinates) {
        const auto j = static_cast<std::size_t>(coordinate);
        if (m_.coordinates[j].role != openral::Role::kBody) continue;
        up_[j] = pushed(j, c_.qd[j], share);
        down_[j] = -pushed(j, -c_.qd[j], share);
      }
    }
  }
  double pushed(std::size_t j, double v, double share) const {
    const openral::Envelope& e = m_.envelope;
    const openral::Coordinate& k = m_.coordinates[j];
    const double top = std::max(k.velocity, std::abs(v));
    const int steps = 400;
    const double h = e.recheck / steps;
    double x = 0, farthest = 0;
    for (int i = 0; i < steps; ++i) {
      const double next = std::min(v + (share > 0 ? share * k.acceleration * h : 0), top);
      x += (v + next) / 2 * h;
      v = next;
      farthest = std::max({farthest, x, x + std::max(v, 0.0) * e.stop_time / 2});
    }
    return farthest;
  }

  // The farthest any joint has been told to go by each row: tracking errors are no larger.
  void travel() {
    double reached = 0;
    for (std::size_t j = 0; j < c_.q.size(); ++j)
      if (m_.coordinates[j].role == openral::Role::kBody)
        reached = std::max(reached, std::abs(c_.qd[j]) * m_.envelope.stop_time);
    if (reached < 1e-4) reached = 0;
    double base = 0, turn = 0;
    for (int r = 0; r < c_.rows; ++r) {
      double step = 0;
      for (const Slot& s : c_.slots)
        for (std::size_t k = 0; k < s.coordinates.size(); ++k) {
          const auto j = static_cast<std::size_t>(s.coordinates[k]);
          if (m_.coordinates[j].role != openral::Role::kBody) continue;
          const int column = static_cast<int>(k);
          if (s.mode == Mode::kJointVelocity)
            step = std::max(step, std::abs(s.at(r, column)) * c_.dt);
          if (s.mode == Mode::kJointPosition || s.mode == Mode::kJointTrajectory)
            step = std::max(step,
                            std::abs(s.at(r, column) - (r == 0 ? c_.q[j] : s.at(r - 1, column))));
        }
      reached += step;
      const auto i = static_cast<std::size_t>(r);
      base += std::hypot(poses_[i + 1][0] - poses_[i][0], poses_[i + 1][1] - poses_[i][1]);
      turn += std::abs(poses_[i + 1][2] - poses_[i][2]);
      travelled_.push_back({reached, base, turn});
    }
  }

  void finish(Sample& s) const {
    const Vec& far = travelled_[static_cast<std::size_t>(s.row)];
    for (std::size_t j = 0; j < c_.q.size(); ++j)
      if (m_.coordinates[j].role == openral::Role::kBody)
        s.width[j] = std::min(m_.coordinates[j].tracking, far[0]) + (up_[j] - down_[j]) / 2;
    for (std::size_t j = 0; j < c_.q.size(); ++j) s.q[j] += (up_[j] + down_[j]) / 2;
    // Half of the odometry's error along each axis of the frame at the start.
    s.width[c_.q.size()] = s.width[c_.q.size() + 1] = std::min(m_.envelope.base_tracking, far[1]);
    s.width[c_.q.size() + 2] = std::min(m_.envelope.base_turn_tracking, far[2]);
    s.base = compose(start(s.luck), s.base);
  }

  const openral::RobotModel& m_;
  const Case& c_;
  const Slot* twist_ = nullptr;
  Vec rolling_{};
  bool driven_ = false;
  std::vector<Vec> poses_, travelled_;
  std::vector<double> up_, down_;  // how far torque can take each joint
};

}  // namespace fuzz
