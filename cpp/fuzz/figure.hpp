// The robot's shape for the oracle: forward kinematics, capsules (attached objects included) and
// the pairs of them that must keep apart. Poses are in the base's frame.
#pragma once

#include "case.hpp"
#include "openral/model.hpp"

namespace fuzz {

inline Rigid rigid(const openral::Pose& p) {
  const auto& r = p.rotation;
  return {{r[0], r[3], r[6]}, {r[1], r[4], r[7]}, {r[2], r[5], r[8]}, p.translation};
}

class Figure {
 public:
  struct Hinge {
    int parent = 0;
    Rigid origin;
    Vec axis{};           // of length one
    int coordinate = -1;  // −1: does not move the link in the base's frame
    bool turns = true;
    double multiplier = 1, offset = 0;
  };
  struct Body {
    int link = 0;
    Vec p0{}, p1{};
    double radius = 0;
    bool outside = false;  // kept from the world: it can move
    Vec middle() const { return 0.5 * (p0 + p1); }
  };

  Figure(const openral::RobotModel& m, const std::vector<Attached>& attached) : m_(m) {
    root_ = rigid(m.root);
    std::vector<bool> moves{m.mobile};
    for (const openral::Joint& j : m.joints) {
      Hinge h;
      h.parent = j.parent;
      h.origin = rigid(j.origin);
      h.axis = (1 / norm(j.axis)) * j.axis;
      h.turns = j.kind == openral::JointKind::kRevolute;
      h.multiplier = j.multiplier;
      h.offset = j.offset;
      if (j.kind != openral::JointKind::kFixed && role(j.coordinate) != openral::Role::kBase)
        h.coordinate = j.coordinate;
      moves.push_back(moves[static_cast<std::size_t>(j.parent)] || h.coordinate >= 0);
      hinges.push_back(h);
    }
    for (const openral::Capsule& c : m.capsules)
      bodies.push_back({c.link, c.p0, c.p1, c.radius,
                        static_cast<bool>(moves[static_cast<std::size_t>(c.link)])});
    own = bodies.size();
    pairs = m.pairs;
    chains_.resize(m.links.size());
    for (std::size_t link = 1; link < m.links.size(); ++link) {
      chains_[link] = chains_[static_cast<std::size_t>(hinges[link - 1].parent)];
      chains_[link].push_back(static_cast<int>(link) - 1);
    }
    for (const Attached& a : attached) attach(a, moves);
    for (const Body& b : bodies) levers_.push_back(levers(b));
    for (const Body& b : bodies) half_.push_back(0.5 * norm(b.p1 - b.p0));
    link_.resize(m.links.size());
    ends_.resize(bodies.size());
  }

  std::vector<Hinge> hinges;
  std::vector<Body> bodies;
  std::size_t own = 0;  // bodies of the robot itself; attached ones follow
  std::vector<std::pair<int, int>> pairs;

  const openral::RobotModel& model() const { return m_; }
  // Joints between the root and a link, fixed ones included, from the root on.
  const std::vector<int>& chain(int link) const { return chains_[static_cast<std::size_t>(link)]; }
  // For each joint of that chain, how far it is from any point of the body's axis at most.
  const std::vector<double>& reach(std::size_t body) const { return levers_[body]; }
  double half(std::size_t body) const { return half_[body]; }

  void place(const double* q) {
    link_[0] = root_;
    for (std::size_t i = 0; i < hinges.size(); ++i) step(i, q);
    for (std::size_t b = 0; b < bodies.size(); ++b) put(b);
  }
  // Only what carries this body.
  void place(const double* q, std::size_t body) {
    link_[0] = root_;
    for (int i : chain(bodies[body].link)) step(static_cast<std::size_t>(i), q);
    put(body);
  }
  const std::array<Vec, 2>& ends(std::size_t body) const { return ends_[body]; }
  const Rigid& link(int i) const { return link_[static_cast<std::size_t>(i)]; }
  Rigid tool(std::size_t t) const { return link(m_.tools[t].link) * rigid(m_.tools[t].tcp); }
  // How fast a point that moves with joint `i` goes along `n` when the joint moves, as placed.
  double rate(int i, const Vec& point, const Vec& n) const {
    const Hinge& h = hinges[static_cast<std::size_t>(i)];
    const Rigid& l = link(i + 1);
    const Vec axis = l.turn(h.axis);
    return h.multiplier * dot(n, h.turns ? cross(axis, point - l.at) : axis);
  }

 private:
  openral::Role role(int coordinate) const {
    return m_.coordinates[static_cast<std::size_t>(coordinate)].role;
  }
  void step(std::size_t i, const double* q) {
    const Hinge& h = hinges[i];
    Rigid r = link_[static_cast<std::size_t>(h.parent)] * h.origin;
    if (h.coordinate >= 0) {
      const double value = h.multiplier * q[h.coordinate] + h.offset;
      if (h.turns)
        r = r * turned(h.axis, value);
      else
        r.at = r(value * h.axis);
    }
    link_[i + 1] = r;
  }
  void put(std::size_t b) {
    const Rigid& l = link(bodies[b].link);
    ends_[b] = {l(bodies[b].p0), l(bodies[b].p1)};
  }
  // Links that no joint lets move against each other.
  bool rigid_together(int a, int b) const {
    const auto anchor = [&](int link) {
      while (link > 0 && hinges[static_cast<std::size_t>(link) - 1].coordinate < 0)
        link = hinges[static_cast<std::size_t>(link) - 1].parent;
      return link;
    };
    return anchor(a) == anchor(b);
  }
  void attach(const Attached& a, const std::vector<bool>& moves) {
    const auto index = static_cast<int>(bodies.size());
    bodies.push_back(
        {a.link, a.p0, a.p1, a.radius, static_cast<bool>(moves[static_cast<std::size_t>(a.link)])});
    for (std::size_t c = 0; c < own; ++c) {
      bool may = rigid_together(bodies[c].link, a.link);
      for (int link : a.touches) may = may || rigid_together(bodies[c].link, link);
      if (!may) pairs.emplace_back(index, static_cast<int>(c));
    }
  }
  std::vector<double> levers(const Body& b) const {
    const std::vector<int>& way = chain(b.link);
    std::vector<double> out(way.size());
    double far = std::max(norm(b.p0), norm(b.p1));
    for (std::size_t k = way.size(); k-- > 0;) {
      const Hinge& h = hinges[static_cast<std::size_t>(way[k])];
      if (h.coordinate >= 0 && !h.turns) {
        const openral::Coordinate& c = m_.coordinates[static_cast<std::size_t>(h.coordinate)];
        const double most = std::min(std::max(std::abs(c.lower), std::abs(c.upper)), 10.0) + 0.5;
        far += std::abs(h.multiplier) * most + std::abs(h.offset);
      }
      out[k] = far;
      far += norm(h.origin.at);
    }
    return out;
  }

  const openral::RobotModel& m_;
  Rigid root_;
  std::vector<std::vector<int>> chains_;
  std::vector<std::vector<double>> levers_;
  std::vector<double> half_;
  std::vector<Rigid> link_;
  std::vector<std::array<Vec, 2>> ends_;
};

}  // namespace fuzz
