// Joint modes.
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
      if (limits(j).role == Role::kGripper) continue;
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
    if (limits(j).role == Role::kGripper) continue;
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
    // Since it was measured it may have been slowed down.
    const double slowed =
        start_.age > 0 ? std::max(0.0, std::abs(v) - l.acceleration * start_.age) : std::abs(v);
    const double fast = v < 0 ? -slowed : v, slow = v < 0 ? v : slowed;
    const double top = std::max(l.velocity, std::abs(v));
    if (!std::isfinite(top) && !std::isfinite(push)) {  // nothing bounds it
      out.status = Status::kUnproven;
      return false;
    }
    const double up = std::max(0.0, pushed(fast, push, top)),
                 down = -std::max(0.0, pushed(-slow, push, top));
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

}  // namespace openral
