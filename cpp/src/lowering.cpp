// The path from the measured state, the limits of rows, and the widths of the boxes.
#include "openral/lowering.hpp"

#include <algorithm>
#include <cmath>

namespace openral {
namespace {

constexpr double kTolerance = 1e-6;

bool refuse(Verdict& out, Status status, double value = 0, double limit = 0) {
  out.status = status;
  out.value = value;
  out.limit = limit;
  return false;
}

bool in(Mode mode, std::initializer_list<Mode> modes) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}
bool cartesian(Mode m) {
  return in(m, {Mode::kCartesianPose, Mode::kCartesianDelta, Mode::kCartesianTwist});
}

}  // namespace

Lowering::Lowering(const RobotModel& model, const Skeleton& skeleton)
    : model_(model), skeleton_(skeleton), solver_(skeleton, model) {
  points_.resize((3 * kMaxRows + 8) * skeleton.coordinates);
  widths_.resize(points_.size());
  spans_.resize(2 * kMaxRows + 8);
  holds_.resize((2 * kMaxRows + 8) * kMaxTools * (kMaxTools + 1) / 2);
}

bool Lowering::lower(const ChunkView& chunk, const Measured& start, double speed,
                     const Vec3& base_error, Verdict& out) noexcept {
  const std::size_t n = skeleton_.coordinates;
  start_ = start;
  speed_ = speed;
  span_count_ = hold_count_ = 0;
  valid_ = static_cast<double>(chunk.rows) * chunk.dt;
  for (std::size_t i = 0; i <= chunk.rows; ++i) {
    std::copy_n(start.q.data(), n, point(i));
    std::fill_n(point(i) + skeleton_.dof, 3, 0.0);
  }
  point_count_ = static_cast<int>(chunk.rows) + 1;
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& c = limits(j);
    if (c.role != Role::kBody || (start.q[j] >= c.lower - 0.1 && start.q[j] <= c.upper + 0.1))
      continue;
    out.joint = static_cast<std::int16_t>(j);
    return refuse(out, Status::kPositionLimit, start.q[j],
                  start.q[j] < c.lower ? c.lower : c.upper);
  }
  span(0, 0, -1, 0);  // the measured state itself, without any width
  for (std::size_t i = 0; i < chunk.rows; ++i)
    span(static_cast<int>(i), static_cast<int>(i) + 1, static_cast<int>(i),
         static_cast<float>(1 / chunk.dt));
  for (std::size_t s = 0; s < chunk.count; ++s) {
    out.slot = static_cast<std::int16_t>(s);
    out.mode = chunk.slots[s].mode;
    const Mode mode = static_cast<Mode>(chunk.slots[s].mode);
    bool ok = true;
    if (in(mode, {Mode::kJointPosition, Mode::kJointTrajectory}))
      ok = lower_positions(chunk, s, out);
    if (mode == Mode::kJointVelocity) ok = lower_velocities(chunk, s, out);
    if (mode == Mode::kJointTorque) ok = lower_torques(chunk, s, out);
    if (cartesian(mode)) ok = lower_cartesian(chunk, s, out);
    if (mode == Mode::kBodyTwist) ok = lower_twist(chunk, s, out);
    if (!ok) return false;
  }
  out.slot = -1;
  out.mode = chunk.mode;
  if (!check_rows(chunk, out)) return false;
  stops(chunk);
  widen(base_error);
  return true;
}

void Lowering::span(int from, int to, int row, float rate) noexcept {
  const int index = span_count_++;
  std::fill_n(width(static_cast<std::size_t>(index)), skeleton_.coordinates, 0.0);
  spans_[static_cast<std::size_t>(index)] = {from, to, index, row, 0, 0, rate};
}

bool Lowering::check_rows(const ChunkView& c, Verdict& out) noexcept {
  // Most chunks are fine: one pass without branches says so, and only then is a culprit sought.
  double low[kMaxCoordinates], high[kMaxCoordinates], step[kMaxCoordinates], bend[kMaxCoordinates];
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& k = limits(j);
    const bool checked = owned_[j] && k.role != Role::kGripper;
    low[j] = checked ? std::min(k.lower, start_.q[j]) - kTolerance : -kNone;
    high[j] = checked ? std::max(k.upper, start_.q[j]) + kTolerance : kNone;
    step[j] = checked ? k.velocity * speed_ * c.dt * (1 + kTolerance) + 1e-9 : kNone;
    bend[j] =
        checked && !resolved_[j] ? k.acceleration * c.dt * c.dt * (1 + kTolerance) + 1e-9 : kNone;
  }
  for (std::size_t row = 0; row < c.rows; ++row) {
    int bad = row < 2 ? 1 : 0;
    const double* at = point(row + 1);
    const double* before = point(row);
    const double* earlier = row == 0 ? before : point(row - 1);
    for (std::size_t j = 0; j < skeleton_.dof; ++j) {
      const double now = at[j] - before[j], last = before[j] - earlier[j];
      const bool fine = (at[j] >= low[j]) & (at[j] <= high[j]) & (std::abs(now) <= step[j]) &
                        (std::abs(now - last) <= bend[j]);
      bad |= fine ? 0 : 1;
    }
    out.row = static_cast<std::int32_t>(row);
    for (std::size_t j = 0; bad != 0 && j < skeleton_.dof; ++j)
      if (owned_[j] && limits(j).role != Role::kGripper && !check_joint(c, row, j, out))
        return false;
    if (base_owned_ && !check_base(c, row, out)) return false;
  }
  out.row = out.joint = -1;
  return true;
}

// One joint's position, speed and acceleration at one row. The measured start may be off by the
// tracking error, and a joint found outside its limits may stay or come back, not go further.
bool Lowering::check_joint(const ChunkView& c, std::size_t row, std::size_t j,
                           Verdict& out) noexcept {
  const Coordinate& k = limits(j);
  const double at = point(row + 1)[j], before = point(row)[j];
  out.joint = static_cast<std::int16_t>(j);
  const double low = std::min(k.lower, start_.q[j]), high = std::max(k.upper, start_.q[j]);
  if (!(at >= low - kTolerance && at <= high + kTolerance))
    return refuse(out, Status::kPositionLimit, at, at < low ? k.lower : k.upper);
  const double slack = (row == 0 ? std::min(k.tracking, k.velocity * c.dt) : 0) + 1e-9;
  const double most = k.velocity * speed_ * c.dt * (1 + kTolerance);
  if (!(std::abs(at - before) <= most + slack))
    return refuse(out, Status::kVelocityLimit, std::abs(at - before) / c.dt, k.velocity * speed_);
  if (resolved_[j]) return true;  // the driver's inverse kinematics shapes its own acceleration
  const double last = row == 0 ? start_.qd[j] * c.dt : before - point(row - 1)[j];
  const double change = std::abs((at - before) - last);
  const double allowed = k.acceleration * c.dt * c.dt * (1 + kTolerance);
  if (!(change <= allowed + (row < 2 ? k.tracking : 0) + 1e-9))
    return refuse(out, Status::kAccelerationLimit, change / (c.dt * c.dt), k.acceleration);
  return true;
}

bool Lowering::check_base(const ChunkView& c, std::size_t row, Verdict& out) noexcept {
  const double* a = point(row) + skeleton_.dof;
  const double* b = point(row + 1) + skeleton_.dof;
  const Envelope& e = model_.envelope;
  out.joint = -1;
  const double speed = std::hypot(b[0] - a[0], b[1] - a[1]) / c.dt;
  if (!(speed <= e.base_speed * speed_ * (1 + kTolerance) + 1e-9))
    return refuse(out, Status::kBaseSpeed, speed, e.base_speed * speed_);
  const double rate = std::abs(b[2] - a[2]) / c.dt;
  if (!(rate <= e.base_rate * speed_ * (1 + kTolerance) + 1e-9))
    return refuse(out, Status::kBaseSpeed, rate, e.base_rate * speed_);
  if (!(std::hypot(b[0], b[1]) < 20))
    return refuse(out, Status::kBaseSpeed, std::hypot(b[0], b[1]), 20);
  return true;
}

// Adds the tracking error to every box. A joint strays at most as far as the robot has been told
// to move (or still moves), so a robot that is told to stand still has boxes of no width.
void Lowering::widen(const Vec3& base_error) noexcept {
  const Envelope& e = model_.envelope;
  const std::size_t dof = skeleton_.dof;
  double reached = 0, base_travel = 0, base_turn = 0;
  for (std::size_t j = 0; j < dof; ++j)
    if (limits(j).role == Role::kBody)
      reached = std::max(reached, std::abs(start_.qd[j]) * e.stop_time);
  if (reached < 1e-4) reached = 0;  // noise of a robot at rest
  base_seen_ = base_error == Vec3{};
  for (std::size_t i = 0; i < 3; ++i) width(0)[dof + i] = base_error[i];
  for (int i = 1; i < span_count_; ++i) {
    const Span& s = spans_[static_cast<std::size_t>(i)];
    const double* a = point(static_cast<std::size_t>(s.from));
    const double* b = point(static_cast<std::size_t>(s.to));
    double* w = width(static_cast<std::size_t>(s.width));
    double step = 0;
    for (std::size_t j = 0; j < dof; ++j)
      if (limits(j).role == Role::kBody) step = std::max(step, std::abs(b[j] - a[j]));
    reached += step;
    base_travel += std::hypot(b[dof] - a[dof], b[dof + 1] - a[dof + 1]);
    base_turn += std::abs(b[dof + 2] - a[dof + 2]);
    for (std::size_t j = 0; j < dof; ++j)
      if (limits(j).role == Role::kBody) w[j] += std::min(limits(j).tracking, reached);
    widen_holds(s, reached);
    // Where the base has gone turns with its heading's error.
    const double gone = std::max(std::hypot(a[dof], a[dof + 1]), std::hypot(b[dof], b[dof + 1]));
    w[dof] += std::min(e.base_tracking, base_travel) + base_error[0] + base_error[2] * gone;
    w[dof + 1] += std::min(e.base_tracking, base_travel) + base_error[1];
    w[dof + 2] += std::min(e.base_turn_tracking, base_turn) + base_error[2];
  }
}

void Lowering::widen_holds(const Span& s, double reached) noexcept {
  for (int h = s.hold; h < s.hold + s.holds; ++h) {
    Hold& hold = holds_[static_cast<std::size_t>(h)];
    const LeverList& list = skeleton_.tools[static_cast<std::size_t>(hold.tool)].motion;
    double shift = 0, turn = 0;
    for (int k = list.first; k < list.last; ++k) {
      const Lever& l = skeleton_.levers[static_cast<std::size_t>(k)];
      if (static_cast<std::size_t>(l.coordinate) >= skeleton_.dof) continue;
      const double error =
          std::min(limits(static_cast<std::size_t>(l.coordinate)).tracking, reached);
      shift += static_cast<double>(l.length) * error;
      turn += static_cast<double>(l.turn) * error;
    }
    hold.error += static_cast<float>(shift);
    hold.turn += static_cast<float>(turn);
  }
}

}  // namespace openral
