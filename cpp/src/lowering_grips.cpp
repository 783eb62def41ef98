// Grippers and hands. What nothing moves with is held to its limits only. Where an attached object
// or a link with geometry moves with one, it may be anywhere between where it is and its goals: it
// goes at its own pace or is blocked, during its chunk and after it.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

constexpr double kTolerance = 1e-6;

struct Goal {
  double low, high;
};

// A binary command is rounded; closed is the end of the range nearer to zero. A value at the
// threshold may be either.
Goal binary(const Coordinate& c, double value) {
  const double closed = std::abs(c.upper) < std::abs(c.lower) ? c.upper : c.lower;
  const double open = std::abs(c.upper) > std::abs(c.lower) ? c.upper : c.lower;
  if (std::abs(value - 0.5) < kTolerance) return {std::min(closed, open), std::max(closed, open)};
  const double goal = value > 0.5 ? open : closed;
  return {goal, goal};
}

}  // namespace

bool Lowering::check_grippers(const ChunkView& chunk, Verdict& out) noexcept {
  const auto refuse = [&](Status status, std::size_t s, std::size_t row, int j, double value,
                          double limit) {
    out.slot = static_cast<std::int16_t>(s);
    out.mode = chunk.slots[s].mode;
    out.row = static_cast<std::int32_t>(row);
    out.joint = static_cast<std::int16_t>(j);
    out.status = status;
    out.value = value;
    out.limit = limit;
    return false;
  };
  for (std::size_t s = 0; s < chunk.count; ++s) {
    const SlotView& view = chunk.slots[s];
    const Mode mode = static_cast<Mode>(view.mode);
    if (cartesian(mode)) continue;
    for (std::size_t k = 0; k < static_cast<std::size_t>(slots_[s].count); ++k) {
      const int j = slots_[s].coordinates[k];
      const auto at = static_cast<std::size_t>(j);
      const Coordinate& c = limits(at);
      if (c.role != Role::kGripper) continue;
      double low = c.lower, high = c.upper;
      if (mode == Mode::kGripperBinary) low = 0, high = 1;
      if (mode == Mode::kJointVelocity) low = -c.velocity, high = c.velocity;
      if (mode == Mode::kJointTorque) low = -c.effort, high = c.effort;
      const bool path = mode == Mode::kJointPosition || mode == Mode::kJointTrajectory ||
                        mode == Mode::kDexHandJoint;
      const bool places = path || mode == Mode::kGripperPosition || mode == Mode::kGripperBinary;
      goal_low_[at] = places ? kNone : mode == Mode::kJointVelocity ? c.lower : kNone;
      goal_high_[at] = places ? -kNone : mode == Mode::kJointVelocity ? c.upper : -kNone;
      for (std::size_t row = 0; row < chunk.rows; ++row) {
        const double value = view.at(row, k);
        if (!(value >= low - kTolerance && value <= high + kTolerance))
          return refuse(Status::kGripperRange, s, row, j, value, value < low ? low : high);
        // From where it is to row 0 any step is allowed: a gripper that squeezes is far from its
        // command.
        const double step = row == 0 ? 0 : std::abs(value - view.at(row - 1, k));
        if (path && !(step <= c.velocity * chunk.dt * (1 + kTolerance) + 1e-9))
          return refuse(Status::kVelocityLimit, s, row, j, step / chunk.dt, c.velocity);
        if (!places) continue;
        const Goal goal = mode == Mode::kGripperBinary ? binary(c, value) : Goal{value, value};
        goal_low_[at] = std::min(goal_low_[at], goal.low);
        goal_high_[at] = std::max(goal_high_[at], goal.high);
      }
    }
  }
  return true;
}

void Lowering::leave_goals(GripGoals& goals) const noexcept {
  for (std::size_t j = 0; j < skeleton_.dof; ++j)
    if (owned_[j] && limits(j).role == Role::kGripper) goals.accept(j, goal_low_[j], goal_high_[j]);
}

// Where grippers that something moves with are by now, and what they may still be doing.
void Lowering::begin_grips(const GripGoals& goals) noexcept {
  const std::size_t n = skeleton_.dof;
  for (std::size_t j = 0; j < n; ++j) {
    if (!swings(j)) continue;
    const double q = start_.q[j];
    // Up to now it may have gone anywhere at its measured speed; a stop ends at its range.
    const double old = start_.qd[j] * start_.age, stop = start_.qd[j] * model_.envelope.stop_time;
    const double gone = std::clamp(q + old + stop, std::min({limits(j).lower, q, q + old}),
                                   std::max({limits(j).upper, q, q + old}));
    jaw_low_[j] = std::min(q, gone);
    jaw_high_[j] = std::max(q, gone);
    if (goals.any(j)) {
      jaw_low_[j] = std::min(jaw_low_[j], goals.low(j));
      jaw_high_[j] = std::max(jaw_high_[j], goals.high(j));
    }
    for (std::size_t row = 0; row < horizon_; ++row) grip(j, row, kNone, -kNone);
  }
}

// From this row on gripper j may also be at a goal, or on its way there.
void Lowering::grip(std::size_t j, std::size_t row, double goal_low, double goal_high) noexcept {
  jaw_low_[j] = std::min(jaw_low_[j], goal_low);
  jaw_high_[j] = std::max(jaw_high_[j], goal_high);
  point(row + 1)[j] = (jaw_low_[j] + jaw_high_[j]) / 2;
  if (row == 0) point(0)[j] = point(1)[j];
  width(row + 1)[j] = (jaw_high_[j] - jaw_low_[j]) / 2;
  wide_ = wide_ || jaw_high_[j] > jaw_low_[j];
}

bool Lowering::lower_grips(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  const SlotView& view = c.slots[s];
  const Mode mode = static_cast<Mode>(view.mode);
  for (std::size_t k = 0; k < static_cast<std::size_t>(slots_[s].count); ++k) {
    const auto j = static_cast<std::size_t>(slots_[s].coordinates[k]);
    const Coordinate& l = limits(j);
    if (l.role != Role::kGripper || cartesian(mode)) continue;
    const double q = start_.q[j], low = std::min(l.lower, q), high = std::max(l.upper, q);
    const double old = std::abs(start_.qd[j]) * start_.age;
    if (mode == Mode::kJointVelocity) goal_low_[j] = goal_high_[j] = q;
    double at = q, travel = 0;
    for (std::size_t row = 0; row < c.rows; ++row) {
      const double value = view.at(row, k);
      Goal goal{value, value};
      if (mode == Mode::kGripperBinary) goal = binary(l, value);
      if (mode == Mode::kJointVelocity) {
        at += value * c.dt;
        travel += std::abs(value) * c.dt;
        const double off = model_.envelope.jitter * travel + old;
        const double least = at - (value < 0 ? off : 0), most = at + (value > 0 ? off : 0);
        if (!(least >= low - kTolerance && most <= high + kTolerance)) {
          out.row = static_cast<std::int32_t>(row);
          out.joint = static_cast<std::int16_t>(j);
          out.status = Status::kGripperRange;
          out.value = least < low ? least : most;
          out.limit = least < low ? l.lower : l.upper;
          return false;
        }
        goal = {std::max(low - old, at - off), std::min(high + old, at + off)};
        goal_low_[j] = std::min(goal_low_[j], goal.low);
        goal_high_[j] = std::max(goal_high_[j], goal.high);
      }
      if (mode == Mode::kJointTorque) {
        const double way = l.velocity * (model_.envelope.recheck + model_.envelope.stop_time) + old;
        goal = {std::max(low - old, q - way), std::min(high + old, q + way)};
      }
      if (swings(j)) grip(j, row, goal.low, goal.high);
    }
  }
  return true;
}

}  // namespace openral
