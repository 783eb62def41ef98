#include "openral/chunk.hpp"

#include "check.hpp"
#include "draw.hpp"

using namespace testing;

TEST(a_chunk_reads_back_what_was_written) {
  const auto bytes = chunk(Mode::kJointVelocity, {{1, 2, 3}, {4, 5, 6}}, 0.25, "arm");
  ChunkView view;
  int slot = 0;
  CHECK(parse_chunk(bytes, view, slot) == Parse::kOk);
  CHECK(view.sequence == 7 && view.rows == 2 && view.count == 1 && view.mode == 1);
  CHECK(std::fabs(view.dt - 0.25) < 1e-12);
  CHECK(view.slots[0].name == "arm" && view.slots[0].width == 3);
  CHECK(std::fabs(view.slots[0].at(1, 2) - 6) < 1e-12);
}

TEST(a_chunk_cut_short_anywhere_is_malformed) {
  const auto bytes = chunk(Mode::kJointPosition, {{1, 2, 3}, {4, 5, 6}}, 0.1);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ChunkView view;
    int slot = 0;
    CHECK(parse_chunk(cut, view, slot) != Parse::kOk);
  }
}

TEST(a_chunk_may_end_with_padding_and_nothing_else) {
  auto bytes = chunk(Mode::kJointPosition, {{1, 2, 3}, {4, 5, 6}}, 0.1);
  for (int more = 0; more < 12; ++more) {
    ChunkView view;
    int slot = 0;
    CHECK((parse_chunk(bytes, view, slot) == Parse::kOk) == (more < 4));
    bytes.push_back(std::byte{0});
  }
}

TEST(no_corruption_reads_outside_the_bytes) {
  Random r(9);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = chunk(Mode::kJointPosition, {{1, 2, 3}}, 0.1, "group");
    for (int k = pick(r, 1, 6); k-- > 0;)
      bytes[static_cast<std::size_t>(pick(r, 0, static_cast<int>(bytes.size()) - 1))] =
          static_cast<std::byte>(pick(r, 0, 255));
    ChunkView view;
    int slot = 0;
    if (parse_chunk(bytes, view, slot) != Parse::kOk) continue;
    double sum = 0;
    for (std::size_t s = 0; s < view.count; ++s)
      for (std::size_t row = 0; row < view.rows; ++row)
        for (std::size_t k = 0; k < view.slots[s].width; ++k) sum += view.slots[s].at(row, k);
    CHECK(sum == sum || true);
  }
}
