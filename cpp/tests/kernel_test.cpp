#include "openral/kernel.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>

#include "check.hpp"
#include "draw.hpp"

using namespace testing;

namespace {

std::atomic<long> allocations{0};

constexpr std::int64_t kNow = 1'000'000'000;

std::vector<std::uint8_t> clutter(Random& r, std::array<int, 3> shape, int count) {
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 0);
  while (count-- > 0)
    cells[static_cast<std::size_t>(pick(r, 0, static_cast<int>(cells.size()) - 1))] = 1;
  return cells;
}

void furnish(Kernel& kernel, std::uint64_t seed) {
  Random r(seed);
  kernel.set_world(world(r, 20, 0.4, 1.6), kNow);
  const std::array<int, 3> shape{40, 40, 40};
  const auto cells = clutter(r, shape, 20);
  kernel.set_voxels(cells.data(), shape, {-1, -1, -1}, 0.05, kNow);
  kernel.set_base(0, 0, 0, kNow);
}

std::vector<std::vector<double>> rows(Random& r, const RobotModel& m, Mode mode,
                                      const std::vector<double>& q, double size) {
  std::vector<std::vector<double>> out;
  const std::size_t width = mode == Mode::kCartesianPose ? 7
                            : mode == Mode::kBodyTwist   ? 3
                            : mode == Mode::kCartesianDelta || mode == Mode::kCartesianTwist
                                ? 6
                                : q.size();
  std::vector<double> at = q, step;
  for (std::size_t j = 0; j < width; ++j) step.push_back(uniform(r, -size, size));
  for (int row = 0; row < 12; ++row) {
    if (mode == Mode::kJointPosition || mode == Mode::kJointTrajectory) {
      for (std::size_t j = 0; j < q.size(); ++j)
        at[j] = std::clamp(at[j] + step[j], m.coordinates[j].lower, m.coordinates[j].upper);
      out.push_back(at);
    } else if (mode == Mode::kCartesianPose) {
      out.push_back({0, 0, 0, 0, 0, 0, 1});
    } else {
      out.push_back(step);
    }
  }
  return out;
}

}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(align);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

TEST(a_verdict_allocates_nothing_in_any_mode) {
  Random r(11);
  int accepted = 0, refused = 0, rewritten = 0;
  for (int round = 0; round < 60; ++round) {
    const RobotModel m = robot(r, true);
    Kernel kernel(m, {});
    furnish(kernel, static_cast<std::uint64_t>(round));
    for (int mode = 0; mode < 13; ++mode) {
      const std::vector<double> q = configuration(r, m), still(q.size(), 0);
      kernel.set_state(q, still, kNow);
      const auto bytes =
          chunk(static_cast<Mode>(mode), rows(r, m, static_cast<Mode>(mode), q, 0.004), 0.05);
      const long before = allocations.load();
      for (int again = 0; again < 2; ++again) {
        kernel.reset();
        const Verdict v = kernel.validate(bytes, kNow);
        (v.accepted ? accepted : refused)++;
        rewritten += v.rewritten ? 1 : 0;
        kernel.estop();
        (void)kernel.recover();
        (void)kernel.validate(bytes, kNow);
      }
      CHECK(allocations.load() == before);
    }
  }
  CHECK(accepted > 30 && refused > 30 && rewritten > 10);
}

// The base drives on, so each new map or list has its obstacles placed in the voxels' frame anew.
TEST(placing_obstacles_among_voxels_allocates_nothing) {
  Random r(15);
  const std::array<int, 3> shape{40, 40, 40};
  for (int round = 0; round < 30; ++round) {
    RobotModel m = robot(r, true);
    m.envelope.base_tracking = m.envelope.base_turn_tracking = 0;
    Kernel kernel(m, {});
    const std::vector<std::uint8_t> cells = clutter(r, shape, 5);
    const bool map_fixed = round % 2 == 0, world_fixed = round % 3 == 0;
    const auto count = round == 0 ? static_cast<int>(World::kMaxPrimitives) : pick(r, 1, 40);
    const std::vector<Primitive> things = world(r, count, 0.5, 3);
    const std::vector<double> q = configuration(r, m), still(q.size(), 0);
    const auto bytes = chunk(Mode::kJointPosition, {q, q}, 0.05);
    int answers = 0;
    for (int step = 0; step < 20; ++step) {
      const std::int64_t now = kNow + step * 20'000'000;
      // The map and the list are of different times, and so of different places of the base.
      kernel.set_base(0.01 * step, 0.005 * step, 0.02 * step, now);
      kernel.set_state(q, still, now);
      if (step % 5 == 0) kernel.set_voxels(cells.data(), shape, {-1, -1, -1}, 0.05, now, map_fixed);
      if (step % 4 == 0) kernel.set_world(things, now, {}, world_fixed);
      const long before = allocations.load();
      kernel.reset();
      const Verdict v = kernel.validate(bytes, now);
      CHECK(allocations.load() == before);
      answers += v.accepted || latches(v.status) ? 1 : 0;
    }
    CHECK(answers == 20);
  }
}

TEST(scalar_and_vector_code_agree) {
  Random r(12);
  int same = 0, other = 0, accepted = 0;
  for (int round = 0; round < 150; ++round) {
    const RobotModel m = robot(r, round % 3 == 0);
    KernelOptions portable;
    portable.scalar_only = true;
    Kernel fast(m, {}), slow(m, portable);
    CHECK(!slow.vectorised());
    furnish(fast, static_cast<std::uint64_t>(round) + 100);
    furnish(slow, static_cast<std::uint64_t>(round) + 100);
    for (int shot = 0; shot < 10; ++shot) {
      const std::vector<double> q = configuration(r, m), still(q.size(), 0);
      const Mode mode = static_cast<Mode>(pick(r, 0, 7));
      const auto bytes = chunk(mode, rows(r, m, mode, q, 0.03), 0.05);
      Verdict v[2];
      int i = 0;
      for (Kernel* k : {&fast, &slow}) {
        k->set_state(q, still, kNow);
        k->reset();
        v[i++] = k->validate(bytes, kNow);
      }
      (v[0].status == v[1].status ? same : other)++;
      accepted += v[0].accepted ? 1 : 0;
    }
  }
  CHECK(accepted > 50);
  CHECK_LE(other, same / 200);  // knife edges may fall either way
}

// Distances in double precision by the plainest means, on capsule ends from Tree.
TEST(accepted_joint_paths_keep_clear_of_spheres_when_sampled) {
  Random r(13);
  int accepted = 0;
  for (int round = 0; round < 250; ++round) {
    RobotModel m = robot(r);
    m.pairs.clear();
    m.envelope.world_margin = 0.02;
    Kernel kernel(m, {});
    std::vector<Primitive> things;
    for (const Primitive& p : world(r, 8, 0.2, 1.0))
      if (!p.box && p.p0 == p.p1) things.push_back(p);
    kernel.set_world(things, kNow);
    const Tree tree(m.joints, m.coordinates.size());
    std::vector<Pose> poses(tree.links());
    for (int shot = 0; shot < 6; ++shot) {
      const std::vector<double> q = configuration(r, m), still(q.size(), 0);
      kernel.set_state(q, still, kNow);
      kernel.reset();
      const auto path = rows(r, m, Mode::kJointPosition, q, 0.05);
      if (!kernel.validate(chunk(Mode::kJointPosition, path, 0.05), kNow).accepted) continue;
      ++accepted;
      std::vector<double> from = q;
      for (const auto& to : path) {
        for (int i = 0; i <= 10; ++i) {
          std::vector<double> at = from;
          for (std::size_t j = 0; j < at.size(); ++j) at[j] += (to[j] - from[j]) * i / 10.0;
          tree.forward(at, poses);
          for (const Capsule& c : m.capsules) {
            if (c.link == 0) continue;
            const Pose& pose = poses[static_cast<std::size_t>(c.link)];
            for (const Primitive& s : things)
              for (int k = 0; k <= 8; ++k) {
                double sum = 0;
                for (std::size_t a = 0; a < 3; ++a) {
                  double x = pose.translation[a] - s.p0[a];
                  for (std::size_t b = 0; b < 3; ++b)
                    x += pose.rotation[3 * a + b] * (c.p0[b] + (c.p1[b] - c.p0[b]) * k / 8.0);
                  sum += x * x;
                }
                CHECK_LE(0.02, std::sqrt(sum) - c.radius - s.radius);
              }
          }
        }
        from = to;
      }
    }
  }
  CHECK(accepted > 100);
}

TEST(a_field_rebuilt_on_another_thread_is_never_seen_half_done) {
  Random r(14);
  const RobotModel m = robot(r);
  Kernel kernel(m, {});
  const std::vector<double> q = configuration(r, m), still(q.size(), 0);
  kernel.set_state(q, still, kNow);
  const std::array<int, 3> shape{32, 32, 32};
  const auto cells = clutter(r, shape, 200);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) {
      kernel.set_voxels(cells.data(), shape, {-0.8, -0.8, -0.8}, 0.05, kNow + i);
      kernel.set_world(world(r, 10, 0.3, 1.2), kNow + i);
    }
    done = true;
  });
  const auto bytes = chunk(Mode::kJointPosition, {q, q, q}, 0.05);
  int answers = 0;
  while (!done) {
    kernel.reset();
    const Verdict v = kernel.validate(bytes, kNow + 60);
    answers += v.status != Status::kVoxelUnavailable ? 1 : 0;
  }
  writer.join();
  CHECK(answers > 0);
}

// While the kernel ends a recovery by itself, a stop that comes in between must stay.
TEST(a_stop_that_comes_while_recovery_ends_is_kept) {
  Random r(16);
  RobotModel m = robot(r);
  m.pairs.clear();  // nothing is ever too close, so every verdict ends the recovery
  Kernel kernel(m, {});
  const std::vector<double> q = configuration(r, m), still(q.size(), 0);
  const auto bytes = chunk(Mode::kJointPosition, {q, q, q}, 0.05);
  std::vector<Primitive> things;
  for (int i = 0; i < 200; ++i) {
    Primitive p;
    p.id = "far";
    p.p0 = p.p1 = {20, 20 + 0.01 * i, 1};
    p.radius = 0.01;
    things.push_back(p);
  }
  constexpr int kRounds = 3000;
  std::atomic<int> go{0}, done{0};
  std::thread stopper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (go.load() != round) std::this_thread::yield();
      for (int wait = 0; wait < (round * 7919) % 4000; ++wait)
        std::atomic_signal_fence(std::memory_order_seq_cst);
      kernel.estop();
      done.store(round);
    }
  });
  int lost = 0, passed = 0;
  for (int round = 1; round <= kRounds; ++round) {
    const std::int64_t now = kNow + std::int64_t{round} * 1'000'000;
    kernel.set_state(q, still, now);
    kernel.set_world(things, now);
    kernel.estop();
    CHECK(kernel.recover());
    go.store(round);
    const Verdict v = kernel.validate(bytes, now);
    while (done.load() != round) std::this_thread::yield();
    lost += kernel.gate() != Gate::kStopped ? 1 : 0;
    passed += v.accepted ? 1 : 0;
    CHECK(!(v.accepted && v.stopped));
  }
  stopper.join();
  CHECK(lost == 0);
  CHECK(passed > 0);
}

TEST(inputs_and_stops_from_other_threads_race_with_no_verdict) {
  Random r(17);
  const RobotModel m = robot(r, true);
  Kernel kernel(m, {});
  const std::vector<double> q = configuration(r, m), still(q.size(), 0);
  kernel.set_state(q, still, kNow);
  const std::array<int, 3> shape{12, 12, 12};
  const auto cells = clutter(r, shape, 20);
  const std::vector<Primitive> things = world(r, 6, 0.5, 1.5);
  Held stick;
  stick.id = "stick";
  stick.link = static_cast<int>(m.links.size()) - 1;
  stick.p1 = {0, 0, 0.1};
  stick.radius = 0.01;
  std::atomic<bool> done{false};
  const auto repeat = [&](auto what) {
    return std::thread([&done, what] {
      for (int i = 0; i < 200; ++i) what(i);
      done = true;
    });
  };
  std::thread threads[] = {
      repeat([&](int i) { kernel.set_state(q, still, kNow + i); }), repeat([&](int i) {
        kernel.set_world(things, kNow + i,
                         i % 2 == 0 ? std::vector<Held>{} : std::vector<Held>{stick});
      }),
      repeat([&](int i) {
        kernel.set_voxels(cells.data(), shape, {-0.6, -0.6, -0.6}, 0.1, kNow + i);
      }),
      repeat([&](int i) {
        kernel.set_base(0.001 * i, 0, 0, kNow + i);
        (void)kernel.base_at(kNow + i);
      }),
      repeat([&](int i) {
        i % 3 == 0 ? kernel.estop() : i % 3 == 1 ? (void)kernel.recover() : kernel.reset();
      })};
  const auto bytes = chunk(Mode::kJointPosition, {q, q, q}, 0.05);
  int answers = 0;
  do {
    answers += kernel.validate(bytes, kNow + 200).status < Status::kCount ? 1 : 0;
  } while (!done);
  for (std::thread& t : threads) t.join();
  CHECK(answers > 0);
}

TEST(extreme_stamps_are_old) {
  Random r(18);
  const RobotModel m = robot(r, true);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<double> q = configuration(r, m), still(q.size(), 0);
  const auto bytes = chunk(Mode::kJointPosition, {q}, 0.05);
  for (const std::int64_t stamp : {kLeast, kLeast + 1, kMost, std::int64_t{-1}}) {
    Kernel kernel(m, {});
    kernel.set_state(q, still, stamp);
    CHECK(kernel.validate(bytes, kNow).status == Status::kStateUnavailable);
    kernel.set_state(q, still, kNow);
    kernel.set_world({}, stamp);
    CHECK(kernel.validate(bytes, kNow).status == Status::kWorldUnavailable);
    kernel.set_world({}, kNow);
    kernel.set_base(0, 0, 0, stamp);
    CHECK(kernel.validate(bytes, kNow).status == Status::kBaseUnavailable);
    CHECK(kernel.base_at(kNow).has_value());
  }
  Kernel late(m, {});
  late.set_state(q, still, kNow);
  CHECK(late.validate(bytes, kLeast).status == Status::kStateUnavailable);
}
