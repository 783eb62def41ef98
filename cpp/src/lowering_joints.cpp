// Joint modes and the mobile base.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {

bool Lowering::lower_positions(const ChunkView& c, std::size_t s, Verdict&) noexcept {
  const Slot& slot = slots_[s];
  bool base = false;
  for (std::size_t row = 0; row < c.rows; ++row)
    for (std::size_t k = 0; k < static_cast<std::size_t>(slot.count); ++k) {
      const auto j = static_cast<std::size_t>(slot.coordinates[k]);
      point(row + 1)[j] = c.slots[s].at(row, k);
      base = base || limits(j).role == Role::kBase;
    }
  if (base)
    for (std::size_t row = 0; row < c.rows; ++row) displace_base(row + 1);
  return true;
}

bool Lowering::lower_velocities(const ChunkView& c, std::size_t s, Verdict&) noexcept {
  const Slot& slot = slots_[s];
  bool base = false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(slot.count); ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[k]);
    base = base || limits(j).role == Role::kBase;
    for (std::size_t row = 0; row < c.rows; ++row)
      point(row + 1)[j] = point(row)[j] + c.slots[s].at(row, k) * c.dt;
    rate(j, c);
  }
  if (base)
    for (std::size_t row = 0; row < c.rows; ++row) displace_base(row + 1);
  return true;
}

// Notes that joint j is told velocities: rows may be executed at a rate that is off, and they lead
// on from wherever the joint is.
void Lowering::rate(std::size_t j, const ChunkView& c) noexcept {
  rated_[j] = true;
  double travel = 0;
  for (std::size_t row = 0; row < c.rows; ++row) {
    travel += std::abs(point(row + 1)[j] - point(row)[j]);
    width(row + 1)[j] = lag_[j] + model_.envelope.jitter * travel;
  }
}

// How far a joint gets in `time` from speed v when pushed by `push`, no faster than `top`, and on
// while it stops.
double Lowering::pushed(double v, double push, double top) const noexcept {
  const double time = model_.envelope.recheck;
  if (!std::isfinite(push)) return top * (time + model_.envelope.stop_time / 2);
  const double until = push > 0 && v + push * time > top ? (top - v) / push : time;
  const double last = std::min(v + push * until, top);
  return v * until + push * until * until / 2 + last * (time - until) +
         std::max(last, 0.0) * model_.envelope.stop_time / 2;
}

// Torque is trusted to accelerate each joint by at most its limit times the share of the effort
// that is used; gravity is the driver's to balance. Where a joint can be until the next check and
// the stop after it is an interval, and any combination of the joints' intervals is possible.
bool Lowering::lower_torques(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  const Slot& slot = slots_[s];
  double share = 0;
  if (!torque_share(c, s, share, out)) return false;
  torque_ = true;
  valid_ = std::min(valid_, model_.envelope.recheck);
  const double covered = model_.envelope.recheck + model_.envelope.stop_time;
  horizon_ = std::min(horizon_, static_cast<std::size_t>(std::ceil(covered / c.dt)));
  if (c.count == 1) horizon_ = 1;  // the same box in every row
  for (int k = 0; k < slot.count; ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
    const Coordinate& l = limits(j);
    if (l.role != Role::kBody) continue;
    torqued_[j] = true;
    out.joint = static_cast<std::int16_t>(j);
    const double push = share > 0 ? share * l.acceleration : 0, v = start_.qd[j];
    const double top = std::max(l.velocity, std::abs(v));
    if (!std::isfinite(top) && !std::isfinite(push)) {  // nothing bounds it
      out.status = Status::kUnproven;
      return false;
    }
    const double up = std::max(0.0, pushed(v, push, top)),
                 down = -std::max(0.0, pushed(-v, push, top));
    const double q = point(0)[j];
    if (up > down && !(q + down >= std::min(l.lower, start_.q[j]) - lag_[j] - 1e-6 &&
                       q + up <= std::max(l.upper, start_.q[j]) + lag_[j] + 1e-6)) {
      out.status = Status::kPositionLimit;
      out.value = q + down < l.lower ? q + down : q + up;
      out.limit = q + down < l.lower ? l.lower : l.upper;
      return false;
    }
    for (std::size_t row = 0; row <= c.rows; ++row) point(row)[j] = q + (up + down) / 2;
    for (std::size_t row = 0; row < c.rows; ++row) width(row + 1)[j] = lag_[j] + (up - down) / 2;
  }
  out.joint = -1;
  return true;
}

// The largest share of its effort that any joint is told; efforts beyond the limits are refused.
bool Lowering::torque_share(const ChunkView& c, std::size_t s, double& share,
                            Verdict& out) const noexcept {
  const Slot& slot = slots_[s];
  for (std::size_t k = 0; k < static_cast<std::size_t>(slot.count); ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[k]);
    for (std::size_t row = 0; row < c.rows; ++row) {
      const double torque = c.slots[s].at(row, k), limit = limits(j).effort;
      const bool rolls = limits(j).role == Role::kBase && torque != 0;  // nothing bounds where
      if (std::abs(torque) <= limit && !rolls) {
        share = std::max(share, std::abs(torque) / limit);
        continue;
      }
      out.row = static_cast<std::int32_t>(row);
      out.joint = static_cast<std::int16_t>(j);
      out.status = rolls ? Status::kUnproven : Status::kEffortLimit;
      out.value = torque;
      out.limit = limit;
      return false;
    }
  }
  return true;
}

Vec3 base_twist(const RobotModel& model, const Measured& measured) noexcept {
  const auto at = [&](const auto& values, std::size_t i) {
    return model.base[i] < 0 ? 0.0 : values[static_cast<std::size_t>(model.base[i])];
  };
  const double yaw = at(measured.q, 2), x = at(measured.qd, 0), y = at(measured.qd, 1);
  return {std::cos(yaw) * x + std::sin(yaw) * y, -std::sin(yaw) * x + std::cos(yaw) * y,
          at(measured.qd, 2)};
}

// Base joints as a displacement in the base's own frame at the start.
void Lowering::displace_base(std::size_t row) noexcept {
  const auto value = [&](std::size_t i) {
    const int j = model_.base[i];
    return j < 0 ? 0.0 : point(row)[j] - start_.q[static_cast<std::size_t>(j)];
  };
  const double yaw = model_.base[2] < 0 ? 0 : start_.q[static_cast<std::size_t>(model_.base[2])];
  const double x = value(0), y = value(1);
  double* to = point(row) + skeleton_.dof;
  to[0] = std::cos(yaw) * x + std::sin(yaw) * y;
  to[1] = -std::sin(yaw) * x + std::cos(yaw) * y;
  to[2] = value(2);
}

// The base follows arcs.
bool Lowering::lower_twist(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  const SlotView& view = c.slots[s];
  const Envelope& e = model_.envelope;
  for (std::size_t row = 0; row < c.rows; ++row) {
    const Vec3 v{view.at(row, 0), view.at(row, 1), view.at(row, 2)};
    if (model_.differential && std::abs(v[1]) > 1e-9) {  // its wheels would slip
      out.row = static_cast<std::int32_t>(row);
      out.status = Status::kBaseSpeed;
      out.value = v[1];
      out.limit = 0;
      return false;
    }
    // Of the twist itself: the chord of an arc is shorter than the way.
    const double speed = std::hypot(v[0], v[1]), rate = std::abs(v[2]);
    if (!(speed <= e.base_speed * speed_ * (1 + 1e-6) + 1e-9 &&
          rate <= e.base_rate * speed_ * (1 + 1e-6) + 1e-9)) {
      const bool linear = speed > e.base_speed * speed_;
      out.row = static_cast<std::int32_t>(row);
      out.status = Status::kBaseSpeed;
      out.value = linear ? speed : rate;
      out.limit = speed_ * (linear ? e.base_speed : e.base_rate);
      return false;
    }
    drive(point(row), v, c.dt, point(row + 1));
    arcs_[row_arcs_++] = {static_cast<int>(row) + 1, v, c.dt};
  }
  return true;
}

// Moves the base of `from` on by a twist, and returns how far the arc leaves its chord at most:
// |v|·|ω|·t²/8.
double Lowering::drive(const double* from, const Vec3& v, double seconds,
                       double* to) const noexcept {
  const std::size_t d = skeleton_.dof;
  const double yaw = from[d + 2], turn = v[2] * seconds;
  const double sine = std::abs(turn) < 1e-6 ? 1 - turn * turn / 6 : std::sin(turn) / turn;
  const double versine = std::abs(turn) < 1e-6 ? turn / 2 : (1 - std::cos(turn)) / turn;
  const double x = (v[0] * sine - v[1] * versine) * seconds;
  const double y = (v[0] * versine + v[1] * sine) * seconds;
  to[d] = from[d] + std::cos(yaw) * x - std::sin(yaw) * y;
  to[d + 1] = from[d + 1] + std::sin(yaw) * x + std::cos(yaw) * y;
  to[d + 2] = yaw + turn;
  return std::hypot(v[0], v[1]) * std::abs(v[2]) * seconds * seconds / 8;
}

}  // namespace openral
