#include "openral/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace openral {
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
  if (!(e.slow_factor > 0 && e.slow_factor <= 1))
    throw std::invalid_argument("the least share of speed must be above 0 and at most 1");
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
