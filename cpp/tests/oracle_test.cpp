// The fuzzer's oracle sees motions that are known to be bad, each by one kind of behaviour, and
// does not see them where that behaviour is not allowed: an oracle that cannot fail is none.
#include "../fuzz/limits.hpp"
#include "../fuzz/robots.hpp"
#include "../fuzz/search.hpp"
#include "check.hpp"

namespace {

using fuzz::Case;
using fuzz::Mode;
using fuzz::Vec;
using fuzz::operator+;

// Two links of half a metre that turn in the plane, and a finger at the end of the second.
openral::RobotModel planar_arm() {
  openral::RobotModel m;
  m.links = {"base"};
  for (int i = 0; i < 3; ++i) {
    openral::Coordinate c;
    c.name = i < 2 ? "j" + std::to_string(i) : "grip";
    c.role = i < 2 ? openral::Role::kBody : openral::Role::kGripper;
    c.lower = i < 2 ? -3 : 0;
    c.upper = i < 2 ? 3 : 1.5;
    c.velocity = 2;
    c.acceleration = 10;
    c.effort = 50;
    openral::Joint j;
    j.kind = openral::JointKind::kRevolute;
    j.parent = i;
    j.origin.translation = {i == 0 ? 0 : 0.5, 0, 0};
    j.coordinate = i;
    m.coordinates.push_back(c);
    m.joints.push_back(j);
    m.links.push_back("link" + std::to_string(i + 1));
  }
  m.capsules = {{1, {0, 0, 0}, {0.5, 0, 0}, 0.02}, {2, {0, 0, 0}, {0.5, 0, 0}, 0.02}};
  openral::EndEffector tool;
  tool.link = 2;
  tool.gripper = 2;
  m.tools = {tool};
  m.envelope.stop_time = 0.1;
  m.envelope.recheck = 0.05;
  return m;
}

Vec tip(double q0, double q1) {
  return {0.5 * std::cos(q0) + 0.5 * std::cos(q0 + q1),
          0.5 * std::sin(q0) + 0.5 * std::sin(q0 + q1), 0};
}

Case one_row(const openral::RobotModel& m, Mode mode, const std::vector<double>& row) {
  Case c;
  c.q.assign(m.coordinates.size(), 0);
  c.qd = c.q;
  c.rows = 1;
  fuzz::Slot s;
  s.mode = mode;
  s.coordinates = {0, 1};
  s.width = 2;
  s.data = row;
  c.slots = {s};
  return c;
}

double worst(const openral::RobotModel& m, const Case& c, const Vec& speck,
             const std::vector<fuzz::Attached>& attached = {}) {
  fuzz::Figure figure(m, attached);
  fuzz::Scene scene;
  fuzz::Thing t;
  t.p0 = t.p1 = speck;
  t.radius = 0.001;
  scene.things.push_back(t);
  fuzz::Random r(1);
  return fuzz::Search(r, figure, scene, c).worst(0, {}).excess;
}

TEST(joints_that_stop_one_after_another_are_seen) {
  const openral::RobotModel m = planar_arm();
  const Case rates = one_row(m, Mode::kJointVelocity, {1, 1});
  CHECK_LE(worst(m, rates, tip(0.05, 0.15)), -0.015);
  CHECK_LE(worst(m, rates, tip(0.15, 0.05)), -0.015);
  CHECK_LE(0, worst(m, rates, tip(0.25, 0.15)));
  // Joints that are told places do not coast.
  CHECK_LE(0, worst(m, one_row(m, Mode::kJointPosition, {0.05, 0.05}), tip(0.05, 0.15)));
}

TEST(tracking_errors_lag_and_jitter_are_seen) {
  openral::RobotModel m = planar_arm();
  Case c = one_row(m, Mode::kJointPosition, {0.05, 0.05});
  const Vec beside = tip(0.05, 0.05) + Vec{0, 0.029, 0};
  CHECK_LE(0, worst(m, c, beside));
  for (openral::Coordinate& k : m.coordinates) k.tracking = 0.01;
  CHECK_LE(worst(m, c, beside), -0.004);
  m = planar_arm();
  c = one_row(m, Mode::kJointVelocity, {-1, 0});
  CHECK_LE(0, worst(m, c, tip(0.1, 0)));
  c.qd[0] = 1;
  c.age = 0.1;
  CHECK_LE(worst(m, c, tip(0.1, 0)), -0.015);
  c = one_row(m, Mode::kJointVelocity, {2, 0});
  c.dt = 0.5;
  const Vec ahead = tip(1 + 0.2 + 0.045, 0);
  CHECK_LE(0, worst(m, c, ahead));
  m.envelope.jitter = 0.05;
  CHECK_LE(worst(m, c, ahead), -0.015);
}

TEST(a_base_that_was_found_moving_is_seen_to_go_on_under_the_arm) {
  openral::RobotModel m = planar_arm();
  fuzz::Random r(1);
  fuzz::add_base(r, m);
  m.differential = false;
  m.envelope.base_deceleration = 1;
  Case c = one_row(m, Mode::kJointPosition, {0, 0});
  c.q[0] = 1.5;
  c.rows = 10;
  c.slots[0].data.clear();
  for (int i = 1; i <= 10; ++i) c.slots[0].data.insert(c.slots[0].data.end(), {1.5 - 0.15 * i, 0});
  fuzz::Slot twist;
  twist.mode = Mode::kBodyTwist;
  twist.width = 3;
  twist.data.assign(30, 0);
  c.slots.push_back(twist);
  const Vec ahead{1.2, 0, 0};
  CHECK_LE(0, worst(m, c, ahead));
  c.qd[static_cast<std::size_t>(m.base[0])] = 0.7;  // brakes on 0.245 m
  CHECK_LE(worst(m, c, ahead), -0.015);
  CHECK_LE(0, worst(m, c, {1.3, 0, 0}));
}

TEST(a_base_that_changes_its_velocity_is_seen_to_do_so_late) {
  openral::RobotModel m = planar_arm();
  fuzz::Random r(1);
  fuzz::add_base(r, m);
  m.differential = false;
  Case c = one_row(m, Mode::kBodyTwist, {});
  c.slots[0].coordinates.clear();
  c.slots[0].width = 3;
  c.rows = 20;
  for (int i = 0; i < 20; ++i)  // a corner
    c.slots[0].data.insert(c.slots[0].data.end(), {i < 10 ? 0.5 : 0.0, i < 10 ? 0.0 : 0.5, 0});
  // Ahead of the corner by less than its braking, seen sideways of the arm's end.
  CHECK_LE(worst(m, c, {1.25 + 0.1, 0.2, 0}), -0.01);
  CHECK_LE(0, worst(m, c, {1.25 + 0.3, 0.2, 0}));
}

TEST(a_gripper_is_seen_to_sweep_what_is_attached_to_it) {
  const openral::RobotModel m = planar_arm();
  fuzz::Attached stick;
  stick.link = 3;
  stick.p1 = {0.25, 0, 0};
  stick.radius = 0.005;
  stick.touches = {1, 2};
  Case c = one_row(m, Mode::kGripperPosition, {1.4});
  c.slots[0].coordinates = {2};
  c.slots[0].width = 1;
  c.q[0] = 0;
  const Vec swept = {1.0 + 0.25 * std::cos(0.7), 0.25 * std::sin(0.7), 0};
  CHECK_LE(worst(m, c, swept, {stick}), -0.005);
  c.slots[0].data = {0.3};
  CHECK_LE(0, worst(m, c, swept, {stick}));
  c.goals = {{2, 1.4}};  // of an earlier chunk
  CHECK_LE(worst(m, c, swept, {stick}), -0.005);
}

TEST(torque_is_seen_to_push_a_joint) {
  const openral::RobotModel m = planar_arm();
  const Case c = one_row(m, Mode::kJointTorque, {25, 0});  // half of its effort: 5 rad/s²
  const double reached = 0.5 * 5 * 0.05 * 0.05 + 0.25 * 0.1 / 2;
  CHECK_LE(worst(m, c, tip(reached, 0) + Vec{0, 0.0195, 0}), -0.001);
  CHECK_LE(0, worst(m, c, tip(reached, 0) + Vec{0, 0.045, 0}));
}

TEST(a_velocity_that_leads_out_of_range_by_jitter_or_lag_is_seen) {
  openral::RobotModel m = planar_arm();
  Case c = one_row(m, Mode::kJointVelocity, {1, 0});
  c.q[0] = 2.95;
  fuzz::Figure figure(m, {});
  const auto broken = [&]() {
    const fuzz::JointMotion joints(m, c);
    return fuzz::Limits(figure, c, joints, false).broken();
  };
  CHECK(broken().empty());
  m.envelope.jitter = 0.05;
  CHECK(broken() == "position of j0");
  m.envelope.jitter = 0;
  c.qd[0] = 1;
  c.age = 0.01;
  CHECK(broken() == "position of j0");
}

}  // namespace
