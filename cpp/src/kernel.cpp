#include "openral/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace openral {
namespace {

constexpr float kGiveWay = 5e-4F;    // a recovering link may come this much closer on its way out
constexpr float kProgress = 2e-4F;   // and must end at least this much farther away
constexpr float kFar = 0.5F;         // clearances beyond this do not matter to recovery
constexpr double kFarthestMap = 10;  // m: a map of elsewhere says nothing about here

void stand(const Planar& base, std::size_t dof, std::array<double, kMaxCoordinates>& at) {
  at[dof] = base.x;
  at[dof + 1] = base.y;
  at[dof + 2] = base.yaw;
}

}  // namespace

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
  const Inputs in = read();
  if (!body_->lowering.resolve(chunk, out)) return out.status;
  if (!body_->lowering.check_allowed(chunk, out)) return out.status;
  out.valid_ns = static_cast<std::int64_t>(static_cast<double>(chunk.rows) * chunk.dt * 1e9);
  if (!body_->lowering.moves()) return Status::kAccepted;
  const Status ready = available(in, now);
  if (ready != Status::kAccepted) return ready;
  return prove(chunk, in, now, out);
}

Query Kernel::query(const Scene& scene) noexcept {
  const Envelope& e = model_->envelope;
  Query q;
  q.skeleton = &body_->skeleton;
  q.budget = vectorised() ? Query::kDefaultBudget : Query::kScalarBudget;
  q.world = scene.world;
  q.voxels = scene.voxels;
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
  const Scene around = scene(in, now);
  if (!(std::hypot(around.base.x, around.base.y) < kFarthestMap)) return Status::kVoxelUnavailable;
  Query q = query(around);
  bool recovering = gate_.load() == Gate::kRecovering;
  if (recovering) {
    recovering = loosen(in, around, q);
    if (!recovering) gate_.store(Gate::kReady);
  }
  const double speed = recovering ? model_->envelope.recovery_speed : 1;
  Measured measured = in.state->measured;
  measured.age = static_cast<double>(std::max<std::int64_t>(0, now - in.state->stamp)) * 1e-9;
  if (!body_->lowering.lower(chunk, measured, speed, around.error, out)) return out.status;
  body_->lowering.place(around.base);
  out.whole = !body_->lowering.torque();
  if (body_->lowering.rewrites()) {
    body_->lowering.write(chunk, writer_);
    if (writer_.bytes().empty()) return Status::kChunkOverflow;
  }
  if (recovering && body_->lowering.torque()) return Status::kRecovery;
  q.path = body_->lowering.path();
  // The tool's speed was checked as asked for; joints that follow its path vary it a little.
  const double slack = speed * (body_->lowering.rewrites() ? 1.02 : 1);
  q.tool_speed *= static_cast<float>(slack);
  q.tool_rate *= static_cast<float>(slack);
  const Outcome outcome = prove_(q);
  out.work = outcome.work;
  if (outcome.proof != Proof::kProven) {
    explain(outcome, in, out);
    return out.status;
  }
  if (recovering && !leads_away(chunk, around)) return Status::kRecovery;
  out.valid_ns = static_cast<std::int64_t>(body_->lowering.valid_seconds() * 1e9);
  return Status::kAccepted;
}

// While recovering, what is too close to pass normally (inside the margin, or near enough for the
// tracking error to matter) must not come closer than it is, judged by the nominal path: motion is
// slow. The tool may be outside the workspace, but not go farther out. False: nothing is too close.
bool Kernel::loosen(const Inputs& in, const Scene& around, Query& q) noexcept {
  std::array<double, kMaxCoordinates> at = in.state->measured.q;
  stand(around.base, body_->skeleton.dof, at);
  clearances(body_->skeleton, *q.world, q.voxels, at.data(), kFar, body_->capsule_start.data(),
             body_->pair_start.data());
  bool close = false;
  const auto ease = [&close](float start, float tracking, float& margin) {
    if (start >= margin + tracking) return;
    margin = start - kGiveWay - tracking;
    close = true;
  };
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    ease(body_->capsule_start[c], body_->capsule_tracking[c], body_->capsule_margin[c]);
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p)
    ease(body_->pair_start[p], body_->pair_tracking[p], body_->pair_margin[p]);
  const ToolSolver solver(body_->skeleton, *model_);
  for (std::size_t t = 0; t < body_->skeleton.tools.size(); ++t) {
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
bool Kernel::leads_away(const ChunkView& chunk, const Scene& around) noexcept {
  const float world = static_cast<float>(model_->envelope.world_margin);
  const float self = static_cast<float>(model_->envelope.self_margin);
  clearances(body_->skeleton, *around.world, around.voxels, body_->lowering.final_point(chunk),
             kFar, body_->capsule_end.data(), body_->pair_end.data());
  float before = 0, after = 0;
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c) {
    before = std::max(before, world + body_->capsule_tracking[c] - body_->capsule_start[c]);
    after = std::max(after, world + body_->capsule_tracking[c] - body_->capsule_end[c]);
  }
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p) {
    before = std::max(before, self + body_->pair_tracking[p] - body_->pair_start[p]);
    after = std::max(after, self + body_->pair_tracking[p] - body_->pair_end[p]);
  }
  return after <= std::max(0.0F, before - kProgress);
}

void Kernel::explain(const Outcome& outcome, const Inputs& in, Verdict& out) const noexcept {
  const Span& span = body_->lowering.path().spans[outcome.span];
  out.row = span.row;
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
  stand(around.base, body_->skeleton.dof, at);
  clearances(body_->skeleton, *around.world, around.voxels, at.data(), reach,
             body_->capsule_start.data(), body_->pair_start.data());
  std::array<float, 2> least{reach, reach};
  for (std::size_t c = 0; c < body_->skeleton.capsules.size(); ++c)
    least[0] = std::min(least[0], body_->capsule_start[c]);
  for (std::size_t p = 0; p < body_->skeleton.pairs.size(); ++p)
    least[1] = std::min(least[1], body_->pair_start[p]);
  return least;
}

}  // namespace openral
