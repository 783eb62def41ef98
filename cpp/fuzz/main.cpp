// Looks for a motion that the kernel accepts and that breaks the promise.
//   openral_kernel_fuzz SEGMENTS SEED [ROBOTS]      one JSON object; exit 1 on a false accept
//   openral_kernel_fuzz --poses COUNT SEED [ROBOTS] poses and distances, to check the oracle itself
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "model_file.hpp"
#include "poses.hpp"
#include "trial.hpp"

namespace fuzz {
namespace {

constexpr int kModes = 9;
constexpr Mode kTried[kModes] = {
    Mode::kJointPosition,  Mode::kJointTrajectory, Mode::kJointVelocity,
    Mode::kJointTorque,    Mode::kCartesianPose,   Mode::kCartesianDelta,
    Mode::kCartesianTwist, Mode::kBodyTwist,       Mode::kComposite};
// The last tally is of torque, alone or among others, on joints without an acceleration limit.
constexpr int kTallies = kModes + 1, kUnbounded = kModes;
const char* const kNames[kTallies] = {
    "joint_position",  "joint_trajectory", "joint_velocity", "joint_torque",   "cartesian_pose",
    "cartesian_delta", "cartesian_twist",  "body_twist",     "composite_mode", "unbounded_torque"};

class Fuzzer {
 public:
  Fuzzer(std::uint64_t seed, std::vector<RobotModel> shipped)
      : seed_(seed), shipped_(std::move(shipped)) {}

  long segments = 0, slowed = 0;
  Tally tallies[kTallies];
  long statuses[static_cast<std::size_t>(Status::kCount)] = {};

  void scene(long number) {
    Random r(seed_ * 1'000'003 + static_cast<std::uint64_t>(number));
    RobotModel m = robot(r, number);
    loosen(r, m);
    Oracle oracle(m);
    openral::KernelOptions options;
    options.scalar_only = chance(r, 0.2);
    openral::Kernel kernel(m, options);
    std::int64_t now = 1'000'000'000;
    for (int shot = 0; shot < 30; ++shot) {
      const int mode = only_ != nullptr ? std::atoi(only_) : draw_mode(r, m);
      if (kTried[mode] == Mode::kBodyTwist && !m.mobile) continue;
      if (mode >= 4 && mode <= 6 && m.tools.empty()) continue;
      oracle.things.clear();
      oracle.cells.clear();
      Caster caster(r, m, oracle);
      const bool inwards =
          kTried[mode] == Mode::kJointPosition && chance(r, 0.4) && !m.pairs.empty();
      const Case asked =
          inwards ? caster.towards_itself(uniform(r, -0.002, 0.01)) : caster.draw(kTried[mode]);
      const std::vector<std::byte> bytes = encode(m, asked);
      Trial t;
      Case c = asked;
      Grid grid;
      for (const Slot& s : asked.slots) t.resolved = t.resolved || by_tool(s);
      if (t.resolved) {  // what it would do if nothing stood in the way
        now = judge(kernel, oracle, grid, asked, bytes, now, t);
        t.judged = !kernel.rewritten().empty();
        if (t.judged)
          c = at_full_speed(executed(m, asked, kernel.rewritten()), t.verdict.speed_factor);
        else if (t.verdict.status == Status::kUnsolved)
          miss(tallies[mode], m, oracle, asked);
      }
      if (t.judged) {
        furnish(r, m, oracle, c, inwards, grid);
        Judge(r, m, oracle).look(c, t);
        if (t.resolved) Judge(r, m, oracle).compare(asked, c, t);
      }
      now = judge(kernel, oracle, grid, asked, bytes, now, t);
      if (t.verdict.speed_factor < 1) {
        ++slowed;
        const Case slow = executed(m, asked, kernel.rewritten());
        Judge(r, m, oracle).retrace(c, slow, t.verdict.speed_factor, t);
        t.excess = 1e9;
        Judge(r, m, oracle).look(slow, t);
      }
      if (refused(t.verdict.status) && t.judged && t.excess >= kClear)
        t.excess = std::min(t.excess, Judge(r, m, oracle).thorough(c));
      const int tally = unbounded(m, c) ? kUnbounded : mode;
      count(tallies[tally], c, t, number, shot, tally);
    }
  }

 private:
  static bool refused(Status s) {
    return s == Status::kSelfCollision || s == Status::kWorldCollision ||
           s == Status::kVoxelCollision || s == Status::kUnproven || s == Status::kBudgetExceeded;
  }

  static std::int64_t judge(openral::Kernel& kernel, const Oracle& oracle, const Grid& grid,
                            const Case& c, const std::vector<std::byte>& bytes, std::int64_t now,
                            Trial& t) {
    tell(kernel, oracle, grid, c, now);
    const auto age = static_cast<std::int64_t>(c.age * 1e9);
    t.verdict = kernel.validate(bytes, now + 1'000'000 + age);
    return now + 20'000'000 + age;
  }

  static bool unbounded(const RobotModel& m, const Case& c) {
    for (const Slot& s : c.slots)
      for (int j : s.coordinates) {
        const openral::Coordinate& k = m.coordinates[static_cast<std::size_t>(j)];
        if (s.mode == Mode::kJointTorque && k.role == Role::kBody && !(k.acceleration < 1e6))
          return true;
      }
    return false;
  }

  static void miss(Tally& tally, const RobotModel& m, Oracle& oracle, const Case& c) {
    ++tally.unsolved;
    bool can = true;
    for (const Slot& s : c.slots)
      can = can && (!by_tool(s) || Follower(m, oracle, c, s).followable());
    tally.followable += can ? 1 : 0;
  }

  // Any mode; more of those of which few are clear or few robots are capable.
  static int draw_mode(Random& r, const RobotModel& m) {
    const auto index = [](Mode mode) {
      return static_cast<int>(std::find(kTried, kTried + kModes, mode) - kTried);
    };
    if (m.mobile && chance(r, 0.2)) return index(Mode::kBodyTwist);
    bool bounded = true;
    for (const openral::Coordinate& c : m.coordinates) bounded = bounded && c.acceleration < 1e6;
    if (!bounded && chance(r, 0.1)) return index(Mode::kJointTorque);
    return pick(r, 0, kModes - 1);
  }

  RobotModel robot(Random& r, long number) {
    if (!shipped_.empty() && number % 2 == 1)
      return shipped_[static_cast<std::size_t>(number / 2) % shipped_.size()];
    RobotModel m = testing::robot(r, chance(r, 0.4));
    m.envelope.step = 0.1;
    m.envelope.turn = 0.5;
    return m;
  }

  void furnish(Random& r, const RobotModel& m, Oracle& oracle, const Case& c, bool inwards,
               Grid& grid) {
    const Motion motion(m, c);
    const auto at = [&](int row, double part) { return motion.along(row, part, {}); };
    // What would stop the robot elsewhere on its way anyway teaches little.
    const auto blocks = [&]() {
      double least = 1;
      for (int row = 0; row < motion.rows(); row += 1 + motion.rows() / 25) {
        const Sample s = at(row, 0.5);
        oracle.place(s.q.data(), s.base);
        least = std::min(least, oracle.nearest().excess);
      }
      return least < -0.006 && chance(r, 0.9);
    };
    Placer placer(r, m, oracle);
    for (int i = inwards ? 0 : pick(r, 0, 3); i-- > 0;) {
      const int row = pick(r, 0, motion.rows() - 1);
      const double part = uniform(r, 0, 1);
      const bool voxel = grid.side == 0 && chance(r, 0.4);
      Sample here = at(row, part);
      if (motion.coasts() && chance(r, 0.25))
        here = motion.coast(pick(r, 0, motion.rows() - 1), uniform(r, 0, 1), uniform(r, 0, 1),
                            uniform(r, 0, 1), {});
      Placer::Spot spot;
      if (!placer.spot(here, at(row, part * 0.95), at(row, part + (1 - part) * 0.05), voxel, spot))
        continue;
      if (voxel) {
        grid = placer.grid(spot);
        oracle.cells = centres(grid);
        oracle.cell = grid.side;
        if (blocks()) {
          oracle.cells.clear();
          grid = {};
        }
      } else {
        oracle.things.push_back(placer.thing(spot, i));
        if (blocks()) oracle.things.pop_back();
      }
    }
  }

  static void tell(openral::Kernel& kernel, const Oracle& oracle, const Grid& grid, const Case& c,
                   std::int64_t now) {
    kernel.reset();
    kernel.set_base(0, 0, 0, now);
    kernel.set_world(oracle.things, now);
    const std::uint8_t nothing = 0;
    if (grid.side > 0)
      kernel.set_voxels(grid.cells.data(), grid.shape, grid.origin, grid.side, now);
    else
      kernel.set_voxels(&nothing, {1, 1, 1}, {0, 0, 0}, 0.05, now);
    kernel.set_base(c.moved[0], c.moved[1], c.moved[2], now + 1'000'000);
    kernel.set_state(c.q, c.qd, now + 1'000'000);
  }

  void count(Tally& tally, const Case& c, const Trial& t, long number, int shot, int mode) {
    ++tally.chunks;
    tally.segments += c.rows;
    segments += c.rows;
    ++statuses[static_cast<std::size_t>(t.verdict.status)];
    if (t.judged) ++tally.judged;
    const bool wrong = (t.judged && t.excess < -2e-6) || !t.broken.empty();
    if (t.verdict.accepted) {
      ++tally.accepted;
      tally.accepted_segments += c.rows;
      if (wrong) {
        ++tally.false_accepts;
        std::fprintf(stderr,
                     "false accept: scene %ld shot %d %s slots %zu: %s %.3g m (kind %d %d %d) rows "
                     "%d dt %g\n",
                     number, shot, kNames[mode], c.slots.size(), t.broken.c_str(), t.excess,
                     static_cast<int>(t.worst.kind), t.worst.a, t.worst.b, c.rows, c.dt);
      }
    }
    const Status s = t.verdict.status;
    const bool collision = refused(s);
    if (c.moved[0] == 0 && t.judged && t.excess >= kClear && (t.verdict.accepted || collision)) {
      ++tally.clear;
      if (collision) {
        ++tally.refused_clear;
        if (std::getenv("OPENRAL_FUZZ_REJECTS"))
          std::fprintf(
              stderr, "false reject: scene %ld shot %d %s: true %.4f status %s row %d/%d work %d\n",
              number, shot, kNames[mode], t.excess, openral::status_name(s), t.verdict.row, c.rows,
              t.verdict.work);
      }
    }
  }

  std::uint64_t seed_;
  std::vector<RobotModel> shipped_;
  const char* only_ = std::getenv("OPENRAL_FUZZ_MODE");  // index of the one mode to try
};

int report(const Fuzzer& f) {
  long wrong = 0;
  std::printf("{\"segments\": %ld, \"slowed\": %ld, \"modes\": {", f.segments, f.slowed);
  for (int i = 0; i < kTallies; ++i) {
    const Tally& t = f.tallies[i];
    wrong += t.false_accepts;
    std::printf(
        "%s\"%s\": {\"chunks\": %ld, \"segments\": %ld, \"accepted\": %ld, \"accepted_segments\": "
        "%ld, "
        "\"judged\": %ld, \"clear\": %ld, \"refused_clear\": %ld, \"false_accepts\": %ld, "
        "\"unsolved\": %ld, \"unsolved_followable\": %ld}",
        i ? ", " : "", kNames[i], t.chunks, t.segments, t.accepted, t.accepted_segments, t.judged,
        t.clear, t.refused_clear, t.false_accepts, t.unsolved, t.followable);
  }
  std::printf("}, \"statuses\": {");
  bool first = true;
  for (std::size_t s = 0; s < static_cast<std::size_t>(Status::kCount); ++s)
    if (f.statuses[s] > 0) {
      std::printf("%s\"%s\": %ld", first ? "" : ", ", openral::status_name(static_cast<Status>(s)),
                  f.statuses[s]);
      first = false;
    }
  std::printf("}, \"false_accepts\": %ld}\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int count, char** words) {
  const bool poses = count > 1 && std::strcmp(words[1], "--poses") == 0;
  const int first = poses ? 2 : 1;
  if (count < first + 2) {
    std::fprintf(stderr, "usage: %s [--poses] COUNT SEED [ROBOTS]\n", words[0]);
    return 2;
  }
  const long wanted = std::atol(words[first]);
  const auto seed = static_cast<std::uint64_t>(std::atoll(words[first + 1]));
  std::vector<openral::RobotModel> shipped;
  if (count > first + 2) shipped = fuzz::read_models(words[first + 2]);
  if (poses) return fuzz::write_poses(wanted, seed, shipped);
  fuzz::Fuzzer fuzzer(seed, std::move(shipped));
  const char* only = std::getenv("OPENRAL_FUZZ_SCENE");
  if (only != nullptr) {
    fuzzer.scene(std::atol(only));
    return fuzz::report(fuzzer);
  }
  for (long scene = 0; fuzzer.segments < wanted; ++scene) fuzzer.scene(scene);
  return fuzz::report(fuzzer);
}
