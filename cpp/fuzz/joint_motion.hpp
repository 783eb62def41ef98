// Where the joints may be while a chunk is executed: the specification written down as one interval
// a joint, for each place in the chunk. Joints are independent within these intervals: each may
// stop at its own pace, lag, stray and jitter by itself.
#pragma once

#include <span>

#include "case.hpp"
#include "openral/model.hpp"

namespace fuzz {

class JointMotion {
 public:
  JointMotion(const openral::RobotModel& m, const Case& c) : m_(m), c_(c), n_(c.q.size()) {
    low_ = high_ = c.q;
    for (std::size_t j = 0; j < n_; ++j) {
      const double gone = c.qd[j] * c.age;
      low_[j] += std::min(gone, 0.0);
      high_[j] += std::max(gone, 0.0);
    }
    owners_.resize(n_);
    for (const Slot& s : c.slots)
      for (std::size_t k = 0; k < s.coordinates.size(); ++k)
        owners_[static_cast<std::size_t>(s.coordinates[k])] = {&s, static_cast<int>(k)};
    sums();
    commanded();
    pushes();
    grips();
  }

  // The intervals at `part` of the way to a row, for every coordinate; those of the base are left
  // where they were measured.
  void box(int row, double part, double* low, double* high) const {
    const double told = reached(row, part);
    for (std::size_t j = 0; j < n_; ++j) {
      low[j] = low_[j];
      high[j] = high_[j];
      const openral::Coordinate& k = m_.coordinates[j];
      if (k.role == openral::Role::kBase) continue;
      if (k.role == openral::Role::kGripper) {
        low[j] = grip_low_[at(row, j)];
        high[j] = grip_high_[at(row, j)];
        continue;
      }
      body(j, row, part, low[j], high[j]);
      const double stray = std::min(k.tracking, told);
      low[j] -= stray;
      high[j] += stray;
    }
  }
  // Where a joint is commanded to be at the end of a row, without anything uncertain.
  double nominal(std::size_t j, int row, double part) const {
    const Owner& o = owners_[j];
    if (o.slot == nullptr || row < 0) return c_.q[j];
    if (by_place(o.slot->mode)) {
      const double before = row == 0 ? c_.q[j] : o.slot->at(row - 1, o.column);
      return before + part * (o.slot->at(row, o.column) - before);
    }
    if (o.slot->mode == Mode::kJointVelocity)
      return c_.q[j] + travel_[at(row, j)] + part * c_.dt * o.slot->at(row, o.column);
    return c_.q[j];
  }
  bool only_grippers() const {
    for (const Slot& s : c_.slots) {
      if (s.coordinates.empty()) return false;
      for (int j : s.coordinates)
        if (m_.coordinates[static_cast<std::size_t>(j)].role != openral::Role::kGripper)
          return false;
    }
    return true;
  }
  bool wide() const {
    for (const Slot& s : c_.slots)
      if (s.mode == Mode::kJointVelocity || s.mode == Mode::kJointTorque) return true;
    return false;
  }
  const Slot* owner(std::size_t j) const { return owners_[j].slot; }
  // Where a velocity-commanded joint may be by lag and jitter, before any stop.
  void uncertain(std::size_t j, int row, double part, double& low, double& high) const {
    const Owner& o = owners_[j];
    const double way = travel_[at(row, j)] + part * c_.dt * o.slot->at(row, o.column);
    const double jitter = m_.envelope.jitter * std::abs(way);
    low = low_[j] + way - jitter;
    high = high_[j] + way + jitter;
  }

 private:
  struct Owner {
    const Slot* slot = nullptr;
    int column = 0;
  };
  std::size_t at(int row, std::size_t j) const { return static_cast<std::size_t>(row) * n_ + j; }

  void body(std::size_t j, int row, double part, double& low, double& high) const {
    const Owner& o = owners_[j];
    const double stop = m_.envelope.stop_time;
    if (o.slot == nullptr) {  // nobody commands it any more: it comes to rest
      extend(j, c_.qd[j] * stop, low, high);
    } else if (by_place(o.slot->mode)) {
      const double to = o.slot->at(row, o.column);
      const double from_low = row == 0 ? low_[j] : o.slot->at(row - 1, o.column);
      const double from_high = row == 0 ? high_[j] : from_low;
      low = from_low + part * (to - from_low);
      high = from_high + part * (to - from_high);
    } else if (o.slot->mode == Mode::kJointVelocity) {
      uncertain(j, row, part, low, high);
      extend(j, o.slot->at(row, o.column) * stop, low, high);
    } else if (o.slot->mode == Mode::kJointTorque) {
      low = low_[j] - down_[j];
      high = high_[j] + up_[j];
    }
  }
  // A stop takes a joint on by any share of `way`, to the end of its range and no farther.
  void extend(std::size_t j, double way, double& low, double& high) const {
    const openral::Coordinate& k = m_.coordinates[j];
    if (way > 0) high = std::min(high + way, std::max(high, k.upper));
    if (way < 0) low = std::max(low + way, std::min(low, k.lower));
  }

  // Travel of velocity rows before each row.
  void sums() {
    travel_.assign(n_ * static_cast<std::size_t>(c_.rows), 0);
    for (std::size_t j = 0; j < n_; ++j) {
      if (owners_[j].slot == nullptr || owners_[j].slot->mode != Mode::kJointVelocity) continue;
      double sum = 0;
      for (int r = 0; r < c_.rows; ++r) {
        travel_[at(r, j)] = sum;
        sum += c_.dt * owners_[j].slot->at(r, owners_[j].column);
      }
    }
  }

  // How far the robot has been commanded to move by each row: no joint strays more than that.
  void commanded() {
    double sum = 0;
    for (std::size_t j = 0; j < n_; ++j)
      if (m_.coordinates[j].role == openral::Role::kBody)
        sum = std::max(sum, std::abs(c_.qd[j]) * m_.envelope.stop_time);
    if (sum < 1e-4) sum = 0;
    told_.push_back(sum);
    for (int r = 0; r < c_.rows; ++r) {
      double most = 0;
      for (std::size_t j = 0; j < n_; ++j) {
        if (m_.coordinates[j].role != openral::Role::kBody) continue;
        most = std::max(most, std::abs(nominal(j, r, 1) - nominal(j, r, 0)));
      }
      told_.push_back(told_.back() + most);
    }
  }
  double reached(int row, double part) const {
    const auto r = static_cast<std::size_t>(row);
    return told_[r] + part * (told_[r + 1] - told_[r]);
  }

  // How far torque can take each joint either way before the next check and in the stop after it.
  void pushes() {
    up_.assign(n_, 0);
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
        down_[j] = pushed(j, -c_.qd[j], share);
      }
    }
  }
  // A joint at speed `v` that is pushed as hard as its share allows; analytic.
  double pushed(std::size_t j, double v, double share) const {
    const openral::Envelope& e = m_.envelope;
    const openral::Coordinate& k = m_.coordinates[j];
    const double a = share > 0 ? share * k.acceleration : 0;
    if (v < 0) v = std::min(0.0, v + (k.acceleration < 1e6 ? k.acceleration * c_.age : 1e9));
    const double top = std::max(k.velocity, std::abs(v));
    const double period = e.recheck;
    // Farthest over all times up to the check, with the stop after it.
    const auto ends = [&](double t) {
      double x, w;
      if (!(a < 1e6)) {
        w = top;
        x = top * t;
      } else {
        const double rise = a > 0 ? std::max(0.0, (top - v) / a) : 1e9;
        const double ramp = std::min(t, rise);
        w = v + (a > 0 ? a * ramp : 0);
        x = v * ramp + (a > 0 ? a * ramp * ramp / 2 : 0) + w * (t - ramp);
      }
      return x + std::max(w, 0.0) * e.stop_time / 2;  // it slows down steadily
    };
    return std::max({0.0, ends(period), ends(0)});
  }

  // Grippers go to their goals at their own pace, during the chunk and after it.
  void grips() {
    const std::size_t size = n_ * static_cast<std::size_t>(std::max(c_.rows, 1));
    grip_low_.assign(size, 0);
    grip_high_.assign(size, 0);
    for (std::size_t j = 0; j < n_; ++j) {
      if (m_.coordinates[j].role != openral::Role::kGripper) continue;
      double low = low_[j], high = high_[j];
      bool in_force = false;
      for (const auto& [coordinate, goal] : c_.goals)
        if (static_cast<std::size_t>(coordinate) == j) {
          low = std::min(low, goal);
          high = std::max(high, goal);
          in_force = true;
        }
      if (!in_force) extend(j, c_.qd[j] * m_.envelope.stop_time, low, high);
      for (int r = 0; r < c_.rows; ++r) {
        grip_row(j, r, low, high);
        grip_low_[at(r, j)] = low;
        grip_high_[at(r, j)] = high;
      }
    }
  }
  void grip_row(std::size_t j, int r, double& low, double& high) const {
    const Owner& o = owners_[j];
    if (o.slot == nullptr) return;
    const openral::Coordinate& k = m_.coordinates[j];
    double from = high, to = low;
    if (o.slot->mode == Mode::kJointVelocity) {
      uncertain(j, r, 1, to, from);
      to = std::max(to, std::min(low, k.lower));
      from = std::min(from, std::max(high, k.upper));
    } else if (o.slot->mode == Mode::kJointTorque) {
      const double way = k.velocity * (m_.envelope.recheck + m_.envelope.stop_time);
      to = std::max(low_[j] - way, std::min(low_[j], k.lower));
      from = std::min(high_[j] + way, std::max(high_[j], k.upper));
    } else {
      from = to = goal(*o.slot, r, o.column, k);
    }
    low = std::min(low, to);
    high = std::max(high, from);
  }

 public:
  // What a gripper is commanded to by a row of places, or of openings that are all or nothing.
  static double goal(const Slot& s, int row, int column, const openral::Coordinate& k) {
    const double value = s.at(row, column);
    if (s.mode != Mode::kGripperBinary) return value;
    const bool low_is_closed = std::abs(k.lower) <= std::abs(k.upper);
    const bool open = std::round(std::clamp(value, 0.0, 1.0)) > 0.5;
    return open == low_is_closed ? k.upper : k.lower;
  }

 private:
  const openral::RobotModel& m_;
  const Case& c_;
  std::size_t n_;
  std::vector<double> low_, high_;  // where the joints are by now
  std::vector<Owner> owners_;
  std::vector<double> travel_, told_, up_, down_, grip_low_, grip_high_;
};

}  // namespace fuzz
