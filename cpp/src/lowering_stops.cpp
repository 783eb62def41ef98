// What is commanded by velocities goes on while it stops: from anywhere in its rows, and each joint
// at its own pace. Built once all slots are lowered, because all of them stop together.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

constexpr double kBow = 2e-4;  // m that an arc may leave its chord by

}  // namespace

void Lowering::stops(const ChunkView& c) noexcept {
  for (std::size_t row = 0; row < horizon_; ++row) {
    std::size_t last = row;
    const auto alone = [&](std::size_t r) { return mixed_ || drifts_[r].on; };
    while (!alone(row) && !turns(c, last) && !alone(last + 1)) ++last;
    stop(c, row, last);
    row = last;
  }
}

// Whether joints that are commanded by velocities, joints that are commanded by positions and the
// base move in one chunk: each comes to rest in its own way.
bool Lowering::mixes() const noexcept {
  bool rated = false, placed = false, base = false;
  for (std::size_t row = 0; row < horizon_; ++row) {
    const double *from = point(row), *to = point(row + 1);
    for (std::size_t j = 0; j < skeleton_.dof; ++j)
      if (limits(j).role == Role::kBody && from[j] != to[j]) (rated_[j] ? rated : placed) = true;
    for (std::size_t j = skeleton_.dof; j < skeleton_.coordinates; ++j)
      base = base || from[j] != to[j];
  }
  base = base || (base_owned_ && base_twist(model_, start_) != Vec3{});
  return (rated ? 1 : 0) + (placed ? 1 : 0) + (base ? 1 : 0) > 1;
}

// Whether what is commanded by velocities leaves its line after a row.
bool Lowering::turns(const ChunkView& c, std::size_t row) const noexcept {
  if (row + 1 == horizon_) return true;
  const double *before = point(row), *here = point(row + 1), *next = point(row + 2);
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    if (limits(j).role == Role::kGripper) {
      if (here[j] != next[j]) return true;
      continue;
    }
    if (!rated_[j]) continue;
    const double step = here[j] - before[j], change = next[j] - here[j] - step;
    if (std::abs(change) > 1e-9 * (1 + std::abs(step))) return true;
  }
  if (!base_owned_) return false;
  const Vec3 now = commanded(c, row), then = commanded(c, row + 1);
  for (std::size_t i = 0; i < 3; ++i)
    if (std::abs(then[i] - now[i]) > 1e-9) return true;
  return false;
}

// A span from anywhere in the rows from `row` to `last`, which have one velocity, to where all that
// moves may come to rest.
void Lowering::stop(const ChunkView& c, std::size_t row, std::size_t last) noexcept {
  const int spans = span_count_, points = point_count_;
  const auto from = static_cast<std::size_t>(point_count_++);
  const auto to = static_cast<std::size_t>(point_count_++);
  std::copy_n(point(row), skeleton_.coordinates, point(from));
  std::copy_n(point(last + 1), skeleton_.coordinates, point(to));
  for (std::size_t j = 0; j < skeleton_.dof; ++j)
    if (swings(j)) point(from)[j] = point(to)[j];
  span(static_cast<int>(from), static_cast<int>(to), static_cast<int>(last), 0);
  double* wide = width(static_cast<std::size_t>(span_count_ - 1));
  std::copy_n(width(last + 1), skeleton_.coordinates, wide);
  const bool twist = base_owned_ && twisted_ && !drifts_[row].on;
  const bool base = base_owned_ && stop_base(c, row, last, point(from), point(to), wide);
  if (stop_joints(c, last, mixed_ && twist && base, point(from), point(to), wide) || base) {
    wide_ = true;
    return;
  }
  span_count_ = spans;
  point_count_ = points;
}

// Each joint anywhere between where its rows have it and where it can go on to. In a `box` the rows
// count as one interval, because something else in the span does not keep step with them.
bool Lowering::stop_joints(const ChunkView& c, std::size_t last, bool box, double* from, double* to,
                           double* wide) noexcept {
  bool moves = false;
  for (std::size_t j = 0; j < skeleton_.dof; ++j) {
    const Coordinate& k = limits(j);
    if (k.role != Role::kBody) continue;
    const double a = from[j], b = to[j];
    const double step = point(last + 1)[j] - point(last)[j];
    const double way = rated_[j] ? step / c.dt * pace_ * model_.envelope.stop_time : 0;
    moves = moves || way != 0;
    double low = std::min(a, b) + std::min(way, 0.0), high = std::max(a, b) + std::max(way, 0.0);
    const double least = std::min({k.lower, a, b}), most = std::max({k.upper, a, b});
    if (way == 0 && !box) continue;
    if (box || low < least || high > most) {
      low = std::max(low, least);
      high = std::min(high, most);
      from[j] = to[j] = (low + high) / 2;
      wide[j] += (high - low) / 2;
    } else {
      from[j] += way / 2;
      to[j] += way / 2;
      wide[j] += std::abs(way) / 2;
    }
  }
  return moves;
}

// The base brakes along its twist, or each of its joints along its own rate.
bool Lowering::stop_base(const ChunkView& c, std::size_t row, std::size_t last, double* from,
                         double* to, double* wide) noexcept {
  const std::size_t d = skeleton_.dof;
  const Vec3 rates = commanded(c, last);
  if (drifts_[row].on) {
    const Drift& at = drifts_[row];
    bool moves = false;
    for (std::size_t i = 0; i < 3; ++i) {
      const double low = at.stop_low[i], high = at.stop_high[i];
      moves = moves || low < at.row_low[i] || high > at.row_high[i];
      from[d + i] = to[d + i] = (low + high) / 2;
      wide[d + i] = open_[(row + 1) * skeleton_.coordinates + d + i] + (high - low) / 2;
    }
    return moves;
  }
  if (rates == Vec3{}) return false;
  const double brake = braking(rates);
  if (twisted_) {
    if (!mixed_) std::copy_n(point(last + 1) + d, 3, from + d);
    const double seconds = brake + (mixed_ ? c.dt / pace_ : 0);
    drive(from, rates, seconds, to);
    arcs_[arc_count_++] = {span_count_ - 1, rates, seconds};
    return true;
  }
  // Joints x and y are turned against the base by its heading.
  const double yaw = start_.q[static_cast<std::size_t>(model_.base[2])];
  const double x = std::cos(yaw) * rates[0] - std::sin(yaw) * rates[1];
  const double y = std::sin(yaw) * rates[0] + std::cos(yaw) * rates[1];
  const double half[3] = {(std::abs(std::cos(yaw) * x) + std::abs(std::sin(yaw) * y)) * brake / 2,
                          (std::abs(std::sin(yaw) * x) + std::abs(std::cos(yaw) * y)) * brake / 2,
                          std::abs(rates[2]) * brake / 2};
  for (std::size_t i = 0; i < 3; ++i) {
    from[d + i] += rates[i] * brake / 2;
    to[d + i] += rates[i] * brake / 2;
    wide[d + i] += half[i];
  }
  return true;
}

// Cuts the arcs of the base into chords that they leave by little; what is left is width.
void Lowering::bows() noexcept {
  bends_left_ = kBends;
  for (std::size_t i = 0; i < arc_count_; ++i)
    if (arcs_[i].seconds > 0) bow(arcs_[i]);
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
