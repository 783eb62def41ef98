// Random robots, worlds and chunks from a seed.
#pragma once

#include <bit>
#include <cstring>
#include <random>

#include "openral/kernel.hpp"

namespace testing {

using namespace openral;
using Random = std::mt19937_64;

inline double uniform(Random& r, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(r);
}
inline int pick(Random& r, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(r);
}
inline Vec3 vector(Random& r, double size) {
  return {uniform(r, -size, size), uniform(r, -size, size), uniform(r, -size, size)};
}

// As most real joints are: a quarter turn or none about each axis, along an axis.
inline void square(Random& r, Joint& j) {
  const double quarter = 1.5707963267948966;
  j.origin = {};
  for (std::size_t i = 0; i < 3; ++i) {
    Vec3 turn{};
    turn[i] = quarter * pick(r, -1, 2);
    j.origin = j.origin * Pose{rotation_matrix(turn), {}};
  }
  j.origin.translation = vector(r, 0.3);
  j.origin.translation[static_cast<std::size_t>(pick(r, 0, 2))] = 0;
  j.axis = {};
  j.axis[static_cast<std::size_t>(pick(r, 0, 2))] = pick(r, 0, 1) == 0 ? -1 : 1;
}

// A chain (sometimes with a branch) of turning and sliding joints, one or two capsules a link.
inline RobotModel robot(Random& r, bool mobile = false) {
  RobotModel m;
  m.links.push_back("base");
  m.base_frame = "base";
  const int joints = pick(r, 2, 8);
  for (int i = 0; i < joints; ++i) {
    const bool slides = pick(r, 0, 5) == 0;
    Coordinate c;
    c.name = "j" + std::to_string(i);
    c.lower = slides ? -0.2 : -uniform(r, 0.5, 3);
    c.upper = slides ? 0.3 : uniform(r, 0.5, 3);
    c.velocity = 3;
    c.acceleration = 40;
    c.effort = 50;
    Joint j;
    j.kind = slides ? JointKind::kPrismatic : JointKind::kRevolute;
    j.parent = i > 2 && pick(r, 0, 4) == 0 ? i - 1 : i;
    j.origin.rotation = rotation_matrix(vector(r, 2));
    j.origin.translation = vector(r, 0.3);
    j.axis = vector(r, 1);
    j.axis[2] += 1.5;
    if (pick(r, 0, 1) == 0) square(r, j);
    j.coordinate = i;
    if (i > 2 && pick(r, 0, 6) == 0) {  // follows an earlier joint of its kind
      for (int k = 0; k < i; ++k)
        if (m.joints[static_cast<std::size_t>(k)].kind == j.kind &&
            m.joints[static_cast<std::size_t>(k)].coordinate == k) {
          j.coordinate = k;
          j.multiplier = uniform(r, -1.5, 1.5);
          j.offset = uniform(r, -0.1, 0.1);
        }
    }
    m.coordinates.push_back(c);
    m.joints.push_back(j);
    m.links.push_back("link" + std::to_string(i + 1));
    const int capsules = pick(r, 1, 2);
    for (int k = 0; k < capsules; ++k)
      m.capsules.push_back({i + 1, vector(r, 0.12), vector(r, 0.12), uniform(r, 0.01, 0.05)});
  }
  m.capsules.push_back({0, vector(r, 0.1), vector(r, 0.1), 0.05});
  for (int a = 0; a < static_cast<int>(m.capsules.size()); ++a)
    for (int b = 0; b < a; ++b)
      if (std::abs(m.capsules[static_cast<std::size_t>(a)].link -
                   m.capsules[static_cast<std::size_t>(b)].link) > 1)
        m.pairs.emplace_back(a, b);
  EndEffector tool;
  tool.name = "tool";
  tool.frame = m.links.back();
  tool.link = joints;
  tool.tcp.translation = vector(r, 0.1);
  m.tools.push_back(tool);
  m.mobile = mobile;
  m.modes = 0x1FFF;
  m.envelope.base_speed = 2;
  m.envelope.base_rate = 3;
  return m;
}

inline std::vector<double> configuration(Random& r, const RobotModel& m) {
  std::vector<double> q;
  for (const Coordinate& c : m.coordinates) q.push_back(uniform(r, c.lower, c.upper));
  return q;
}

inline std::vector<Primitive> world(Random& r, int count, double near, double far) {
  std::vector<Primitive> out;
  for (int i = 0; i < count; ++i) {
    Primitive p;
    p.id = "thing" + std::to_string(i);
    p.box = pick(r, 0, 1) == 0;
    Vec3 at = vector(r, 1);
    const double length = std::sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]) + 1e-9;
    const double distance = uniform(r, near, far);
    for (double& v : at) v *= distance / length;
    p.p0 = p.p1 = at;
    if (p.box) {
      p.half = {uniform(r, 0.01, 0.2), uniform(r, 0.01, 0.2), uniform(r, 0.01, 0.2)};
      p.rotation = rotation_matrix(vector(r, 2));
    } else {
      p.radius = uniform(r, 0.01, 0.1);
      if (pick(r, 0, 1) == 0) p.p1[2] += 0.2;
    }
    out.push_back(p);
  }
  return out;
}

// Writes a chunk of one slot as CDR.
class Cdr {
 public:
  std::vector<std::byte> bytes{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
  template <class T>
  void put(T value) {
    while ((bytes.size() - 4) % sizeof(T) != 0) bytes.push_back(std::byte{0});
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  void text(const std::string& s) {
    put(static_cast<std::uint32_t>(s.size() + 1));
    for (char c : s) put(c);
    put('\0');
  }
};

inline std::vector<std::byte> chunk(Mode mode, const std::vector<std::vector<double>>& rows,
                                    double dt, const std::string& name = "") {
  Cdr out;
  out.put(std::int32_t{0});
  out.put(std::uint32_t{0});
  out.text("");
  out.put(std::uint64_t{7});
  for (int i = 0; i < 16; ++i) out.put(std::uint8_t{0});
  out.put(static_cast<std::uint8_t>(mode));
  out.put(dt);
  out.put(static_cast<std::uint32_t>(rows.size()));
  out.put(std::uint32_t{1});
  out.text(name);
  out.put(static_cast<std::uint8_t>(mode));
  out.text("");
  out.put(std::uint32_t{0});
  out.put(static_cast<std::uint32_t>(rows[0].size()));
  out.put(static_cast<std::uint32_t>(rows.size() * rows[0].size()));
  for (const auto& row : rows)
    for (double v : row) out.put(v);
  return out.bytes;
}

}  // namespace testing
