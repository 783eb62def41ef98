// Forward kinematics of a tree of links in double precision.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace openral {

// A rigid transform: p ↦ rotation·p + translation, rotation row-major.
struct Pose {
  std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::array<double, 3> translation{};
};

Pose operator*(const Pose& a, const Pose& b);

enum class JointKind : unsigned char { kFixed, kRevolute, kPrismatic };

// The joint that connects a link to its parent. Its value is
// `multiplier · q[coordinate] + offset`, which covers independent and mimic joints alike.
struct Joint {
  JointKind kind = JointKind::kFixed;
  int parent = -1;  // link that carries the joint
  Pose origin;      // pose of the joint in the parent link
  std::array<double, 3> axis{0, 0, 1};
  int coordinate = -1;  // index into q; ignored for fixed joints
  double multiplier = 1;
  double offset = 0;
};

class Tree {
 public:
  // Joint i moves link i + 1; link 0 is the root. Parents come before their children.
  // Throws std::invalid_argument when that does not hold or a number is not finite.
  Tree(std::vector<Joint> joints, std::size_t coordinates);

  std::size_t links() const { return joints_.size() + 1; }
  std::size_t coordinates() const { return coordinates_; }

  // Poses of all links in the root's frame; sizes must be coordinates() and links().
  void forward(std::span<const double> q, std::span<Pose> poses) const;

 private:
  std::vector<Joint> joints_;
  std::size_t coordinates_;
};

}  // namespace openral
