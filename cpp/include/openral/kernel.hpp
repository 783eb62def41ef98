// The gate between a proposed motion and the motors: holds what was last measured, answers each
// chunk with a verdict, and latches a stop. `validate` allocates nothing, takes no lock, throws
// nothing and does no I/O; the setters do their work on the caller's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "openral/latest.hpp"
#include "openral/lowering.hpp"
#include "openral/prover.hpp"

namespace openral {

enum class Gate : std::uint8_t { kReady, kStopped, kRecovering };

struct KernelOptions {
  bool scalar_only = false;               // do not use AVX2
  bool warn_only = false;                 // simulation: report findings, let the motion pass
  bool needs_world = false;               // obstacles must have been received
  bool needs_voxels = false;              // a voxel map must have been received
  std::int64_t stall_ns = 2'000'000'000;  // real time after which an unmoving clock is stalled
};

class Kernel {
 public:
  // Throws std::invalid_argument when the model does not hold together.
  Kernel(RobotModel model, KernelOptions options);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // All stamps are times of measurement on the graph's clock, in ns. Setters throw
  // std::invalid_argument for input that cannot be used.
  void set_state(std::span<const double> q, std::span<const double> qd, std::int64_t stamp);
  void set_world(const std::vector<Primitive>& primitives, std::int64_t stamp);
  void set_voxels(const std::uint8_t* occupied, std::array<int, 3> shape,
                  std::array<double, 3> origin, double resolution, std::int64_t stamp);
  void set_base(double x, double y, double yaw, std::int64_t stamp);

  Verdict validate(std::span<const std::byte> chunk, std::int64_t now) noexcept;
  // The chunk to be executed in place of the last one judged, where its verdict says `rewritten`.
  // Stays until the next call of `validate`.
  std::span<const std::byte> rewritten() const noexcept { return writer_.bytes(); }

  void estop() noexcept { gate_.store(Gate::kStopped); }
  void reset() noexcept { gate_.store(Gate::kReady); }
  // Only from a stop: lets slow motion pass that leads out of the margin.
  bool recover() noexcept;
  Gate gate() const noexcept { return gate_.load(); }

  const std::shared_ptr<const RobotModel>& model() const { return model_; }
  const Skeleton& skeleton() const { return *skeleton_; }
  bool vectorised() const { return prove_ != &scalar::prove; }

  // Which configurations (rows of q, one after another) keep the margins from each other and from
  // what was last seen, whatever its age; none where that is not known. For the validating thread.
  void clear(std::span<const double> q, std::span<bool> out);

  // Distances between surfaces at a configuration: the smallest to the world and between links.
  std::array<float, 2> clearance(std::span<const double> q, float reach);

 private:
  struct State {
    std::int64_t stamp = 0;
    bool valid = false;
    Measured measured;
  };
  struct Obstacles {
    std::int64_t stamp = 0;
    bool seen = false, valid = false, overflow = false;
    World world;
  };
  struct Voxels {
    std::int64_t stamp = 0;
    bool seen = false, valid = false, overflow = false;
    VoxelField field;
  };
  struct BasePose {
    std::int64_t stamp = 0;
    double x = 0, y = 0, yaw = 0;
  };
  struct BaseTrail {  // the latest poses, newest last
    static constexpr std::size_t kLength = 128;
    std::array<BasePose, kLength> poses{};
    std::size_t count = 0;
  };
  struct Inputs {
    const State* state;
    const Obstacles* world;
    const Voxels* voxels;
    const BaseTrail* base;
  };

  Status judge(const ChunkView& chunk, std::int64_t now, Verdict& out) noexcept;
  Status available(const Inputs& in, std::int64_t now) const noexcept;
  Status prove(const ChunkView& chunk, const Inputs& in, std::int64_t now, Verdict& out) noexcept;
  bool attempt(const ChunkView& chunk, const Inputs& in, double pace, const Vec3& error, Query& q,
               Verdict& out) noexcept;
  bool graded(const ChunkView& chunk, const Inputs& in, const Vec3& error, Query& q,
              Verdict& out) noexcept;
  void demand(float more, bool eased) noexcept;
  bool loosen(const Inputs& in, Query& query) noexcept;
  float tracking(const LeverList& list) const noexcept;
  bool leads_away(const ChunkView& chunk, const Inputs& in) noexcept;
  void explain(const Outcome& outcome, const Inputs& in, Verdict& out) const noexcept;
  Vec3 base_error(const Inputs& in, std::int64_t now) const noexcept;
  Vec3 since_seen(const Inputs& in) const noexcept;
  bool stalled(std::int64_t now) noexcept;
  Query query(const Inputs& in) noexcept;

  std::shared_ptr<const RobotModel> model_;
  std::unique_ptr<const Skeleton> skeleton_;
  KernelOptions options_;
  ProveFunction prove_;
  ChunkView chunk_;  // the chunk being judged
  Lowering lowering_;
  ChunkWriter writer_;
  Latest<State> state_;
  Latest<Obstacles> world_;
  Latest<Voxels> voxels_;
  Latest<BaseTrail> base_;
  BaseTrail trail_;  // the setter's copy
  std::mutex trail_turn_;
  std::atomic<Gate> gate_{Gate::kReady};
  std::vector<float> capsule_margin_, pair_margin_;
  std::vector<float> capsule_tracking_, pair_tracking_;  // how far tracking errors can move them
  std::vector<float> capsule_start_, pair_start_, capsule_end_, pair_end_;
  std::int64_t last_now_ = -1, last_change_ = 0;
};

}  // namespace openral
