// Cartesian modes. The tool's path is what the chunk prescribes; the joints are only known to
// follow from it by some inverse kinematics that respects joint limits and rates and does not move
// joints out of proportion. Ours centres the boxes and is never taken for the truth: joint j may
// stray from it by min(v_j·t, ik_slack·S), S being the travel (largest joint step of each row, or
// the tool's own where that is larger) and t the time since the state was last measured: the next
// check starts from a new measurement, so neither runs longer than recheck + stop. Capsules near
// the tool are bounded from the tool's side (prover.hpp, point 3).
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

constexpr double kSolvedShift = 0.005, kSolvedTurn = 0.05;  // residuals that count as solved

double distance(const Pose& a, const Pose& b) {
  return std::hypot(b.translation[0] - a.translation[0], b.translation[1] - a.translation[1],
                    b.translation[2] - a.translation[2]);
}

double norm(const Vec3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

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

}  // namespace

// Moves `target` on by one row and checks the step against the caps.
bool Lowering::cartesian_target(const ChunkView& c, std::size_t s, std::size_t row, Pose& target,
                                Verdict& out) noexcept {
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
    const double x = view.at(row, 3), y = view.at(row, 4), z = view.at(row, 5), w = view.at(row, 6);
    const double length = std::sqrt(x * x + y * y + z * z + w * w);
    if (!(std::abs(length - 1) < 1e-3)) return refuse(Status::kMalformed, length, 1);
    const double k = 2 / (length * length);
    target.rotation = {1 - k * (y * y + z * z), k * (x * y - z * w),     k * (x * z + y * w),
                       k * (x * y + z * w),     1 - k * (x * x + z * z), k * (y * z - x * w),
                       k * (x * z - y * w),     k * (y * z + x * w),     1 - k * (x * x + y * y)};
    for (std::size_t i = 0; i < 3; ++i) target.translation[i] = view.at(row, i);
  } else {
    const double scale = mode == Mode::kCartesianTwist ? c.dt : 1;
    const Vec3 shift{view.at(row, 0) * scale, view.at(row, 1) * scale, view.at(row, 2) * scale};
    const Vec3 turn{view.at(row, 3) * scale, view.at(row, 4) * scale, view.at(row, 5) * scale};
    if (norm(turn) > 3) return refuse(Status::kStep, norm(turn), e.turn);
    const bool in_tool = !view.frame.empty() && view.frame != model_.base_frame;
    target = moved(before, shift, turn, in_tool);
  }
  const double shift = distance(before, target);
  const double turn = norm(rotation_vector(multiply(target.rotation, transpose(before.rotation))));
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

// Brings the tool of a slot along one span to `target`; false when no joint values do.
bool Lowering::follow(Slot& slot, Span& span, const Pose& before, const Pose& target, int step,
                      double* q) noexcept {
  const ToolSolver::Residual left = solver_.solve(slot.tool, target, q);
  if (!(left.shift < kSolvedShift && left.turn < kSolvedTurn)) return false;
  const double* from = point(static_cast<std::size_t>(span.from));
  double* to = point(static_cast<std::size_t>(span.to));
  double largest = 0, arc = 0, angle = 0;
  for (int k = 0; k < slot.count; ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
    to[j] = q[j];
    largest = std::max(largest, std::abs(to[j] - from[j]));
  }
  const LeverList& levers = skeleton_.tools[static_cast<std::size_t>(slot.tool)].motion;
  for (int k = levers.first; k < levers.last; ++k) {
    const Lever& l = skeleton_.levers[static_cast<std::size_t>(k)];
    if (static_cast<std::size_t>(l.coordinate) >= skeleton_.dof) continue;
    const double turned = std::abs(to[l.coordinate] - from[l.coordinate]);
    arc += static_cast<double>(l.length) * turned;
    angle += static_cast<double>(l.turn) * turned;
  }
  const ToolSolver::Residual worst{std::max(left.shift, slot.missed.shift),
                                   std::max(left.turn, slot.missed.turn)};
  slot.missed = left;
  const double turn = norm(rotation_vector(multiply(target.rotation, transpose(before.rotation))));
  slot.travelled[static_cast<std::size_t>(step)] =
      slot.travelled[static_cast<std::size_t>(step - 1)] +
      std::max({largest, distance(before, target), turn});
  // The tool's straight path and that of joints moving in step both leave their common chord by at
  // most an eighth of their curvature. Someone else's inverse kinematics may miss by our residual,
  // at either end.
  hold(span, {slot.tool, static_cast<float>(2 * worst.shift + arc * angle / 4 + 1e-6),
              static_cast<float>(2 * worst.turn + angle * angle / 4 + 1e-6)});
  span.rate = 0;
  // The window in which nothing is measured ends with this step.
  const double longest = model_.envelope.recheck + model_.envelope.stop_time;
  const double now = elapsed_[static_cast<std::size_t>(step)];
  int from_step = step - 1;
  while (from_step > 0 && now - elapsed_[static_cast<std::size_t>(from_step)] < longest)
    --from_step;
  const double travel = slot.travelled[static_cast<std::size_t>(step)] -
                        slot.travelled[static_cast<std::size_t>(from_step)];
  for (int k = 0; k < slot.count; ++k) {
    const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
    width(static_cast<std::size_t>(span.width))[j] +=
        std::min(limits(j).velocity * std::min(now, longest), model_.envelope.ik_slack * travel);
  }
  return true;
}

// Adds a hold to a span; a span's holds lie side by side.
void Lowering::hold(Span& span, const Hold& added) noexcept {
  if (span.holds > 0 && span.hold + span.holds != hold_count_) {
    for (int h = 0; h < span.holds; ++h)
      holds_[static_cast<std::size_t>(hold_count_ + h)] =
          holds_[static_cast<std::size_t>(span.hold + h)];
    span.hold = hold_count_;
    hold_count_ += span.holds;
  }
  if (span.holds == 0) span.hold = hold_count_;
  holds_[static_cast<std::size_t>(hold_count_++)] = added;
  ++span.holds;
}

bool Lowering::lower_cartesian(const ChunkView& c, std::size_t s, Verdict& out) noexcept {
  Slot& slot = slots_[s];
  valid_ = std::min(valid_, model_.envelope.recheck);
  double q[kMaxCoordinates];
  std::copy_n(start_.q.data(), skeleton_.dof, q);
  slot.target = solver_.pose(slot.tool, q);
  slot.travelled[0] = elapsed_[0] = 0;
  slot.solved = true;
  slot.missed = {};
  for (std::size_t row = 0; row < c.rows; ++row) {
    const Pose before = slot.target;
    elapsed_[row + 1] = elapsed_[row] + c.dt;
    if (!cartesian_target(c, s, row, slot.target, out)) return false;
    slot.solved = slot.solved &&
                  follow(slot, spans_[row + 1], before, slot.target, static_cast<int>(row) + 1, q);
  }
  if (!slot.solved) shell(s);
  return true;
}

// The last twist of every tool goes on while the robot stops. With a moving base they do so each
// at its own pace: then a box around both ends stands for the way between them.
bool Lowering::coast_tools(const ChunkView& c, bool with_base, Span& added) noexcept {
  const double stop = model_.envelope.stop_time;
  bool moves = false;
  for (std::size_t s = 0; s < c.count; ++s) {
    Slot& slot = slots_[s];
    const SlotView& view = c.slots[s];
    if (static_cast<Mode>(view.mode) != Mode::kCartesianTwist || !slot.solved) continue;
    const std::size_t last = c.rows - 1;
    const Vec3 shift{view.at(last, 0) * stop, view.at(last, 1) * stop, view.at(last, 2) * stop};
    const Vec3 turn{view.at(last, 3) * stop, view.at(last, 4) * stop, view.at(last, 5) * stop};
    if (!(norm(shift) > 0 || norm(turn) > 0)) continue;
    const bool in_tool = !view.frame.empty() && view.frame != model_.base_frame;
    double q[kMaxCoordinates];
    std::copy_n(start_.q.data(), skeleton_.dof, q);
    for (int k = 0; k < slot.count; ++k) {
      const int j = slot.coordinates[static_cast<std::size_t>(k)];
      q[j] = point(c.rows)[j];
    }
    elapsed_[c.rows + 1] = elapsed_[c.rows] + stop;
    moves = true;
    if (!follow(slot, added, slot.target, moved(slot.target, shift, turn, in_tool),
                static_cast<int>(c.rows) + 1, q)) {
      shell(s);
      continue;
    }
    if (!with_base) continue;
    added.holds = 0;
    double *from = point(static_cast<std::size_t>(added.from)),
           *to = point(static_cast<std::size_t>(added.to)),
           *wide = width(static_cast<std::size_t>(added.width));
    for (int k = 0; k < slot.count; ++k) {
      const int j = slot.coordinates[static_cast<std::size_t>(k)];
      wide[j] += std::abs(to[j] - from[j]) / 2;
      from[j] = to[j] = (from[j] + to[j]) / 2;
    }
  }
  return moves;
}

// No joint values reach the target (singular, out of reach): all that is known is that joints
// keep to their rates until the next check and the stop after it.
void Lowering::shell(std::size_t s) noexcept {
  const Slot& slot = slots_[s];
  const double time = model_.envelope.recheck + model_.envelope.stop_time;
  for (std::size_t i = 1; i < static_cast<std::size_t>(span_count_); ++i) {
    spans_[i].holds = 0;
    spans_[i].rate = 0;
    for (int k = 0; k < slot.count; ++k) {
      const auto j = static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)]);
      point(static_cast<std::size_t>(spans_[i].from))[j] = start_.q[j];
      point(static_cast<std::size_t>(spans_[i].to))[j] = start_.q[j];
      width(static_cast<std::size_t>(spans_[i].width))[j] = limits(j).velocity * time;
    }
  }
}

}  // namespace openral
