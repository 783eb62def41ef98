// The mobile base: arcs, how far it deviates from its commanded path while its velocity changes,
// and how it brakes. Displacements are in the base's own frame at the start.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

constexpr double kSame = 1e-9;  // m/s or rad/s: velocities this close are one

// An interval for each axis; `spin` turns x and y of all its corners and bounds them again.
struct Range {
  Vec3 low{}, high{};
  void include(const Vec3& v) {
    for (std::size_t i = 0; i < 3; ++i) {
      low[i] = std::min(low[i], v[i]);
      high[i] = std::max(high[i], v[i]);
    }
  }
  void add(const Vec3& v) {  // any share of v
    for (std::size_t i = 0; i < 3; ++i) (v[i] < 0 ? low : high)[i] += v[i];
  }
  void grow(double planar) {
    for (std::size_t i = 0; i < 2; ++i) {
      low[i] -= planar;
      high[i] += planar;
    }
  }
  void add(const Range& r) {
    for (std::size_t i = 0; i < 3; ++i) {
      low[i] += r.low[i];
      high[i] += r.high[i];
    }
  }
  double farthest() const {  // from zero, in the plane
    return std::hypot(std::max(-low[0], high[0]), std::max(-low[1], high[1]));
  }
  double turn() const { return std::max(-low[2], high[2]); }
  Range spun(double yaw) const {
    const double c = std::cos(yaw), s = std::sin(yaw);
    Range out;
    out.low = out.high = {c * low[0] - s * low[1], s * low[0] + c * low[1], low[2]};
    for (int k = 1; k < 4; ++k) {
      const double x = k % 2 == 0 ? low[0] : high[0], y = k < 2 ? low[1] : high[1];
      out.include({c * x - s * y, s * x + c * y, high[2]});
    }
    return out;
  }
};

double speed(const Vec3& v) { return std::hypot(v[0], v[1]); }

// Whether v goes along w's circle, in the same sense and no faster.
bool within(const Vec3& v, const Vec3& w) {
  const double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const double share = square > 0 ? (v[0] * w[0] + v[1] * w[1] + v[2] * w[2]) / square : 0;
  bool same = share >= 0 && share <= 1 + 1e-9;
  for (std::size_t i = 0; i < 3; ++i) same = same && std::abs(v[i] - share * w[i]) <= kSame;
  return same;
}

}  // namespace

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
    const Vec3 v{view.at(row, 0), view.at(row, 1), view.at(row, 2)};
    if (model_.differential && std::abs(v[1]) > 1e-9) {  // its wheels would slip
      out.row = static_cast<std::int32_t>(row);
      out.status = Status::kBaseSpeed;
      out.value = v[1];
      out.limit = 0;
      return false;
    }
    // Of the twist itself: the chord of an arc is shorter than the way.
    const double linear = speed(v), rate = std::abs(v[2]);
    if (!(linear <= e.base_speed * speed_ * (1 + 1e-6) + 1e-9 &&
          rate <= e.base_rate * speed_ * (1 + 1e-6) + 1e-9)) {
      const bool fast = linear > e.base_speed * speed_;
      out.row = static_cast<std::int32_t>(row);
      out.status = Status::kBaseSpeed;
      out.value = fast ? linear : rate;
      out.limit = speed_ * (fast ? e.base_speed : e.base_rate);
      return false;
    }
    drive(point(row), v, c.dt, point(row + 1));
    arcs_[row_arcs_++] = {static_cast<int>(row) + 1, v, c.dt};
  }
  twisted_ = true;
  return true;
}

// Moves the base of `from` on by a twist, and returns how far the arc leaves its chord at most:
// |v|·|ω|·t²/8.
double Lowering::drive(const double* from, const Vec3& v, double seconds,
                       double* to) const noexcept {
  const std::size_t d = skeleton_.dof;
  const double yaw = from[d + 2], turn = v[2] * seconds;
  const double sine = std::abs(turn) < 1e-6 ? 1 - turn * turn / 6 : std::sin(turn) / turn;
  const double versine = std::abs(turn) < 1e-6 ? turn / 2 : (1 - std::cos(turn)) / turn;
  const double x = (v[0] * sine - v[1] * versine) * seconds;
  const double y = (v[0] * versine + v[1] * sine) * seconds;
  to[d] = from[d] + std::cos(yaw) * x - std::sin(yaw) * y;
  to[d + 1] = from[d + 1] + std::sin(yaw) * x + std::cos(yaw) * y;
  to[d + 2] = yaw + turn;
  return speed(v) * std::abs(v[2]) * seconds * seconds / 8;
}

// How long a base goes on at its full speed to cover the way that it needs to brake.
double Lowering::braking(const Vec3& twist) const noexcept {
  const Envelope& e = model_.envelope;
  return std::max(e.stop_time, speed(twist) / (2 * e.base_deceleration));
}

// The base's velocity in a row at the present pace: of a twist in its own frame, of joints in the
// frame of the start.
Vec3 Lowering::commanded(const ChunkView& c, std::size_t row) const noexcept {
  Vec3 out{};
  if (twisted_) {
    const Vec3& twist = arcs_[row].twist;
    for (std::size_t i = 0; i < 3; ++i) out[i] = twist[i] * pace_;
    return out;
  }
  const double *a = point(row) + skeleton_.dof, *b = point(row + 1) + skeleton_.dof;
  for (std::size_t i = 0; i < 3; ++i) out[i] = (b[i] - a[i]) / c.dt * pace_;
  return out;
}

// Whether a base that is alone in moving stays on one circle, from how it was found and without
// ever slowing down: it lags then, but on its path. `lag` is by how much at most, s: velocities
// that only grow are each taken up that late, so it is where it should have been that long ago.
bool Lowering::steady(const ChunkView& c, double& lag) const noexcept {
  lag = 0;
  if (mixed_) return false;
  Vec3 last = base_twist(model_, start_);
  for (std::size_t row = 0; row < horizon_; ++row) {
    const Vec3 next = commanded(c, row);
    if (!within(last, next)) return false;
    if (next != last) lag = std::max(lag, braking({next[0] - last[0], next[1] - last[1], 0}));
    last = next;
  }
  return true;
}

// Velocities do not jump. While the base goes from one to the next, first from how it was found
// moving, its velocity is new + c·(old − new), c falling from 1 to 0; so it deviates from the
// commanded path by any share of (old − new)·T, T being how long braking from that difference takes
// at full speed. Some bases take that back, others never do: it counts in every later row. A
// deviation of the heading turns all that comes after it. Where the velocity is between the two,
// a stop leads along that one. If it slows down steadily, a share 1 − c² of the deviation has come
// about by then; what it goes on for within the time of a stop may have come about at any c.
void Lowering::drift(const ChunkView& c) noexcept {
  for (std::size_t row = 0; row < horizon_; ++row) drifts_[row].on = false;
  lagging_ = 0;
  if (!base_owned_ || steady(c, lagging_)) return;
  lagging_ = 0;
  const Envelope& e = model_.envelope;
  const std::size_t d = skeleton_.dof;
  const double dt = c.dt / pace_;
  const double heading =
      model_.base[2] < 0 ? 0 : start_.q[static_cast<std::size_t>(model_.base[2])];
  Vec3 old = base_twist(model_, start_), change{};  // the last change
  Range changes, way;          // what of it may be left, and the deviation that it makes
  Range before, rest, travel;  // deviations and velocities of earlier changes; what these allow
  double around = 0, until = 0, rest_until = 0;
  double at_once = 1;  // share of the deviation that comes about before the velocity changes
  for (std::size_t row = 0; row < horizon_; ++row) {
    const Vec3 now = commanded(c, row);
    const double *a = point(row) + d, *b = point(row + 1) + d;
    const double yaw = twisted_ ? a[2] : 0, time = static_cast<double>(row) * dt;
    const double cosine = std::cos(yaw), sine = std::sin(yaw);
    const auto turned = [&](const Vec3& v) {
      return Vec3{cosine * v[0] - sine * v[1], sine * v[0] + cosine * v[1], v[2]};
    };
    Vec3 differs{};
    for (std::size_t i = 0; i < 3; ++i) differs[i] = old[i] - now[i];
    if (time >= rest_until) rest = {};
    if (time >= until) {
      change = {};
      changes = {};
    }
    if (speed(differs) > kSame || std::abs(differs[2]) > kSame) {
      before.add(way);
      if (time < until) {
        rest.add(changes);
        rest_until = std::max(until, rest_until);
      }
      change = differs;
      const double seconds = braking(change);
      at_once = e.stop_time / seconds;
      // A twist changes in step, joints each at their own pace along their own axes.
      changes = {};
      changes.add(twisted_ ? change
                           : Vec3{std::cos(heading) * change[0] - std::sin(heading) * change[1],
                                  std::sin(heading) * change[0] + std::cos(heading) * change[1],
                                  change[2]});
      if (!twisted_) changes = changes.spun(-heading);
      way = {};
      way.add(turned(change));
      if (!twisted_) way = changes;
      for (std::size_t i = 0; i < 3; ++i) {
        way.low[i] *= seconds;
        way.high[i] *= seconds;
      }
      until = time + std::max(e.stop_time, speed(change) / e.base_deceleration);
      const double turning = std::max(std::abs(old[2]), std::abs(now[2])) * seconds;
      if (twisted_)
        around += speed(change) * seconds * std::min(2.0, turning + before.turn() + way.turn());
    }
    Range gone = before;
    gone.add(way);
    if (twisted_) around += gone.turn() * speed(now) * dt;
    old = now;
    Drift& out = drifts_[row];
    for (std::size_t i = 0; i < 3; ++i)
      out.on = out.on || gone.low[i] < 0 || gone.high[i] > 0 || rest.low[i] < 0 || rest.high[i] > 0;
    const double swept = twisted_ ? std::abs(b[2] - a[2]) + gone.turn() : 0;

    // From every velocity that it may have to a standstill, in small steps of what is left of the
    // last change.
    constexpr int kSteps = 8;
    const bool active = time < until;
    Range ahead, velocities;
    double fastest = 0;
    const int steps = active && twisted_ ? kSteps : 1;
    for (int k = steps; k > 0; --k) {
      const double most = active ? static_cast<double>(k) / steps : 0,
                   least = active ? static_cast<double>(k - 1) / steps : 0;
      Range moving = rest;
      for (std::size_t i = 0; i < 3; ++i) {
        moving.low[i] += now[i] + std::min(least * change[i], most * changes.low[i]);
        moving.high[i] += now[i] + std::max(least * change[i], most * changes.high[i]);
      }
      const double linear = moving.farthest(), brake = braking({linear, 0, 0});
      fastest = std::max(fastest, linear);
      const Range seen = moving.spun(yaw);
      if (k == steps) velocities = seen;
      velocities.include(seen.low);
      velocities.include(seen.high);
      // Joints brake at their own pace along their own axes, a twist along its circle.
      Range stop = twisted_ ? moving : moving.spun(heading);
      for (std::size_t i = 0; i < 3; ++i) {
        stop.low[i] = std::min(0.0, stop.low[i] * brake);
        stop.high[i] = std::max(0.0, stop.high[i] * brake);
      }
      stop = stop.spun(twisted_ ? yaw : -heading);
      if (twisted_) stop.grow(linear * brake * std::min(2.0, moving.turn() * brake + swept));
      for (std::size_t i = 0; i < 3; ++i) {
        const double share = std::max(at_once, 1 - least * least);
        stop.low[i] += way.low[i] * share;
        stop.high[i] += way.high[i] * share;
      }
      ahead.include(stop.low);
      ahead.include(stop.high);
    }
    if (twisted_) velocities.grow(fastest * std::min(2.0, swept));
    // What its velocities allow since the start, at either end of the row.
    Range reached = travel;
    for (std::size_t i = 0; i < 3; ++i) {
      travel.low[i] += velocities.low[i] * dt;
      travel.high[i] += velocities.high[i] * dt;
      reached.low[i] = std::min(reached.low[i], travel.low[i]);
      reached.high[i] = std::max(reached.high[i], travel.high[i]);
    }
    const double bow = twisted_ ? speed(now) * std::abs(now[2]) * dt * dt / 8 : 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double off = i < 2 ? around : 0, bowed = i < 2 ? bow : 0;
      const double low = std::min(a[i], b[i]) - off - bowed,
                   high = std::max(a[i], b[i]) + off + bowed;
      out.low[i] = gone.low[i] - off;
      out.high[i] = gone.high[i] + off;
      out.row_low[i] = std::max(low + gone.low[i], reached.low[i] - bowed);
      out.row_high[i] = std::min(high + gone.high[i], reached.high[i] + bowed);
      out.stop_low[i] = std::min(out.row_low[i], low + before.low[i] + ahead.low[i]);
      out.stop_high[i] = std::max(out.row_high[i], high + before.high[i] + ahead.high[i]);
    }
  }
}

// The base in a row that it may deviate in: along the path, or where that says more than is true,
// anywhere in an interval.
void Lowering::drift_row(std::size_t row, double* from, double* to) noexcept {
  const Drift& at = drifts_[row];
  const std::size_t d = skeleton_.dof;
  double* wide = width(row + 1) + d;
  bool box = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const double along = std::abs(to[d + i] - from[d + i]), off = (at.high[i] - at.low[i]) / 2;
    box = box || off > along / 2 || (at.row_high[i] - at.row_low[i]) < 0.9 * (along + 2 * off);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (box && i < 2) {
      from[d + i] = to[d + i] = (at.row_low[i] + at.row_high[i]) / 2;
      wide[i] += (at.row_high[i] - at.row_low[i]) / 2;
    } else {
      from[d + i] += (at.low[i] + at.high[i]) / 2;
      to[d + i] += (at.low[i] + at.high[i]) / 2;
      wide[i] += (at.high[i] - at.low[i]) / 2;
    }
  }
  if (box && twisted_) arcs_[row].seconds = 0;  // its bow is in the interval
}

// A base that no slot drives brakes while the rows are executed: at any of them it may be anywhere
// on its way to a standstill.
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

}  // namespace openral
