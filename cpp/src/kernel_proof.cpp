// From a chunk and what is known to a proof: at full speed, slowed near the world, or on the way
// out of the margin.
#include <algorithm>
#include <cmath>

#include "openral/kernel.hpp"

namespace openral {
namespace {

constexpr float kGiveWay = 5e-4F;    // a recovering link may come this much closer on its way out
constexpr float kProgress = 2e-4F;   // and must end at least this much farther away
constexpr float kFar = 0.5F;         // beyond any distance that motion is slowed for
constexpr int kCloser = 1200;        // units of work for closer looks at boxes that are not wide
constexpr int kTestUnits = 2;        // AVX2's units for a test in plain arithmetic, of some 70 ns
constexpr int kPlacing = 1;          // tests that placing an obstacle is worth
constexpr int kFinishing = 14;       // values of a path that are finished in the time of one
constexpr int kEasing = 8;           // parts of the work that is left, one for each look of `ease`
constexpr int kGrades = 4;           // speeds between the least and the full one
constexpr double kLongestRow = 10;   // s that a row may last
constexpr double kFarthestMap = 10;  // m: a map of elsewhere says nothing about here

}  // namespace

Query Kernel::query(const Scene& around) noexcept {
  const Envelope& e = model_->envelope;
  Query q;
  q.skeleton = &body_->skeleton;
  q.budget = vectorised() ? Query::kDefaultBudget : Query::kScalarBudget;
  q.world = around.world;
  q.voxels = around.voxels;
  std::fill(body_->capsule_margin.begin(), body_->capsule_margin.end(),
            static_cast<float>(e.world_margin));
  std::fill(body_->pair_margin.begin(), body_->pair_margin.end(),
            static_cast<float>(e.self_margin));
  q.capsule_margin = body_->capsule_margin.data();
  q.pair_margin = body_->pair_margin.data();
  for (std::size_t i = 0; i < 3; ++i) {
    q.workspace_lower[i] = static_cast<float>(e.workspace_lower[i]);
    q.workspace_upper[i] = static_cast<float>(e.workspace_upper[i]);
    q.workspace =
        q.workspace || std::isfinite(e.workspace_lower[i]) || std::isfinite(e.workspace_upper[i]);
  }
  q.tool_speed = std::isfinite(e.tool_speed) ? static_cast<float>(e.tool_speed) : 0;
  q.tool_rate = std::isfinite(e.tool_rate) ? static_cast<float>(e.tool_rate) : 0;
  return q;
}

Status Kernel::prove(const ChunkView& chunk, const Inputs& in, std::int64_t now,
                     Verdict& out) noexcept {
  const Envelope& e = model_->envelope;
  const Scene around = scene(in, now);
  if (!around.placed) return Status::kBaseUnavailable;
  if (!(std::hypot(around.base.x, around.base.y) < kFarthestMap)) return Status::kVoxelUnavailable;
  Query q = query(around);
  if (around.world == &placed_)
    spend(q, static_cast<int>(placed_.obstacles.size()) * kPlacing, out);
  bool recovering = gate_.load() == Gate::kRecovering;
  if (recovering) {
    if (!measure(in, around, body_->recovery_reach, tests(q), q, out))
      return Status::kBudgetExceeded;
    recovering = loosen(in, q);
    if (!recovering) {
      const int budget = q.budget;
      q = query(around);
      q.budget = budget;
      // Unless a stop has come in between.
      Gate armed = Gate::kRecovering;
      gate_.compare_exchange_strong(armed, Gate::kReady);
    }
  }
  const double speed = recovering ? e.recovery_speed : 1;
  Measured measured = in.state->measured;
  measured.age = static_cast<double>(std::max<std::int64_t>(0, now - in.state->stamp)) * 1e-9;
  const int walk = body_->lowering.solver().longest() + 2;  // tests that it is worth
  if (!body_->lowering.lower(chunk, measured, goals_, speed, recovering, tests(q) / walk, out))
    return out.status;
  spend(q, body_->lowering.walks() * walk, out);
  out.whole = !body_->lowering.torque();
  if (body_->lowering.rewrites()) body_->lowering.write(chunk, 1, writer_);
  if (recovering && body_->lowering.torque()) return Status::kRecovery;
  // The tool's speed was checked as asked for; joints that follow its path vary it a little.
  const double slack = speed * (body_->lowering.rewrites() ? 1.02 : 1);
  q.tool_speed *= static_cast<float>(slack);
  q.tool_rate *= static_cast<float>(slack);
  const bool grades = e.slow_distance > e.world_margin && !recovering && !body_->lowering.torque();
  if (!(grades ? graded(chunk, in, around, q, out)
               : attempt(chunk, in, around, 1, q.budget, q, out)))
    return out.status;
  if (recovering && !leads_away(chunk, around, q, out)) return out.status;
  if (out.speed_factor < 1) body_->lowering.write(chunk, out.speed_factor, writer_);
  if ((body_->lowering.rewrites() || out.speed_factor < 1) && writer_.bytes().empty())
    return Status::kChunkOverflow;
  out.valid_ns =
      static_cast<std::int64_t>(body_->lowering.valid_seconds() / out.speed_factor * 1e9);
  return Status::kAccepted;
}

// Whether the chunk can be shown to be clear at this pace with at most `work`; else `out` says why
// not.
bool Kernel::attempt(const ChunkView& chunk, const Inputs& in, const Scene& around, double pace,
                     int work, Query& q, Verdict& out) noexcept {
  body_->lowering.finish(chunk, pace, around.base, around.error);
  q.path = body_->lowering.path();
  spend(q, q.path.count * static_cast<int>(body_->skeleton.coordinates) / kFinishing, out);
  work = std::max(0, std::min(q.budget, work));
  work_left_ = work;
  closer_left_ = body_->lowering.wide() ? work : kCloser;
  Outcome outcome;
  const bool proven = settle(q, 0, q.path.count, outcome);
  out.work += work - work_left_;
  q.budget -= work - work_left_;
  if (!proven) explain(outcome, in, out);
  return proven;
}

// The closer the motion comes to the world, the slower it may be: at full speed it must keep the
// slow distance, at the least speed the margin. The path is the same at any pace; the ways to a
// standstill are not. `out` keeps what it was slowed for, or why even the least speed is too much.
// Attempts that fail cost most, so each but that last one may use a part of what is left only.
bool Kernel::graded(const ChunkView& chunk, const Inputs& in, const Scene& around, Query& q,
                    Verdict& out) noexcept {
  const Envelope& e = model_->envelope;
  const double least = std::max(e.slow_factor, chunk.dt / kLongestRow);
  const auto factor = [&](int grade) { return least + (1 - least) * grade / kGrades; };
  const auto passes = [&](int grade, Verdict& found) {
    demand(static_cast<float>((e.slow_distance - e.world_margin) * grade / kGrades));
    const int work = grade > 0 ? q.budget / 8 * 3 : q.budget;
    return attempt(chunk, in, around, factor(grade), work, q, found);
  };
  std::fill(body_->capsule_kept.begin(), body_->capsule_kept.end(), kFar);
  Verdict fast = out;
  bool full = passes(kGrades, fast);
  if (!full && ease(chunk, in, around, q, fast)) full = passes(kGrades, fast);
  out.work = fast.work;
  if (full) return true;
  Verdict slow = fast;
  const bool passed = passes(0, slow);
  int good = 0;
  for (int bad = kGrades; passed && bad - good > 1 && q.budget > 0;) {
    const int grade = (good + bad) / 2;
    Verdict tried = out;
    (passes(grade, tried) ? good : bad) = grade;
    slow.work += tried.work - out.work;
  }
  out = passed ? fast : slow;
  out.work = slow.work;
  out.speed_factor = passed ? factor(good) : 1;
  return passed;
}

// Sets margins for the world: `more` than the usual one, or what a capsule is let off with.
void Kernel::demand(float more) noexcept {
  const auto margin = static_cast<float>(model_->envelope.world_margin);
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    body_->capsule_margin[c] = std::max(margin, std::min(margin + more, body_->capsule_kept[c]));
}

// What is near the world already and ends no nearer need not keep more than its distance, or an arm
// beside its own table would be slowed for ever. False: there is nothing like that, or no work left
// to find it.
bool Kernel::ease(const ChunkView& chunk, const Inputs& in, const Scene& around, Query& q,
                  Verdict& out) noexcept {
  const auto reach = static_cast<float>(model_->envelope.slow_distance) * 1.25F;
  const int most = tests(q) / kEasing;
  if (!measure(in, around, reach, most, q, out)) return false;
  const int done =
      clearances(body_->skeleton, *around.world, around.voxels, body_->lowering.final_point(chunk),
                 reach, most, body_->capsule_end.data(), body_->pair_end.data());
  spend(q, done, out);
  if (done > most) return false;
  bool any = false;
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c) {
    const float start = body_->capsule_start[c];
    if (start >= reach || body_->capsule_end[c] < start - kGiveWay) continue;
    body_->capsule_kept[c] = start - body_->capsule_tracking[c] - kGiveWay;
    any = true;
  }
  return any;
}

// How many tests in plain arithmetic are worth the budget that is left.
int Kernel::tests(const Query& q) const noexcept {
  return vectorised() ? q.budget / kTestUnits : q.budget;
}

// Takes tests in plain arithmetic from the budget.
void Kernel::spend(Query& q, int count, Verdict& out) const noexcept {
  const int units = vectorised() ? count * kTestUnits : count;
  q.budget -= units;
  out.work += units;
}

// Distances at the measured state; false where they cost more than `most` tests.
bool Kernel::measure(const Inputs& in, const Scene& around, float reach, int most, Query& q,
                     Verdict& out) noexcept {
  std::array<double, kMaxCoordinates> at = in.state->measured.q;
  at[body_->skeleton.dof] = around.base.x;
  at[body_->skeleton.dof + 1] = around.base.y;
  at[body_->skeleton.dof + 2] = around.base.yaw;
  const int done = clearances(body_->skeleton, *around.world, around.voxels, at.data(), reach, most,
                              body_->capsule_start.data(), body_->pair_start.data());
  spend(q, done, out);
  return done <= most;
}

// While recovering, the nominal path is judged: motion is slow. What is too close to pass normally
// (inside the margin, or near enough for the tracking error to matter) must not come closer than it
// is, and all else keeps the tracking error as a distance. The tool may be outside the workspace,
// but not go farther out. False: nothing is too close.
bool Kernel::loosen(const Inputs& in, Query& q) noexcept {
  bool close = false;
  const auto ease = [&close](float start, float tracking, float& margin) {
    const bool clear = start >= margin + tracking;
    margin = std::min(margin + tracking, start - kGiveWay);
    close = close || !clear;
  };
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    ease(body_->capsule_start[c], body_->capsule_tracking[c], body_->capsule_margin[c]);
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p)
    ease(body_->pair_start[p], body_->pair_tracking[p], body_->pair_margin[p]);
  const ToolSolver& solver = body_->lowering.solver();
  for (std::size_t t = 0; t < body_->skeleton.tools.size(); ++t) {
    const Pose tool = solver.pose(static_cast<int>(t), in.state->measured.q.data());
    for (std::size_t i = 0; i < 3; ++i) {
      const auto place = static_cast<float>(tool.translation[i]);
      if (place < q.workspace_lower[i] || place > q.workspace_upper[i]) close = true;
      q.workspace_lower[i] = std::min(q.workspace_lower[i], place - 1e-3F);
      q.workspace_upper[i] = std::max(q.workspace_upper[i], place + 1e-3F);
    }
  }
  return close;
}

// Whether the worst intrusion is smaller at the end of the chunk; else `out` has the status.
bool Kernel::leads_away(const ChunkView& chunk, const Scene& around, Query& q,
                        Verdict& out) noexcept {
  const float world = static_cast<float>(model_->envelope.world_margin);
  const float self = static_cast<float>(model_->envelope.self_margin);
  const int most = tests(q);
  const int done =
      clearances(body_->skeleton, *around.world, around.voxels, body_->lowering.final_point(chunk),
                 body_->recovery_reach, most, body_->capsule_end.data(), body_->pair_end.data());
  spend(q, done, out);
  out.status = done <= most ? Status::kRecovery : Status::kBudgetExceeded;
  if (done > most) return false;
  // Into the margin, and into what normal motion needs beyond it.
  float before = 0, after = 0, before_wide = 0, after_wide = 0;
  const auto note = [&](float margin, float tracking, float start, float end) {
    before = std::max(before, margin - start);
    after = std::max(after, margin - end);
    before_wide = std::max(before_wide, margin + tracking - start);
    after_wide = std::max(after_wide, margin + tracking - end);
  };
  // A gripper that holds something may be anywhere on its way to its goals.
  const auto swept = [&](const LeverList& list) {
    double sum = 0;
    for (int k = list.first; k < list.last; ++k) {
      const Lever& l = body_->skeleton.levers[static_cast<std::size_t>(k)];
      sum += static_cast<double>(l.length) * body_->lowering.final_sweep(chunk, l.coordinate);
    }
    return static_cast<float>(sum * (1 + 1e-6));
  };
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    note(world, body_->capsule_tracking[c], body_->capsule_start[c],
         body_->capsule_end[c] - swept(body_->skeleton.capsules[c].motion));
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p)
    note(self, body_->pair_tracking[p], body_->pair_start[p],
         body_->pair_end[p] - swept(body_->skeleton.pairs[p].motion));
  if (before > 0) return after <= std::max(0.0F, before - kProgress);
  return after <= 0 && after_wide <= std::max(0.0F, before_wide - kProgress);
}

}  // namespace openral
