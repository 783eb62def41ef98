#include "openral/depth_pyramid.hpp"

namespace openral {

std::size_t DepthPyramid::build(const float* depth, int width, int height, float nearest,
                                float farthest) {
  Level& base = levels_[0];
  base.width = width;
  base.height = height;
  const std::size_t size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  base.least.resize(size);
  base.most.resize(size);
  std::size_t measured = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const float z = depth[i];
    const bool valid = z >= nearest;  // false for NaN
    const float cut = z < farthest ? z : farthest;
    base.least[i] = base.most[i] = valid ? cut : 0;
    measured += valid ? 1 : 0;
  }
  if (measured < size) fill_gaps();
  for (int level = 1; level < kLevels; ++level) halve(levels_[level - 1], levels_[level]);
  return measured;
}

// Single pixels without a depth are everywhere in a real picture and hide nothing: where most of
// the pixels around one are measured, it counts as the nearest of them.
void DepthPyramid::fill_gaps() {
  Level& base = levels_[0];
  for (int v = 0; v < base.height; ++v)
    for (int u = 0; u < base.width; ++u) {
      if (most_at(u, v) > 0) continue;
      const int left = std::max(u - 1, 0), right = std::min(u + 1, base.width - 1);
      const int top = std::max(v - 1, 0), bottom = std::min(v + 1, base.height - 1);
      int measured = 0;
      float least = kFar;
      for (int y = top; y <= bottom; ++y)
        for (int x = left; x <= right; ++x) {
          const float z = most_at(x, y);
          if (!(z > 0)) continue;
          ++measured;
          least = std::min(least, z);
        }
      const int around = (right - left + 1) * (bottom - top + 1) - 1;
      if (2 * measured > around)
        base.least[static_cast<std::size_t>(v) * static_cast<std::size_t>(base.width) +
                   static_cast<std::size_t>(u)] = least;
    }
}

void DepthPyramid::halve(const Level& from, Level& to) {
  to.width = (from.width + 1) / 2;
  to.height = (from.height + 1) / 2;
  const std::size_t size = static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height);
  to.least.resize(size);
  to.most.resize(size);
  for (int v = 0; v < to.height; ++v) {
    const std::size_t up = static_cast<std::size_t>(2 * v) * static_cast<std::size_t>(from.width);
    const std::size_t down =
        2 * v + 1 < from.height ? up + static_cast<std::size_t>(from.width) : up;
    const std::size_t out = static_cast<std::size_t>(v) * static_cast<std::size_t>(to.width);
    const auto pairs = static_cast<std::size_t>(from.width / 2);
    for (std::size_t u = 0; u < pairs; ++u) {
      const std::size_t a = up + 2 * u, b = down + 2 * u;
      to.least[out + u] = std::min(std::min(from.least[a], from.least[a + 1]),
                                   std::min(from.least[b], from.least[b + 1]));
      to.most[out + u] = std::max(std::max(from.most[a], from.most[a + 1]),
                                  std::max(from.most[b], from.most[b + 1]));
    }
    if (from.width % 2 == 0) continue;
    const std::size_t a = up + 2 * pairs, b = down + 2 * pairs;
    to.least[out + pairs] = std::min(from.least[a], from.least[b]);
    to.most[out + pairs] = std::max(from.most[a], from.most[b]);
  }
}

std::size_t DepthPyramid::memory() const {
  std::size_t bytes = 0;
  for (const Level& l : levels_) bytes += (l.least.capacity() + l.most.capacity()) * sizeof(float);
  return bytes;
}

}  // namespace openral
