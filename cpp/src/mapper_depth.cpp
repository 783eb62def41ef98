// A depth image into the map. Points are counted by cell; then cells that the camera looks through
// are lowered, block by block: a block wholly in front of all that its part of the image shows is
// free at once, one wholly behind is left alone, and only the rest is looked at cell by cell.
#include <cmath>
#include <stdexcept>

#include "openral/mapper.hpp"

namespace openral {

struct Mapper::Camera {
  float fx, fy, cx, cy;
  std::array<float, 9> rotation;  // optical frame in the lattice
  std::array<float, 3> at;        // its origin in cells of the window
  float res, nearest, farthest;   // m
  int width, height;
  std::array<int, 3> dims;

  // Cell coordinates to the optical frame, in metres.
  std::array<float, 3> seen(float x, float y, float z) const {
    const float dx = (x - at[0]) * res, dy = (y - at[1]) * res, dz = (z - at[2]) * res;
    return {rotation[0] * dx + rotation[3] * dy + rotation[6] * dz,
            rotation[1] * dx + rotation[4] * dy + rotation[7] * dz,
            rotation[2] * dx + rotation[5] * dy + rotation[8] * dz};
  }
};

struct Mapper::Sight {
  const Camera& camera;
  const DepthPyramid& pyramid;
};

namespace {

constexpr float kHalfDiagonal = 0.8661F;  // of a cube of edge 1

void check(int width, int height, const Lens& lens, const Pose& camera) {
  if (width < 2 || height < 2 || width > 8192 || height > 8192)
    throw std::invalid_argument("a depth image has 2 to 8192 pixels a side");
  bool usable = lens.fx > 1 && lens.fy > 1 && std::isfinite(lens.fx) && std::isfinite(lens.fy) &&
                std::abs(lens.cx) < 1e5 && std::abs(lens.cy) < 1e5;
  for (const double v : camera.rotation) usable = usable && std::abs(v) <= 1.001;
  for (const double v : camera.translation) usable = usable && std::abs(v) <= 1e6;
  if (!usable) throw std::invalid_argument("a depth image needs a finite lens and pose");
}

// The pixels that a ball may cover along one axis of the image.
void stretch(float x, float z, float radius, float f, float c, float* out) {
  const float low = x - radius, high = x + radius, front = z - radius, back = z + radius;
  out[0] = c + f * low / (low < 0 ? front : back) - 0.5F;
  out[1] = c + f * high / (high < 0 ? back : front) + 0.5F;
}

// How far from its middle's pixel a ball within a block may reach, along one axis of the image: at
// most the radius seen from the block's front, longer the more it is looked at from the side.
float widest(float f, float c, int pixels, float x, float reach, float radius, float front) {
  const float edge = std::max(c, static_cast<float>(pixels) - c) / f;
  const float slope = std::min((std::abs(x) + reach) / front, edge);
  return f * radius * std::sqrt(1 + slope * slope) / front;
}

}  // namespace

ViewReport Mapper::insert_depth(const float* depth, int width, int height, const Lens& lens,
                                const Pose& pose, double nearest, double farthest,
                                std::span<const Capsule> body, std::span<const Capsule> held) {
  check(width, height, lens, pose);
  if (!(nearest > 0 && farthest > nearest))
    throw std::invalid_argument("a camera's range is positive and ordered");
  Camera camera{};
  camera.fx = static_cast<float>(lens.fx);
  camera.fy = static_cast<float>(lens.fy);
  camera.cx = static_cast<float>(lens.cx);
  camera.cy = static_cast<float>(lens.cy);
  const Vec3 corner = origin();
  for (std::size_t i = 0; i < 9; ++i) camera.rotation[i] = static_cast<float>(pose.rotation[i]);
  for (std::size_t i = 0; i < 3; ++i)
    camera.at[i] = static_cast<float>((pose.translation[i] - corner[i]) / options_.resolution);
  camera.res = static_cast<float>(options_.resolution);
  camera.nearest = static_cast<float>(nearest);
  camera.farthest = static_cast<float>(farthest);
  camera.width = width;
  camera.height = height;
  camera.dims = options_.dims;
  ViewReport report;
  report.measured = pyramid_.build(depth, width, height, camera.nearest, camera.farthest);
  mark_own(body, held, report);
  count_pixels(depth, camera, report);
  settle_hits(camera, report);
  show_hits();
  carve({camera, pyramid_}, report);
  forget_marks();
  return report;
}

void Mapper::count_pixels(const float* depth, const Camera& c, ViewReport&) {
  const float inverse = 1 / c.res;
  columns_.resize(static_cast<std::size_t>(c.width));
  for (int u = 0; u < c.width; ++u)
    columns_[static_cast<std::size_t>(u)] = (static_cast<float>(u) - c.cx) / c.fx;
  const auto& r = c.rotation;
  const float limit[3] = {static_cast<float>(c.dims[0]), static_cast<float>(c.dims[1]),
                          static_cast<float>(c.dims[2])};
  for (int v = 0; v < c.height; ++v) {
    const float y = (static_cast<float>(v) - c.cy) / c.fy;
    const float a[3] = {(r[1] * y + r[2]) * inverse, (r[4] * y + r[5]) * inverse,
                        (r[7] * y + r[8]) * inverse};
    const float b[3] = {r[0] * inverse, r[3] * inverse, r[6] * inverse};
    const float* row = depth + static_cast<std::size_t>(v) * static_cast<std::size_t>(c.width);
    for (int u = 0; u < c.width; ++u) {
      const float z = row[u], x = columns_[static_cast<std::size_t>(u)];
      if (!(z >= c.nearest && z <= c.farthest)) continue;
      const float px = c.at[0] + z * (a[0] + b[0] * x);
      const float py = c.at[1] + z * (a[1] + b[1] * x);
      const float pz = c.at[2] + z * (a[2] + b[2] * x);
      if (!(px >= 0 && py >= 0 && pz >= 0 && px < limit[0] && py < limit[1] && pz < limit[2]))
        continue;
      count(index(static_cast<int>(px), static_cast<int>(py), static_cast<int>(pz)));
    }
  }
}

// A few points in a cell that hundreds of pixels cover are noise of the surface behind it.
void Mapper::settle_hits(const Camera& c, ViewReport& report) {
  const auto nx = static_cast<std::uint32_t>(c.dims[0]);
  const auto ny = static_cast<std::uint32_t>(c.dims[1]);
  const float area = c.fx * c.fy * c.res * c.res * static_cast<float>(options_.share);
  for (const std::uint32_t cell : touched_) {
    std::uint8_t& n = count_[cell];
    if (n == kOwn) continue;
    const float z =
        c.seen(static_cast<float>(cell % nx) + 0.5F, static_cast<float>(cell / nx % ny) + 0.5F,
               static_cast<float>(cell / nx / ny) + 0.5F)[2];
    const float expected = std::min(area / std::max(z * z, 1e-4F), 200.0F);
    if (static_cast<float>(n) < expected) {
      n = 1;
      continue;
    }
    n = kHit;
    raise(cell);
    ++report.hit;
  }
}

void Mapper::carve(const Sight& sight, ViewReport& report) {
  constexpr int kHalf = kBlock / 2;
  int at[3];
  for (at[2] = 0; at[2] < options_.dims[2]; at[2] += kBlock)
    for (at[1] = 0; at[1] < options_.dims[1]; at[1] += kBlock)
      for (at[0] = 0; at[0] < options_.dims[0]; at[0] += kBlock) {
        if (carve_block(sight, at, kBlock, report)) continue;
        for (int part = 0; part < 8; ++part) {
          const int from[3] = {at[0] + (part & 1) * kHalf, at[1] + (part >> 1 & 1) * kHalf,
                               at[2] + (part >> 2 & 1) * kHalf};
          if (!carve_block(sight, from, kHalf, report)) carve_cells(sight, from, kHalf, report);
        }
      }
}

// Settles a block as a whole if that can be done.
bool Mapper::carve_block(const Sight& sight, const int* at, int edge, ViewReport& report) {
  const Camera& c = sight.camera;
  const float middle = static_cast<float>(edge) / 2;
  const auto p = c.seen(static_cast<float>(at[0]) + middle, static_cast<float>(at[1]) + middle,
                        static_cast<float>(at[2]) + middle);
  const float radius = kHalfDiagonal * static_cast<float>(edge) * c.res;
  if (p[2] + radius < c.nearest || p[2] - radius > c.farthest) return true;
  if (p[2] - radius < c.nearest) return false;
  float u[2], v[2];
  stretch(p[0], p[2], radius, c.fx, c.cx, u);
  stretch(p[1], p[2], radius, c.fy, c.cy, v);
  const auto right = static_cast<float>(c.width - 1), bottom = static_cast<float>(c.height - 1);
  if (u[1] < 0 || v[1] < 0 || u[0] > right || v[0] > bottom) return true;
  const bool inside = u[0] >= 0 && v[0] >= 0 && u[1] <= right && v[1] <= bottom;
  const int level = DepthPyramid::level_for(std::max(u[1] - u[0], v[1] - v[0]) / 2);
  const auto range = sight.pyramid.range(
      level, static_cast<int>(std::max(u[0], 0.0F)), static_cast<int>(std::max(v[0], 0.0F)),
      static_cast<int>(std::min(u[1], right)), static_cast<int>(std::min(v[1], bottom)));
  if (range.most < p[2] - radius) return true;
  if (!(inside && range.least > p[2] + radius)) return false;
  free_cells(at, edge);
  report.carved += static_cast<std::size_t>(edge * edge * edge);
  return true;
}

void Mapper::free_cells(const int* from, int edge) {
  const auto low = static_cast<std::int8_t>(options_.low);
  const auto miss = static_cast<std::int8_t>(options_.miss);
  for (int z = from[2]; z < from[2] + edge; ++z)
    for (int y = from[1]; y < from[1] + edge; ++y) {
      std::int8_t* row = &value_[index(from[0], y, z)];
      for (int x = 0; x < edge; ++x) {
        const auto next = static_cast<std::int8_t>(row[x] - miss);
        row[x] = next > low ? next : low;
      }
    }
}

// A cell is seen through if all pixels that a ball around it covers show something behind it.
void Mapper::carve_cells(const Sight& sight, const int* from, int edge, ViewReport& report) {
  const Camera& c = sight.camera;
  const float middle = static_cast<float>(edge) / 2;
  const auto p = c.seen(static_cast<float>(from[0]) + middle, static_cast<float>(from[1]) + middle,
                        static_cast<float>(from[2]) + middle);
  const float reach = kHalfDiagonal * static_cast<float>(edge) * c.res;
  const float front = std::max(p[2] - reach, c.nearest);
  const float radius = kHalfDiagonal * c.res;
  const float spread = std::max(widest(c.fx, c.cx, c.width, p[0], reach, radius, front),
                                widest(c.fy, c.cy, c.height, p[1], reach, radius, front));
  if (2 * spread > DepthPyramid::kLargest) return;
  const int level = DepthPyramid::level_for(2 * spread);
  const auto right = static_cast<float>(c.width), bottom = static_cast<float>(c.height);
  const float step[3] = {c.rotation[0] * c.res, c.rotation[1] * c.res, c.rotation[2] * c.res};
  for (int z = from[2]; z < from[2] + edge; ++z)
    for (int y = from[1]; y < from[1] + edge; ++y) {
      const auto start = c.seen(static_cast<float>(from[0]) + 0.5F, static_cast<float>(y) + 0.5F,
                                static_cast<float>(z) + 0.5F);
      const std::size_t row = index(from[0], y, z);
      for (int x = 0; x < edge; ++x) {
        const auto k = static_cast<float>(x);
        const float depth = start[2] + k * step[2];
        if (!(depth - radius > c.nearest)) continue;
        const float inverse = 1 / depth;
        const float u = c.cx + c.fx * (start[0] + k * step[0]) * inverse + 0.5F;
        const float v = c.cy + c.fy * (start[1] + k * step[1]) * inverse + 0.5F;
        const float left = u - spread, top = v - spread;
        if (!(left >= 0 && top >= 0 && u + spread < right && v + spread < bottom)) continue;
        const float need = depth + radius;
        if (!(sight.pyramid.at(static_cast<int>(u), static_cast<int>(v)) > need)) continue;
        const float least =
            sight.pyramid.least(level, static_cast<int>(left), static_cast<int>(top),
                                static_cast<int>(u + spread), static_cast<int>(v + spread));
        if (!(least > need)) continue;
        const std::size_t cell = row + static_cast<std::size_t>(x);
        if (count_[cell] == kHit) continue;
        lower(cell);
        ++report.carved;
      }
    }
}

}  // namespace openral
