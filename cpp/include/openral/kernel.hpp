// The gate between a proposed motion and the motors: holds what was last measured, answers each
// chunk with a verdict, and latches a stop. `validate` allocates nothing, takes no lock, throws
// nothing and does no I/O; the setters do their work on the caller's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "openral/base_trail.hpp"
#include "openral/body.hpp"
#include "openral/latest.hpp"
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
  // `held` objects move with links and are checked like links. `fixed`: the obstacles stand in the
  // frame of the base's odometry; else in the base's own frame as it was at the stamp.
  void set_world(const std::vector<Primitive>& primitives, std::int64_t stamp,
                 const std::vector<Held>& held = {}, bool fixed = false);
  // As if nobody had ever told of obstacles.
  void forget_world();
  void set_voxels(const std::uint8_t* occupied, std::array<int, 3> shape,
                  std::array<double, 3> origin, double resolution, std::int64_t stamp,
                  bool fixed = false);
  void set_base(double x, double y, double yaw, std::int64_t stamp);
  // Where the base was, as odometry tells it, and how far off that may be; empty without odometry.
  std::optional<Place> base_at(std::int64_t stamp);

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
  const Skeleton& skeleton() const { return own_->skeleton; }
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
    bool seen = false, valid = false, overflow = false, fixed = false;
    std::uint64_t version = 0;
    World world;
    std::shared_ptr<Body> body;
  };
  struct Voxels {
    std::int64_t stamp = 0;
    bool seen = false, valid = false, overflow = false, fixed = false;
    Planar anchor;  // the field's own frame in the map's
    VoxelField field;
  };
  struct Inputs {
    const State* state;
    const Obstacles* world;
    const Voxels* voxels;
    const BaseTrail* base;
  };
  // All that is around the robot, seen from one frame: the voxels' own, where there are any.
  struct Scene {
    Planar base;  // where the robot is
    const World* world = nullptr;
    const VoxelField* voxels = nullptr;  // may be null
    Vec3 error{};                        // how far off the base may be, in its own frame
    bool placed = true;                  // odometry tells where the views belong
  };

  Status judge(const ChunkView& chunk, std::int64_t now, Verdict& out) noexcept;
  Status available(const Inputs& in, std::int64_t now) const noexcept;
  Status prove(const ChunkView& chunk, const Inputs& in, std::int64_t now, Verdict& out) noexcept;
  bool attempt(const ChunkView& chunk, const Inputs& in, const Scene& scene, double pace, int work,
               Query& q, Verdict& out) noexcept;
  bool graded(const ChunkView& chunk, const Inputs& in, const Scene& scene, Query& q,
              Verdict& out) noexcept;
  void demand(float more) noexcept;
  bool ease(const ChunkView& chunk, const Inputs& in, const Scene& scene, Query& q,
            Verdict& out) noexcept;
  Outcome look(const Query& q, int first, int count) noexcept;
  bool settle(const Query& q, int first, int count, Outcome& found) noexcept;
  bool settle_culprits(const Query& q, Outcome& found) noexcept;
  bool settle_in_parts(const Query& only, const Outcome& found, int depth) noexcept;
  bool middle_is_clear(const Query& only, const Outcome& found, int depth) noexcept;
  std::size_t pair_of(const Outcome& found) const noexcept;
  int widest(const Outcome& found, int* coordinates) const noexcept;
  int tests(const Query& q) const noexcept;
  void spend(Query& q, int count, Verdict& out) const noexcept;
  bool measure(const Inputs& in, const Scene& scene, float reach, int most, Query& q,
               Verdict& out) noexcept;
  bool loosen(const Inputs& in, Query& query) noexcept;
  bool leads_away(const ChunkView& chunk, const Scene& scene, Query& q, Verdict& out) noexcept;
  void explain(const Outcome& outcome, const Inputs& in, Verdict& out) const noexcept;
  Inputs read() noexcept;
  Scene scene(const Inputs& in, std::int64_t now) noexcept;
  const World* placed(const Obstacles& obstacles, const Planar& frame) noexcept;
  bool stalled(std::int64_t now) noexcept;
  Query query(const Scene& scene) noexcept;

  std::shared_ptr<const RobotModel> model_;
  std::shared_ptr<Body> own_;  // the robot with nothing in its hands
  Body* body_;                 // the one being judged
  KernelOptions options_;
  ProveFunction prove_;
  ChunkView chunk_;  // the chunk being judged
  ChunkWriter writer_;
  GripGoals goals_;  // of grippers, by the chunks accepted so far
  Latest<State> state_;
  Latest<Obstacles> world_;
  Latest<Voxels> voxels_;
  Latest<BaseTrail> base_;
  BaseTrail trail_;  // the setter's copy
  std::mutex trail_turn_;
  std::atomic<Gate> gate_{Gate::kReady};
  World placed_;  // the obstacles in the voxels' frame, and which these are
  Planar placed_at_;
  std::uint64_t placed_version_ = 0;
  std::uint64_t versions_ = 0;                           // the setter's count
  std::shared_ptr<Body> latest_body_;                    // the setter's
  int work_left_ = 0, work_kept_ = 0, closer_left_ = 0;  // units, in all and for closer looks
  std::int64_t last_now_ = -1, last_change_ = 0;
};

}  // namespace openral
