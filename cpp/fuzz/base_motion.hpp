// Where a mobile base may be while a chunk is executed. Every uncertainty is a knob from 0 to 1:
// how far the base has gone on since odometry told its pose, how late it takes up each change of
// its velocity, how far a stop takes it, at which rate its rows are executed, and where on its way
// the view of the world was taken.
#pragma once

#include "case.hpp"
#include "openral/model.hpp"

namespace fuzz {

class BaseMotion {
 public:
  static constexpr int kGone = 0, kView = 1, kBrake = 2, kChanges = 5;

  BaseMotion(const openral::RobotModel& m, const Case& c) : m_(m), c_(c) {
    if (!m.mobile) return;
    find_velocity();
    for (const Slot& s : c.slots) {
      if (s.mode == Mode::kBodyTwist) twist_ = &s;
      for (std::size_t k = 0; k < s.coordinates.size(); ++k)
        for (std::size_t i = 0; i < 3; ++i)
          if (s.coordinates[k] == m.base[i])
            joints_[i] = {&s, static_cast<int>(k)}, by_joints_ = true;
    }
    if (commanded()) find_pieces();
    travel();
  }

  bool commanded() const { return twist_ != nullptr || by_joints_; }
  // Whether anything about the base is open or in motion.
  bool moves() const {
    return commanded() || norm(found_) > 0 || norm(c_.things.to - c_.things.from) > 0 ||
           norm(c_.cells.to - c_.cells.from) > 0;
  }
  bool found_moving() const { return norm(found_) > 0; }
  int knobs() const { return kChanges + (by_joints_ ? 3 : 1) * static_cast<int>(changes_.size()); }

  // Its pose in odometry's frame at a time of the chunk, s.
  Vec pose(double time, const double* knob) const {
    const Vec start = drive(c_.odometry, found_, gone(knob));
    if (!commanded()) return drive(start, found_, knob[kBrake] * braking(found_));
    return by_joints_ ? joint_pose(time, knob) : twist_pose(start, time, knob);
  }
  // Where the base was when a view was taken.
  Vec view(const View& v, const double* knob) const {
    if (v.fixed) return {};
    if (after(v)) return drive(c_.odometry, found_, knob[kView] * (c_.odometry_age - v.age));
    Vec way = compose(inverted(v.from), v.to);
    way[2] = std::remainder(way[2], 2 * M_PI);
    return compose(v.from, knob[kView] * way);
  }
  Vec relative(const View& v, double time, const double* knob) const {
    return compose(inverted(view(v, knob)), pose(time, knob));
  }

  // How far from `pose` with all knobs in the middle it can be between two times: m and rad.
  std::array<double, 2> radius(const View& v, double middle, double end) const {
    if (!m_.mobile) return {0, 0};
    const double seen = v.fixed ? 0 : norm2(v.to - v.from);
    const double turned_seen =
        v.fixed ? 0 : std::abs(std::remainder(v.to[2] - v.from[2], 2 * M_PI));
    const double old = std::max(c_.odometry_age, 0.0);
    double way = 0.5 * old * norm2(found_) + seen,
           turn = 0.5 * old * std::abs(found_[2]) + turned_seen;
    double full = old * norm2(found_) + way_at(end)[0] + seen;
    if (after(v)) way += old * norm2(found_), turn += old * std::abs(found_[2]);
    if (!commanded()) {
      const double t = braking(found_);
      full += norm2(found_) * t;
      way += norm2(found_) * t / 2;
      turn += std::abs(found_[2]) * t / 2;
    } else {
      const Vec here = way_at(middle), there = way_at(end);
      way += there[0] - here[0];
      turn += there[1] - here[1];
      double most = norm2(found_), fastest = std::abs(found_[2]), late = 0, turning = 0;
      for (const Change& k : changes_) {
        if (k.time > end) break;
        const double off = k.ramp > 0 ? k.longest : k.longest / 2;
        way += norm2(k.by) * off;
        turn += std::abs(k.by[2]) * off;
        full += norm2(k.by) * k.longest;
        most = std::max(most, norm2(k.to));
        fastest = std::max(fastest, std::abs(k.to[2]));
        if (k.time + std::max(k.longest, k.ramp) < 2 * middle - end) continue;
        late += norm2(k.by);
        turning += std::abs(k.by[2]);
      }
      most += late;
      fastest += turning;
      const double t = std::max(m_.envelope.stop_time, most / (2 * m_.envelope.base_deceleration));
      way += most * t;
      turn += fastest * t;
      full += most * t;
    }
    return {way + std::min(turn, 2.0) * full, turn};
  }
  // Odometry's error: no larger than what the base has been commanded to move.
  std::array<double, 2> stray(double time) const {
    if (!m_.mobile) return {0, 0};
    const Vec way = way_at(time);
    return {std::min(m_.envelope.base_tracking, way[0]),
            std::min(m_.envelope.base_turn_tracking, way[1])};
  }

 private:
  struct Change {
    double time = 0;
    Vec by{}, to{};      // old velocity less the new one; the new one
    double longest = 0;  // s that the old one may be kept, as far as the way is concerned
    double ramp = 0;     // s that it takes to slow down steadily, where that leads farther
  };
  // A change is over within the time of a stop, however it comes about, or it comes about with at
  // least the base's deceleration. So the lower half of its knob keeps the old velocity for a part
  // of that time and then drops it, and the upper half slows down steadily, if that leads farther.
  double ends(const Change& k, double knob) const {
    if (k.ramp == 0) return k.time + knob * k.longest;
    return k.time + (knob <= 0.5 ? 2 * knob * m_.envelope.stop_time : (2 * knob - 1) * k.ramp);
  }
  // What is left of the change at a time before its end.
  static double left(const Change& k, double knob, double end, double time) {
    return k.ramp == 0 || knob <= 0.5 ? 1 : (end - time) / (end - k.time);
  }
  struct Piece {
    double time = 0;  // from which on
    Vec velocity{};
  };
  struct Owner {
    const Slot* slot = nullptr;
    int column = 0;
  };

  static double norm2(const Vec& v) { return std::hypot(v[0], v[1]); }
  bool after(const View& v) const { return !v.fixed && v.age < c_.odometry_age - 1e-9; }
  double gone(const double* knob) const {
    const View& v = c_.things;
    if (!after(v)) return knob[kGone] * c_.odometry_age;
    return knob[kView] * (c_.odometry_age - v.age) + knob[kGone] * v.age;
  }
  double braking(const Vec& v) const {
    const openral::Envelope& e = m_.envelope;
    return std::max(e.stop_time, norm2(v) / (2 * e.base_deceleration));
  }
  double measured(const std::vector<double>& of, std::size_t i) const {
    return of[static_cast<std::size_t>(m_.base[i])];
  }
  void find_velocity() {
    if (m_.base[0] < 0) return;
    const double c = std::cos(measured(c_.q, 2)), s = std::sin(measured(c_.q, 2));
    const double x = measured(c_.qd, 0), y = measured(c_.qd, 1);
    found_ = {c * x + s * y, c * y - s * x, measured(c_.qd, 2)};
  }

  // Velocity of a row: a twist, or that of the base's joints in their own frame.
  Vec velocity(int row) const {
    if (twist_ != nullptr) return {twist_->at(row, 0), twist_->at(row, 1), twist_->at(row, 2)};
    Vec out{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (joints_[i].slot == nullptr) continue;
      const Slot& s = *joints_[i].slot;
      const int k = joints_[i].column;
      out[i] = s.mode == Mode::kJointVelocity
                   ? s.at(row, k)
                   : (s.at(row, k) - (row == 0 ? measured(c_.q, i) : s.at(row - 1, k))) / c_.dt;
    }
    return out;
  }
  void find_pieces() {
    Vec before = found_;
    if (by_joints_) before = {measured(c_.qd, 0), measured(c_.qd, 1), measured(c_.qd, 2)};
    for (int r = 0; r < c_.rows; ++r) {
      const Vec now = velocity(r);
      const double size = norm(before - now);
      if (r == 0 || size > 1e-9) pieces_.push_back({r * c_.dt, now});
      if (size > 1e-9) {
        const Vec by = before - now;
        const openral::Envelope& e = m_.envelope;
        const bool slow = !by_joints_ && norm2(by) / (2 * e.base_deceleration) > e.stop_time;
        changes_.push_back(
            {r * c_.dt, by, now, braking(by), slow ? norm2(by) / e.base_deceleration : 0});
      }
      before = now;
    }
  }
  // Way and turn that were commanded before each row.
  void travel() {
    ways_.push_back({});
    for (int r = 0; r < c_.rows; ++r) {
      const Vec v = commanded() ? velocity(r) : Vec{};
      ways_.push_back(ways_.back() + Vec{norm2(v) * c_.dt, std::abs(v[2]) * c_.dt, 0});
    }
  }
  Vec way_at(double time) const {
    const double at = std::clamp(time / c_.dt, 0.0, static_cast<double>(c_.rows));
    const auto row = static_cast<std::size_t>(std::min(at, c_.rows - 1e-9));
    return ways_[row] + (at - static_cast<double>(row)) * (ways_[row + 1] - ways_[row]);
  }

  Vec twist_pose(const Vec& start, double time, const double* knob) const {
    Vec at = start;
    double now = 0;
    std::size_t next = 0;
    while (true) {
      while (next < pieces_.size() && pieces_[next].time <= now + 1e-12) ++next;
      const Vec command = pieces_[next - 1].velocity;
      const bool last = now >= time - 1e-12;
      double until = next < pieces_.size() ? std::min(time, pieces_[next].time) : time;
      // What is left of the changes is constant until one of them ends, or for a short while.
      std::array<std::pair<const Change*, std::array<double, 2>>, 64> open;
      std::size_t count = 0;
      for (std::size_t i = 0; i < changes_.size(); ++i) {
        const Change& k = changes_[i];
        if (k.time > now + 1e-12) break;
        const double share = knob[kChanges + static_cast<int>(i)], end = ends(k, share);
        if (end <= now + 1e-12 || count == open.size()) continue;
        open[count++] = {&k, {share, end}};
        until = std::min(until, k.ramp > 0 ? std::min(end, now + k.ramp / 24) : end);
      }
      const double when = last ? now : (now + until) / 2;
      Vec v = command;
      for (std::size_t i = 0; i < count; ++i) {
        const auto& [k, at_end] = open[i];
        v = v + left(*k, at_end[0], at_end[1], when) * k->by;
      }
      if (last) return drive(at, v, knob[kBrake] * braking(v));
      at = drive(at, v, until - now);
      now = until;
    }
  }
  // Straight in the joints' frame, x, y and yaw each for itself.
  Vec joint_pose(double time, const double* knob) const {
    Vec at{}, v{};
    const int row = std::min(static_cast<int>(time / c_.dt + 1e-12), c_.rows - 1);
    const double part = std::min(time / c_.dt - row, 1.0);
    for (std::size_t i = 0; i < 3; ++i) {
      const double start = measured(c_.q, i) + measured(c_.qd, i) * gone(knob);
      at[i] = start;
      if (joints_[i].slot == nullptr) continue;
      const Slot& s = *joints_[i].slot;
      const int k = joints_[i].column;
      if (s.mode == Mode::kJointVelocity) {
        double sum = part * s.at(row, k);
        for (int r = 0; r < row; ++r) sum += s.at(r, k);
        at[i] += sum * c_.dt;
      } else {
        const double before = row == 0 ? start : s.at(row - 1, k);
        at[i] = before + part * (s.at(row, k) - before);
      }
    }
    v = velocity(row);
    for (std::size_t n = 0; n < changes_.size(); ++n) {
      const Change& c = changes_[n];
      if (c.time > time) break;
      for (std::size_t i = 0; i < 3; ++i) {
        const double kept = knob[static_cast<std::size_t>(kChanges) + 3 * n + i] * c.longest;
        at[i] += c.by[i] * std::min(time - c.time, kept);
        if (time - c.time < kept) v[i] += c.by[i];
      }
    }
    for (std::size_t i = 0; i < 3; ++i)
      at[i] += v[i] * knob[static_cast<std::size_t>(kBrake) + i] * braking(v);
    const Vec from{measured(c_.q, 0), measured(c_.q, 1), measured(c_.q, 2)};
    return compose(c_.odometry, compose(inverted(from), at));
  }

  const openral::RobotModel& m_;
  const Case& c_;
  const Slot* twist_ = nullptr;
  std::array<Owner, 3> joints_{};
  bool by_joints_ = false;
  Vec found_{};  // measured twist
  std::vector<Piece> pieces_;
  std::vector<Change> changes_;
  std::vector<Vec> ways_;
};

}  // namespace fuzz
