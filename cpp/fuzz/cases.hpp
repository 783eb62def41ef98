// Draws robots' settings, states and chunks in every mode, and writes them as messages.
#pragma once

#include <algorithm>

#include "../tests/draw.hpp"
#include "follower.hpp"

namespace fuzz {

using openral::RobotModel;
using openral::Role;

// Margins, tracking errors and speed limits that make the motion of the arm the thing tested.
inline void loosen(Random& r, RobotModel& m) {
  openral::Envelope& e = m.envelope;
  e.world_margin = uniform(r, 0, 0.02);
  e.self_margin = uniform(r, 0, 0.01);
  const double tracking[] = {0, 0.002, 0.01};
  const double error = tracking[pick(r, 0, 2)];
  for (openral::Coordinate& c : m.coordinates) c.tracking = error;
  e.base_tracking = e.base_turn_tracking = error;
  e.jitter = chance(r, 0.5) ? 0.05 : 0;
  e.recheck = 0.05;
  if (chance(r, 0.2)) e.slow_distance = uniform(r, 0.03, 0.2);
  if (chance(r, 0.7)) e.tool_speed = e.tool_rate = 1e3;
  if (chance(r, 0.7)) {
    e.workspace_lower = {-openral::kNone, -openral::kNone, -openral::kNone};
    e.workspace_upper = {openral::kNone, openral::kNone, openral::kNone};
  }
  e.state_age = e.world_age = e.voxel_age = e.base_age = 10'000'000'000;
}

inline std::vector<std::byte> encode(const RobotModel& m, const Case& c) {
  testing::Cdr out;
  out.put(std::int32_t{0});
  out.put(std::uint32_t{0});
  out.text("");
  out.put(std::uint64_t{1});
  for (int i = 0; i < 16; ++i) out.put(std::uint8_t{0});
  out.put(static_cast<std::uint8_t>(c.slots.size() > 1 ? Mode::kComposite : c.slots[0].mode));
  out.put(c.dt);
  out.put(static_cast<std::uint32_t>(c.rows));
  out.put(static_cast<std::uint32_t>(c.slots.size()));
  for (const Slot& s : c.slots) {
    out.text(s.name);
    out.put(static_cast<std::uint8_t>(s.mode));
    out.text(s.frame);
    out.put(static_cast<std::uint32_t>(s.named ? s.coordinates.size() : 0));
    if (s.named)
      for (int j : s.coordinates) out.text(m.coordinates[static_cast<std::size_t>(j)].name);
    out.put(static_cast<std::uint32_t>(s.width));
    out.put(static_cast<std::uint32_t>(s.data.size()));
    for (double v : s.data) out.put(v);
  }
  return out.bytes;
}

// The case with the rows and the timing that the kernel gave it.
inline Case executed(const RobotModel& m, const Case& c, std::span<const std::byte> bytes) {
  openral::ChunkView view;
  int slot = -1;
  Case out = c;
  if (openral::parse_chunk(bytes, view, slot) != openral::Parse::kOk)
    throw std::runtime_error("the kernel wrote a chunk that cannot be read");
  for (std::size_t i = 0; i < view.count; ++i) {
    Slot& s = out.slots[i];
    const openral::SlotView& from = view.slots[i];
    const bool resolved = s.mode != static_cast<Mode>(from.mode);
    s.mode = static_cast<Mode>(from.mode);
    s.width = static_cast<int>(from.width);
    for (std::size_t k = 0; k < from.names && resolved; ++k)
      for (std::size_t j = 0; j < m.coordinates.size(); ++j)
        if (m.coordinates[j].name == from.joints[k]) s.coordinates.push_back(static_cast<int>(j));
    s.data.clear();
    for (std::size_t row = 0; row < view.rows; ++row)
      for (std::size_t k = 0; k < from.width; ++k) s.data.push_back(from.at(row, k));
  }
  out.dt = view.dt;
  return out;
}

inline bool by_tool(const Slot& s) {
  return s.mode == Mode::kCartesianDelta || s.mode == Mode::kCartesianPose ||
         s.mode == Mode::kCartesianTwist;
}

class Caster {
 public:
  Caster(Random& r, const RobotModel& m, Oracle& oracle) : r_(r), m_(m), oracle_(oracle) {
    for (std::size_t j = 0; j < m.coordinates.size(); ++j)
      if (m.coordinates[j].role == Role::kBody) body_.push_back(static_cast<int>(j));
  }

  // A state that is clear of itself, most of the time.
  std::vector<double> state() {
    std::vector<double> q;
    for (int tries = 0; tries < 30; ++tries) {
      q.clear();
      for (const openral::Coordinate& c : m_.coordinates)
        q.push_back(uniform(r_, std::max(c.lower, -3.2), std::min(c.upper, 3.2)));
      oracle_.place(q.data(), {});
      if (oracle_.nearest().excess > 0.004) return q;
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
    if (m_.mobile && chance(r_, 0.5))
      c.moved = {uniform(r_, -0.03, 0.03), uniform(r_, -0.03, 0.03),
                 uniform(r_, -1, 1) * (chance(r_, 0.5) ? 0.04 : 0.3)};
    if (mode == Mode::kBodyTwist && chance(r_, 0.2)) {
      c.dt = uniform(r_, 0.2, 4);
      c.rows = std::min(c.rows, 4);
    }
    speed_ = std::pow(10, uniform(r_, -2, 0));
    hasty_ = chance(r_, 0.05) ? 4 : 1;  // past the limits of speed
    bend_ = chance(r_, 0.3);
    if (chance(r_, 0.3)) c.age = uniform(r_, 0, 0.05);
    if (m_.mobile && m_.base[0] >= 0 && chance(r_, 0.4))  // found driving
      for (int j : m_.base)
        c.qd[static_cast<std::size_t>(j)] = uniform(r_, -1, 1) * std::pow(10, uniform(r_, -2, 0));
    if (mode != Mode::kComposite) {
      add(c, mode, all());
      return c;
    }
    std::vector<int> first, second;
    for (int j : body_) (chance(r_, 0.5) ? first : second).push_back(j);
    const Mode joints[] = {Mode::kJointPosition, Mode::kJointVelocity, Mode::kJointVelocity,
                           Mode::kJointTrajectory, Mode::kJointTorque};
    const bool cartesian = chance(r_, 0.15) && !m_.tools.empty();
    std::vector<int> order{0, 1, 2};
    if (!cartesian) std::shuffle(order.begin(), order.end(), r_);
    for (int part : order) {
      if (part == 0 && cartesian)
        add(c, chance(r_, 0.5) ? Mode::kCartesianTwist : Mode::kCartesianDelta, {});
      if (part == 0 && !cartesian && !first.empty()) add(c, joints[pick(r_, 0, 4)], first);
      if (part == 1 && !cartesian && !second.empty()) add(c, joints[pick(r_, 0, 4)], second);
      if (part == 2 && m_.mobile) add(c, Mode::kBodyTwist, {});
    }
    if (cartesian && chance(r_, 0.5)) std::reverse(c.slots.begin(), c.slots.end());
    return c;
  }

  // Straight towards a pose in which the robot touches itself, and not quite there.
  Case towards_itself(double excess) {
    Case c = draw(Mode::kJointPosition);
    c.moved = {};
    const std::vector<double> q = c.q, goal = state();
    double end = 1;
    std::vector<double> at = q;
    for (int i = 1; i <= 60; ++i) {
      for (int j : body_) {
        const auto k = static_cast<std::size_t>(j);
        const openral::Coordinate& l = m_.coordinates[k];
        const double far = std::clamp(q[k] + 2 * (goal[k] - q[k]), std::max(l.lower, -9.0),
                                      std::min(l.upper, 9.0));
        at[k] = q[k] + (far - q[k]) * i / 60;
      }
      oracle_.place(at.data(), {});
      end = i / 60.0;
      if (oracle_.nearest().excess < excess) break;
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
        s.data[static_cast<std::size_t>(row) * s.coordinates.size() + k] =
            q[j] + (at[j] - q[j]) * (row + 1) / c.rows;
        c.qd[j] = (at[j] - q[j]) / c.rows / c.dt;
      }
    (void)end;
    return c;
  }

 private:
  std::vector<int> all() const {
    std::vector<int> out;
    for (std::size_t j = 0; j < m_.coordinates.size(); ++j) out.push_back(static_cast<int>(j));
    return out;
  }

  void add(Case& c, Mode mode, std::vector<int> coordinates) {
    Slot s;
    s.mode = mode;
    if (mode == Mode::kBodyTwist) {
      s.width = 3;
      const double v = m_.envelope.base_speed * speed_ * hasty_, w = m_.envelope.base_rate * speed_;
      Vec twist{};
      for (int row = 0; row < c.rows; ++row) {
        if (row == 0 || chance(r_, 0.1))
          twist = {uniform(r_, -0.7, 0.7) * v, uniform(r_, -0.7, 0.7) * v, uniform(r_, -1, 1) * w};
        s.data.insert(s.data.end(), twist.begin(), twist.end());
      }
    } else if (by_tool(s)) {
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
    oracle_.place(c.q.data(), {});
    Rigid at = oracle_.tool(static_cast<std::size_t>(s.tool));
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
    std::array<double, 4> best{};
    const double terms[4] = {1 + r.x[0] - r.y[1] - r.z[2], 1 - r.x[0] + r.y[1] - r.z[2],
                             1 - r.x[0] - r.y[1] + r.z[2], 1 + trace};
    const std::array<double, 4> columns[4] = {
        {terms[0], r.x[1] + r.y[0], r.x[2] + r.z[0], r.y[2] - r.z[1]},
        {r.x[1] + r.y[0], terms[1], r.y[2] + r.z[1], r.z[0] - r.x[2]},
        {r.x[2] + r.z[0], r.y[2] + r.z[1], terms[2], r.x[1] - r.y[0]},
        {r.y[2] - r.z[1], r.z[0] - r.x[2], r.x[1] - r.y[0], terms[3]}};
    const auto most = static_cast<std::size_t>(std::max_element(terms, terms + 4) - terms);
    best = columns[most];
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
      step.push_back(l.role == Role::kBody ? uniform(r_, -1, 1) * most * speed_ : 0);
    }
    if (s.mode != Mode::kJointTorque)
      for (std::size_t k = 0; k < step.size(); ++k)
        c.qd[static_cast<std::size_t>(s.coordinates[k])] = step[k];
    for (int row = 0; row < c.rows; ++row)
      for (std::size_t k = 0; k < step.size(); ++k) {
        const openral::Coordinate& l = m_.coordinates[static_cast<std::size_t>(s.coordinates[k])];
        const double v =
            bend_ ? step[k] * std::cos(row * 0.15 * static_cast<double>(k % 4)) : step[k];
        if (s.mode == Mode::kJointPosition || s.mode == Mode::kJointTrajectory) {
          if (l.role == Role::kBody) at[k] = std::clamp(at[k] + v * c.dt, l.lower, l.upper);
          s.data.push_back(at[k]);
        } else {
          s.data.push_back(l.role == Role::kBody ? v : 0);
        }
      }
  }

  Random& r_;
  const RobotModel& m_;
  Oracle& oracle_;
  std::vector<int> body_;
  double speed_ = 1, hasty_ = 1;
  bool bend_ = false;
};

}  // namespace fuzz
