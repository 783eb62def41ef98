// What is told velocities goes on while it stops: after the last row, and wherever it changes
// them. Built once all slots are lowered, because all of them stop together.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

constexpr double kBow = 2e-4;  // m that an arc may leave its chord by

}  // namespace

void Lowering::stops(const ChunkView& c) noexcept {
  mixed_ = mixes();
  for (std::size_t row = 0; row < horizon_; ++row)
    if (mixed_ || turns(c, row)) stop(c, row);
}

// Whether joints that are told velocities, joints that are told places and the base move in one
// chunk: each comes to rest in its own way, so a stop anywhere leaves the path.
bool Lowering::mixes() const noexcept {
  bool rated = false, told = false, base = false;
  for (std::size_t row = 0; row < horizon_; ++row) {
    const double *from = point(row), *to = point(row + 1);
    for (std::size_t j = 0; j < skeleton_.dof; ++j)
      if (from[j] != to[j]) (rated_[j] ? rated : told) = true;
    for (std::size_t j = skeleton_.dof; j < skeleton_.coordinates; ++j)
      base = base || from[j] != to[j];
  }
  return (rated ? 1 : 0) + (told ? 1 : 0) + (base ? 1 : 0) > 1;
}

// Whether what is told velocities leaves its line after a row: elsewhere it stops on its path.
bool Lowering::turns(const ChunkView& c, std::size_t row) const noexcept {
  if (row + 1 == horizon_) return true;
  const double *before = point(row), *here = point(row + 1), *next = point(row + 2);
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    if (!rated_[j]) continue;
    const double step = here[j] - before[j], change = next[j] - here[j] - step;
    if (std::abs(change) > 1e-9 * (1 + std::abs(step))) return true;
  }
  for (std::size_t s = 0; s < c.count; ++s)
    for (std::size_t k = 0; k < 3 && static_cast<Mode>(c.slots[s].mode) == Mode::kBodyTwist; ++k)
      if (c.slots[s].at(row, k) != c.slots[s].at(row + 1, k)) return true;
  return false;
}

// A span from the point after `row` to where everything comes to rest; of a mixed chunk, from
// anywhere in the row. The base and the joints need not stop at the same time: where both move,
// joints get a box that holds all of their way.
void Lowering::stop(const ChunkView& c, std::size_t row) noexcept {
  const int spans = span_count_, points = point_count_;
  const auto from = static_cast<std::size_t>(point_count_++);
  const auto to = static_cast<std::size_t>(point_count_++);
  std::copy_n(point(mixed_ ? row : row + 1), skeleton_.coordinates, point(from));
  span(static_cast<int>(from), static_cast<int>(to), static_cast<int>(row), 0);
  Span& added = spans_[static_cast<std::size_t>(span_count_ - 1)];
  double* wide = width(static_cast<std::size_t>(added.width));
  std::copy_n(width(row + 1), skeleton_.coordinates, wide);
  std::copy_n(point(row + 1), skeleton_.coordinates, point(to));
  const bool base = coast_base(c, row, point(from), point(to));
  if (coast_joints(c, row, base, point(from), point(to), wide) || base) return;
  span_count_ = spans;
  point_count_ = points;
}

bool Lowering::coast_joints(const ChunkView& c, std::size_t row, bool with_base, double* from,
                            double* to, double* wide) noexcept {
  bool moves = false;
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    if (limits(j).role != Role::kBody) continue;
    const double step = point(row + 1)[j] - point(row)[j];
    const double way = rated_[j] ? step / c.dt * pace_ * model_.envelope.stop_time : 0;
    moves = moves || way != 0;
    if (mixed_) {
      // The whole row with all of the way; without a base, the row itself shifted by the way.
      wide[j] += (std::abs(way) + (with_base ? std::abs(step) : 0)) / 2;
      from[j] += (way + (with_base ? step : 0)) / 2;
      to[j] += (way - (with_base ? step : 0)) / 2;
      continue;
    }
    if (way == 0) continue;
    const double end = std::clamp(from[j] + way, std::min(limits(j).lower, from[j]),
                                  std::max(limits(j).upper, from[j]));
    if (with_base || std::abs(end - from[j]) < std::abs(way) * (1 - 1e-9)) {
      wide[j] += std::abs(end - from[j]) / 2;
      from[j] = to[j] = (from[j] + end) / 2;
    } else {
      to[j] = end;
    }
  }
  return moves;
}

// How long a base goes on at its full speed to cover the way that it needs to brake.
double Lowering::braking(const Vec3& twist) const noexcept {
  const Envelope& e = model_.envelope;
  return std::max(e.stop_time, std::hypot(twist[0], twist[1]) / (2 * e.base_deceleration));
}

// The base brakes along its twist, or along the last rates of its joints.
bool Lowering::coast_base(const ChunkView& c, std::size_t row, const double* from,
                          double* to) noexcept {
  Vec3 rates{};
  bool twist = false;
  for (std::size_t s = 0; s < c.count; ++s) {
    const SlotView& view = c.slots[s];
    const Mode mode = static_cast<Mode>(view.mode);
    if (mode == Mode::kBodyTwist) {
      twist = true;
      for (std::size_t k = 0; k < 3; ++k) rates[k] = view.at(row, k) * pace_;
    }
    if (mode != Mode::kJointVelocity || !model_.mobile) continue;
    for (std::size_t k = 0; k < static_cast<std::size_t>(slots_[s].count); ++k)
      for (std::size_t i = 0; i < 3; ++i)
        if (slots_[s].coordinates[k] == model_.base[i]) rates[i] = view.at(row, k) * pace_;
  }
  if (rates == Vec3{}) return false;
  const double brake = braking(rates);
  if (twist) {
    const double seconds = brake + (mixed_ ? c.dt / pace_ : 0);
    drive(from, rates, seconds, to);
    arcs_[arc_count_++] = {span_count_ - 1, rates, seconds};
    return true;
  }
  const double yaw = start_.q[static_cast<std::size_t>(model_.base[2])];
  const std::size_t d = skeleton_.dof;
  to[d] += (std::cos(yaw) * rates[0] + std::sin(yaw) * rates[1]) * brake;
  to[d + 1] += (-std::sin(yaw) * rates[0] + std::cos(yaw) * rates[1]) * brake;
  to[d + 2] += rates[2] * brake;
  return true;
}

// A base that is told where to go may first have to brake from how it was found to move.
void Lowering::brake_base() noexcept {
  const Vec3 twist = base_twist(model_, start_);
  if (twist == Vec3{}) return;
  const auto to = static_cast<std::size_t>(point_count_++);
  std::copy_n(point(0), skeleton_.coordinates, point(to));
  span(0, static_cast<int>(to), 0, 0);
  double* wide = width(static_cast<std::size_t>(span_count_ - 1));
  std::copy_n(lag_.data(), skeleton_.dof, wide);
  drive(point(0), twist, braking(twist), point(to));
  arcs_[arc_count_++] = {span_count_ - 1, twist, braking(twist)};
}

// A base that is not told anything brakes while the rows are executed: at any of them it may be
// anywhere on its way to a standstill.
void Lowering::bear_base() noexcept {
  const Vec3 twist = base_twist(model_, start_);
  if (twist == Vec3{}) return;
  const std::size_t d = skeleton_.dof;
  double end[kMaxCoordinates];
  std::copy_n(point(0), skeleton_.coordinates, end);
  const double bow = drive(point(0), twist, braking(twist), end);
  for (std::size_t i = d; i < d + 3; ++i) {
    for (int p = 0; p + 1 < point_count_; ++p) point(static_cast<std::size_t>(p))[i] = end[i] / 2;
    for (int w = 1; w < span_count_; ++w)
      width(static_cast<std::size_t>(w))[i] += std::abs(end[i]) / 2 + (i < d + 2 ? bow : 0);
  }
}

// Cuts the arcs of the base into chords that they leave by little; what is left is width.
void Lowering::bows(const ChunkView& c) noexcept {
  for (std::size_t i = 0; i < row_arcs_; ++i) {  // another pace may have cut them before
    Span& s = spans_[static_cast<std::size_t>(arcs_[i].span)];
    s.to = s.from + 1;
    s.rate = static_cast<float>(1 / c.dt);
  }
  bends_left_ = kBends;
  for (std::size_t i = 0; i < arc_count_; ++i) bow(arcs_[i]);
}

void Lowering::bow(const Arc& arc) noexcept {
  const std::size_t d = skeleton_.dof, n = skeleton_.coordinates;
  const auto index = static_cast<std::size_t>(arc.span);
  Span& whole = spans_[index];
  double* wide = width(static_cast<std::size_t>(whole.width));
  double end[kMaxCoordinates];
  const double off =
      drive(point(static_cast<std::size_t>(whole.from)), arc.twist, arc.seconds, end);
  const int chords =
      1 + std::min(bends_left_, static_cast<int>(std::min(std::sqrt(off / kBow), 64.0)));
  for (std::size_t i = 0; i < 2; ++i) wide[d + i] += off / (chords * chords);
  bends_left_ -= chords - 1;
  const Span first = whole;
  const double *from = point(static_cast<std::size_t>(first.from)),
               *to = point(static_cast<std::size_t>(first.to));
  int last = first.from;
  for (int k = 1; k < chords; ++k) {
    const double part = static_cast<double>(k) / chords;
    const int next = point_count_++;
    double* at = point(static_cast<std::size_t>(next));
    for (std::size_t j = 0; j < n; ++j) at[j] = from[j] + (to[j] - from[j]) * part;
    drive(from, arc.twist, arc.seconds * part, at);
    chord(index, k, last, next, first.rate * static_cast<float>(chords));
    last = next;
  }
  if (chords > 1) chord(index, chords, last, first.to, first.rate * static_cast<float>(chords));
}

// The k-th chord of a span: the first takes the place of the span.
void Lowering::chord(std::size_t of, int k, int from, int to, float rate) noexcept {
  if (k == 1) {
    spans_[of].to = to;
    spans_[of].rate = rate;
    return;
  }
  span(from, to, spans_[of].row, rate);
  std::copy_n(width(static_cast<std::size_t>(spans_[of].width)), skeleton_.coordinates,
              width(static_cast<std::size_t>(span_count_ - 1)));
}

}  // namespace openral
