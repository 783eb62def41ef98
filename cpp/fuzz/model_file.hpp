// Robots from a text file, as benchmarks/kernel_fuzz.py writes them: words, one call a line.
#pragma once

#include <fstream>
#include <stdexcept>

#include "openral/model.hpp"

namespace fuzz {

inline openral::Pose read_pose(std::istream& in) {
  double m[16];
  for (double& v : m) in >> v;
  return {{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, {m[3], m[7], m[11]}};
}
inline openral::Vec3 read_vector(std::istream& in) {
  openral::Vec3 v{};
  for (double& x : v) in >> x;
  return v;
}

// A line of the robot that comes last in `out`; "robot" begins another.
inline void read_line(std::istream& in, const std::string& word,
                      std::vector<openral::RobotModel>& out) {
  if (word == "robot") {
    out.emplace_back();
    return;
  }
  if (out.empty()) throw std::runtime_error("a robot file begins with 'robot'");
  openral::RobotModel& m = out.back();
  int kind = 0;
  if (word == "coordinate") {
    openral::Coordinate c;
    in >> c.name >> kind >> c.lower >> c.upper >> c.velocity >> c.acceleration >> c.effort >>
        c.tracking;
    c.role = static_cast<openral::Role>(kind);
    m.coordinates.push_back(c);
  } else if (word == "root") {
    m.links.emplace_back();
    in >> m.links.back();
    m.root = read_pose(in);
  } else if (word == "joint") {
    openral::Joint j;
    m.links.emplace_back();
    in >> m.links.back() >> kind >> j.parent;
    j.kind = static_cast<openral::JointKind>(kind);
    j.origin = read_pose(in);
    j.axis = read_vector(in);
    in >> j.coordinate >> j.multiplier >> j.offset;
    m.joints.push_back(j);
  } else if (word == "capsule") {
    openral::Capsule c;
    in >> c.link;
    c.p0 = read_vector(in);
    c.p1 = read_vector(in);
    in >> c.radius;
    m.capsules.push_back(c);
  } else if (word == "pair") {
    m.pairs.emplace_back();
    in >> m.pairs.back().first >> m.pairs.back().second;
  } else if (word == "tool") {
    openral::EndEffector e;
    in >> e.name >> e.frame >> e.link;
    e.tcp = read_pose(in);
    in >> e.gripper;
    m.tools.push_back(e);
  } else if (word == "mobile") {
    m.mobile = true;
    for (int& j : m.base) in >> j;
    in >> m.differential;
  } else if (word == "follow") {
    in >> m.envelope.follow_shift >> m.envelope.follow_turn;
  } else if (word == "modes") {
    in >> m.base_frame >> m.modes;
  } else if (word == "envelope") {
    openral::Envelope& e = m.envelope;
    in >> e.tool_speed >> e.tool_rate >> e.step >> e.turn >> e.base_speed >> e.base_rate;
    e.workspace_lower = read_vector(in);
    e.workspace_upper = read_vector(in);
  } else {
    throw std::runtime_error("a robot file knows no '" + word + "'");
  }
  if (!in) throw std::runtime_error("a number is missing after '" + word + "'");
}

inline std::vector<openral::RobotModel> read_models(const std::string& path) {
  std::vector<openral::RobotModel> out;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  for (std::string word; in >> word;) read_line(in, word, out);
  return out;
}

}  // namespace fuzz
