#include "openral/base_trail.hpp"

#include <algorithm>
#include <cmath>

namespace openral {
namespace {

constexpr double kSetBack = 1;  // s: a stamp that much older means that time was set back

double turn_between(double a, double b) { return std::remainder(b - a, 6.283185307179586); }

}  // namespace

Planar operator*(const Planar& a, const Planar& b) noexcept {
  const double c = std::cos(a.yaw), s = std::sin(a.yaw);
  return {a.x + c * b.x - s * b.y, a.y + s * b.x + c * b.y,
          std::remainder(a.yaw + b.yaw, 6.283185307179586)};
}

Planar inverse(const Planar& p) noexcept {
  const double c = std::cos(p.yaw), s = std::sin(p.yaw);
  return {-c * p.x - s * p.y, s * p.x - c * p.y, -p.yaw};
}

void BaseTrail::add(const Planar& pose, std::int64_t stamp) noexcept {
  if (count_ > 0 && seconds_between(stamp, stamps_[count_ - 1]) > kSetBack) count_ = 0;
  if (count_ > 0 && stamp < stamps_[count_ - 1]) return;  // overtaken by a newer one
  if (count_ > 0 && stamp == stamps_[count_ - 1]) --count_;
  if (count_ == kLength) {
    std::move(poses_.begin() + 1, poses_.end(), poses_.begin());
    std::move(stamps_.begin() + 1, stamps_.end(), stamps_.begin());
    --count_;
  }
  poses_[count_] = pose;
  stamps_[count_++] = stamp;
}

Place BaseTrail::at(std::int64_t stamp, double speed, double rate) const noexcept {
  if (stamp >= last_stamp()) return {last(), 0, 0};
  if (stamp < stamps_[0]) {
    const double gap = seconds_between(stamp, stamps_[0]);
    return {poses_[0], speed * gap, rate * gap};
  }
  const auto* next = std::upper_bound(stamps_.data(), stamps_.data() + count_, stamp);
  const auto i = static_cast<std::size_t>(next - stamps_.data());
  const Planar &a = poses_[i - 1], &b = poses_[i];
  const double s =
      seconds_between(stamps_[i - 1], stamp) / seconds_between(stamps_[i - 1], stamps_[i]);
  const double turn = turn_between(a.yaw, b.yaw);
  // It went from the one to the other in a way that is not known.
  const double doubt = s == 0 ? 0 : std::max(s, 1 - s);
  return {{a.x + s * (b.x - a.x), a.y + s * (b.y - a.y), a.yaw + s * turn},
          doubt * std::hypot(b.x - a.x, b.y - a.y),
          doubt * std::abs(turn)};
}

}  // namespace openral
