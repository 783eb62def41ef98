// The path from the measured state, the limits of rows, and the widths of the boxes.
#include "openral/lowering.hpp"

#include <algorithm>
#include <cmath>

namespace openral {
namespace {

constexpr double kTolerance = 1e-6;
constexpr double kLongestDrive = 10;  // m in one chunk; the skeleton's rounding counts on it

bool refuse(Verdict& out, Status status, double value = 0, double limit = 0) {
  out.status = status;
  out.value = value;
  out.limit = limit;
  return false;
}

}  // namespace

Lowering::Lowering(const RobotModel& model, const Skeleton& skeleton)
    : model_(model), skeleton_(skeleton), solver_(skeleton) {
  const std::size_t looks = kParts * (kDepth + 1);
  points_.resize((5 * kMaxRows + 8 + 2 * looks + kBends) * skeleton.coordinates);
  widths_.resize(points_.size());
  seen_.resize(points_.size());
  open_.resize((kMaxRows + 1) * skeleton.coordinates);
  spans_.resize(2 * kMaxRows + 8 + looks + kBends);
  arcs_.resize(2 * kMaxRows + 8);
  drifts_.resize(kMaxRows);
  const auto note = [this](const LeverList& list) {
    for (int k = list.first; k < list.last; ++k) {
      const auto j =
          static_cast<std::size_t>(skeleton_.levers[static_cast<std::size_t>(k)].coordinate);
      if (j < skeleton_.dof && limits(j).role == Role::kGripper) swings_[j] = true;
    }
  };
  for (const SkeletonCapsule& c : skeleton.capsules) note(c.motion);
  for (const SkeletonPair& p : skeleton.pairs) note(p.motion);
}

bool Lowering::lower(const ChunkView& chunk, const Measured& start, const GripGoals& goals,
                     double speed, bool nominal, int most_walks, Verdict& out) noexcept {
  speed_ = speed;
  nominal_ = nominal;
  walks_ = 0;
  most_walks_ = most_walks;
  begin(chunk, start);
  if (!within_range(out)) return false;
  begin_grips(goals);
  for (std::size_t s = 0; s < chunk.count; ++s) {
    out.slot = static_cast<std::int16_t>(s);
    out.mode = chunk.slots[s].mode;
    if (!lower_slot(chunk, s, out) || !lower_grips(chunk, s, out)) return false;
  }
  out.slot = -1;
  out.mode = chunk.mode;
  if (!check_rows(chunk, out)) return false;
  if (!base_owned_) bear_base();
  std::copy_n(widths_.data(), (chunk.rows + 1) * skeleton_.coordinates, open_.data());
  return true;
}

void Lowering::finish(const ChunkView& chunk, double pace, const Planar& base,
                      const Vec3& base_error) noexcept {
  pace_ = pace;
  span_count_ = static_cast<int>(horizon_) + 1;
  point_count_ = static_cast<int>(chunk.rows) + 2;
  std::copy_n(open_.data(), (chunk.rows + 1) * skeleton_.coordinates, widths_.data());
  arc_count_ = row_arcs_ = std::min(row_arcs_, horizon_);
  mixed_ = mixes();
  drift(chunk);
  own_points(chunk);
  stops(chunk);
  widen(chunk, base_error);
  bows();
  place(base);
}

// A row's span leads from its point to the next one's. Where something in it is anywhere in an
// interval instead, it has two points of its own.
void Lowering::own_points(const ChunkView& c) noexcept {
  for (std::size_t i = 0; i < row_arcs_; ++i) arcs_[i].seconds = c.dt;
  for (std::size_t row = 0; row < horizon_; ++row) {
    Span& s = spans_[row + 1];  // another pace may have changed it before
    s.from = static_cast<int>(row);
    s.to = s.from + 1;
    s.rate = static_cast<float>(1 / c.dt);
    bool own = drifts_[row].on;
    for (std::size_t j = 0; j < skeleton_.dof; ++j)
      own = own || (swings(j) && point(row)[j] != point(row + 1)[j]);
    if (!own) continue;
    s.from = point_count_++;
    s.to = point_count_++;
    double *from = point(static_cast<std::size_t>(s.from)),
           *to = point(static_cast<std::size_t>(s.to));
    std::copy_n(point(row), skeleton_.coordinates, from);
    std::copy_n(point(row + 1), skeleton_.coordinates, to);
    for (std::size_t j = 0; j < skeleton_.dof; ++j)
      if (swings(j)) from[j] = to[j];
    if (drifts_[row].on) drift_row(row, from, to);
  }
}

// Points 0 to `rows` are the way, the one after them is the measured state, which has a span of
// its own without any width. The way begins where the robot is by now: half of the way that it may
// have gone on since it was measured, give or take the other half.
void Lowering::begin(const ChunkView& chunk, const Measured& start) noexcept {
  const std::size_t n = skeleton_.coordinates, dof = skeleton_.dof;
  start_ = start;
  rewrites_ = twisted_ = wide_ = false;
  row_arcs_ = 0;
  rated_.fill(false);
  torqued_.fill(false);
  valid_ = static_cast<double>(chunk.rows) * chunk.dt;
  horizon_ = chunk.rows;
  span_count_ = 0;
  point_count_ = static_cast<int>(chunk.rows) + 2;
  for (std::size_t j = 0; j < dof; ++j) {
    // What no slot drives also goes on while it stops.
    const Coordinate& k = limits(j);
    const double q = start.q[j];
    const double seconds = start.age + (owned_[j] ? 0 : model_.envelope.stop_time);
    const double gone = std::clamp(q + start.qd[j] * seconds,
                                   std::min(k.lower, q - start.age * std::abs(start.qd[j])),
                                   std::max(k.upper, q + start.age * std::abs(start.qd[j])));
    const double drift = k.role == Role::kBody ? (gone - q) / 2 : 0;
    lag_[j] = std::abs(drift);
    point(0)[j] = q + drift;
  }
  std::fill_n(point(0) + dof, 3, 0.0);
  for (std::size_t i = 1; i <= chunk.rows; ++i) std::copy_n(point(0), n, point(i));
  double* measured = point(chunk.rows + 1);
  std::copy_n(start.q.data(), dof, measured);
  std::fill_n(measured + dof, 3, 0.0);
  span(static_cast<int>(chunk.rows) + 1, static_cast<int>(chunk.rows) + 1, -1, 0);
  for (std::size_t i = 0; i < chunk.rows; ++i) {
    span(static_cast<int>(i), static_cast<int>(i) + 1, static_cast<int>(i),
         static_cast<float>(1 / chunk.dt));
    // What the rows do not place stays as uncertain as it is.
    for (std::size_t j = 0; j < dof; ++j)
      if (i == 0 || !owned_[j]) width(i + 1)[j] = lag_[j];
  }
}

bool Lowering::within_range(Verdict& out) const noexcept {
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& c = limits(j);
    const double q = start_.q[j];
    const bool checked = c.role == Role::kBody || swings(j);
    if (!checked || (q >= c.lower - 0.1 && q <= c.upper + 0.1)) continue;
    out.joint = static_cast<std::int16_t>(j);
    return refuse(out, Status::kPositionLimit, q, q < c.lower ? c.lower : c.upper);
  }
  return true;
}

bool Lowering::lower_slot(const ChunkView& chunk, std::size_t s, Verdict& out) noexcept {
  switch (static_cast<Mode>(chunk.slots[s].mode)) {
    case Mode::kJointPosition:
    case Mode::kJointTrajectory:
      return lower_positions(chunk, s, out);
    case Mode::kJointVelocity:
      return lower_velocities(chunk, s, out);
    case Mode::kJointTorque:
      return lower_torques(chunk, s, out);
    case Mode::kCartesianPose:
    case Mode::kCartesianDelta:
    case Mode::kCartesianTwist:
      return lower_cartesian(chunk, s, out);
    case Mode::kBodyTwist:
      return lower_twist(chunk, s, out);
    default:
      return true;  // no arm-link motion
  }
}

void Lowering::span(int from, int to, int row, float rate) noexcept {
  const int index = span_count_++;
  std::fill_n(width(static_cast<std::size_t>(index)), skeleton_.coordinates, 0.0);
  spans_[static_cast<std::size_t>(index)] = {from, to, index, row, rate};
}

bool Lowering::check_rows(const ChunkView& c, Verdict& out) noexcept {
  // Most chunks are fine: one pass without branches says so, and only then is a culprit sought.
  double low[kMaxCoordinates], high[kMaxCoordinates], step[kMaxCoordinates], bend[kMaxCoordinates];
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& k = limits(j);
    const bool checked = owned_[j] && k.role != Role::kGripper && !torqued_[j];
    low[j] = checked ? std::min(k.lower, start_.q[j]) - kTolerance : -kNone;
    high[j] = checked ? std::max(k.upper, start_.q[j]) + kTolerance : kNone;
    step[j] = checked ? k.velocity * speed_ * c.dt * (1 + kTolerance) + 1e-9 : kNone;
    bend[j] = checked ? k.acceleration * c.dt * c.dt * (1 + kTolerance) + 1e-9 : kNone;
  }
  for (std::size_t row = 0; row < c.rows; ++row) {
    int bad = row < 2 ? 1 : 0;
    const double* at = point(row + 1);
    const double* before = point(row);
    const double* earlier = row == 0 ? before : point(row - 1);
    const double* open = width(row + 1);
    for (std::size_t j = 0; j < skeleton_.dof; ++j) {
      const double now = at[j] - before[j], last = before[j] - earlier[j];
      const double off = rated_[j] ? open[j] : 0;  // toward where it goes
      const bool fine = (at[j] - (now < 0 ? off : 0) >= low[j]) &
                        (at[j] + (now > 0 ? off : 0) <= high[j]) & (std::abs(now) <= step[j]) &
                        (std::abs(now - last) <= bend[j]);
      bad |= fine ? 0 : 1;
    }
    out.row = static_cast<std::int32_t>(row);
    for (std::size_t j = 0; bad != 0 && j < skeleton_.dof; ++j)
      if (owned_[j] && limits(j).role != Role::kGripper && !torqued_[j] &&
          !check_joint(c, row, j, out))
        return false;
    if (base_owned_ && !check_base(c, row, out)) return false;
  }
  out.row = out.joint = -1;
  return true;
}

// One joint's position, speed and acceleration at one row. The start may be off by the tracking
// error and by how old the measurement is, and a joint found outside its limits may stay or come
// back, not go further.
bool Lowering::check_joint(const ChunkView& c, std::size_t row, std::size_t j,
                           Verdict& out) noexcept {
  const Coordinate& k = limits(j);
  const double at = point(row + 1)[j], before = point(row)[j];
  out.joint = static_cast<std::int16_t>(j);
  const double low = std::min(k.lower, start_.q[j]), high = std::max(k.upper, start_.q[j]);
  // Velocities lead from wherever the joint is, at a rate that is a little off: where they may lead
  // to counts, not only where they should.
  const double off = rated_[j] ? width(row + 1)[j] : 0;
  const double least = at - (at < before ? off : 0), most_at = at + (at > before ? off : 0);
  if (!(least >= low - kTolerance && most_at <= high + kTolerance))
    return refuse(out, Status::kPositionLimit, least < low ? least : most_at,
                  least < low ? k.lower : k.upper);
  // Positions lead to row 0 from wherever the joint is; velocities are executed as they are.
  const bool from_here = row == 0 && !rated_[j];
  const double slack = (from_here ? std::min(k.tracking, k.velocity * c.dt) + lag_[j] : 0) + 1e-9;
  const double most = k.velocity * speed_ * c.dt * (1 + kTolerance);
  if (!(std::abs(at - before) <= most + slack))
    return refuse(out, Status::kVelocityLimit, std::abs(at - before) / c.dt, k.velocity * speed_);
  const double last = row == 0 ? start_.qd[j] * c.dt : before - point(row - 1)[j];
  const double change = std::abs((at - before) - last);
  const double allowed = k.acceleration * c.dt * c.dt * (1 + kTolerance);
  if (!(change <= allowed + (row < 2 ? k.tracking + lag_[j] : 0) + 1e-9))
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
  if (!(std::hypot(b[0], b[1]) < kLongestDrive))
    return refuse(out, Status::kBaseSpeed, std::hypot(b[0], b[1]), kLongestDrive);
  return true;
}

// Adds the tracking error to every box. A joint strays at most as far as the robot has been told
// to move (or still moves), so a robot that is told to stand still has boxes of no width. A base
// that is late on its path has been told more than where it is says.
void Lowering::widen(const ChunkView& c, const Vec3& base_error) noexcept {
  const Envelope& e = model_.envelope;
  const std::size_t dof = skeleton_.dof;
  const Vec3 found = base_twist(model_, start_);
  double reached = 0, base_travel = std::hypot(found[0], found[1]) * braking(found),
         base_turn = std::abs(found[2]) * braking(found);
  for (std::size_t j = 0; j < dof; ++j)
    if (limits(j).role == Role::kBody)  // counted from where it was measured
      reached = std::max(reached, std::abs(start_.qd[j]) * (e.stop_time + start_.age));
  if (reached < 1e-4) reached = 0;  // noise of a robot at rest
  std::size_t told = 0;             // rows that the base's travel counts
  const auto late = static_cast<std::size_t>(std::min(std::ceil(lagging_ / c.dt * pace_), 1e6));
  for (std::size_t i = 0; i < 3; ++i) width(0)[dof + i] = base_error[i];
  for (int i = 1; i < span_count_; ++i) {
    const Span& s = spans_[static_cast<std::size_t>(i)];
    const bool row = i <= static_cast<int>(horizon_);  // by its own points, not by an interval's
    const double* a = point(static_cast<std::size_t>(row ? i - 1 : s.from));
    const double* b = point(static_cast<std::size_t>(row ? i : s.to));
    double* w = width(static_cast<std::size_t>(s.width));
    double step = 0;
    for (std::size_t j = 0; j < dof; ++j)
      if (limits(j).role == Role::kBody) step = std::max(step, std::abs(b[j] - a[j]));
    reached += step;
    for (; told < (row ? std::min(horizon_, static_cast<std::size_t>(i) + late) : horizon_);
         ++told) {
      const double *here = point(told) + dof, *next = point(told + 1) + dof;
      base_travel += twisted_ ? std::hypot(arcs_[told].twist[0], arcs_[told].twist[1]) * c.dt
                              : std::hypot(next[0] - here[0], next[1] - here[1]);
      base_turn += std::abs(next[2] - here[2]);
    }
    for (std::size_t j = 0; j < dof; ++j)
      if (limits(j).role == Role::kBody && !nominal_) w[j] += std::min(limits(j).tracking, reached);
    for (std::size_t j = 0; j < dof; ++j)
      if (swings(j) && w[j] > 0 && !nominal_) w[j] += limits(j).tracking;
    // Where the base has gone turns with its heading's error.
    const double gone = std::max(std::hypot(a[dof], a[dof + 1]), std::hypot(b[dof], b[dof + 1])) +
                        std::hypot(w[dof], w[dof + 1]);
    const double off = nominal_ ? 0 : std::min(e.base_tracking, base_travel);
    const double turned = nominal_ ? 0 : std::min(e.base_turn_tracking, base_turn);
    for (std::size_t k = 0; k < 2; ++k) w[dof + k] += off + base_error[k] + base_error[2] * gone;
    w[dof + 2] += turned + base_error[2];
  }
}

// Sees the path from the frame in which the base's own frame at its start lies at `base`.
void Lowering::place(const Planar& base) noexcept {
  placed_ = !(base == Planar{});
  if (!placed_) return;
  const std::size_t n = skeleton_.coordinates, d = skeleton_.dof;
  const double c = std::cos(base.yaw), s = std::sin(base.yaw);
  std::copy_n(points_.data(), static_cast<std::size_t>(point_count_) * n, seen_.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(point_count_); ++i) {
    double* at = seen_.data() + i * n + d;
    const double x = at[0], y = at[1];
    at[0] = base.x + c * x - s * y;
    at[1] = base.y + s * x + c * y;
    at[2] += base.yaw;
  }
  for (int i = 0; i < span_count_; ++i) {
    double* wide = width(static_cast<std::size_t>(i)) + d;
    const double x = wide[0], y = wide[1];
    wide[0] = std::abs(c) * x + std::abs(s) * y;
    wide[1] = std::abs(s) * x + std::abs(c) * y;
  }
}

}  // namespace openral
