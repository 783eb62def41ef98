// What the kernel is told, and whether it is recent enough to act on.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "openral/kernel.hpp"

namespace openral {
namespace {

// A stamp a little ahead of us is another machine's clock; further ahead, time has been set back.
constexpr std::int64_t kSkew = 10'000'000;

// How far off odometry may be about a view before it tells nothing: then motion is dropped.
constexpr double kLostBase = 0.25;  // m

// A measured speed above this many times the limit, and a little, is a broken encoder or driver.
constexpr double kIncredible = 4, kIncredibleMore = 0.5;  // the latter in rad/s or m/s

// Differences of any two stamps, the extreme ones too.
bool fresh(std::int64_t stamp, std::int64_t now, std::int64_t age) {
  const auto apart = [](std::int64_t late, std::int64_t early) {
    return static_cast<std::uint64_t>(late) - static_cast<std::uint64_t>(early);
  };
  return now >= stamp ? apart(now, stamp) <= static_cast<std::uint64_t>(age)
                      : apart(stamp, now) <= static_cast<std::uint64_t>(kSkew);
}

}  // namespace

void Kernel::set_state(std::span<const double> q, std::span<const double> qd, std::int64_t stamp) {
  const std::size_t n = model_->coordinates.size();
  if (q.size() != n || qd.size() != n)
    throw std::invalid_argument("joint state has " + std::to_string(q.size()) + " positions and " +
                                std::to_string(qd.size()) + " velocities; the robot has " +
                                std::to_string(n) + " joints");
  bool usable = true;
  for (std::size_t j = 0; j < n; ++j)
    usable = usable && std::abs(q[j]) < 1e4 &&
             std::abs(qd[j]) <=
                 std::min(kIncredible * model_->coordinates[j].velocity + kIncredibleMore, 1e6);
  state_.write([&](State& s) {
    s.stamp = stamp;
    s.valid = usable;  // an incomplete state is none, nor is one that cannot be
    std::copy(q.begin(), q.end(), s.measured.q.begin());
    std::copy(qd.begin(), qd.end(), s.measured.qd.begin());
  });
}

// What cannot be used is published as unusable before the error is raised: yesterday's obstacles
// must not stand in for today's. Obstacles and the body that holds some of them change at once.
void Kernel::set_world(const std::vector<Primitive>& primitives, std::int64_t stamp,
                       const std::vector<Held>& held, bool fixed) {
  std::exception_ptr error;
  world_.write([&](Obstacles& o) {
    o.stamp = stamp;
    o.seen = true;
    o.valid = false;
    o.fixed = fixed;
    o.version = ++versions_;
    o.body = latest_body_;
    try {
      o.overflow = primitives.size() > World::kMaxPrimitives || !Body::fits(*model_, held);
      if (!o.overflow) {
        if (held != latest_body_->held) latest_body_ = std::make_shared<Body>(*model_, held);
        o.body = latest_body_;
        o.world.assign(primitives);
      }
      o.valid = true;
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

void Kernel::forget_world() {
  world_.write([&](Obstacles& o) {
    o.seen = o.valid = o.overflow = o.fixed = false;
    o.version = ++versions_;
    o.body = latest_body_ = own_;
    o.world.assign({});
  });
}

void Kernel::set_voxels(const std::uint8_t* occupied, std::array<int, 3> shape,
                        std::array<double, 3> origin, double resolution, std::int64_t stamp,
                        bool fixed) {
  double size = 1;
  bool usable = resolution >= 1e-3 && resolution <= 10;
  for (std::size_t i = 0; i < 3; ++i) {
    usable = usable && shape[i] >= 1 && std::isfinite(origin[i]) && std::abs(origin[i]) <= 1e4;
    size *= shape[i];
  }
  const bool overflow = size > static_cast<double>(VoxelField::kMaxCells);
  // On a robot that drives, the field has its own middle for an origin: floats stay small there.
  Planar anchor;
  if (model_->mobile && usable)
    anchor = {origin[0] + shape[0] * resolution / 2, origin[1] + shape[1] * resolution / 2, 0};
  voxels_.write([&](Voxels& v) {
    v.stamp = stamp;
    v.seen = true;
    v.valid = usable;
    v.overflow = usable && overflow;
    v.fixed = fixed;
    v.anchor = anchor;
    if (usable && !overflow)
      v.field.rebuild(occupied, shape, {origin[0] - anchor.x, origin[1] - anchor.y, origin[2]},
                      resolution);
  });
  if (!usable)
    throw std::invalid_argument(
        "a voxel grid needs at least one cell a side, cells of 1 mm to 10 m and a finite origin");
}

void Kernel::set_base(double x, double y, double yaw, std::int64_t stamp) {
  if (!(std::abs(x) <= 1e6) || !(std::abs(y) <= 1e6) || !std::isfinite(yaw))
    throw std::invalid_argument("the base's pose must be finite");
  const std::lock_guard turn(trail_turn_);
  trail_.add({x, y, yaw}, stamp);
  base_.write([&](BaseTrail& b) { b = trail_; });
}

std::optional<Place> Kernel::base_at(std::int64_t stamp) {
  const std::lock_guard turn(trail_turn_);
  if (trail_.empty()) return std::nullopt;
  const Envelope& e = model_->envelope;
  const double speed = std::isfinite(e.base_speed) ? e.base_speed : 0;
  const double rate = std::isfinite(e.base_rate) ? e.base_rate : 0;
  Place out = trail_.at(stamp, speed, rate);
  const double ahead = std::max(0.0, seconds_between(trail_.last_stamp(), stamp));
  out.shift += speed * ahead;
  out.turn += rate * ahead;
  return out;
}

bool Kernel::stalled(std::int64_t now) noexcept {
  const std::int64_t real = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count();
  if (now != last_now_) {
    last_now_ = now;
    last_change_ = real;
  }
  return real - last_change_ > options_.stall_ns;
}

Status Kernel::available(const Inputs& in, std::int64_t now) const noexcept {
  const Envelope& e = model_->envelope;
  if (!in.state->valid || !fresh(in.state->stamp, now, e.state_age))
    return Status::kStateUnavailable;
  // A source that has spoken once must keep speaking.
  if (in.world->overflow) return Status::kWorldOverflow;
  if (in.world->valid ? !fresh(in.world->stamp, now, e.world_age)
                      : options_.needs_world || in.world->seen)
    return Status::kWorldUnavailable;
  if (in.voxels->overflow) return Status::kVoxelOverflow;
  if (in.voxels->valid ? !fresh(in.voxels->stamp, now, e.voxel_age)
                       : options_.needs_voxels || in.voxels->seen)
    return Status::kVoxelUnavailable;
  const bool seen = in.world->valid || in.voxels->valid;
  if (model_->mobile && seen &&
      (in.base->empty() || !fresh(in.base->last_stamp(), now, e.base_age)))
    return Status::kBaseUnavailable;
  return Status::kAccepted;
}

// The newest of everything; the body is the one that goes with the obstacles.
Kernel::Inputs Kernel::read() noexcept {
  const Inputs in{&state_.read(), &world_.read(), &voxels_.read(), &base_.read()};
  body_ = in.world->body ? in.world->body.get() : own_.get();
  return in;
}

// Odometry says where the base was when each view was taken, so the views are put together in the
// frame of the voxels, whose cells need not be cut anew that way, and the robot is placed there.
// What odometry leaves open is the base's error.
Kernel::Scene Kernel::scene(const Inputs& in, std::int64_t now) noexcept {
  Scene out;
  out.world = &in.world->world;
  const bool mapped = in.voxels->valid && !in.voxels->overflow;
  const bool told = in.world->valid && !in.world->world.obstacles.empty();
  if (mapped) out.voxels = &in.voxels->field;
  if (!model_->mobile || in.base->empty()) return out;
  const Envelope& e = model_->envelope;
  const double speed = std::isfinite(e.base_speed) ? e.base_speed : 0;
  const double rate = std::isfinite(e.base_rate) ? e.base_rate : 0;
  const Planar here = in.base->last();
  const double age =
      static_cast<double>(std::max<std::int64_t>(0, now - in.base->last_stamp())) * 1e-9;
  const Vec3 twist = base_twist(*model_, in.state->measured);
  const double gone = std::hypot(twist[0], twist[1]) * age;
  const auto doubt = [&](const Place& place) {
    out.placed = out.placed && place.shift <= kLostBase;
    const double way = std::hypot(here.x - place.pose.x, here.y - place.pose.y) + gone;
    out.error[0] += place.shift + place.turn * way;
    out.error[1] += place.shift + place.turn * way;
    out.error[2] += place.turn;
  };
  Planar frame = here;  // of the scene, by odometry
  if (mapped && in.voxels->fixed) {
    frame = in.voxels->anchor;
  } else if (mapped) {
    const Place seen = in.base->at(in.voxels->stamp, speed, rate);
    doubt(seen);
    frame = seen.pose * in.voxels->anchor;
  } else if (told && in.world->fixed) {
    frame = {here.x, here.y, 0};
  } else if (told) {
    const Place seen = in.base->at(in.world->stamp, speed, rate);
    doubt(seen);
    frame = seen.pose;
  }
  // Half of the way that it has gone on since its pose was measured, give or take the other half;
  // an arc leaves its tangent by at most |v|·|ω|·t²/2.
  out.base =
      inverse(frame) * here * Planar{twist[0] * age / 2, twist[1] * age / 2, twist[2] * age / 2};
  for (std::size_t i = 0; i < 3; ++i) out.error[i] += std::abs(twist[i]) * age / 2;
  for (std::size_t i = 0; i < 2; ++i) out.error[i] += gone * std::abs(twist[2]) * age / 2;
  if (told && in.world->fixed) {
    out.world = placed(*in.world, inverse(frame));
  } else if (told && mapped) {
    const Place seen = in.base->at(in.world->stamp, speed, rate);
    doubt(seen);
    out.world = placed(*in.world, inverse(frame) * seen.pose);
  }
  return out;
}

const World* Kernel::placed(const Obstacles& obstacles, const Planar& frame) noexcept {
  if (obstacles.world.obstacles.empty()) return &obstacles.world;
  if (placed_version_ != obstacles.version || !(placed_at_ == frame)) {
    placed_.place(obstacles.world, frame);
    placed_version_ = obstacles.version;
    placed_at_ = frame;
  }
  return &placed_;
}

}  // namespace openral
