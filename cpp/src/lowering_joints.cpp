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

// The nominal path integrates the velocities; the rate at which rows are executed may be off, and
// the last velocity goes on while the robot stops.
bool Lowering::lower_velocities(const ChunkView& c, std::size_t s, Verdict&) noexcept {
  const Slot& slot = slots_[s];
  bool base = false, stops = false;
  std::array<double, kMaxCoordinates> last{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(slot.count); ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[k]);
    double travel = 0;
    base = base || limits(j).role == Role::kBase;
    for (std::size_t row = 0; row < c.rows; ++row) {
      const double step = c.slots[s].at(row, k) * c.dt;
      travel += std::abs(step);
      point(row + 1)[j] = point(row)[j] + step;
      width(row + 1)[j] += model_.envelope.jitter * travel;
    }
    last[j] = c.slots[s].at(c.rows - 1, k);
    stops = stops || (last[j] != 0 && limits(j).role != Role::kGripper);
  }
  if (base)
    for (std::size_t row = 0; row < c.rows; ++row) displace_base(row + 1);
  if (stops) stub(c.rows, last.data(), model_.envelope.stop_time);
  return true;
}

// Goes on from the point after `row` with the given joint rates, as far as the limits allow.
void Lowering::stub(std::size_t row, const double* rates, double seconds) noexcept {
  const auto end = static_cast<std::size_t>(point_count_++);
  std::copy_n(point(row), skeleton_.coordinates, point(end));
  for (std::size_t j = 0; j < skeleton_.dof; ++j)
    if (limits(j).role == Role::kBody && rates[j] != 0)
      point(end)[j] =
          std::clamp(point(end)[j] + rates[j] * seconds, std::min(limits(j).lower, point(row)[j]),
                     std::max(limits(j).upper, point(row)[j]));
  if (model_.mobile && model_.base[0] >= 0) {
    const double vx = rates[model_.base[0]], vy = rates[model_.base[1]],
                 turn = rates[model_.base[2]];
    const double yaw = start_.q[static_cast<std::size_t>(model_.base[2])];
    const double brake =
        std::max(seconds, std::hypot(vx, vy) / (2 * model_.envelope.base_deceleration));
    double* to = point(end) + skeleton_.dof;
    to[0] += (std::cos(yaw) * vx + std::sin(yaw) * vy) * brake;
    to[1] += (-std::sin(yaw) * vx + std::cos(yaw) * vy) * brake;
    to[2] += turn * brake;
  }
  span(static_cast<int>(row), static_cast<int>(end), static_cast<int>(row) - 1, 0);
  std::copy_n(width(row), skeleton_.coordinates, width(static_cast<std::size_t>(span_count_ - 1)));
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

// The base follows arcs; a stop can come at any row, so each change of twist gets a braking path.
bool Lowering::lower_twist(const ChunkView& c, std::size_t s, Verdict&) noexcept {
  const SlotView& view = c.slots[s];
  const std::size_t d = skeleton_.dof;
  const Envelope& e = model_.envelope;
  const auto advance = [d](const double* from, const double* v, double seconds, double* to) {
    const double yaw = from[d + 2], turn = v[2] * seconds;
    const double sine = std::abs(turn) < 1e-6 ? 1 - turn * turn / 6 : std::sin(turn) / turn;
    const double versine = std::abs(turn) < 1e-6 ? turn / 2 : (1 - std::cos(turn)) / turn;
    const double x = (v[0] * sine - v[1] * versine) * seconds;
    const double y = (v[0] * versine + v[1] * sine) * seconds;
    to[d] = from[d] + std::cos(yaw) * x - std::sin(yaw) * y;
    to[d + 1] = from[d + 1] + std::sin(yaw) * x + std::cos(yaw) * y;
    to[d + 2] = yaw + turn;
  };
  // An arc leaves its chord by at most |v|·|ω|·t²/8.
  const auto bow = [](const double* v, double seconds) {
    return std::hypot(v[0], v[1]) * std::abs(v[2]) * seconds * seconds / 8;
  };
  for (std::size_t row = 0; row < c.rows; ++row) {
    const double v[3] = {view.at(row, 0), view.at(row, 1), view.at(row, 2)};
    advance(point(row), v, c.dt, point(row + 1));
    for (std::size_t i = 0; i < 2; ++i) width(row + 1)[d + i] += bow(v, c.dt);
  }
  for (std::size_t row = 0; row < c.rows; ++row) {
    const double v[3] = {view.at(row, 0), view.at(row, 1), view.at(row, 2)};
    if (v[0] == 0 && v[1] == 0 && v[2] == 0) continue;
    if (row + 1 < c.rows && view.at(row + 1, 0) == v[0] && view.at(row + 1, 1) == v[1] &&
        view.at(row + 1, 2) == v[2])
      continue;
    const double brake = std::max(e.stop_time, std::hypot(v[0], v[1]) / (2 * e.base_deceleration));
    const auto end = static_cast<std::size_t>(point_count_++);
    std::copy_n(point(row + 1), skeleton_.coordinates, point(end));
    advance(point(row + 1), v, brake, point(end));
    span(static_cast<int>(row) + 1, static_cast<int>(end), static_cast<int>(row), 0);
    for (std::size_t i = 0; i < 2; ++i)
      width(static_cast<std::size_t>(span_count_ - 1))[d + i] += bow(v, brake);
  }
  return true;
}

}  // namespace openral
