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

bool fresh(std::int64_t stamp, std::int64_t now, std::int64_t age) {
  return now >= stamp ? now - stamp <= age : stamp - now <= kSkew;
}

}  // namespace

void Kernel::set_state(std::span<const double> q, std::span<const double> qd, std::int64_t stamp) {
  const std::size_t n = model_->coordinates.size();
  if (q.size() != n || qd.size() != n)
    throw std::invalid_argument("joint state has " + std::to_string(q.size()) + " positions and " +
                                std::to_string(qd.size()) + " velocities; the robot has " +
                                std::to_string(n) + " joints");
  bool finite = true;
  for (std::size_t j = 0; j < n; ++j)
    finite = finite && std::isfinite(q[j]) && std::isfinite(qd[j]) && std::abs(q[j]) < 1e4;
  state_.write([&](State& s) {
    s.stamp = stamp;
    s.valid = finite;  // an incomplete state is none
    std::copy(q.begin(), q.end(), s.measured.q.begin());
    std::copy(qd.begin(), qd.end(), s.measured.qd.begin());
  });
}

// What cannot be used is published as unusable before the error is raised: yesterday's obstacles
// must not stand in for today's.
void Kernel::set_world(const std::vector<Primitive>& primitives, std::int64_t stamp) {
  const bool overflow = primitives.size() > World::kMaxPrimitives;
  std::exception_ptr error;
  world_.write([&](Obstacles& o) {
    o.stamp = stamp;
    o.seen = true;
    o.valid = false;
    o.overflow = overflow;
    try {
      if (!overflow) o.world.assign(primitives);
      o.valid = true;
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

void Kernel::set_voxels(const std::uint8_t* occupied, std::array<int, 3> shape,
                        std::array<double, 3> origin, double resolution, std::int64_t stamp) {
  double size = 1;
  bool usable = resolution >= 1e-3 && resolution <= 10;
  for (std::size_t i = 0; i < 3; ++i) {
    usable = usable && shape[i] >= 1 && std::isfinite(origin[i]) && std::abs(origin[i]) <= 1e4;
    size *= shape[i];
  }
  const bool overflow = size > static_cast<double>(VoxelField::kMaxCells);
  voxels_.write([&](Voxels& v) {
    v.stamp = stamp;
    v.seen = true;
    v.valid = usable;
    v.overflow = usable && overflow;
    if (usable && !overflow) v.field.rebuild(occupied, shape, origin, resolution);
  });
  if (!usable)
    throw std::invalid_argument(
        "a voxel grid needs at least one cell a side, cells of 1 mm to 10 m and a finite origin");
}

void Kernel::set_base(double x, double y, double yaw, std::int64_t stamp) {
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(yaw))
    throw std::invalid_argument("the base's pose must be finite");
  const std::lock_guard turn(trail_turn_);
  if (trail_.count == BaseTrail::kLength)
    std::move(trail_.poses.begin() + 1, trail_.poses.end(), trail_.poses.begin());
  else
    ++trail_.count;
  trail_.poses[trail_.count - 1] = {stamp, x, y, yaw};
  base_.write([&](BaseTrail& b) { b = trail_; });
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
      (in.base->count == 0 || !fresh(in.base->poses[in.base->count - 1].stamp, now, e.base_age)))
    return Status::kBaseUnavailable;
  return Status::kAccepted;
}

// How far the base may be from where it was when the older of the two views of the world was taken,
// in its own frame: what its odometry says, and how far it has gone on since it was last measured.
Vec3 Kernel::base_error(const Inputs& in, std::int64_t now) const noexcept {
  Vec3 error{};
  if (!model_->mobile || in.base->count == 0) return error;
  error = since_seen(in);
  const auto stamp = in.base->poses[in.base->count - 1].stamp;
  const double age = static_cast<double>(std::max<std::int64_t>(0, now - stamp)) * 1e-9;
  const Vec3 twist = base_twist(*model_, in.state->measured);
  for (std::size_t i = 0; i < 3; ++i) error[i] += std::abs(twist[i]) * age;
  return error;
}

Vec3 Kernel::since_seen(const Inputs& in) const noexcept {
  Vec3 error{};
  const BasePose& last = in.base->poses[in.base->count - 1];
  std::int64_t since = last.stamp;
  if (in.world->valid) since = std::min(since, in.world->stamp);
  if (in.voxels->valid) since = std::min(since, in.voxels->stamp);
  const double c = std::cos(last.yaw), s = std::sin(last.yaw);
  for (std::size_t i = in.base->count; i-- > 0;) {
    const BasePose& p = in.base->poses[i];
    const double x = p.x - last.x, y = p.y - last.y;
    error[0] = std::max(error[0], std::abs(c * x + s * y));
    error[1] = std::max(error[1], std::abs(-s * x + c * y));
    error[2] = std::max(error[2], std::abs(std::remainder(p.yaw - last.yaw, 6.283185307179586)));
    if (p.stamp <= since) return error;
  }
  // The trail starts after the view was taken: what came before is bounded by the speed caps.
  const double gap = static_cast<double>(in.base->poses[0].stamp - since) * 1e-9;
  if (gap > 0 && std::isfinite(model_->envelope.base_speed)) {
    error[0] += model_->envelope.base_speed * gap;
    error[1] += model_->envelope.base_speed * gap;
    error[2] += model_->envelope.base_rate * gap;
  }
  return error;
}

}  // namespace openral
