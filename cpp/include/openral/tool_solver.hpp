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
  ToolSolver(const Skeleton& skeleton, const RobotModel& model)
      : skeleton_(skeleton), model_(model) {}

  // Pose of the tool in the base's frame.
  Pose pose(int tool, const double* q) const noexcept;

  struct Residual {
    double shift = 0, turn = 0;  // what is left, m and rad
  };
  // Newton steps with damping from q towards `target`, inside the joint limits; q is changed.
  Residual solve(int tool, const Pose& target, double* q) const noexcept;

 private:
  struct Column {
    double v[6];
  };
  bool step_towards(const Column* columns, const double* error, const double* q,
                    double* delta) const noexcept;
  Pose walk(const SkeletonTool& tool, const double* q, Column* columns) const noexcept;

  const Skeleton& skeleton_;
  const RobotModel& model_;
};

}  // namespace openral
