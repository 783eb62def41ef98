#include "openral/tool_solver.hpp"

#include <algorithm>
#include <cmath>

namespace openral {
namespace {

using Matrix = std::array<double, 9>;
// By way: damping, squared (the first is small beside any singular value worth using), and the
// share that a turn counts for.
constexpr double kDamping[ToolSolver::kWays] = {1e-6, 1e-4, 1e-3, 1e-4};
constexpr double kTurnShare[ToolSolver::kWays] = {1, 1, 1, 0.1};
constexpr int kSteps = 6;
constexpr double kTurnWeight = ToolSolver::kTurnWeight;

Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double norm(const Vec3& a) { return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

// Solves the symmetric positive definite 6×6 system in place; false when it is not definite.
bool cholesky_solve(double (&a)[6][6], double (&b)[6]) {
  double inverse[6];  // of the diagonal: multiplying is quicker than dividing
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < i; ++k) {
      double sum = a[i][k];
      for (int m = 0; m < k; ++m) sum -= a[i][m] * a[k][m];
      a[i][k] = sum * inverse[k];
    }
    double sum = a[i][i];
    for (int m = 0; m < i; ++m) sum -= a[i][m] * a[i][m];
    if (!(sum > 0)) return false;
    inverse[i] = 1 / std::sqrt(sum);
  }
  for (int i = 0; i < 6; ++i) {
    for (int m = 0; m < i; ++m) b[i] -= a[i][m] * b[m];
    b[i] *= inverse[i];
  }
  for (int i = 6; i-- > 0;) {
    for (int m = i + 1; m < 6; ++m) b[i] -= a[m][i] * b[m];
    b[i] *= inverse[i];
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

ToolSolver::ToolSolver(const Skeleton& skeleton) {
  for (const SkeletonTool& tool : skeleton.tools) {
    Chain chain;
    Matrix axes{1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int index : tool.chain) {
      const MovingFrame& f = skeleton.frames[static_cast<std::size_t>(index)];
      const Pose back{transpose(axes), {}};
      chain.joints.push_back({back * f.exact_origin * Pose{f.axes, {}}, f.multiplier, f.offset,
                              f.coordinate, f.revolute});
      const auto j = static_cast<std::size_t>(f.coordinate);
      if (std::find(chain.coordinates.begin(), chain.coordinates.end(), j) ==
          chain.coordinates.end())
        chain.coordinates.push_back(j);
      axes = f.axes;
    }
    chain.tcp = Pose{transpose(axes), {}} * tool.exact_tcp;
    chains_.push_back(std::move(chain));
  }
}

Pose ToolSolver::walk(const Chain& chain, const double* q, Column* columns) const noexcept {
  Pose at;
  Vec3 axes[kMaxFrames], origins[kMaxFrames];
  for (std::size_t i = 0; i < chain.joints.size(); ++i) {
    const Joint& joint = chain.joints[i];
    at = at * joint.from;
    Matrix& r = at.rotation;
    axes[i] = {r[2], r[5], r[8]};
    origins[i] = at.translation;
    const double value = joint.multiplier * q[joint.coordinate] + joint.offset;
    const double c = std::cos(value), s = std::sin(value);
    for (std::size_t k = 0; k < 3; ++k) {
      const double x = r[3 * k], y = r[3 * k + 1];
      if (joint.revolute) {
        r[3 * k] = c * x + s * y;
        r[3 * k + 1] = c * y - s * x;
      } else {
        at.translation[k] += axes[i][k] * value;
      }
    }
  }
  at = at * chain.tcp;
  if (columns == nullptr) return at;
  for (std::size_t j : chain.coordinates) columns[j] = {};
  for (std::size_t i = 0; i < chain.joints.size(); ++i) {
    const Joint& joint = chain.joints[i];
    Column& column = columns[joint.coordinate];
    const Vec3 arm{at.translation[0] - origins[i][0], at.translation[1] - origins[i][1],
                   at.translation[2] - origins[i][2]};
    const Vec3 linear = joint.revolute ? cross(axes[i], arm) : axes[i];
    for (std::size_t k = 0; k < 3; ++k) {
      column.v[k] += joint.multiplier * linear[k];
      if (joint.revolute) column.v[3 + k] += kTurnWeight * joint.multiplier * axes[i][k];
    }
  }
  return at;
}

int ToolSolver::longest() const noexcept {
  std::size_t most = 0;
  for (const Chain& chain : chains_) most = std::max(most, chain.joints.size());
  return static_cast<int>(most);
}

Pose ToolSolver::pose(int tool, const double* q) const noexcept {
  return walk(chains_[static_cast<std::size_t>(tool)], q, nullptr);
}

// The smallest joint step that makes up for the error. A joint that it would push beyond its range
// does not take part, so that the others do all of it: drivers behave like that at their limits.
bool ToolSolver::step_towards(const Chain& chain, const Column* columns, const double* error,
                              const Bounds& bounds, double damping, double turn_share,
                              const double* q, double* delta) const noexcept {
  bool free[kMaxCoordinates];
  std::fill_n(free, kMaxCoordinates, true);
  for (bool again = true; again;) {
    again = false;
    double system[6][6]{}, e[6];
    std::copy_n(error, 6, e);
    const double weight[6] = {1, 1, 1, turn_share, turn_share, turn_share};
    for (int r = 3; r < 6; ++r) e[r] *= turn_share;
    for (std::size_t j : chain.coordinates)
      for (int r = 0; free[j] && r < 6; ++r)
        for (int c = 0; c <= r; ++c)
          system[r][c] += weight[r] * columns[j].v[r] * weight[c] * columns[j].v[c];
    for (int r = 0; r < 6; ++r) system[r][r] += damping;
    if (!cholesky_solve(system, e)) return false;
    for (std::size_t j : chain.coordinates) {
      delta[j] = 0;
      for (int r = 0; free[j] && r < 6; ++r) delta[j] += weight[r] * columns[j].v[r] * e[r];
      const double after = q[j] + delta[j];
      if (free[j] && (delta[j] < 0 ? after < std::min(bounds.low[j], q[j])
                                   : after > std::max(bounds.high[j], q[j]))) {
        free[j] = false;
        again = true;
      }
    }
  }
  return true;
}

void ToolSolver::stand(int tool, const double* q, Stance& out) const noexcept {
  out.at = walk(chains_[static_cast<std::size_t>(tool)], q, out.columns);
}

ToolSolver::Residual ToolSolver::solve(int tool, const Pose& target, const Bounds& bounds, int way,
                                       double* q, Stance& stance, int& steps) const noexcept {
  const Chain& chain = chains_[static_cast<std::size_t>(tool)];
  const Pose& at = stance.at;
  Residual left;
  for (int step = 0;; ++step) {
    const Vec3 turn = rotation_vector(multiply(target.rotation, transpose(at.rotation)));
    double e[6];
    for (std::size_t k = 0; k < 3; ++k) {
      e[k] = target.translation[k] - at.translation[k];
      e[3 + k] = kTurnWeight * turn[k];
    }
    left = {std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), norm(turn)};
    if (step == kSteps || (left.shift < 1e-6 && left.turn < 1e-5)) return left;
    double delta[kMaxCoordinates], largest = 0;
    if (!step_towards(chain, stance.columns, e, bounds, kDamping[way], kTurnShare[way], q, delta))
      return left;
    ++steps;
    for (std::size_t j : chain.coordinates) largest = std::max(largest, std::abs(delta[j]));
    const double scale = largest > 0.3 ? 0.3 / largest : 1;
    for (std::size_t j : chain.coordinates)
      if (delta[j] != 0)
        q[j] = std::clamp(q[j] + scale * delta[j], std::min(bounds.low[j], q[j]),
                          std::max(bounds.high[j], q[j]));
    stand(tool, q, stance);
  }
}

}  // namespace openral
