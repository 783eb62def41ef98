#include "openral/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace openral {
Kernel::Kernel(RobotModel model, KernelOptions options)
    : model_(std::make_shared<const RobotModel>(std::move(model))),
      own_(std::make_shared<Body>(*model_, std::vector<Held>{})),
      body_(own_.get()),
      options_(options),
      prove_(select_prover(options.scalar_only)),
      latest_body_(own_) {
  placed_.reserve();
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
    // A stop that came in between counts.
    if (out.status == Status::kAccepted && gate_.load() == Gate::kStopped)
      out.status = Status::kEstopped;
  }
  out.warn_only = options_.warn_only;
  out.accepted = out.status == Status::kAccepted;
  if (options_.warn_only && latches(out.status) && !unusable(out.status)) {
    out.accepted = true;
    out.valid_ns = static_cast<std::int64_t>(model_->envelope.recheck * 1e9);
  } else if (latches(out.status)) {
    gate_.store(Gate::kStopped);
  }
  if (out.accepted) body_->lowering.leave_goals(goals_);
  out.rewritten = out.accepted && !writer_.bytes().empty();
  out.stopped = gate_.load() == Gate::kStopped;
  return out;
}

Status Kernel::judge(const ChunkView& chunk, std::int64_t now, Verdict& out) noexcept {
  const Inputs in = read();
  if (!body_->lowering.resolve(chunk, out)) return out.status;
  if (!body_->lowering.check_grippers(chunk, out)) return out.status;
  out.valid_ns = static_cast<std::int64_t>(static_cast<double>(chunk.rows) * chunk.dt * 1e9);
  if (!body_->lowering.moves()) return Status::kAccepted;
  const Status ready = available(in, now);
  if (ready != Status::kAccepted) return ready;
  return prove(chunk, in, now, out);
}

void Kernel::explain(const Outcome& outcome, const Inputs& in, Verdict& out) const noexcept {
  const Span& span = body_->lowering.path().spans[outcome.span];
  out.row = span.row;
  out.object[0] = 0;  // what an attempt at another pace met
  out.start = outcome.start;
  out.end = outcome.end;
  out.value = static_cast<double>(outcome.distance);
  out.limit = static_cast<double>(outcome.limit);
  const auto link = [&](int capsule) {
    return static_cast<std::int16_t>(
        body_->skeleton.capsules[static_cast<std::size_t>(capsule)].link);
  };
  const auto name_held = [&](int capsule) {
    const std::size_t own = body_->own_capsules;
    if (static_cast<std::size_t>(capsule) < own) return;
    const std::string& id = body_->held[static_cast<std::size_t>(capsule) - own].id;
    std::strncpy(out.object, id.c_str(), sizeof out.object - 1);
  };
  switch (outcome.finding) {
    case Finding::kSelf:
      out.status = Status::kSelfCollision;
      out.link = link(outcome.capsule);
      out.other_link = link(outcome.other);
      name_held(outcome.capsule);
      name_held(outcome.other);
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
      name_held(outcome.capsule);
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
  const Inputs in = read();
  if (q.size() != body_->skeleton.dof)
    throw std::invalid_argument("wrong number of joint positions");
  const Scene around = scene(in, in.base->empty() ? 0 : in.base->last_stamp());
  std::array<double, kMaxCoordinates> at{};
  std::copy(q.begin(), q.end(), at.begin());
  at[body_->skeleton.dof] = around.base.x;
  at[body_->skeleton.dof + 1] = around.base.y;
  at[body_->skeleton.dof + 2] = around.base.yaw;
  clearances(body_->skeleton, *around.world, around.voxels, at.data(), reach,
             std::numeric_limits<int>::max() / 2, body_->capsule_start.data(),
             body_->pair_start.data());
  std::array<float, 2> least{reach, reach};
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    least[0] = std::min(least[0], body_->capsule_start[c]);
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p)
    least[1] = std::min(least[1], body_->pair_start[p]);
  return least;
}

}  // namespace openral
