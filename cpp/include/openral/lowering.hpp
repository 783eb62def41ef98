// From a chunk in any control mode to a path of joint boxes, and every limit that can be judged
// without geometry on the way.
#pragma once

#include <algorithm>
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

// Where grippers may still be going: goals of chunks that were accepted and that a gripper, slow or
// blocked as it may be, has not reached. Those of the last two chunks that owned a joint count,
// because a driver may have dropped the newer one as late.
class GripGoals {
 public:
  void accept(std::size_t joint, double low, double high) noexcept {
    older_[joint] = newer_[joint];
    newer_[joint] = {low, high};
  }
  bool any(std::size_t joint) const { return low(joint) <= high(joint); }
  double low(std::size_t joint) const { return std::min(newer_[joint].low, older_[joint].low); }
  double high(std::size_t joint) const { return std::max(newer_[joint].high, older_[joint].high); }

 private:
  struct Goals {
    double low = kNone, high = -kNone;
  };
  std::array<Goals, kMaxCoordinates> newer_{}, older_{};
};

// The base's measured forward, left and turning speed.
Vec3 base_twist(const RobotModel& model, const Measured& measured) noexcept;

class Lowering {
 public:
  Lowering(const RobotModel& model, const Skeleton& skeleton);

  // Matches slots with joints and tools and checks every number's form. On refusal `out` says why.
  bool resolve(const ChunkView& chunk, Verdict& out) noexcept;
  // Whether the measured state matters to the resolved chunk: it moves something that geometry
  // describes, or its limits depend on where a joint is.
  bool moves() const { return moves_; }
  // Limits of grippers and hands.
  bool check_grippers(const ChunkView& chunk, Verdict& out) noexcept;
  // Builds the rows' way from the measured state and checks them. `speed` scales the speed limits.
  // It may walk along the joints of tools `most_walks` times. `goals` are where grippers may be
  // going. `nominal`: without tracking errors of joints.
  bool lower(const ChunkView& chunk, const Measured& start, const GripGoals& goals, double speed,
             bool nominal, int most_walks, Verdict& out) noexcept;
  // Notes the goals of grippers that an accepted chunk leaves behind.
  void leave_goals(GripGoals& goals) const noexcept;
  int walks() const { return walks_; }
  const ToolSolver& solver() const { return solver_; }
  // Completes the path for rows executed at a share `pace` of their speed: ways to a standstill and
  // the widths of all boxes. `base` is where the base's frame at the start lies in the frame that
  // the path is to be seen from, and `base_error` how far off that may be.
  void finish(const ChunkView& chunk, double pace, const Planar& base,
              const Vec3& base_error) noexcept;
  // Whether slots were given joint rows of ours, and the chunk with them in place at some pace.
  bool rewrites() const { return rewrites_; }
  void write(const ChunkView& chunk, double pace, ChunkWriter& out) const noexcept;

  Path path() const { return {seen_points(), widths_.data(), spans_.data(), span_count_}; }
  const double* final_point(const ChunkView& chunk) const {
    return seen_points() + chunk.rows * skeleton_.coordinates;
  }
  // How far a gripper that something moves with may be from its place at the final point.
  double final_sweep(const ChunkView& chunk, int j) const {
    const auto at = static_cast<std::size_t>(j);
    return at < skeleton_.dof && swings_[at] ? open_[chunk.rows * skeleton_.coordinates + at] : 0;
  }

  // For a closer look at one span, spans of its own behind all others: those of `depth`, eight a
  // level. The middle of the span's part [start, end] alone, without any width; or 2ⁿ parts of its
  // box, cut in two along n of its coordinates.
  static constexpr int kParts = 8, kDepth = 10;
  static constexpr int kBends = 512;  // points more for the arcs of a base
  int parts(int depth) const { return span_count_ + kParts * depth; }
  void put_middle(int of, float start, float end, int depth) noexcept;
  void put_parts(int of, const int* coordinates, int n, int depth) noexcept;
  double valid_seconds() const { return valid_; }
  bool torque() const { return torque_; }
  // Whether boxes are wide by more than errors: torque, joints that stop each at their own pace, or
  // a gripper's sweep.
  bool wide() const { return torque_ || wide_; }

 private:
  struct Slot {
    int count = 0;
    std::array<int, kMaxWidth> coordinates{};
    int tool = -1;
  };
  // Where a base may be in a row besides on its commanded path, in the frame of the start: it takes
  // time to change its velocity.
  struct Drift {
    bool on = false;
    Vec3 low{}, high{};            // of its deviation from the path
    Vec3 row_low{}, row_high{};    // of the base itself
    Vec3 stop_low{}, stop_high{};  // of where a stop in the row can take it
  };
  // A span in which the base goes on with one twist.
  struct Arc {
    int span;
    Vec3 twist;
    double seconds;
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
  bool torque_share(const ChunkView& c, std::size_t s, double& share, Verdict& out) const noexcept;
  double pushed(double v, double push, double top) const noexcept;
  bool lower_cartesian(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  bool lower_twist(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  void rate(std::size_t j, const ChunkView& c) noexcept;
  bool cartesian_target(const ChunkView& c, std::size_t s, std::size_t row, Pose& target,
                        Verdict& out) const noexcept;
  bool follows(const Slot& slot, const Pose& before, const Pose& target, const double* from,
               const double* to, const ToolSolver::Residual& missed,
               const ToolSolver::Residual& left, const ToolSolver::Residual& stray,
               Verdict& out) const noexcept;
  ToolSolver::Residual strays(const Slot& slot, bool in_tool, const ToolSolver::Stance& first,
                              const ToolSolver::Stance& here, const double* at) const noexcept;
  bool in_time(const ChunkView& c, const Slot& slot, const double* from,
               const double* to) const noexcept;
  bool check_rows(const ChunkView& c, Verdict& out) noexcept;
  bool check_joint(const ChunkView& c, std::size_t row, std::size_t j, Verdict& out) noexcept;
  bool check_base(const ChunkView& c, std::size_t row, Verdict& out) noexcept;
  bool lower_grips(const ChunkView& c, std::size_t s, Verdict& out) noexcept;
  void begin_grips(const GripGoals& goals) noexcept;
  void grip(std::size_t j, std::size_t row, double goal_low, double goal_high) noexcept;
  bool swings(std::size_t j) const { return swings_[j]; }
  void displace_base(std::size_t row) noexcept;
  void widen(const ChunkView& c, const Vec3& base_error) noexcept;
  void place(const Planar& base) noexcept;
  void span(int from, int to, int row, float rate) noexcept;
  void own_points(const ChunkView& c) noexcept;
  void drift(const ChunkView& c) noexcept;
  void drift_row(std::size_t row, double* from, double* to) noexcept;
  Vec3 commanded(const ChunkView& c, std::size_t row) const noexcept;
  bool steady(const ChunkView& c, double& lag) const noexcept;
  void stops(const ChunkView& c) noexcept;
  bool mixes() const noexcept;
  void stop(const ChunkView& c, std::size_t row, std::size_t last) noexcept;
  void bear_base() noexcept;
  double braking(const Vec3& twist) const noexcept;
  bool turns(const ChunkView& c, std::size_t row) const noexcept;
  bool stop_joints(const ChunkView& c, std::size_t last, bool box, double* from, double* to,
                   double* wide) noexcept;
  bool stop_base(const ChunkView& c, std::size_t row, std::size_t last, double* from, double* to,
                 double* wide) noexcept;
  double drive(const double* from, const Vec3& twist, double seconds, double* to) const noexcept;
  void bow(const Arc& arc) noexcept;
  void bows() noexcept;
  void chord(std::size_t of, int k, int from, int to, float rate) noexcept;

  double* seen(std::size_t i) {
    return (placed_ ? seen_.data() : points_.data()) + i * skeleton_.coordinates;
  }
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
  std::vector<Arc> arcs_;  // those of the rows first
  std::size_t row_arcs_ = 0, arc_count_ = 0;
  int span_count_ = 0, point_count_ = 0, bends_left_ = 0, walks_ = 0, most_walks_ = 0;
  std::size_t horizon_ = 0;  // rows that the proof covers
  std::array<Slot, kMaxSlots> slots_{};
  // By a slot; commanded by velocities; by torques; grippers that something moves with.
  std::array<bool, kMaxCoordinates> owned_{}, rated_{}, torqued_{}, swings_{};
  std::array<double, kMaxCoordinates> jaw_low_{}, jaw_high_{};    // where a gripper may be by now
  std::array<double, kMaxCoordinates> goal_low_{}, goal_high_{};  // goals that the chunk gives it
  std::vector<Drift> drifts_;                                     // by row
  std::array<double, kMaxCoordinates> lag_{};  // how far off the estimate of where it is now may be
  bool moves_ = false, torque_ = false, base_owned_ = false, rewrites_ = false, placed_ = false;
  bool twisted_ = false;  // the base is commanded by a twist
  bool wide_ = false, nominal_ = false;
  bool mixed_ = false;  // stops leave the path anywhere
  double valid_ = 0, speed_ = 1, pace_ = 1;
  double lagging_ = 0;  // s that the base may be late on its path
  Measured start_;
};

// Rows that say how far to go from wherever one is.
inline bool relative(Mode m) { return m == Mode::kCartesianDelta || m == Mode::kCartesianTwist; }
inline bool cartesian(Mode m) { return relative(m) || m == Mode::kCartesianPose; }

}  // namespace openral
