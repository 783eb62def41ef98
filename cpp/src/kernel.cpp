#include "openral/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace openral {
namespace {

constexpr float kGiveWay = 5e-4F;   // a recovering link may come this much closer on its way out
constexpr float kProgress = 2e-4F;  // and must end at least this much farther away
constexpr float kFar = 0.5F;        // clearances beyond this do not matter to recovery

}  // namespace

Kernel::Kernel(RobotModel model, KernelOptions options)
    : model_(std::make_shared<const RobotModel>(std::move(model))),
      skeleton_(std::make_unique<const Skeleton>(*model_)),
      options_(options),
      prove_(select_prover(options.scalar_only)),
      lowering_(*model_, *skeleton_) {
  for (const Coordinate& c : model_->coordinates)
    if (!(c.tracking >= 0 && c.tracking <= 0.1) || !(c.velocity > 0) || !(c.lower < c.upper))
      throw std::invalid_argument(
          "joint '" + c.name +
          "': needs ordered limits, a positive velocity limit and a tracking "
          "error between 0 and 0.1");
  const Envelope& e = model_->envelope;
  if (!(e.self_margin >= 0 && e.world_margin >= 0 && e.recheck > 0 && e.stop_time >= 0))
    throw std::invalid_argument("the safety envelope has a negative or undefined number");
  capsule_margin_.resize(skeleton_->capsules.size() + 1);
  capsule_start_ = capsule_end_ = capsule_margin_;
  pair_margin_.resize(skeleton_->pairs.size() + 1);
  pair_start_ = pair_end_ = pair_margin_;
  for (const SkeletonCapsule& c : skeleton_->capsules)
    capsule_tracking_.push_back(tracking(c.motion));
  for (const SkeletonPair& p : skeleton_->pairs) pair_tracking_.push_back(tracking(p.motion));
}

float Kernel::tracking(const LeverList& list) const noexcept {
  double sum = 0;
  for (int k = list.first; k < list.last; ++k) {
    const Lever& l = skeleton_->levers[static_cast<std::size_t>(k)];
    const auto j = static_cast<std::size_t>(l.coordinate);
    if (j < skeleton_->dof) sum += static_cast<double>(l.length) * model_->coordinates[j].tracking;
  }
  return static_cast<float>(sum);
}

bool Kernel::recover() noexcept {
  Gate stopped = Gate::kStopped;
  return gate_.compare_exchange_strong(stopped, Gate::kRecovering);
}

Verdict Kernel::validate(std::span<const std::byte> bytes, std::int64_t now) noexcept {
  Verdict out;
  ChunkView& chunk = chunk_;
  chunk.sequence = 0;
  chunk.mode = 0;
  int slot = -1;
  const Parse parsed = parse_chunk(bytes, chunk, slot);
  const bool late = stalled(now);
  writer_.clear();
  out.sequence = chunk.sequence;
  out.mode = chunk.mode;
  out.slot = static_cast<std::int16_t>(slot);
  if (gate_.load() == Gate::kStopped) {
    out.status = Status::kEstopped;
  } else if (parsed != Parse::kOk) {
    out.status = parsed == Parse::kOverflow     ? Status::kChunkOverflow
                 : parsed == Parse::kWrongWidth ? Status::kWrongWidth
                                                : Status::kMalformed;
  } else if (late) {
    out.status = Status::kClockStalled;
  } else {
    out.status = judge(chunk, now, out);
  }
  out.warn_only = options_.warn_only;
  out.accepted = out.status == Status::kAccepted;
  if (options_.warn_only && latches(out.status) && !unusable(out.status)) {
    out.accepted = true;
    out.valid_ns = static_cast<std::int64_t>(model_->envelope.recheck * 1e9);
  } else if (latches(out.status)) {
    gate_.store(Gate::kStopped);
  }
  out.rewritten = out.accepted && !writer_.bytes().empty();
  out.stopped = gate_.load() == Gate::kStopped;
  return out;
}

Status Kernel::judge(const ChunkView& chunk, std::int64_t now, Verdict& out) noexcept {
  if (!lowering_.resolve(chunk, out)) return out.status;
  if (!lowering_.check_allowed(chunk, out)) return out.status;
  out.valid_ns = static_cast<std::int64_t>(static_cast<double>(chunk.rows) * chunk.dt * 1e9);
  if (!lowering_.moves()) return Status::kAccepted;
  const Inputs in{&state_.read(), &world_.read(), &voxels_.read(), &base_.read()};
  const Status ready = available(in, now);
  if (ready != Status::kAccepted) return ready;
  return prove(chunk, in, now, out);
}

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
  Query q = query(in);
  bool recovering = gate_.load() == Gate::kRecovering;
  if (recovering) {
    recovering = loosen(in, q);
    if (!recovering) gate_.store(Gate::kReady);
  }
  const double speed = recovering ? model_->envelope.recovery_speed : 1;
  Measured measured = in.state->measured;
  measured.age = static_cast<double>(std::max<std::int64_t>(0, now - in.state->stamp)) * 1e-9;
  if (!lowering_.lower(chunk, measured, speed, base_error(in, now), out)) return out.status;
  out.whole = !lowering_.torque();
  if (lowering_.rewrites()) {
    lowering_.write(chunk, writer_);
    if (writer_.bytes().empty()) return Status::kChunkOverflow;
  }
  if (recovering && lowering_.torque()) return Status::kRecovery;
  q.path = lowering_.path();
  // The tool's speed was checked as asked for; joints that follow its path vary it a little.
  const double slack = speed * (lowering_.rewrites() ? 1.02 : 1);
  q.tool_speed *= static_cast<float>(slack);
  q.tool_rate *= static_cast<float>(slack);
  const Outcome outcome = prove_(q);
  out.work = outcome.work;
  if (outcome.proof != Proof::kProven) {
    explain(outcome, in, out);
    return out.status;
  }
  if (recovering && !leads_away(chunk, in)) return Status::kRecovery;
  out.valid_ns = static_cast<std::int64_t>(lowering_.valid_seconds() * 1e9);
  return Status::kAccepted;
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

void Kernel::explain(const Outcome& outcome, const Inputs& in, Verdict& out) const noexcept {
  const Span& span = lowering_.path().spans[outcome.span];
  out.row = span.row;
  out.start = outcome.start;
  out.end = outcome.end;
  out.value = static_cast<double>(outcome.distance);
  out.limit = static_cast<double>(outcome.limit);
  const auto link = [&](int capsule) {
    return static_cast<std::int16_t>(skeleton_->capsules[static_cast<std::size_t>(capsule)].link);
  };
  switch (outcome.finding) {
    case Finding::kSelf:
      out.status = Status::kSelfCollision;
      out.link = link(outcome.capsule);
      out.other_link = link(outcome.other);
      break;
    case Finding::kWorld: {
      out.status = Status::kWorldCollision;
      out.link = link(outcome.capsule);
      const std::string& id = in.world->world.ids[static_cast<std::size_t>(outcome.other)];
      std::strncpy(out.object, id.c_str(), sizeof out.object - 1);
      break;
    }
    case Finding::kVoxel:
      out.status = Status::kVoxelCollision;
      out.link = link(outcome.capsule);
      std::copy_n(outcome.cell, 3, out.cell);
      break;
    case Finding::kWorkspace:
      out.status = Status::kWorkspace;
      break;
    case Finding::kToolSpeed:
    case Finding::kToolRate:
      out.status = outcome.finding == Finding::kToolSpeed ? Status::kToolSpeed : Status::kToolRate;
      out.value = -out.value;  // the prover reports room below the limit, less the limit
      break;
    case Finding::kNothing:
      out.status = Status::kUnproven;
      break;
  }
  if (outcome.proof == Proof::kBudget) out.status = Status::kBudgetExceeded;
}

std::array<float, 2> Kernel::clearance(std::span<const double> q, float reach) {
  if (q.size() != skeleton_->dof) throw std::invalid_argument("wrong number of joint positions");
  std::array<double, kMaxCoordinates> at{};
  std::copy(q.begin(), q.end(), at.begin());
  const Obstacles& world = world_.read();
  const Voxels& voxels = voxels_.read();
  clearances(*skeleton_, world.world, voxels.valid ? &voxels.field : nullptr, at.data(), reach,
             capsule_start_.data(), pair_start_.data());
  std::array<float, 2> least{reach, reach};
  for (std::size_t c = 0; c < skeleton_->capsules.size(); ++c)
    least[0] = std::min(least[0], capsule_start_[c]);
  for (std::size_t p = 0; p < skeleton_->pairs.size(); ++p)
    least[1] = std::min(least[1], pair_start_[p]);
  return least;
}

}  // namespace openral
