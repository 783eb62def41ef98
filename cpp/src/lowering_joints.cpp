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

// Torque is trusted to accelerate each joint by at most its limit times the share of the effort
// that is used; gravity is the driver's to balance. The reachable box holds for one recheck period
// and the stop after it.
bool Lowering::lower_torques(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  const Slot& slot = slots_[s];
  const Envelope& e = model_.envelope;
  double share = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(slot.count); ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[k]);
    for (std::size_t row = 0; row < c.rows; ++row) {
      const double torque = std::abs(c.slots[s].at(row, k));
      if (torque > limits(j).effort) {
        out.row = static_cast<std::int32_t>(row);
        out.joint = static_cast<std::int16_t>(j);
        out.status = Status::kEffortLimit;
        out.value = c.slots[s].at(row, k);
        out.limit = limits(j).effort;
        return false;
      }
      if (limits(j).role == Role::kBase && torque > 0) {  // nothing bounds where it would roll
        out.row = static_cast<std::int32_t>(row);
        out.joint = static_cast<std::int16_t>(j);
        out.status = Status::kUnproven;
        return false;
      }
      share = std::max(share, torque / limits(j).effort);
    }
  }
  torque_ = true;
  valid_ = std::min(valid_, e.recheck);
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& k = limits(j);
    if (k.role != Role::kBody) continue;
    out.joint = static_cast<std::int16_t>(j);
    const double push = share > 0 && owned_[j] ? share * k.acceleration : 0;
    const double speed = std::abs(start_.qd[j]);
    const double top = std::min(speed + push * e.recheck, std::max(k.velocity, speed));
    const double reach = top * (e.recheck + e.stop_time / 2);
    if (!std::isfinite(reach)) {  // no acceleration limit is known: nothing can be proven
      out.status = Status::kUnproven;
      return false;
    }
    const double q = start_.q[j];
    if (reach > 0 &&
        !(q - reach >= std::min(k.lower, q) - 1e-6 && q + reach <= std::max(k.upper, q) + 1e-6)) {
      out.status = Status::kPositionLimit;
      out.value = q - reach < k.lower ? q - reach : q + reach;
      out.limit = q - reach < k.lower ? k.lower : k.upper;
      return false;
    }
    for (std::size_t row = 0; row < c.rows; ++row) width(row + 1)[j] += reach;
  }
  out.joint = -1;
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
    const double v[3] = {view.at(row, 0), view.at(row, 1), view.at(row, 2)};
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
    drive(point(row), v, c.dt, point(row + 1), width(row + 1));
  }
  return true;
}

// Moves the base of `from` on by a twist; an arc leaves its chord by at most |v|·|ω|·t²/8.
void Lowering::drive(const double* from, const double* v, double seconds, double* to,
                     double* wide) const noexcept {
  const std::size_t d = skeleton_.dof;
  const double yaw = from[d + 2], turn = v[2] * seconds;
  const double sine = std::abs(turn) < 1e-6 ? 1 - turn * turn / 6 : std::sin(turn) / turn;
  const double versine = std::abs(turn) < 1e-6 ? turn / 2 : (1 - std::cos(turn)) / turn;
  const double x = (v[0] * sine - v[1] * versine) * seconds;
  const double y = (v[0] * versine + v[1] * sine) * seconds;
  to[d] = from[d] + std::cos(yaw) * x - std::sin(yaw) * y;
  to[d + 1] = from[d + 1] + std::sin(yaw) * x + std::cos(yaw) * y;
  to[d + 2] = yaw + turn;
  const double bow = std::hypot(v[0], v[1]) * std::abs(v[2]) * seconds * seconds / 8;
  wide[d] += bow;
  wide[d + 1] += bow;
}

}  // namespace openral
