// From a chunk in any control mode to a path of joint boxes, and every limit that can be judged
// without geometry on the way.
#pragma once

#include <vector>

#include "openral/base_trail.hpp"
#include "openral/chunk_writer.hpp"
#include "openral/prover.hpp"
#include "openral/tool_solver.hpp"
#include "openral/verdict.hpp"

namespace openral {

// The robot as measured, in the model's order, and how long ago that was.
struct Measured {
  std::array<double, kMaxCoordinates> q{}, qd{};
  double age = 0;
};

// The base's measured forward, left and turning speed.
Vec3 base_twist(const RobotModel& model, const Measured& measured) noexcept;

class Lowering {
 public:
  Lowering(const RobotModel& model, const Skeleton& skeleton);

  // Matches slots with joints and tools and checks every number's form. On refusal `out` says why.
  bool resolve(const ChunkView& chunk, Verdict& out) noexcept;
  // Whether the resolved chunk moves anything that geometry describes.
  bool moves() const { return moves_; }
  // Limits of what needs no geometry: grippers and hands.
  bool check_allowed(const ChunkView& chunk, Verdict& out) noexcept;
  // Builds the rows' way from the measured state and checks them. `speed` scales the speed limits.
  bool lower(const ChunkView& chunk, const Measured& start, double speed, Verdict& out) noexcept;
  // Completes the path for rows executed at a share `pace` of their speed: ways to a standstill and
  // the widths of all boxes. `base` is where the base's frame at the start lies in the frame that
  // the path is to be seen from, and `base_error` how far off that may be.
  void finish(const ChunkView& chunk, double pace, const Planar& base,
              const Vec3& base_error) noexcept;
  // Whether slots were given joint rows of ours, and the chunk with them in place at some pace.
  bool rewrites() const { return rewrites_; }
  void write(const ChunkView& chunk, double pace, ChunkWriter& out) const noexcept;

  Path path() const {
    return {seen_points(), widths_.data(), spans_.data(), span_count_, base_seen_};
  }
  const double* final_point(const ChunkView& chunk) const {
    return seen_points() + chunk.rows * skeleton_.coordinates;
  }
  double valid_seconds() const { return valid_; }
  bool torque() const { return torque_; }

 private:
  struct Slot {
    int count = 0;
    std::array<int, kMaxWidth> coordinates{};
    int tool = -1;
  };
  bool resolve_slot(const ChunkView& chunk, std::size_t index, Verdict& out) noexcept;
  bool resolve_joints(const SlotView& view, Slot& slot, Verdict& out) const noexcept;
  bool resolve_tool(const SlotView& view, Slot& slot, Verdict& out) const noexcept;
  bool own(int coordinate, Verdict& out) noexcept;

  void begin(const ChunkView& c, const Measured& start) noexcept;
  bool within_range(Verdict& out) const noexcept;
  bool lower_slot(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_positions(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_velocities(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_torques(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_cartesian(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_twist(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  void rate(std::size_t j, const ChunkView& c) noexcept;
  bool cartesian_target(const ChunkView& c, std::size_t s, std::size_t row, Pose& target,
                        Verdict& out) const noexcept;
  bool follows(const Slot& slot, const Pose& before, const Pose& target, const double* from,
               const double* to, ToolSolver::Residual& missed, Verdict& out) const noexcept;
  bool check_rows(const ChunkView& c, Verdict& out) noexcept;
  bool check_joint(const ChunkView& c, std::size_t row, std::size_t j, Verdict& out) noexcept;
  bool check_base(const ChunkView& c, std::size_t row, Verdict& out) noexcept;
  void displace_base(std::size_t row) noexcept;
  void widen(const Vec3& base_error) noexcept;
  void place(const Planar& base) noexcept;
  void span(int from, int to, int row, float rate) noexcept;
  void stops(const ChunkView& c) noexcept;
  void stop(const ChunkView& c, std::size_t row) noexcept;
  void bear_base() noexcept;
  void brake_base() noexcept;
  double braking(const Vec3& twist) const noexcept;
  bool turns(const ChunkView& c, std::size_t row) const noexcept;
  bool coast_joints(const ChunkView& c, std::size_t row, bool with_base, double* from, double* to,
                    double* wide) noexcept;
  bool coast_base(const ChunkView& c, std::size_t row, const double* from, double* to,
                  double* wide) noexcept;
  void drive(const double* from, const double* twist, double seconds, double* to,
             double* wide) const noexcept;

  const double* seen_points() const { return placed_ ? seen_.data() : points_.data(); }
  double* point(std::size_t i) { return points_.data() + i * skeleton_.coordinates; }
  const double* point(std::size_t i) const { return points_.data() + i * skeleton_.coordinates; }
  double* width(std::size_t i) { return widths_.data() + i * skeleton_.coordinates; }
  const Coordinate& limits(std::size_t j) const { return model_.coordinates[j]; }

  const RobotModel& model_;
  const Skeleton& skeleton_;
  ToolSolver solver_;
  std::vector<double> points_, widths_, seen_;  // seen: the points from the path's frame
  std::vector<double> open_;                    // widths of the rows' way before it was finished
  std::vector<Span> spans_;
  int span_count_ = 0, point_count_ = 0;
  std::array<Slot, kMaxSlots> slots_{};
  std::array<bool, kMaxCoordinates> owned_{}, rated_{};  // by a slot; told velocities
  std::array<double, kMaxCoordinates> lag_{};  // how far off the estimate of where it is now may be
  bool moves_ = false, torque_ = false, base_owned_ = false, base_seen_ = true, rewrites_ = false,
       placed_ = false;
  double valid_ = 0, speed_ = 1, pace_ = 1;
  Measured start_;
};

// Rows that say how far to go from wherever one is.
inline bool relative(Mode m) { return m == Mode::kCartesianDelta || m == Mode::kCartesianTwist; }
inline bool cartesian(Mode m) { return relative(m) || m == Mode::kCartesianPose; }

}  // namespace openral
