// Where a mobile base was, and the algebra of poses in the plane.
#pragma once

#include <array>
#include <cstdint>

#include "openral/model.hpp"

namespace openral {

// From one stamp to another, whatever they are: the difference itself may not fit into 64 bits.
inline double seconds_between(std::int64_t early, std::int64_t late) {
  const bool ordered = late >= early;
  const auto apart = ordered ? static_cast<std::uint64_t>(late) - static_cast<std::uint64_t>(early)
                             : static_cast<std::uint64_t>(early) - static_cast<std::uint64_t>(late);
  return (ordered ? 1e-9 : -1e-9) * static_cast<double>(apart);
}

// A frame in the plane: seen from its parent it lies at x, y and is turned by yaw.
struct Planar {
  double x = 0, y = 0, yaw = 0;
  bool operator==(const Planar&) const = default;
};
Planar operator*(const Planar& outer, const Planar& inner) noexcept;
Planar inverse(const Planar& pose) noexcept;

// A pose, and how far off it may be: distance and angle.
struct Place {
  Planar pose;
  double shift = 0, turn = 0;
};

// The latest poses by odometry, newest last.
class BaseTrail {
 public:
  void add(const Planar& pose, std::int64_t stamp) noexcept;
  bool empty() const { return count_ == 0; }
  const Planar& last() const { return poses_[count_ - 1]; }
  std::int64_t last_stamp() const { return stamps_[count_ - 1]; }
  // Where the base was at a time, between its neighbours. Before the first pose it is the first,
  // off by as much as the given speeds allow; since the last one it is the last, and how far the
  // base has gone on is the caller's to add. The trail must not be empty.
  Place at(std::int64_t stamp, double speed, double rate) const noexcept;

 private:
  static constexpr std::size_t kLength = 128;
  std::array<Planar, kLength> poses_{};
  std::array<std::int64_t, kLength> stamps_{};
  std::size_t count_ = 0;
};

}  // namespace openral
