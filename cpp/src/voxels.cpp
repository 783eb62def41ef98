#include "openral/voxels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace openral {
namespace {

constexpr int kReach = VoxelField::kReach;
constexpr std::uint8_t kFar = kReach * kReach;

// Squared gap between two cells that lie k apart along one axis, in cells.
std::uint8_t gap(int k) {
  const int g = std::min(std::max(std::abs(k) - 1, 0), kReach);
  return static_cast<std::uint8_t>(g * g);
}

// out = min(out, in + weight), never above kFar.
void relax(std::uint8_t* out, const std::uint8_t* in, std::size_t count, std::uint8_t weight) {
  const auto limit = static_cast<std::uint8_t>(kFar - weight);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t cut = in[i] < limit ? in[i] : limit;
    const auto sum = static_cast<std::uint8_t>(cut + weight);
    out[i] = out[i] < sum ? out[i] : sum;
  }
}

}  // namespace

void VoxelField::rebuild(const std::uint8_t* occupied, std::array<int, 3> shape,
                         std::array<double, 3> origin, double resolution) {
  shape_ = shape;
  resolution_ = static_cast<float>(resolution);
  double extent = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    origin_[i] = static_cast<float>(origin[i]);
    extent = std::max(extent, std::abs(origin[i]) + resolution * (shape[i] + 1));
  }
  // Origin, cell size times index and the cell look-up each round once or twice, and distances to
  // boxes that are as large as the grid a few times.
  slack_ = static_cast<float>(extent * 32 / (1 << 24));
  for (std::size_t d = 0; d < metres_.size(); ++d)
    metres_[d] = static_cast<float>(std::sqrt(static_cast<double>(d)) * resolution * (1 - 1e-6));
  scan_rows(occupied);
  spread_columns();
  spread_planes();
  merge_cells();
}

void VoxelField::scan_rows(const std::uint8_t* occupied) {
  const auto rows = static_cast<std::size_t>(shape_[0]) * static_cast<std::size_t>(shape_[1]);
  const auto length = static_cast<std::size_t>(shape_[2]);
  words_ = (length + 63) / 64;
  rows_.assign(rows * length, kFar);
  bits_.assign(rows * words_, 0);
  row_used_.assign(rows, 0);
  occupied_cells_ = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint8_t* in = occupied + r * length;
    if (std::none_of(in, in + length, [](std::uint8_t v) { return v != 0; })) continue;
    row_used_[r] = 1;
    std::uint8_t* out = rows_.data() + r * length;
    int since = kReach + 1;
    for (std::size_t k = 0; k < length; ++k) {
      since = in[k] ? 0 : since + 1;
      if (in[k]) {
        bits_[r * words_ + k / 64] |= std::uint64_t{1} << (k % 64);
        ++occupied_cells_;
      }
      out[k] = gap(since);
    }
    since = kReach + 1;
    for (std::size_t k = length; k-- > 0;) {
      since = in[k] ? 0 : since + 1;
      out[k] = std::min(out[k], gap(since));
    }
  }
}

void VoxelField::spread_columns() {
  const auto planes = static_cast<std::size_t>(shape_[0]);
  const auto length = static_cast<std::size_t>(shape_[2]);
  columns_.assign(rows_.size(), kFar);
  plane_used_.assign(planes, 0);
  for (std::size_t a = 0; a < planes; ++a)
    for (int from = 0; from < shape_[1]; ++from) {
      const std::size_t row =
          a * static_cast<std::size_t>(shape_[1]) + static_cast<std::size_t>(from);
      if (!row_used_[row]) continue;
      plane_used_[a] = 1;
      const int last = std::min(shape_[1] - 1, from + kReach);
      for (int to = std::max(0, from - kReach); to <= last; ++to) {
        const std::size_t target =
            a * static_cast<std::size_t>(shape_[1]) + static_cast<std::size_t>(to);
        relax(columns_.data() + target * length, rows_.data() + row * length, length,
              gap(to - from));
      }
    }
}

void VoxelField::spread_planes() {
  const auto size = static_cast<std::size_t>(shape_[1]) * static_cast<std::size_t>(shape_[2]);
  squared_.assign(columns_.size(), kFar);
  for (int from = 0; from < shape_[0]; ++from) {
    if (!plane_used_[static_cast<std::size_t>(from)]) continue;
    const int last = std::min(shape_[0] - 1, from + kReach);
    for (int to = std::max(0, from - kReach); to <= last; ++to)
      relax(squared_.data() + static_cast<std::size_t>(to) * size,
            columns_.data() + static_cast<std::size_t>(from) * size, size, gap(to - from));
  }
}

void VoxelField::merge_cells() {
  for (std::size_t a = 0; a < 2; ++a)
    tiles_[a] = (static_cast<std::size_t>(shape_[a]) + kTile - 1) / kTile;
  boxes_.clear();
  tile_start_.assign(1, 0);
  for (int i = 0; i < static_cast<int>(tiles_[0]); ++i)
    for (int j = 0; j < static_cast<int>(tiles_[1]); ++j) {
      merge_tile(i, j);
      tile_start_.push_back(boxes_.size());
    }
}

// Runs along the last axis become strips where they are alike from column to column, and strips
// that are alike from row to row become boxes. All lists are in order of their first cells.
void VoxelField::merge_tile(int tile_i, int tile_j) {
  above_.clear();
  for (int i = tile_i * kTile; i < std::min((tile_i + 1) * kTile, shape_[0]); ++i) {
    strips_.clear();
    open_.clear();
    for (int j = tile_j * kTile; j < std::min((tile_j + 1) * kTile, shape_[1]); ++j)
      add_strips(i, j);
    add_boxes();
  }
}

// Adds the runs of column (i, j) to strips that have the same run in the column before.
void VoxelField::add_strips(int i, int j) {
  const auto row = static_cast<std::size_t>(i) * static_cast<std::size_t>(shape_[1]) +
                   static_cast<std::size_t>(j);
  scratch_.clear();
  std::size_t before = 0;
  for (int k = 0; row_used_[row] != 0 && k < shape_[2];) {
    const std::uint64_t word = bits(i, j, k / 64) >> (k % 64);
    if (word == 0) {
      k = (k / 64 + 1) * 64;
      continue;
    }
    k += __builtin_ctzll(word);
    const int first = k;
    while (k < shape_[2] && (bits(i, j, k / 64) >> (k % 64) & 1U) != 0) ++k;
    while (before < open_.size() && strips_[open_[before]].low[2] < first) ++before;
    const bool same = before < open_.size() && strips_[open_[before]].low[2] == first &&
                      strips_[open_[before]].high[2] == k - 1;
    scratch_.push_back(same ? open_[before] : strips_.size());
    if (same)
      strips_[open_[before]].high[1] = j;
    else
      strips_.push_back({{i, j, first}, {i, j, k - 1}});
  }
  std::swap(open_, scratch_);
}

// Adds the strips of a row to boxes that have the same strip in the row before.
void VoxelField::add_boxes() {
  scratch_.clear();
  std::size_t before = 0;
  const auto first = [](const VoxelBox& b) { return std::pair(b.low[1], b.low[2]); };
  const auto last = [](const VoxelBox& b) { return std::pair(b.high[1], b.high[2]); };
  for (const VoxelBox& strip : strips_) {
    while (before < above_.size() && first(boxes_[above_[before]]) < first(strip)) ++before;
    const bool same = before < above_.size() && first(boxes_[above_[before]]) == first(strip) &&
                      last(boxes_[above_[before]]) == last(strip);
    scratch_.push_back(same ? above_[before] : boxes_.size());
    if (same)
      boxes_[above_[before]].high[0] = strip.high[0];
    else
      boxes_.push_back(strip);
  }
  std::swap(above_, scratch_);
}

}  // namespace openral
