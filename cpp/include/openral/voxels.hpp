// An occupancy grid and its distance field. The field holds, for each cell, a lower bound of the
// distance between any point of that cell and any point of an occupied cell: exact from cell box
// to cell box, no interpolation, and cut off (downwards) at kReach cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace openral {

// Occupied cells that make up a box, the last ones included.
struct VoxelBox {
  std::array<std::int32_t, 3> low, high;
};

class VoxelField {
 public:
  static constexpr int kReach = 15;  // cells
  static constexpr int kTile = 8;    // cells on a side, of columns of cells
  static constexpr std::size_t kMaxCells = 1U << 22;

  // Rebuilds from `occupied` (one byte a cell, the last index varies fastest). Cell (i,j,k) is the
  // cube from origin + resolution·(i,j,k) to origin + resolution·(i+1,j+1,k+1).
  // The caller has checked the shape against kMaxCells and the numbers for finiteness.
  void rebuild(const std::uint8_t* occupied, std::array<int, 3> shape, std::array<double, 3> origin,
               double resolution);

  std::array<int, 3> shape() const { return shape_; }
  std::array<float, 3> origin() const { return origin_; }
  float resolution() const { return resolution_; }
  float slack() const { return slack_; }  // covers rounding of coordinates inside the grid
  bool empty() const { return occupied_cells_ == 0; }
  std::size_t occupied_cells() const { return occupied_cells_; }

  std::size_t index(int i, int j, int k) const {
    return (static_cast<std::size_t>(i) * static_cast<std::size_t>(shape_[1]) +
            static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(shape_[2]) +
           static_cast<std::size_t>(k);
  }
  // Lower bound in metres of the distance from cell `at` to an occupied cell.
  float distance(std::size_t at) const { return metres_[squared_[at]]; }
  const std::uint8_t* squared() const { return squared_.data(); }
  const float* metres() const { return metres_.data(); }
  // The occupied cells of a tile, as few boxes: together they are these cells and nothing else.
  std::span<const VoxelBox> boxes(int tile_i, int tile_j) const {
    const std::size_t tile =
        static_cast<std::size_t>(tile_i) * tiles_[1] + static_cast<std::size_t>(tile_j);
    return {boxes_.data() + tile_start_[tile], tile_start_[tile + 1] - tile_start_[tile]};
  }
  // Occupancy of 64 cells of row (i, j), from k = 64·word on.
  std::uint64_t bits(int i, int j, int word) const {
    return bits_[(static_cast<std::size_t>(i) * static_cast<std::size_t>(shape_[1]) +
                  static_cast<std::size_t>(j)) *
                     words_ +
                 static_cast<std::size_t>(word)];
  }

 private:
  void scan_rows(const std::uint8_t* occupied);
  void spread_columns();
  void spread_planes();
  void merge_cells();
  void merge_tile(int tile_i, int tile_j);
  void add_strips(int i, int j);
  void add_boxes();

  std::array<int, 3> shape_{};
  std::array<float, 3> origin_{};
  float resolution_ = 1, slack_ = 0;
  std::size_t occupied_cells_ = 0, words_ = 0;
  std::vector<std::uint8_t> squared_, rows_, columns_;
  std::vector<std::uint8_t> row_used_, plane_used_;
  std::vector<std::uint64_t> bits_;
  std::array<std::size_t, 2> tiles_{};
  std::vector<VoxelBox> boxes_, strips_;  // strips: of one row of a tile, one cell wide
  std::vector<std::size_t> tile_start_, open_, above_;  // above: boxes that reach the row before
  std::vector<std::size_t> scratch_;
  std::array<float, kReach * kReach + 1> metres_{};
};

}  // namespace openral
