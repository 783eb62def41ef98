// Robots for the fuzzer: drawn ones with grippers and bases, and settings that make the motion of
// the arm the thing tested.
#pragma once

#include "../tests/draw.hpp"
#include "case.hpp"

namespace fuzz {

using openral::RobotModel;
using openral::Role;

// A finger on the last link, that its tool drives; it has no geometry of its own.
inline void add_gripper(Random& r, RobotModel& m) {
  openral::Coordinate c;
  c.name = "grip";
  c.role = Role::kGripper;
  const bool slides = chance(r, 0.4);
  c.lower = slides ? 0 : uniform(r, -0.6, 0);
  c.upper = slides ? uniform(r, 0.03, 0.1) : uniform(r, 0.5, 1.8);
  c.velocity = slides ? 0.2 : 2;
  c.effort = 10;
  openral::Joint j;
  j.kind = slides ? openral::JointKind::kPrismatic : openral::JointKind::kRevolute;
  j.parent = static_cast<int>(m.links.size()) - 1;
  j.origin.translation = testing::vector(r, 0.05);
  j.axis = testing::vector(r, 1);
  j.axis[2] += 1.5;
  j.coordinate = static_cast<int>(m.coordinates.size());
  m.tools[0].gripper = j.coordinate;
  m.coordinates.push_back(c);
  m.joints.push_back(j);
  m.links.push_back("finger");
}

// Puts a robot on a base that slides and turns, with joints of its own.
inline void add_base(Random& r, RobotModel& m) {
  RobotModel out = m;
  out.joints.clear();
  out.links = {"world", "slide_x", "slide_y"};
  const int first = static_cast<int>(m.coordinates.size());
  for (int i = 0; i < 3; ++i) {
    openral::Coordinate c;
    c.name = i == 0 ? "base_x" : i == 1 ? "base_y" : "base_yaw";
    c.role = Role::kBase;
    c.velocity = i == 2 ? 3 : 2;
    c.effort = 100;
    if (i < 2) c.lower = -50, c.upper = 50;
    out.coordinates.push_back(c);
    openral::Joint j;
    j.kind = i == 2 ? openral::JointKind::kRevolute : openral::JointKind::kPrismatic;
    j.parent = i;
    j.axis = {i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0};
    j.coordinate = first + i;
    out.joints.push_back(j);
    out.base[static_cast<std::size_t>(i)] = first + i;
  }
  for (const std::string& name : m.links) out.links.push_back(name);
  for (openral::Joint j : m.joints) {
    j.parent += 3;
    out.joints.push_back(j);
  }
  for (openral::Capsule& c : out.capsules) c.link += 3;
  for (openral::EndEffector& t : out.tools) t.link += 3;
  out.mobile = true;
  out.differential = chance(r, 0.3);
  m = out;
}

inline RobotModel drawn_robot(Random& r) {
  const bool drives = chance(r, 0.4), joints = drives && chance(r, 0.75);
  testing::Random other(r());
  RobotModel m = testing::robot(other, drives && !joints);
  m.envelope.step = 0.1;
  m.envelope.turn = 0.5;
  if (chance(r, 0.5)) add_gripper(r, m);
  if (joints) add_base(r, m);
  return m;
}

// Margins, tracking errors and limits; sometimes those that the robot came with.
inline void loosen(Random& r, RobotModel& m) {
  openral::Envelope& e = m.envelope;
  e.state_age = e.world_age = e.voxel_age = e.base_age = 10'000'000'000;
  e.world_margin = uniform(r, 0, 0.02);
  e.self_margin = uniform(r, 0, 0.01);
  const double tracking[] = {0, 0.002, 0.01};
  const double error = tracking[pick(r, 0, 2)];
  for (openral::Coordinate& c : m.coordinates) c.tracking = error;
  e.base_tracking = e.base_turn_tracking = error;
  if (chance(r, 0.6))
    for (openral::Coordinate& c : m.coordinates)
      c.acceleration = std::min(c.acceleration, 20 * c.velocity);
  e.jitter = chance(r, 0.5) ? 0.05 : 0;
  e.recheck = 0.05;
  const double stops[] = {0.05, 0.1, 0.1, 0.3};
  e.stop_time = stops[pick(r, 0, 3)];
  e.base_deceleration = chance(r, 0.5) ? 1 : uniform(r, 0.4, 2);
  e.slow_distance = chance(r, 0.2) ? uniform(r, 0.03, 0.2) : 0;
  if (chance(r, 0.7)) e.tool_speed = e.tool_rate = 1e3;
  if (chance(r, 0.7)) {
    e.workspace_lower = {-openral::kNone, -openral::kNone, -openral::kNone};
    e.workspace_upper = {openral::kNone, openral::kNone, openral::kNone};
  }
}

}  // namespace fuzz
