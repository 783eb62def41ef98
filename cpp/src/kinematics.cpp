#include "openral/kinematics.hpp"

#include <cmath>
#include <stdexcept>

namespace openral {
namespace {

using Axis = std::array<double, 3>;

Pose rotation_about(const Axis& axis, double angle) {
  const double c = std::cos(angle), s = std::sin(angle), t = 1 - c;
  const auto [x, y, z] = axis;
  return {{t * x * x + c, t * x * y - s * z, t * x * z + s * y,  //
           t * x * y + s * z, t * y * y + c, t * y * z - s * x,  //
           t * x * z - s * y, t * y * z + s * x, t * z * z + c},
          {}};
}

Pose motion(const Joint& joint, double value) {
  if (joint.kind == JointKind::kRevolute) return rotation_about(joint.axis, value);
  Pose slide;
  for (std::size_t i = 0; i < 3; ++i) slide.translation[i] = joint.axis[i] * value;
  return slide;
}

bool finite(const Joint& joint) {
  bool ok = std::isfinite(joint.multiplier) && std::isfinite(joint.offset);
  for (double v : joint.axis) ok = ok && std::isfinite(v);
  for (double v : joint.origin.rotation) ok = ok && std::isfinite(v);
  for (double v : joint.origin.translation) ok = ok && std::isfinite(v);
  return ok;
}

}  // namespace

Pose operator*(const Pose& a, const Pose& b) {
  Pose out;
  for (std::size_t i = 0; i < 3; ++i) {
    out.translation[i] = a.translation[i];
    for (std::size_t k = 0; k < 3; ++k) {
      out.translation[i] += a.rotation[3 * i + k] * b.translation[k];
      double sum = 0;
      for (std::size_t m = 0; m < 3; ++m) sum += a.rotation[3 * i + m] * b.rotation[3 * m + k];
      out.rotation[3 * i + k] = sum;
    }
  }
  return out;
}

Tree::Tree(std::vector<Joint> joints, std::size_t coordinates)
    : joints_(std::move(joints)), coordinates_(coordinates) {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Joint& joint = joints_[i];
    const std::string name = "joint " + std::to_string(i);
    if (joint.parent < 0 || static_cast<std::size_t>(joint.parent) > i)
      throw std::invalid_argument(name + ": its parent link must come before it");
    if (!finite(joint)) throw std::invalid_argument(name + ": a number is not finite");
    if (joint.kind == JointKind::kFixed) continue;
    if (joint.coordinate < 0 || static_cast<std::size_t>(joint.coordinate) >= coordinates_)
      throw std::invalid_argument(name + ": its coordinate is out of range");
    const auto [x, y, z] = joint.axis;
    const double length = std::sqrt(x * x + y * y + z * z);
    if (length < 1e-9) throw std::invalid_argument(name + ": its axis has no direction");
    for (double& v : joint.axis) v /= length;
  }
}

void Tree::forward(std::span<const double> q, std::span<Pose> poses) const {
  if (q.size() != coordinates_ || poses.size() != links())
    throw std::invalid_argument("wrong number of coordinates or poses");
  poses[0] = Pose{};
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Joint& joint = joints_[i];
    Pose pose = poses[static_cast<std::size_t>(joint.parent)] * joint.origin;
    if (joint.kind != JointKind::kFixed)
      pose = pose * motion(joint, joint.multiplier * q[static_cast<std::size_t>(joint.coordinate)] +
                                      joint.offset);
    poses[i + 1] = pose;
  }
}

}  // namespace openral
