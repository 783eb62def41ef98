// From a chunk and what is known to a proof: at full speed, slowed near the world, or on the way
// out of the margin.
#include <algorithm>
#include <cmath>

#include "openral/kernel.hpp"

namespace openral {
namespace {

constexpr float kGiveWay = 5e-4F;   // a recovering link may come this much closer on its way out
constexpr float kProgress = 2e-4F;  // and must end at least this much farther away
constexpr float kFar = 0.5F;        // clearances beyond this do not matter to recovery
constexpr int kGrades = 4;          // speeds between the least and the full one
constexpr double kLongestRow = 10;  // s that a row may last

}  // namespace

Query Kernel::query(const Inputs& in) noexcept {
  const Envelope& e = model_->envelope;
  Query q;
  q.skeleton = skeleton_.get();
  q.budget = vectorised() ? Query::kDefaultBudget : Query::kScalarBudget;
  q.world = &in.world->world;
  q.voxels = in.voxels->valid && !in.voxels->overflow ? &in.voxels->field : nullptr;
  std::fill(capsule_margin_.begin(), capsule_margin_.end(), static_cast<float>(e.world_margin));
  std::fill(pair_margin_.begin(), pair_margin_.end(), static_cast<float>(e.self_margin));
  q.capsule_margin = capsule_margin_.data();
  q.pair_margin = pair_margin_.data();
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
  Query q = query(in);
  bool recovering = gate_.load() == Gate::kRecovering;
  if (recovering) {
    recovering = loosen(in, q);
    if (!recovering) gate_.store(Gate::kReady);
  }
  const double speed = recovering ? e.recovery_speed : 1;
  Measured measured = in.state->measured;
  measured.age = static_cast<double>(std::max<std::int64_t>(0, now - in.state->stamp)) * 1e-9;
  if (!lowering_.lower(chunk, measured, speed, out)) return out.status;
  out.whole = !lowering_.torque();
  if (lowering_.rewrites()) lowering_.write(chunk, 1, writer_);
  if (recovering && lowering_.torque()) return Status::kRecovery;
  // The tool's speed was checked as asked for; joints that follow its path vary it a little.
  const double slack = speed * (lowering_.rewrites() ? 1.02 : 1);
  q.tool_speed *= static_cast<float>(slack);
  q.tool_rate *= static_cast<float>(slack);
  const Vec3 error = base_error(in, now);
  const bool grades = e.slow_distance > e.world_margin && !recovering && !lowering_.torque();
  if (!(grades ? graded(chunk, in, error, q, out) : attempt(chunk, in, 1, error, q, out)))
    return out.status;
  if (recovering && !leads_away(chunk, in)) return Status::kRecovery;
  if (out.speed_factor < 1) lowering_.write(chunk, out.speed_factor, writer_);
  if ((lowering_.rewrites() || out.speed_factor < 1) && writer_.bytes().empty())
    return Status::kChunkOverflow;
  out.valid_ns = static_cast<std::int64_t>(lowering_.valid_seconds() / out.speed_factor * 1e9);
  return Status::kAccepted;
}

// Whether the chunk is clear at this pace; else `out` says why not.
bool Kernel::attempt(const ChunkView& chunk, const Inputs& in, double pace, const Vec3& error,
                     Query& q, Verdict& out) noexcept {
  lowering_.finish(chunk, pace, error);
  q.path = lowering_.path();
  const Outcome outcome = prove_(q);
  out.work += outcome.work;
  q.budget -= outcome.work;
  if (outcome.proof == Proof::kProven) return true;
  explain(outcome, in, out);
  return false;
}

// The closer the motion comes to the world, the slower it may be: at full speed it must keep the
// slow distance, at the least speed the margin. The path is the same at any pace; the ways to a
// standstill are not. `out` keeps what it was slowed for.
bool Kernel::graded(const ChunkView& chunk, const Inputs& in, const Vec3& error, Query& q,
                    Verdict& out) noexcept {
  const Envelope& e = model_->envelope;
  const double least = std::max(e.slow_factor, chunk.dt / kLongestRow);
  const Verdict clean = out;
  bool eased = false;
  for (int grade = kGrades; grade >= 0;) {
    const double share = static_cast<double>(grade) / kGrades;
    demand(static_cast<float>((e.slow_distance - e.world_margin) * share), eased);
    out.speed_factor = least + (1 - least) * share;
    if (attempt(chunk, in, out.speed_factor, error, q, out)) {
      const int work = out.work;
      if (grade == kGrades) out = clean;
      out.work = work;
      return true;
    }
    if (q.budget <= 0) break;
    if (eased) {
      --grade;
      continue;
    }
    std::array<double, kMaxCoordinates> at = in.state->measured.q;
    std::fill_n(at.begin() + static_cast<std::ptrdiff_t>(skeleton_->dof), 3, 0.0);
    clearances(*skeleton_, *q.world, q.voxels, at.data(), static_cast<float>(e.slow_distance) * 2,
               capsule_start_.data(), pair_start_.data());
    eased = true;
  }
  out.speed_factor = 1;
  return false;
}

// Sets margins for the world: `more` than the usual one. What is closer than that already need not
// keep more than its distance, or an arm beside its own table would be slowed for ever.
void Kernel::demand(float more, bool eased) noexcept {
  const auto margin = static_cast<float>(model_->envelope.world_margin);
  for (std::size_t c = 0; c < skeleton_->capsules.size(); ++c) {
    const float kept = capsule_start_[c] - capsule_tracking_[c] - kGiveWay;
    capsule_margin_[c] = margin + more;
    if (eased) capsule_margin_[c] = std::max(margin, std::min(margin + more, kept));
  }
}

// While recovering, what is too close to pass normally (inside the margin, or near enough for the
// tracking error to matter) must not come closer than it is, judged by the nominal path: motion is
// slow. The tool may be outside the workspace, but not go farther out. False: nothing is too close.
bool Kernel::loosen(const Inputs& in, Query& q) noexcept {
  std::array<double, kMaxCoordinates> at = in.state->measured.q;
  std::fill_n(at.begin() + static_cast<std::ptrdiff_t>(skeleton_->dof), 3, 0.0);
  clearances(*skeleton_, *q.world, q.voxels, at.data(), kFar, capsule_start_.data(),
             pair_start_.data());
  bool close = false;
  const auto ease = [&close](float start, float tracking, float& margin) {
    if (start >= margin + tracking) return;
    margin = start - kGiveWay - tracking;
    close = true;
  };
  for (std::size_t c = 0; c < skeleton_->capsules.size(); ++c)
    ease(capsule_start_[c], capsule_tracking_[c], capsule_margin_[c]);
  for (std::size_t p = 0; p < skeleton_->pairs.size(); ++p)
    ease(pair_start_[p], pair_tracking_[p], pair_margin_[p]);
  const ToolSolver solver(*skeleton_, *model_);
  for (std::size_t t = 0; t < skeleton_->tools.size(); ++t) {
    const Pose tool = solver.pose(static_cast<int>(t), at.data());
    for (std::size_t i = 0; i < 3; ++i) {
      const auto place = static_cast<float>(tool.translation[i]);
      if (place < q.workspace_lower[i] || place > q.workspace_upper[i]) close = true;
      q.workspace_lower[i] = std::min(q.workspace_lower[i], place - 1e-3F);
      q.workspace_upper[i] = std::max(q.workspace_upper[i], place + 1e-3F);
    }
  }
  return close;
}

// Whether the worst intrusion is smaller at the end of the chunk.
bool Kernel::leads_away(const ChunkView& chunk, const Inputs& in) noexcept {
  const float world = static_cast<float>(model_->envelope.world_margin);
  const float self = static_cast<float>(model_->envelope.self_margin);
  const VoxelField* voxels = in.voxels->valid && !in.voxels->overflow ? &in.voxels->field : nullptr;
  clearances(*skeleton_, in.world->world, voxels, lowering_.final_point(chunk), kFar,
             capsule_end_.data(), pair_end_.data());
  float before = 0, after = 0;
  for (std::size_t c = 0; c < skeleton_->capsules.size(); ++c) {
    before = std::max(before, world + capsule_tracking_[c] - capsule_start_[c]);
    after = std::max(after, world + capsule_tracking_[c] - capsule_end_[c]);
  }
  for (std::size_t p = 0; p < skeleton_->pairs.size(); ++p) {
    before = std::max(before, self + pair_tracking_[p] - pair_start_[p]);
    after = std::max(after, self + pair_tracking_[p] - pair_end_[p]);
  }
  return after <= std::max(0.0F, before - kProgress);
}

}  // namespace openral
