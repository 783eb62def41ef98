// A point cloud into the map: one ray a cell that was hit, however many points lie in it.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "openral/mapper.hpp"

namespace openral {

ViewReport Mapper::insert_points(const float* points, std::size_t count_of, const Pose& sensor,
                                 double nearest, double farthest, std::span<const Capsule> body,
                                 std::span<const Capsule> held) {
  if (!(nearest > 0 && farthest > nearest))
    throw std::invalid_argument("a sensor's range is positive and ordered");
  for (const double v : sensor.translation)
    if (!(std::abs(v) <= 1e6)) throw std::invalid_argument("a cloud needs a finite pose");
  const Vec3 corner = origin();
  const double inverse = 1 / options_.resolution;
  std::array<float, 3> at{};
  for (std::size_t i = 0; i < 3; ++i)
    at[i] = static_cast<float>((sensor.translation[i] - corner[i]) * inverse);
  ViewReport report;
  mark_own(body, held, report);
  const auto nearest_squared = static_cast<float>(nearest * nearest);
  const auto farthest_squared = static_cast<float>(farthest * farthest);
  for (std::size_t n = 0; n < count_of; ++n) {
    const float* p = points + 3 * n;
    const float range = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    if (!(range >= nearest_squared && range <= farthest_squared)) continue;
    ++report.measured;
    int cell[3];
    bool inside = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const double along = sensor.rotation[3 * i] * static_cast<double>(p[0]) +
                           sensor.rotation[3 * i + 1] * static_cast<double>(p[1]) +
                           sensor.rotation[3 * i + 2] * static_cast<double>(p[2]);
      const double place = static_cast<double>(at[i]) + along * inverse;
      inside = inside && place >= 0 && place < options_.dims[i];
      cell[i] = inside ? static_cast<int>(place) : 0;
    }
    if (inside) count(index(cell[0], cell[1], cell[2]));
  }
  const std::size_t marked = touched_.size();
  std::vector<std::uint32_t> ends;
  for (std::size_t i = 0; i < marked; ++i) {
    const std::uint32_t cell = touched_[i];
    if (count_[cell] == kOwn) continue;
    count_[cell] = kHit;
    raise(cell);
    ++report.hit;
    ends.push_back(cell);
  }
  show_hits();
  for (const std::uint32_t cell : ends) carve_ray(at, cell, report);
  forget_marks();
  return report;
}

// Every cell between the sensor and a hit, once a view.
void Mapper::carve_ray(const std::array<float, 3>& from, std::size_t to, ViewReport& report) {
  constexpr std::uint8_t kSeen = kHit - 1;  // above any count that can be met here
  const auto nx = static_cast<std::size_t>(options_.dims[0]);
  const auto ny = static_cast<std::size_t>(options_.dims[1]);
  const int end[3] = {static_cast<int>(to % nx), static_cast<int>(to / nx % ny),
                      static_cast<int>(to / nx / ny)};
  // Walked from the hit towards the sensor, so that leaving the window ends it.
  int cell[3] = {end[0], end[1], end[2]}, step[3];
  float next[3], stride[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const float start = static_cast<float>(end[i]) + 0.5F, way = from[i] - start;
    step[i] = way > 0 ? 1 : -1;
    const bool moves = std::abs(way) > 1e-6F;
    stride[i] = moves ? 1 / std::abs(way) : std::numeric_limits<float>::infinity();
    next[i] = moves ? 0.5F * stride[i] : stride[i];
  }
  for (;;) {
    const int axis = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
    if (!(next[axis] < 1)) return;
    next[axis] += stride[axis];
    cell[axis] += step[axis];
    if (cell[axis] < 0 || cell[axis] >= options_.dims[static_cast<std::size_t>(axis)]) return;
    const std::size_t at = index(cell[0], cell[1], cell[2]);
    std::uint8_t& mark = count_[at];
    if (mark >= kSeen) continue;
    mark = kSeen;
    touched_.push_back(static_cast<std::uint32_t>(at));
    lower(at);
    ++report.carved;
  }
}

}  // namespace openral
