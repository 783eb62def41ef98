// Cartesian modes. The rows are resolved to joint rows here, and these are what is proven and what
// is executed: the tool stays within a stated error of the path that was asked for, at the rows and
// between them. Relative rows become joint velocities, so that they lead on from wherever the
// servos are; poses become joint positions.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

double distance(const Pose& a, const Pose& b) {
  return std::hypot(b.translation[0] - a.translation[0], b.translation[1] - a.translation[1],
                    b.translation[2] - a.translation[2]);
}

double norm(const Vec3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

Vec3 turn_between(const Pose& a, const Pose& b) {
  return rotation_vector(multiply(b.rotation, transpose(a.rotation)));
}

Vec3 rotate(const std::array<double, 9>& r, const Vec3& v) {
  return {r[0] * v[0] + r[1] * v[1] + r[2] * v[2], r[3] * v[0] + r[4] * v[1] + r[5] * v[2],
          r[6] * v[0] + r[7] * v[1] + r[8] * v[2]};
}

Pose moved(const Pose& from, const Vec3& shift, const Vec3& turn, bool in_tool) {
  Pose to = from;
  const Vec3 step = in_tool ? rotate(from.rotation, shift) : shift;
  for (std::size_t i = 0; i < 3; ++i) to.translation[i] += step[i];
  to.rotation = in_tool ? multiply(from.rotation, rotation_matrix(turn))
                        : multiply(rotation_matrix(turn), from.rotation);
  return to;
}

Pose halfway(const Pose& a, const Pose& b) {
  Vec3 turn = turn_between(a, b), shift{};
  for (std::size_t i = 0; i < 3; ++i) {
    turn[i] /= 2;
    shift[i] = (b.translation[i] - a.translation[i]) / 2;
  }
  return moved(a, shift, turn, false);
}

bool pose_of(const SlotView& view, std::size_t row, Pose& out, double& length) {
  const double x = view.at(row, 3), y = view.at(row, 4), z = view.at(row, 5), w = view.at(row, 6);
  length = std::sqrt(x * x + y * y + z * z + w * w);
  if (!(std::abs(length - 1) < 1e-3)) return false;
  const double k = 2 / (length * length);
  out.rotation = {1 - k * (y * y + z * z), k * (x * y - z * w),     k * (x * z + y * w),
                  k * (x * y + z * w),     1 - k * (x * x + z * z), k * (y * z - x * w),
                  k * (x * z - y * w),     k * (y * z + x * w),     1 - k * (x * x + y * y)};
  for (std::size_t i = 0; i < 3; ++i) out.translation[i] = view.at(row, i);
  return true;
}

}  // namespace

// Moves `target` on by one row and checks the step against the caps.
bool Lowering::cartesian_target(const ChunkView& c, std::size_t s, std::size_t row, Pose& target,
                                Verdict& out) const noexcept {
  const SlotView& view = c.slots[s];
  const Envelope& e = model_.envelope;
  const Mode mode = static_cast<Mode>(view.mode);
  const Pose before = target;
  const auto refuse = [&](Status status, double value, double limit) {
    out.row = static_cast<std::int32_t>(row);
    out.status = status;
    out.value = value;
    out.limit = limit;
    return false;
  };
  if (mode == Mode::kCartesianPose) {
    double length = 0;
    if (!pose_of(view, row, target, length)) return refuse(Status::kMalformed, length, 1);
  } else {
    const double scale = mode == Mode::kCartesianTwist ? c.dt : 1;
    const Vec3 shift{view.at(row, 0) * scale, view.at(row, 1) * scale, view.at(row, 2) * scale};
    const Vec3 turn{view.at(row, 3) * scale, view.at(row, 4) * scale, view.at(row, 5) * scale};
    if (norm(turn) > 3) return refuse(Status::kStep, norm(turn), e.turn);
    const bool in_tool = !view.frame.empty() && view.frame != model_.base_frame;
    target = moved(before, shift, turn, in_tool);
  }
  const double shift = distance(before, target), turn = norm(turn_between(before, target));
  const double more = 1 + 1e-6;
  // A pose is absolute, so its first row also carries how far the robot lags behind.
  const double lag = mode == Mode::kCartesianPose && row == 0 ? 1e-3 : 1e-9;
  if (!(shift <= e.step * more + lag)) return refuse(Status::kStep, shift, e.step);
  if (!(turn <= e.turn * more + lag)) return refuse(Status::kStep, turn, e.turn);
  if (!(shift / c.dt <= e.tool_speed * speed_ * more + lag / c.dt))
    return refuse(Status::kToolSpeed, shift / c.dt, e.tool_speed * speed_);
  if (!(turn / c.dt <= e.tool_rate * speed_ * more + lag / c.dt))
    return refuse(Status::kToolRate, turn / c.dt, e.tool_rate * speed_);
  return true;
}

// Whether joints that go straight from `from` to `to` keep the tool on its way from one target to
// the next. Its error e is known at both ends (`missed` and `left`) and halfway; in between,
// |e(s)| ≤ max(|e(0)|, |e(1/2)|, |e(1)|) + max|e''|/32, and the levers bound the derivative.
// `stray` is what the joints' lags add at either end, which bends in between like the rest.
bool Lowering::follows(const Slot& slot, const Pose& before, const Pose& target, const double* from,
                       const double* to, const ToolSolver::Residual& missed,
                       const ToolSolver::Residual& left, const ToolSolver::Residual& stray,
                       Verdict& out) const noexcept {
  double middle[kMaxCoordinates];
  for (std::size_t j = 0; j < skeleton_.dof; ++j) middle[j] = (from[j] + to[j]) / 2;
  double arc = 0, angle = 0, off = 0;
  const LeverList& levers = skeleton_.tools[static_cast<std::size_t>(slot.tool)].in_base;
  for (int k = levers.first; k < levers.last; ++k) {
    const Lever& l = skeleton_.levers[static_cast<std::size_t>(k)];
    off += static_cast<double>(l.turn) * lag_[static_cast<std::size_t>(l.coordinate)];
    const double turned = std::abs(to[l.coordinate] - from[l.coordinate]);
    arc += static_cast<double>(l.length) * turned;
    angle += static_cast<double>(l.turn) * turned;
  }
  const Pose half = solver_.pose(slot.tool, middle);
  const Pose wanted = halfway(before, target);
  const double bend = 1.0 / 16 + off;
  const double shift = std::max({missed.shift, distance(half, wanted), left.shift}) + stray.shift +
                       arc * angle * bend;
  const double turn = std::max({missed.turn, norm(turn_between(half, wanted)), left.turn}) +
                      stray.turn + angle * angle * bend;
  const Envelope& e = model_.envelope;
  if (shift <= e.follow_shift && turn <= e.follow_turn) return true;
  out.status = Status::kUnsolved;
  out.value = shift <= e.follow_shift ? turn : shift;
  out.limit = shift <= e.follow_shift ? e.follow_turn : e.follow_shift;
  return false;
}

// Relative rows are solved from where the joints are expected. From anywhere else within their lag
// they lead the tool off its path from there: joint j that starts δ off carries the tool by δ·J_j
// as it is in the row, and the path by δ·J_j as it was at the start, seen in the frame of the rows.
// What is left beyond that is of the lags' square.
ToolSolver::Residual Lowering::strays(const Slot& slot, bool in_tool,
                                      const ToolSolver::Stance& first,
                                      const ToolSolver::Stance& here,
                                      const double* at) const noexcept {
  constexpr double kTurn = ToolSolver::kTurnWeight;
  double off = 0, off_arc = 0, arc = 0, angle = 0;
  const LeverList& levers = skeleton_.tools[static_cast<std::size_t>(slot.tool)].in_base;
  for (int k = levers.first; k < levers.last; ++k) {
    const Lever& l = skeleton_.levers[static_cast<std::size_t>(k)];
    const double gone = std::abs(at[l.coordinate] - point(0)[l.coordinate]);
    const double lag = lag_[static_cast<std::size_t>(l.coordinate)];
    off += static_cast<double>(l.turn) * lag;
    off_arc += static_cast<double>(l.length) * lag;
    arc += static_cast<double>(l.length) * gone;
    angle += static_cast<double>(l.turn) * gone;
  }
  ToolSolver::Residual out{off * off * arc + 2 * off * off_arc * angle, off * off * angle};
  if (off_arc == 0) return out;
  const auto by = multiply(here.at.rotation, transpose(first.at.rotation));
  const Vec3 way{here.at.translation[0] - first.at.translation[0],
                 here.at.translation[1] - first.at.translation[1],
                 here.at.translation[2] - first.at.translation[2]};
  for (int k = 0; k < slot.count; ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
    const double *a = first.columns[j].v, *b = here.columns[j].v;
    const Vec3 axis{a[3] / kTurn, a[4] / kTurn, a[5] / kTurn};
    const Vec3 path = in_tool ? axis : rotate(by, axis);
    const Vec3 carried{axis[1] * way[2] - axis[2] * way[1], axis[2] * way[0] - axis[0] * way[2],
                       axis[0] * way[1] - axis[1] * way[0]};
    Vec3 shift{}, turn{};
    for (std::size_t i = 0; i < 3; ++i) {
      shift[i] = b[i] - a[i] - (in_tool ? carried[i] : 0);
      turn[i] = b[3 + i] / kTurn - path[i];
    }
    out.shift += lag_[j] * norm(shift);
    out.turn += lag_[j] * norm(turn);
  }
  return out;
}

// Whether the joints of a tool get from one row to the next within their speeds.
bool Lowering::in_time(const ChunkView& c, const Slot& slot, const double* from,
                       const double* to) const noexcept {
  bool fine = true;
  for (int k = 0; k < slot.count; ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
    fine = fine && std::abs(to[j] - from[j]) <= limits(j).velocity * speed_ * c.dt;
  }
  return fine;
}

bool Lowering::lower_cartesian(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  const Slot& slot = slots_[s];
  double q[kMaxCoordinates];
  std::copy_n(point(0), skeleton_.dof, q);
  ToolSolver::Stance stance;
  solver_.stand(slot.tool, q, stance);
  // What is executed as velocities must keep its range whatever the rate, and from wherever the
  // joint is by now.
  ToolSolver::Bounds bounds;
  const bool rates = relative(static_cast<Mode>(c.slots[s].mode));
  const double share = rates ? 1 / (1 + model_.envelope.jitter) : 1;
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const double off = rates ? lag_[j] : 0;
    bounds.low[j] = q[j] + (limits(j).lower + off - q[j]) * share;
    bounds.high[j] = q[j] + (limits(j).upper - off - q[j]) * share;
  }
  const ToolSolver::Stance first = stance;
  const SlotView& view = c.slots[s];
  const bool in_tool = !view.frame.empty() && view.frame != model_.base_frame;
  Pose target = stance.at;
  ToolSolver::Residual missed, strayed;
  for (std::size_t row = 0; row < c.rows; ++row) {
    const Pose before = target;
    double last[kMaxCoordinates];
    std::copy_n(q, skeleton_.dof, last);
    if (!cartesian_target(c, s, row, target, out)) return false;
    out.row = static_cast<std::int32_t>(row);
    const ToolSolver::Stance stood = stance;
    ToolSolver::Residual left, stray;
    Verdict why = out;
    // The first way that keeps the tool on its path within the joints' speeds; else the first one,
    // which says what is wrong.
    for (int tried = 0, way = 0; tried <= ToolSolver::kWays; ++tried) {
      way = tried % ToolSolver::kWays;
      if (tried > 0) {
        std::copy_n(last, skeleton_.dof, q);
        stance = stood;
      }
      left = solver_.solve(slot.tool, target, bounds, way, q, stance, walks_);
      ++walks_;  // to the middle of the row
      if (walks_ > most_walks_) {
        out.status = Status::kBudgetExceeded;
        return false;
      }
      why = out;
      if (rates) stray = strays(slot, in_tool, first, stance, q);
      const ToolSolver::Residual more{std::max(stray.shift, strayed.shift),
                                      std::max(stray.turn, strayed.turn)};
      const bool on_path = follows(slot, before, target, last, q, missed, left, more, why);
      if (on_path && in_time(c, slot, last, q)) break;
    }
    if (why.status == Status::kUnsolved) {
      out = why;
      return false;
    }
    missed = left;
    strayed = stray;
    for (int k = 0; k < slot.count; ++k) {
      const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
      if (!swings(j))
        point(row + 1)[j] = q[j];
      else
        grip(j, row, q[j], q[j]);
    }
  }
  out.row = -1;
  rewrites_ = true;
  for (int k = 0; k < slot.count && relative(static_cast<Mode>(c.slots[s].mode)); ++k)
    rate(static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]), c);
  return true;
}

void Lowering::write(const ChunkView& c, double pace, ChunkWriter& out) const noexcept {
  const auto executed = [](std::uint8_t byte) {
    const Mode mode = static_cast<Mode>(byte);
    return relative(mode) ? Mode::kJointVelocity : cartesian(mode) ? Mode::kJointTrajectory : mode;
  };
  out.begin(c, executed(c.mode), c.dt / pace);
  for (std::size_t s = 0; s < c.count; ++s) {
    const SlotView& view = c.slots[s];
    const Slot& slot = slots_[s];
    const Mode mode = static_cast<Mode>(view.mode);
    if (!cartesian(mode)) {
      const bool rates = mode == Mode::kJointVelocity || mode == Mode::kBodyTwist;
      out.copy(view, c.rows, rates ? pace : 1);
      continue;
    }
    const auto width = static_cast<std::size_t>(slot.count);
    std::string_view names[kMaxWidth];
    for (std::size_t k = 0; k < width; ++k)
      names[k] = limits(static_cast<std::size_t>(slot.coordinates[k])).name;
    out.open(view.name, executed(view.mode), {names, width}, c.rows);
    for (std::size_t row = 0; row < c.rows; ++row)
      for (std::size_t k = 0; k < width; ++k) {
        const int j = slot.coordinates[k];
        const double at = point(row + 1)[j];
        out.value(relative(mode) ? (at - point(row)[j]) / c.dt * pace : at);
      }
  }
}

}  // namespace openral
