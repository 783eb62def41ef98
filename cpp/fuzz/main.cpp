// Looks for a motion that the kernel accepts and that breaks the promise.
//   openral_kernel_fuzz [OPTIONS] SEGMENTS SEED [ROBOTS]   one JSON object; exit 1 on a false
//   accept
//     --seconds S    so long instead of so many segments
//     --jobs J       threads, each with a seed of its own: SEED, SEED + 1, ...
//     --scene N      only this one; OPENRAL_FUZZ_SCENE does the same
//     --mode M       only this mode, by name
//     --audit P      share of shots whose refusals are judged too (default 0.1)
//     --withhold W   keeps a fact from the kernel: it must be found wrong then
//   openral_kernel_fuzz --poses COUNT SEED [ROBOTS]        poses and distances, to check the oracle
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "model_file.hpp"
#include "poses.hpp"
#include "session.hpp"

namespace fuzz {
namespace {

struct Options {
  Settings settings;
  long segments = 0, scene = -1;
  double seconds = 0;
  int jobs = 1;
  bool poses = false;
  std::vector<RobotModel> shipped;
};

void scene(const Options& o, const Settings& settings, long number, Totals& totals) {
  const bool own = o.shipped.empty() || number % 2 == 0;
  const RobotModel robot =
      own ? RobotModel{} : o.shipped[static_cast<std::size_t>(number / 2) % o.shipped.size()];
  Session(settings, number, robot, totals).run(30, own);
}

int fuzz(const Options& o) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto spent = [&]() { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::atomic<long> segments{0};
  std::vector<Totals> totals(static_cast<std::size_t>(o.jobs));
  const auto work = [&](int job) {
    Settings settings = o.settings;
    settings.seed += static_cast<std::uint64_t>(job);
    Totals& mine = totals[static_cast<std::size_t>(job)];
    if (o.scene >= 0) return scene(o, settings, o.scene, mine);
    for (long n = 0; o.seconds > 0 ? spent() < o.seconds : segments < o.segments; ++n) {
      const long before = mine.segments;
      scene(o, settings, n, mine);
      segments += mine.segments - before;
    }
  };
  std::vector<std::thread> threads;
  for (int job = 1; job < o.jobs; ++job) threads.emplace_back(work, job);
  work(0);
  for (std::thread& t : threads) t.join();
  for (int job = 1; job < o.jobs; ++job) totals[0].add(totals[static_cast<std::size_t>(job)]);
  return report(totals[0], o.settings.seed, o.jobs, spent());
}

int usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [--seconds S] [--jobs J] [--scene N] [--mode M] [--audit P] "
               "[--withhold W] [--poses] COUNT SEED [ROBOTS]\n",
               program);
  return 2;
}

int run(int count, char** words) {
  Options o;
  if (const char* only = std::getenv("OPENRAL_FUZZ_SCENE")) o.scene = std::atol(only);
  std::vector<const char*> rest;
  for (int i = 1; i < count; ++i) {
    const auto is = [&](const char* name) { return std::strcmp(words[i], name) == 0; };
    if (is("--poses")) {
      o.poses = true;
    } else if (std::strncmp(words[i], "--", 2) == 0 && i + 1 < count) {
      const char* value = words[i + 1];
      if (is("--seconds")) o.seconds = std::atof(value);
      if (is("--jobs")) o.jobs = std::max(1, std::atoi(value));
      if (is("--scene")) o.scene = std::atol(value);
      if (is("--audit")) o.settings.audit = std::atof(value);
      if (is("--withhold")) o.settings.withheld = withheld_by_name(value);
      if (is("--mode"))
        for (int m = 0; m < kModes; ++m)
          if (std::strcmp(kNames[m], value) == 0) o.settings.mode = m;
      ++i;
    } else {
      rest.push_back(words[i]);
    }
  }
  if (rest.size() < 2 || o.settings.withheld == Withheld::kCount) return usage(words[0]);
  o.segments = std::atol(rest[0]);
  o.settings.seed = std::strtoull(rest[1], nullptr, 10);
  if (rest.size() > 2) o.shipped = read_models(rest[2]);
  return o.poses ? write_poses(o.segments, o.settings.seed, o.shipped) : fuzz(o);
}

}  // namespace
}  // namespace fuzz

int main(int count, char** words) { return fuzz::run(count, words); }
