// Smallest and largest depth of any part of an image, from a few look-ups. The smallest is 0 where
// a pixel was not measured; one that stands alone among measured ones counts as the nearest of
// them.
#pragma once

#include <algorithm>
#include <vector>

namespace openral {

class DepthPyramid {
  static constexpr int kLevels = 10;

 public:
  static constexpr float kLargest = 1 << (kLevels - 1);  // pixels along a texel's edge
  struct Range {
    float least, most;
  };

  // +inf counts as the farthest depth; NaN, zero, less and what is nearer than `nearest` as not
  // measured. Returns how many pixels were.
  std::size_t build(const float* depth, int width, int height, float nearest, float farthest);

  int width() const { return levels_[0].width; }
  int height() const { return levels_[0].height; }
  // The least depth of one pixel.
  float at(int u, int v) const {
    return levels_[0].least[static_cast<std::size_t>(v) * static_cast<std::size_t>(width()) +
                            static_cast<std::size_t>(u)];
  }
  // The level at which a stretch of `pixels` covers at most two texels.
  static int level_for(float pixels) {
    int level = 0;
    while (level + 1 < kLevels && static_cast<float>(1 << level) < pixels) ++level;
    return level;
  }
  // Bounds over the texels that hold the pixels u0..u1, v0..v1, which lie in the image.
  Range range(int level, int u0, int v0, int u1, int v1) const {
    const Level& l = levels_[static_cast<std::size_t>(level)];
    Range out{kFar, 0};
    for (int v = v0 >> level; v <= v1 >> level; ++v)
      for (int u = u0 >> level; u <= u1 >> level; ++u) {
        const std::size_t i = static_cast<std::size_t>(v) * static_cast<std::size_t>(l.width) +
                              static_cast<std::size_t>(u);
        out.least = std::min(out.least, l.least[i]);
        out.most = std::max(out.most, l.most[i]);
      }
    return out;
  }
  // The least alone, of a square that is not larger than a texel: two by two hold it.
  float least(int level, int u0, int v0, int u1, int v1) const {
    const Level& l = levels_[static_cast<std::size_t>(level)];
    const float* up =
        l.least.data() + static_cast<std::size_t>(v0 >> level) * static_cast<std::size_t>(l.width);
    const float* down =
        l.least.data() + static_cast<std::size_t>(v1 >> level) * static_cast<std::size_t>(l.width);
    u0 >>= level;
    u1 >>= level;
    return std::min(std::min(up[u0], up[u1]), std::min(down[u0], down[u1]));
  }
  std::size_t memory() const;

 private:
  static constexpr float kFar = 3e38F;
  struct Level {
    int width = 0, height = 0;
    std::vector<float> least, most;
  };
  float most_at(int u, int v) const {
    return levels_[0].most[static_cast<std::size_t>(v) * static_cast<std::size_t>(width()) +
                           static_cast<std::size_t>(u)];
  }
  void fill_gaps();
  static void halve(const Level& from, Level& to);
  Level levels_[kLevels];
};

}  // namespace openral
