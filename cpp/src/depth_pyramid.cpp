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
  base.whole.resize(size);
  std::size_t measured = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const float z = depth[i];
    const bool valid = z >= nearest;  // false for NaN
    const float cut = z < farthest ? z : farthest;
    base.least[i] = valid ? cut : kFar;
    base.most[i] = valid ? cut : 0;
    base.whole[i] = valid ? 1 : 0;
    measured += valid ? 1 : 0;
  }
  for (int level = 1; level < kLevels; ++level) halve(levels_[level - 1], levels_[level]);
  return measured;
}

void DepthPyramid::halve(const Level& from, Level& to) {
  to.width = (from.width + 1) / 2;
  to.height = (from.height + 1) / 2;
  const std::size_t size = static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height);
  to.least.resize(size);
  to.most.resize(size);
  to.whole.resize(size);
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
      to.whole[out + u] = static_cast<unsigned char>(from.whole[a] & from.whole[a + 1] &
                                                     from.whole[b] & from.whole[b + 1]);
    }
    if (from.width % 2 == 0) continue;
    const std::size_t a = up + 2 * pairs, b = down + 2 * pairs;
    to.least[out + pairs] = std::min(from.least[a], from.least[b]);
    to.most[out + pairs] = std::max(from.most[a], from.most[b]);
    to.whole[out + pairs] = static_cast<unsigned char>(from.whole[a] & from.whole[b]);
  }
}

std::size_t DepthPyramid::memory() const {
  std::size_t bytes = 0;
  for (const Level& l : levels_)
    bytes += (l.least.capacity() + l.most.capacity()) * sizeof(float) + l.whole.capacity();
  return bytes;
}

}  // namespace openral
