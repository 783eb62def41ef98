// Many configurations at once: every lane's own answer, whatever the other lanes hold.
#include "check.hpp"

#include <limits>

#include "draw.hpp"

using namespace testing;

namespace {

constexpr std::int64_t kNow = 1'000'000'000;

RobotModel careful_robot(Random& r, bool mobile) {
  RobotModel m = robot(r, mobile);
  m.envelope.self_margin = 0.005;
  m.envelope.world_margin = 0.01;
  return m;
}

void furnish(Kernel& kernel, std::uint64_t seed) {
  Random r(seed);
  kernel.set_world(world(r, pick(r, 1, 40), 0.2, 1.4), kNow);
  if (pick(r, 0, 1) == 0) return;
  const std::array<int, 3> shape{30, 30, 30};
  std::vector<std::uint8_t> cells(27000, 0);
  for (int i = 0; i < 6; ++i) cells[static_cast<std::size_t>(pick(r, 0, 26999))] = 1;
  kernel.set_voxels(cells.data(), shape, {-0.9, -0.9, -0.9}, 0.06, kNow);
}

// Some one by one, some close to each other, so that lanes agree and disagree.
std::vector<double> configurations(Random& r, const RobotModel& m, int count) {
  std::vector<double> rows;
  std::vector<double> at = configuration(r, m);
  const bool close = pick(r, 0, 1) == 0;
  for (int i = 0; i < count; ++i) {
    if (!close) at = configuration(r, m);
    for (std::size_t j = 0; j < at.size(); ++j)
      at[j] = std::clamp(at[j] + uniform(r, -0.02, 0.02), m.coordinates[j].lower,
                         m.coordinates[j].upper);
    rows.insert(rows.end(), at.begin(), at.end());
  }
  return rows;
}

struct Answers {
  bool value[32];
};
Answers ask(Kernel& kernel, const std::vector<double>& rows, std::size_t count) {
  Answers out{};
  kernel.clear(rows, {out.value, count});
  return out;
}

}  // namespace

TEST(configurations_called_clear_keep_their_margins_in_double_precision) {
  Random r(21);
  int clear = 0, blocked = 0, wrongly = 0, apart = 0;
  for (int round = 0; round < 250; ++round) {
    const RobotModel m = careful_robot(r, round % 4 == 0);
    KernelOptions portable;
    portable.scalar_only = true;
    Kernel fast(m, {}), slow(m, portable);
    furnish(fast, static_cast<std::uint64_t>(round));
    furnish(slow, static_cast<std::uint64_t>(round));
    const auto count = static_cast<std::size_t>(pick(r, 1, 29));
    const std::vector<double> rows = configurations(r, m, static_cast<int>(count));
    const Answers found = ask(fast, rows, count), again = ask(slow, rows, count);
    for (std::size_t i = 0; i < count; ++i) {
      apart += found.value[i] == again.value[i] ? 0 : 1;
      const std::size_t dof = m.coordinates.size();
      const auto [outside, own] = fast.clearance({rows.data() + i * dof, dof}, 1);
      const double spare = std::min(static_cast<double>(outside) - m.envelope.world_margin,
                                    static_cast<double>(own) - m.envelope.self_margin);
      if (found.value[i]) CHECK(spare >= -1e-6);
      (found.value[i] ? clear : blocked)++;
      wrongly += !found.value[i] && spare > 1e-4 ? 1 : 0;
    }
  }
  CHECK(clear > 300 && blocked > 300);
  CHECK_LE(wrongly, blocked / 200);
  CHECK_LE(apart, (clear + blocked) / 500);  // knife edges may fall either way
}

TEST(one_lane_without_numbers_is_blocked_and_leaves_the_others_alone) {
  Random r(22);
  for (const double poison :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    for (int round = 0; round < 40; ++round) {
      RobotModel m = careful_robot(r, false);
      if (round % 2 == 0) m.pairs.clear();  // then only the world can tell
      KernelOptions options;
      options.scalar_only = round % 4 < 2;
      Kernel kernel(m, options);
      furnish(kernel, static_cast<std::uint64_t>(round));
      std::vector<double> rows = configurations(r, m, 8);
      const Answers before = ask(kernel, rows, 8);
      const auto lane = static_cast<std::size_t>(pick(r, 0, 7));
      std::size_t dof = m.coordinates.size();
      rows[lane * dof] = poison;  // the first joint carries everything that moves
      const Answers after = ask(kernel, rows, 8);
      for (std::size_t i = 0; i < 8; ++i)
        CHECK(i == lane ? !after.value[i] : after.value[i] == before.value[i]);
    }
  }
}

TEST(nothing_is_clear_of_a_world_that_could_not_be_kept) {
  Random r(23);
  const RobotModel m = careful_robot(r, false);
  Kernel kernel(m, {});
  const std::vector<double> rows = configuration(r, m);
  kernel.set_world(world(r, static_cast<int>(World::kMaxPrimitives) + 1, 50, 60), kNow);
  CHECK(!ask(kernel, rows, 1).value[0]);
}
