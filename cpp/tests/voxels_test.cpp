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
