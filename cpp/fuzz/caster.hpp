// Draws states, attached objects, odometry and chunks in every mode.
#pragma once

#include "distance.hpp"
#include "follower.hpp"
#include "robots.hpp"

namespace fuzz {

// The least distance of the robot from itself beyond its margin, as placed.
inline double self_excess(const Figure& f) {
  double least = 1e9;
  for (const auto& [a, b] : f.pairs) {
    const auto i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
    const auto &e = f.ends(i), &g = f.ends(k);
    const double radii = f.bodies[i].radius + f.bodies[k].radius + f.model().envelope.self_margin;
    if (0.5 * norm(e[0] + e[1] - g[0] - g[1]) - f.half(i) - f.half(k) - radii > least) continue;
    least = std::min(least, segment_segment(e[0], e[1], g[0], g[1]).distance - radii);
  }
  return least;
}

class Caster {
 public:
  Caster(Random& r, const RobotModel& m, Figure& figure) : r_(r), m_(m), f_(figure) {
    for (std::size_t j = 0; j < m.coordinates.size(); ++j)
      (m.coordinates[j].role == Role::kBody   ? body_
       : m.coordinates[j].role == Role::kBase ? base_
                                              : grips_)
          .push_back(static_cast<int>(j));
  }

  // A state that is clear of itself, most of the time.
  std::vector<double> state() {
    std::vector<double> q;
    for (int tries = 0; tries < 30; ++tries) {
      q.clear();
      for (const openral::Coordinate& c : m_.coordinates)
        q.push_back(uniform(r_, std::max(c.lower, -3.2), std::min(c.upper, 3.2)));
      f_.place(q.data());
      if (self_excess(f_) > 0.004) return q;
    }
    return q;
  }

  Case draw(Mode mode) {
    Case c;
    c.q = state();
    c.qd.assign(c.q.size(), 0);
    const double periods[] = {0.005, 0.02, 0.05, 0.05, 0.1};
    c.dt = periods[pick(r_, 0, 4)];
    c.rows = chance(r_, 0.1) ? pick(r_, 60, 200) : pick(r_, 1, 40);
    if (mode == Mode::kBodyTwist && chance(r_, 0.2)) {
      c.dt = uniform(r_, 0.2, 4);
      c.rows = std::min(c.rows, 4);
    }
    speed_ = std::pow(10, uniform(r_, -2, 0));
    hasty_ = chance(r_, 0.05) ? 4 : 1;  // past the limits of speed
    bend_ = chance(r_, 0.3);
    drives_ = chance(r_, 0.3);
    if (chance(r_, 0.3)) c.age = uniform(r_, 0, 0.05);
    if (chance(r_, 0.08)) {  // creeping, where tracking errors grow with the way
      speed_ = std::pow(10, uniform(r_, -2.5, -1.7));
      c.age = uniform(r_, 0, 0.05);
      c.rows = pick(r_, 1, 8);
    }
    if (!base_.empty() && chance(r_, 0.5)) find_driving(c);
    if (chance(r_, 0.15))
      for (int j : grips_) c.qd[static_cast<std::size_t>(j)] = uniform(r_, -1, 1) * 0.3;
    if (chance(r_, 0.1))
      for (int j : body_) c.qd[static_cast<std::size_t>(j)] = uniform(r_, -0.5, 0.5);
    if (mode == Mode::kComposite)
      composite(c);
    else if (mode == Mode::kGripperPosition)
      grip(c, true);
    else
      add(c, mode, mode == Mode::kJointTorque && m_.mobile ? arm() : all());
    if (m_.mobile) odometry(c);
    return c;
  }

  // Straight towards a pose in which the robot touches itself, and not quite there.
  Case towards_itself(double excess) {
    Case c = draw(Mode::kJointPosition);
    const std::vector<double> q = c.q, goal = state();
    std::vector<double> at = q;
    for (int i = 1; i <= 60; ++i) {
      for (int j : body_) {
        const auto k = static_cast<std::size_t>(j);
        const openral::Coordinate& l = m_.coordinates[k];
        const double far = std::clamp(q[k] + 2 * (goal[k] - q[k]), std::max(l.lower, -9.0),
                                      std::min(l.upper, 9.0));
        at[k] = q[k] + (far - q[k]) * i / 60;
      }
      f_.place(at.data());
      if (self_excess(f_) < excess) break;
    }
    double most = 0;
    for (int j : body_) {
      const auto k = static_cast<std::size_t>(j);
      most = std::max(most, std::abs(at[k] - q[k]) / m_.coordinates[k].velocity);
    }
    c.dt = std::clamp(most / c.rows * uniform(r_, 1.05, 3), 0.002, 5.0);
    Slot& s = c.slots[0];
    for (int row = 0; row < c.rows; ++row)
      for (std::size_t k = 0; k < s.coordinates.size(); ++k) {
        const auto j = static_cast<std::size_t>(s.coordinates[k]);
        if (m_.coordinates[j].role == Role::kBase) c.qd[j] = 0;
        s.data[static_cast<std::size_t>(row) * s.coordinates.size() + k] =
            q[j] + (at[j] - q[j]) * (row + 1) / c.rows;
        if (m_.coordinates[j].role == Role::kBody) c.qd[j] = (at[j] - q[j]) / c.rows / c.dt;
      }
    return c;
  }

 private:
  std::vector<int> all() const {
    std::vector<int> out;
    for (std::size_t j = 0; j < m_.coordinates.size(); ++j) out.push_back(static_cast<int>(j));
    return out;
  }
  std::vector<int> arm() const {
    std::vector<int> out;
    for (std::size_t j = 0; j < m_.coordinates.size(); ++j)
      if (m_.coordinates[j].role != Role::kBase) out.push_back(static_cast<int>(j));
    return out;
  }

  void find_driving(Case& c) {
    const double size = std::pow(10, uniform(r_, -2, 0));
    const double ahead = uniform(r_, -1, 1) * size;
    const double left = m_.differential ? 0 : uniform(r_, -1, 1) * size;
    const double yaw = c.q[static_cast<std::size_t>(m_.base[2])];
    const Vec v{std::cos(yaw) * ahead - std::sin(yaw) * left,
                std::sin(yaw) * ahead + std::cos(yaw) * left,
                chance(r_, 0.5) ? 0 : uniform(r_, -1, 1) * size};
    for (std::size_t i = 0; i < 3; ++i) c.qd[static_cast<std::size_t>(m_.base[i])] = v[i];
  }

  // Where odometry says that the base is and was, and from where the world was seen.
  void odometry(Case& c) {
    bool by_joints = false;
    for (const Slot& s : c.slots)
      for (int j : s.coordinates)
        by_joints = by_joints || m_.coordinates[static_cast<std::size_t>(j)].role == Role::kBase;
    c.odometry_age = by_joints ? c.age : chance(r_, 0.3) ? uniform(r_, 0, 0.08) : c.age;
    if (chance(r_, 0.5))
      c.odometry = {uniform(r_, -4, 4), uniform(r_, -4, 4),
                    chance(r_, 0.5) ? uniform(r_, -M_PI, M_PI)
                                    : (chance(r_, 0.5) ? 1 : -1) * uniform(r_, 3.1, M_PI)};
    const double size = chance(r_, 0.5) ? 0.04 : 0.3;
    const auto moved = [&](const Vec& from) {
      Vec to = compose(
          from, {uniform(r_, -0.03, 0.03), uniform(r_, -0.03, 0.03), uniform(r_, -1, 1) * size});
      to[2] = std::remainder(to[2], 2 * M_PI);
      return to;
    };
    View v;
    v.from = v.to = c.odometry;
    v.age = c.odometry_age;
    const double kind = uniform(r_, 0, 1);
    if (kind < 0.15) {
      v.fixed = true;
      v.age += 0.05;
    } else if (kind < 0.5) {  // seen from an earlier pose
      v.from = v.to = moved(c.odometry);
      v.age += 0.05;
    } else if (kind < 0.65) {  // seen between two poses
      v.from = moved(c.odometry);
      v.age += 0.025;
    } else if (kind < 0.8 && c.odometry_age > 0) {  // seen after the last one
      v.age = uniform(r_, 0, 0.9) * c.odometry_age;
    }
    c.things = c.cells = v;
  }

  void composite(Case& c) {
    std::vector<int> first, second;
    for (int j : body_) (chance(r_, 0.5) ? first : second).push_back(j);
    const Mode joints[] = {Mode::kJointPosition, Mode::kJointVelocity, Mode::kJointVelocity,
                           Mode::kJointTrajectory, Mode::kJointTorque};
    const bool cartesian = chance(r_, 0.15) && !m_.tools.empty();
    const bool grips = !grips_.empty() && chance(r_, 0.4);
    std::vector<int> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), r_);
    for (int part : order) {
      if (part == 0 && cartesian)
        add(c, chance(r_, 0.5) ? Mode::kCartesianTwist : Mode::kCartesianDelta, {});
      if (part == 0 && !cartesian && !first.empty()) add(c, joints[pick(r_, 0, 4)], first);
      if (part == 1 && !cartesian && !second.empty() && chance(r_, 0.8))
        add(c, joints[pick(r_, 0, 4)], second);
      if (part == 2 && m_.mobile) add(c, Mode::kBodyTwist, {});
      if (part == 3 && grips) grip(c, false);
    }
    if (c.slots.empty()) add(c, Mode::kJointPosition, body_);
  }

  // A gripper is told a place, open or closed, or its joint's places.
  void grip(Case& c, bool alone) {
    std::vector<int> hands;
    for (std::size_t t = 0; t < m_.tools.size(); ++t)
      if (m_.tools[t].gripper >= 0) hands.push_back(static_cast<int>(t));
    if (hands.empty()) return;
    Slot s;
    s.tool = hands[static_cast<std::size_t>(pick(r_, 0, static_cast<int>(hands.size()) - 1))];
    const openral::EndEffector& hand = m_.tools[static_cast<std::size_t>(s.tool)];
    const openral::Coordinate& k = m_.coordinates[static_cast<std::size_t>(hand.gripper)];
    s.coordinates = {hand.gripper};
    s.width = 1;
    const int kind = pick(r_, 0, 3);
    s.mode = kind == 0   ? Mode::kGripperBinary
             : kind == 1 ? Mode::kDexHandJoint
                         : Mode::kGripperPosition;
    if (alone) c.rows = pick(r_, 1, 6);
    s.named = s.mode == Mode::kDexHandJoint;
    if (!s.named) s.name = hand.name;
    double at = c.q[static_cast<std::size_t>(hand.gripper)];
    const double past = chance(r_, 0.05) ? 0.3 : 0;
    double goal = uniform(r_, k.lower - past, k.upper + past);
    for (int row = 0; row < c.rows; ++row) {
      if (s.mode == Mode::kGripperBinary) {
        s.data.push_back(chance(r_, 0.5) ? 1 : 0);
        continue;
      }
      if (row > 0 && chance(r_, 0.1)) goal = uniform(r_, k.lower, k.upper);
      const double step = k.velocity * c.dt * (chance(r_, 0.03) ? 3 : 0.9);
      at = s.mode == Mode::kDexHandJoint ? at + std::clamp(goal - at, -step, step) : goal;
      s.data.push_back(at);
    }
    c.slots.push_back(std::move(s));
  }

  void add(Case& c, Mode mode, std::vector<int> coordinates) {
    Slot s;
    s.mode = mode;
    if (mode == Mode::kBodyTwist) {
      s.width = 3;
      const double v = std::min(m_.envelope.base_speed, 3.0) * speed_ * hasty_,
                   w = std::min(m_.envelope.base_rate, 3.0) * speed_;
      Vec twist{};
      const bool stops = chance(r_, 0.15);
      for (int row = 0; row < c.rows; ++row) {
        if ((row == 0 || chance(r_, 0.1)) && !stops)
          twist = {uniform(r_, -0.7, 0.7) * v,
                   m_.differential && !chance(r_, 0.03) ? 0 : uniform(r_, -0.7, 0.7) * v,
                   chance(r_, 0.3) ? 0 : uniform(r_, -1, 1) * w};
        s.data.insert(s.data.end(), twist.begin(), twist.end());
      }
    } else if (by_tool(mode)) {
      tool_rows(c, s);
    } else {
      s.coordinates = std::move(coordinates);
      s.named = s.coordinates.size() < m_.coordinates.size();
      s.width = static_cast<int>(s.coordinates.size());
      joint_rows(c, s);
    }
    c.slots.push_back(std::move(s));
  }

  void tool_rows(Case& c, Slot& s) {
    s.tool = pick(r_, 0, static_cast<int>(m_.tools.size()) - 1);
    s.name = m_.tools[static_cast<std::size_t>(s.tool)].name;
    s.width = s.mode == Mode::kCartesianPose ? 7 : 6;
    if (s.mode != Mode::kCartesianPose && chance(r_, 0.4))
      s.frame = m_.tools[static_cast<std::size_t>(s.tool)].frame;
    if (chance(r_, 0.4))
      for (int j : body_) c.qd[static_cast<std::size_t>(j)] = uniform(r_, -0.2, 0.2);
    Vec shift{}, turn{};
    const double size = std::min(0.3 * speed_, 0.2);
    for (std::size_t i = 0; i < 3; ++i) {
      shift[i] = uniform(r_, -1, 1) * size * c.dt;
      turn[i] = uniform(r_, -2, 2) * size * c.dt;
    }
    const double scale = s.mode == Mode::kCartesianTwist ? 1 / c.dt : 1;
    f_.place(c.q.data());
    Rigid at = f_.tool(static_cast<std::size_t>(s.tool));
    for (int row = 0; row < c.rows; ++row) {
      if (s.mode != Mode::kCartesianPose) {
        for (double v : shift) s.data.push_back(v * scale);
        for (double v : turn) s.data.push_back(v * scale);
        continue;
      }
      const Rigid by = norm(turn) > 0 ? turned(turn, norm(turn)) : Rigid{};
      at = {by.turn(at.x), by.turn(at.y), by.turn(at.z), at.at + shift};
      const std::array<double, 4> quaternion = orientation(at);
      s.data.insert(s.data.end(), at.at.begin(), at.at.end());
      s.data.insert(s.data.end(), quaternion.begin(), quaternion.end());
    }
  }

  static std::array<double, 4> orientation(const Rigid& r) {
    const double trace = r.x[0] + r.y[1] + r.z[2];
    const double terms[4] = {1 + r.x[0] - r.y[1] - r.z[2], 1 - r.x[0] + r.y[1] - r.z[2],
                             1 - r.x[0] - r.y[1] + r.z[2], 1 + trace};
    const std::array<double, 4> columns[4] = {
        {terms[0], r.x[1] + r.y[0], r.x[2] + r.z[0], r.y[2] - r.z[1]},
        {r.x[1] + r.y[0], terms[1], r.y[2] + r.z[1], r.z[0] - r.x[2]},
        {r.x[2] + r.z[0], r.y[2] + r.z[1], terms[2], r.x[1] - r.y[0]},
        {r.y[2] - r.z[1], r.z[0] - r.x[2], r.x[1] - r.y[0], terms[3]}};
    std::array<double, 4> best = columns[std::max_element(terms, terms + 4) - terms];
    double length = 0;
    for (double v : best) length += v * v;
    for (double& v : best) v /= std::sqrt(length);
    return best;
  }

  void joint_rows(Case& c, Slot& s) {
    std::vector<double> at, step;
    for (int j : s.coordinates) {
      const openral::Coordinate& l = m_.coordinates[static_cast<std::size_t>(j)];
      at.push_back(c.q[static_cast<std::size_t>(j)]);
      const double most =
          s.mode == Mode::kJointTorque ? l.effort * 0.2 : l.velocity * 0.95 * hasty_;
      const bool goes = l.role == Role::kBody ||
                        (s.mode != Mode::kJointTorque && (l.role == Role::kGripper || drives_));
      double v = goes ? uniform(r_, -1, 1) * most * speed_ : 0;
      if (l.role == Role::kBase && m_.differential) v = 0;
      step.push_back(v);
    }
    const bool coasts = chance(r_, 0.5), found = chance(r_, 0.7);
    for (std::size_t k = 0; k < step.size(); ++k) {
      const auto j = static_cast<std::size_t>(s.coordinates[k]);
      if (m_.coordinates[j].role != Role::kBody || !found) continue;
      c.qd[j] = s.mode != Mode::kJointTorque ? step[k]
                : coasts ? uniform(r_, -0.3, 0.3) * m_.coordinates[j].velocity * speed_
                         : 0;
    }
    for (int row = 0; row < c.rows; ++row)
      for (std::size_t k = 0; k < step.size(); ++k) {
        const openral::Coordinate& l = m_.coordinates[static_cast<std::size_t>(s.coordinates[k])];
        const double v = bend_ && l.role == Role::kBody
                             ? step[k] * std::cos(row * 0.15 * static_cast<double>(k % 4))
                             : step[k];
        if (s.mode == Mode::kJointPosition || s.mode == Mode::kJointTrajectory) {
          at[k] = std::clamp(at[k] + v * c.dt, l.lower, l.upper);
          s.data.push_back(at[k]);
        } else {
          s.data.push_back(v);
        }
      }
  }

  Random& r_;
  const RobotModel& m_;
  Figure& f_;
  std::vector<int> body_, base_, grips_;
  double speed_ = 1, hasty_ = 1;
  bool bend_ = false, drives_ = false;
};

// Objects in its hands: on a tool's link, or on one that a gripper moves.
inline std::vector<Attached> draw_attached(Random& r, const RobotModel& m) {
  std::vector<Attached> out;
  if (!chance(r, 0.3)) return out;
  std::vector<int> links;
  for (const openral::EndEffector& t : m.tools) links.push_back(t.link);
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const int c = m.joints[i].coordinate;
    if (m.joints[i].kind != openral::JointKind::kFixed &&
        m.coordinates[static_cast<std::size_t>(c)].role == Role::kGripper)
      for (int n = 0; n < 2; ++n) links.push_back(static_cast<int>(i) + 1);
  }
  if (links.empty()) return out;
  for (int i = pick(r, 1, 2); i-- > 0;) {
    Attached a;
    a.id = "held" + std::to_string(i);
    a.link = links[static_cast<std::size_t>(pick(r, 0, static_cast<int>(links.size()) - 1))];
    a.p0 = testing::vector(r, 0.05);
    a.p1 = a.p0 + testing::vector(r, chance(r, 0.5) ? 0.05 : 0.25);
    a.radius = uniform(r, 0.003, 0.03);
    // What is close to its carrier may touch it.
    for (int link = a.link, n = pick(r, 1, 4); link > 0 && n > 0; --n) {
      link = m.joints[static_cast<std::size_t>(link) - 1].parent;
      a.touches.push_back(link);
    }
    out.push_back(a);
  }
  return out;
}

}  // namespace fuzz
