// Where a tool is, and joint values that bring it somewhere.
#pragma once

#include "openral/skeleton.hpp"

namespace openral {

// Rotation vector of a rotation matrix, and back.
Vec3 rotation_vector(const std::array<double, 9>& r);
std::array<double, 9> rotation_matrix(const Vec3& v);
std::array<double, 9> multiply(const std::array<double, 9>& a, const std::array<double, 9>& b);
std::array<double, 9> transpose(const std::array<double, 9>& a);

class ToolSolver {
 public:
  explicit ToolSolver(const Skeleton& skeleton);

  // Pose of the tool in the base's frame.
  Pose pose(int tool, const double* q) const noexcept;

  // Metres that a radian counts for: an arm that cannot do all six turns a little off, not aside.
  static constexpr double kTurnWeight = 0.1;

  // Joints on the way to the tool that has most of them.
  int longest() const noexcept;

  struct Residual {
    double shift = 0, turn = 0;  // what is left, m and rad
  };
  struct Column {
    double v[6];
  };
  // Where a tool is for some joint values, and how each of them moves it.
  struct Stance {
    Pose at;
    Column columns[kMaxCoordinates];
  };
  void stand(int tool, const double* q, Stance& out) const noexcept;
  // Where each joint may be led.
  struct Bounds {
    std::array<double, kMaxCoordinates> low, high;
  };
  // Ways to look for joint values: the first goes for all of the target, each later one gives up
  // more of its orientation for a smaller motion of the joints, as near a singularity.
  static constexpr int kWays = 4;
  // Newton steps with damping from q towards `target`, inside the bounds. q and its stance are
  // changed. Adds how many steps it took.
  Residual solve(int tool, const Pose& target, const Bounds& bounds, int way, double* q,
                 Stance& stance, int& steps) const noexcept;

 private:
  // A joint on the way to a tool, seen from axes of the one before it; its own third is its axis.
  struct Joint {
    Pose from;
    double multiplier, offset;
    int coordinate;
    bool revolute;
  };
  struct Chain {
    std::vector<Joint> joints;
    std::vector<std::size_t> coordinates;  // each once
    Pose tcp;
  };
  bool step_towards(const Chain& chain, const Column* columns, const double* error,
                    const Bounds& bounds, double damping, double turn_share, const double* q,
                    double* delta) const noexcept;
  Pose walk(const Chain& chain, const double* q, Column* columns) const noexcept;

  std::vector<Chain> chains_;
};

}  // namespace openral
