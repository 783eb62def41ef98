#include "openral/tool_solver.hpp"

#include <algorithm>
#include <cmath>

namespace openral {
namespace {

using Matrix = std::array<double, 9>;
constexpr double kDamping = 1e-6;  // squared; small beside any singular value worth using
constexpr int kSteps = 6;
// Metres that a radian counts for: an arm that cannot do all six turns a little off, not aside.
constexpr double kTurnWeight = 0.1;

Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double norm(const Vec3& a) { return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

// Solves the symmetric positive definite 6×6 system in place; false when it is not definite.
bool cholesky_solve(double (&a)[6][6], double (&b)[6]) {
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < i; ++k) {
      double sum = a[i][k];
      for (int m = 0; m < k; ++m) sum -= a[i][m] * a[k][m];
      a[i][k] = sum / a[k][k];
    }
    double sum = a[i][i];
    for (int m = 0; m < i; ++m) sum -= a[i][m] * a[i][m];
    if (!(sum > 0)) return false;
    a[i][i] = std::sqrt(sum);
  }
  for (int i = 0; i < 6; ++i) {
    for (int m = 0; m < i; ++m) b[i] -= a[i][m] * b[m];
    b[i] /= a[i][i];
  }
  for (int i = 6; i-- > 0;) {
    for (int m = i + 1; m < 6; ++m) b[i] -= a[m][i] * b[m];
    b[i] /= a[i][i];
  }
  return true;
}

}  // namespace

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t m = 0; m < 3; ++m) out[3 * i + k] += a[3 * i + m] * b[3 * m + k];
  return out;
}

Matrix transpose(const Matrix& a) { return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]}; }

Vec3 rotation_vector(const Matrix& r) {
  const Vec3 w{r[7] - r[5], r[2] - r[6], r[3] - r[1]};
  const double sine = norm(w) / 2, cosine = (r[0] + r[4] + r[8] - 1) / 2;
  const double angle = std::atan2(sine, cosine);
  if (sine > 1e-9)
    return {w[0] * angle / (2 * sine), w[1] * angle / (2 * sine), w[2] * angle / (2 * sine)};
  if (cosine > 0) return {w[0] / 2, w[1] / 2, w[2] / 2};
  // Half a turn: the axis is the longest column of R + I.
  std::size_t best = 0;
  for (std::size_t i = 1; i < 3; ++i)
    if (r[4 * i] > r[4 * best]) best = i;
  Vec3 axis{r[best], r[3 + best], r[6 + best]};
  axis[best] += 1;
  const double length = norm(axis);
  return {axis[0] * angle / length, axis[1] * angle / length, axis[2] * angle / length};
}

Matrix rotation_matrix(const Vec3& v) {
  const double angle = norm(v);
  if (angle < 1e-12) return {1, -v[2], v[1], v[2], 1, -v[0], -v[1], v[0], 1};
  const double c = std::cos(angle), s = std::sin(angle), t = 1 - c;
  const double x = v[0] / angle, y = v[1] / angle, z = v[2] / angle;
  return {t * x * x + c,     t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c,
          t * y * z - s * x, t * x * z - s * y, t * y * z + s * x, t * z * z + c};
}

Pose ToolSolver::walk(const SkeletonTool& tool, const double* q, Column* columns) const noexcept {
  Pose at;
  Vec3 axes[kMaxFrames], origins[kMaxFrames];
  for (std::size_t i = 0; i < tool.chain.size(); ++i) {
    const MovingFrame& f = skeleton_.frames[static_cast<std::size_t>(tool.chain[i])];
    at = at * f.exact_origin;
    for (std::size_t k = 0; k < 3; ++k)
      axes[i][k] = at.rotation[3 * k] * f.exact_axis[0] + at.rotation[3 * k + 1] * f.exact_axis[1] +
                   at.rotation[3 * k + 2] * f.exact_axis[2];
    const double value = f.multiplier * q[f.coordinate] + f.offset;
    origins[i] = at.translation;
    if (f.revolute)
      at.rotation =
          multiply(at.rotation, rotation_matrix({f.exact_axis[0] * value, f.exact_axis[1] * value,
                                                 f.exact_axis[2] * value}));
    else
      for (std::size_t k = 0; k < 3; ++k) at.translation[k] += axes[i][k] * value;
  }
  at = at * tool.exact_tcp;
  if (columns == nullptr) return at;
  for (std::size_t j = 0; j < skeleton_.dof; ++j) columns[j] = {};
  for (std::size_t i = 0; i < tool.chain.size(); ++i) {
    const MovingFrame& f = skeleton_.frames[static_cast<std::size_t>(tool.chain[i])];
    Column& column = columns[f.coordinate];
    const Vec3 arm{at.translation[0] - origins[i][0], at.translation[1] - origins[i][1],
                   at.translation[2] - origins[i][2]};
    const Vec3 linear = f.revolute ? cross(axes[i], arm) : axes[i];
    for (std::size_t k = 0; k < 3; ++k) {
      column.v[k] += f.multiplier * linear[k];
      if (f.revolute) column.v[3 + k] += kTurnWeight * f.multiplier * axes[i][k];
    }
  }
  return at;
}

Pose ToolSolver::pose(int tool, const double* q) const noexcept {
  return walk(skeleton_.tools[static_cast<std::size_t>(tool)], q, nullptr);
}

// The smallest joint step that makes up for the error. A joint that it would push beyond its range
// does not take part, so that the others do all of it: drivers behave like that at their limits.
bool ToolSolver::step_towards(const Column* columns, const double* error, const double* q,
                              double* delta) const noexcept {
  bool free[kMaxCoordinates];
  std::fill_n(free, skeleton_.dof, true);
  for (bool again = true; again;) {
    again = false;
    double system[6][6]{}, e[6];
    std::copy_n(error, 6, e);
    for (std::size_t j = 0; j < skeleton_.dof; ++j)
      for (int r = 0; free[j] && r < 6; ++r)
        for (int c = 0; c <= r; ++c) system[r][c] += columns[j].v[r] * columns[j].v[c];
    for (int r = 0; r < 6; ++r) system[r][r] += kDamping;
    if (!cholesky_solve(system, e)) return false;
    for (std::size_t j = 0; j < skeleton_.dof; ++j) {
      delta[j] = 0;
      for (int r = 0; free[j] && r < 6; ++r) delta[j] += columns[j].v[r] * e[r];
      const Coordinate& limits = model_.coordinates[j];
      const double after = q[j] + delta[j];
      if (free[j] && (delta[j] < 0 ? after < std::min(limits.lower, q[j])
                                   : after > std::max(limits.upper, q[j]))) {
        free[j] = false;
        again = true;
      }
    }
  }
  return true;
}

ToolSolver::Residual ToolSolver::solve(int tool, const Pose& target, double* q) const noexcept {
  const SkeletonTool& chain = skeleton_.tools[static_cast<std::size_t>(tool)];
  Column columns[kMaxCoordinates];
  Residual left;
  for (int step = 0;; ++step) {
    const Pose at = walk(chain, q, columns);
    const Vec3 turn = rotation_vector(multiply(target.rotation, transpose(at.rotation)));
    double e[6];
    for (std::size_t k = 0; k < 3; ++k) {
      e[k] = target.translation[k] - at.translation[k];
      e[3 + k] = kTurnWeight * turn[k];
    }
    left = {std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), norm(turn)};
    if (step == kSteps || (left.shift < 1e-6 && left.turn < 1e-5)) return left;
    double delta[kMaxCoordinates], largest = 0;
    if (!step_towards(columns, e, q, delta)) return left;
    for (std::size_t j = 0; j < skeleton_.dof; ++j) largest = std::max(largest, std::abs(delta[j]));
    const double scale = largest > 0.3 ? 0.3 / largest : 1;
    for (std::size_t j = 0; j < skeleton_.dof; ++j) {
      const Coordinate& limits = model_.coordinates[j];
      if (delta[j] != 0)
        q[j] = std::clamp(q[j] + scale * delta[j], std::min(limits.lower, q[j]),
                          std::max(limits.upper, q[j]));
    }
  }
}

}  // namespace openral
