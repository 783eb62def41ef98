#include "openral/voxels.hpp"

#include "check.hpp"
#include "draw.hpp"

using namespace testing;

// The field equals the distance between cell boxes by brute force, cut off at its reach.
TEST(field_is_exact_from_cell_box_to_cell_box_and_cut_off_downwards) {
  Random r(1);
  for (int round = 0; round < 12; ++round) {
    const std::array<int, 3> shape{pick(r, 1, 40), pick(r, 1, 22), pick(r, 1, 70)};
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 0);
    std::vector<std::array<int, 3>> full;
    for (int i = pick(r, 0, 6); i-- > 0;) {
      full.push_back(
          {pick(r, 0, shape[0] - 1), pick(r, 0, shape[1] - 1), pick(r, 0, shape[2] - 1)});
      cells[static_cast<std::size_t>((full.back()[0] * shape[1] + full.back()[1]) * shape[2] +
                                     full.back()[2])] = 1;
    }
    VoxelField field;
    field.rebuild(cells.data(), shape, {0, 0, 0}, 0.05);
    CHECK(field.empty() == full.empty());
    for (int i = 0; i < shape[0]; ++i)
      for (int j = 0; j < shape[1]; ++j)
        for (int k = 0; k < shape[2]; ++k) {
          int best = VoxelField::kReach * VoxelField::kReach;
          for (const auto& o : full) {
            int sum = 0;
            const int at[3] = {i, j, k};
            for (std::size_t a = 0; a < 3; ++a) {
              const int gap = std::max(std::abs(at[a] - o[a]) - 1, 0);
              sum += gap * gap;
            }
            best = std::min(best, sum);
          }
          CHECK(field.squared()[field.index(i, j, k)] == best);
          const bool set = cells[field.index(i, j, k)] != 0;
          CHECK(((field.bits(i, j, k / 64) >> (k % 64)) & 1U) == (set ? 1U : 0U));
          CHECK_LE(static_cast<double>(field.distance(field.index(i, j, k))),
                   std::sqrt(best) * 0.05);
        }
  }
}

// Its boxes cover every occupied cell once and no other.
TEST(boxes_of_a_field_are_its_occupied_cells) {
  Random r(2);
  for (int round = 0; round < 40; ++round) {
    const std::array<int, 3> shape{pick(r, 1, 30), pick(r, 1, 22), pick(r, 1, 140)};
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 0);
    VoxelField field;
    field.rebuild(cells.data(), shape, {0, 0, 0}, 0.05);
    const double full = uniform(r, 0, 1);
    for (std::uint8_t& cell : cells)
      cell = uniform(r, 0, 1) < (round % 2 == 0 ? full : 0.01) ? 1 : 0;
    for (int i = pick(r, 0, 4); i-- > 0;) {  // blocks
      const std::array<int, 3> a{pick(r, 0, shape[0] - 1), pick(r, 0, shape[1] - 1),
                                 pick(r, 0, shape[2] - 1)};
      const std::array<int, 3> b{pick(r, a[0], shape[0] - 1), pick(r, a[1], shape[1] - 1),
                                 pick(r, a[2], shape[2] - 1)};
      for (int x = a[0]; x <= b[0]; ++x)
        for (int y = a[1]; y <= b[1]; ++y)
          for (int z = a[2]; z <= b[2]; ++z) cells[field.index(x, y, z)] = 1;
    }
    field.rebuild(cells.data(), shape, {0, 0, 0}, 0.05);
    std::vector<int> covered(cells.size(), 0);
    const int tile = VoxelField::kTile;
    for (int ti = 0; ti * tile < shape[0]; ++ti)
      for (int tj = 0; tj * tile < shape[1]; ++tj)
        for (const VoxelBox& box : field.boxes(ti, tj)) {
          CHECK(box.low[0] / tile == ti && box.high[0] / tile == ti);
          CHECK(box.low[1] / tile == tj && box.high[1] / tile == tj);
          for (int x = box.low[0]; x <= box.high[0]; ++x)
            for (int y = box.low[1]; y <= box.high[1]; ++y)
              for (int z = box.low[2]; z <= box.high[2]; ++z) ++covered[field.index(x, y, z)];
        }
    bool same = true;
    for (std::size_t i = 0; i < cells.size(); ++i) same = same && covered[i] == cells[i];
    CHECK(same);
  }
}
