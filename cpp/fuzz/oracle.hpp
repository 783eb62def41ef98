// The judge of the fuzzer: kinematics and distances in double precision, by other means than the
// kernel's and sharing no code with it. tests/safety/test_fuzz.py holds it against MuJoCo.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "openral/model.hpp"
#include "openral/world.hpp"

namespace fuzz {

using Vec = std::array<double, 3>;
inline Vec operator+(const Vec& a, const Vec& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec operator*(double s, const Vec& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Vec& a, const Vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline double norm(const Vec& a) { return std::sqrt(dot(a, a)); }
inline Vec cross(const Vec& a, const Vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct Rigid {
  Vec x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1}, at{};  // axes as columns, and where the origin is
  Vec turn(const Vec& v) const { return v[0] * x + v[1] * y + v[2] * z; }
  Vec operator()(const Vec& v) const { return turn(v) + at; }
  Rigid operator*(const Rigid& o) const { return {turn(o.x), turn(o.y), turn(o.z), (*this)(o.at)}; }
};
inline Rigid rigid(const openral::Pose& p) {
  const auto& r = p.rotation;
  return {{r[0], r[3], r[6]}, {r[1], r[4], r[7]}, {r[2], r[5], r[8]}, p.translation};
}
// A turn by quaternion, so that not even Rodrigues' formula is shared.
inline Rigid turned(const Vec& axis, double angle) {
  const double s = std::sin(angle / 2) / norm(axis), w = std::cos(angle / 2);
  const double x = axis[0] * s, y = axis[1] * s, z = axis[2] * s;
  return {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
          {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
          {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
          {}};
}

inline double point_segment(const Vec& p, const Vec& a, const Vec& b) {
  const Vec d = b - a;
  const double dd = dot(d, d);
  const double t = dd > 0 ? std::clamp(dot(p - a, d) / dd, 0.0, 1.0) : 0;
  return norm(p - (a + t * d));
}

// The least distance is at an end of one of them, or between interior points.
inline double segment_segment(const Vec& a, const Vec& b, const Vec& c, const Vec& d) {
  double best = std::min({point_segment(a, c, d), point_segment(b, c, d), point_segment(c, a, b),
                          point_segment(d, a, b)});
  const Vec u = b - a, v = d - c, w = c - a, n = cross(u, v);
  const double nn = dot(n, n);
  if (nn > 0) {
    const double s = dot(cross(w, v), n) / nn, t = dot(cross(w, u), n) / nn;
    if (s > 0 && s < 1 && t > 0 && t < 1) best = std::min(best, norm((a + s * u) - (c + t * v)));
  }
  return best;
}

// The distance to a box is convex along a segment: halve on the sign of its slope.
inline double segment_box(const Vec& a, const Vec& b, const Vec& half) {
  const Vec d = b - a;
  const auto outside = [&](double t) {
    Vec x = a + t * d;
    for (std::size_t i = 0; i < 3; ++i) x[i] -= std::clamp(x[i], -half[i], half[i]);
    return x;
  };
  double low = 0, high = 1;
  if (dot(d, outside(0)) >= 0) return norm(outside(0));
  if (dot(d, outside(1)) <= 0) return norm(outside(1));
  for (int i = 0; i < 44; ++i) {
    const double middle = (low + high) / 2;
    (dot(d, outside(middle)) > 0 ? high : low) = middle;
  }
  return norm(outside((low + high) / 2));
}

// What came closest, and by how much it clears (or misses) the margin.
struct Near {
  enum Kind { kNothing, kSelf, kThing, kCell } kind = kNothing;
  int a = -1, b = -1;  // capsule; capsule, obstacle or cell
  double excess = 1e9;
};

class Oracle {
 public:
  explicit Oracle(const openral::RobotModel& model) : m_(model) {
    link_.resize(model.links.size());
    ends_.resize(model.capsules.size());
    std::vector<bool> moves(model.links.size(), model.mobile);
    for (std::size_t i = 0; i < model.joints.size(); ++i)
      moves[i + 1] = moves[static_cast<std::size_t>(model.joints[i].parent)] ||
                     (model.joints[i].kind != openral::JointKind::kFixed && !base(i));
    for (const openral::Capsule& c : model.capsules)
      outside_.push_back(moves[static_cast<std::size_t>(c.link)]);
  }

  std::vector<openral::Primitive> things;
  std::vector<Vec> cells;  // centres
  double cell = 0;         // side

  // `at` is the planar pose of the base in the frame of the obstacles.
  void place(const double* q, const Vec& at) {
    Rigid root = turned({0, 0, 1}, at[2]);
    root.at = {at[0], at[1], 0};
    base_ = root;
    link_[0] = root * rigid(m_.root);
    for (std::size_t i = 0; i < m_.joints.size(); ++i) {
      const openral::Joint& j = m_.joints[i];
      Rigid r = link_[static_cast<std::size_t>(j.parent)] * rigid(j.origin);
      if (j.kind != openral::JointKind::kFixed && !base(i)) {
        const double value = j.multiplier * q[j.coordinate] + j.offset;
        if (j.kind == openral::JointKind::kRevolute)
          r = r * turned(j.axis, value);
        else
          r.at = r((value / norm(j.axis)) * j.axis);
      }
      link_[i + 1] = r;
    }
    for (std::size_t c = 0; c < ends_.size(); ++c) {
      const Rigid& l = link_[static_cast<std::size_t>(m_.capsules[c].link)];
      ends_[c] = {l(m_.capsules[c].p0), l(m_.capsules[c].p1)};
    }
  }
  Rigid tool(std::size_t t) const {
    return link_[static_cast<std::size_t>(m_.tools[t].link)] * rigid(m_.tools[t].tcp);
  }
  // A point in the base's own frame.
  Vec in_base(const Vec& p) const {
    const Vec d = p - base_.at;
    return {dot(base_.x, d), dot(base_.y, d), d[2]};
  }
  const std::array<Vec, 2>& ends(std::size_t c) const { return ends_[c]; }
  const Rigid& link(int i) const { return link_[static_cast<std::size_t>(i)]; }
  bool outside(std::size_t c) const { return outside_[c]; }

  double excess(Near::Kind kind, int a, int b) const {
    const auto i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
    const Vec &p = ends_[i][0], &q = ends_[i][1];
    const double r = m_.capsules[i].radius, margin = m_.envelope.world_margin;
    if (kind == Near::kSelf)
      return segment_segment(p, q, ends_[k][0], ends_[k][1]) - r - m_.capsules[k].radius -
             m_.envelope.self_margin;
    if (kind == Near::kCell)
      return segment_box(p - cells[k], q - cells[k], {cell / 2, cell / 2, cell / 2}) - r - margin;
    const openral::Primitive& o = things[k];
    if (!o.box) return segment_segment(p, q, o.p0, o.p1) - o.radius - r - margin;
    const auto local = [&](const Vec& v) -> Vec {
      const Vec d = v - o.p0;
      Vec out{};
      for (std::size_t n = 0; n < 3; ++n)
        for (std::size_t s = 0; s < 3; ++s) out[n] += o.rotation[3 * s + n] * d[s];
      return out;
    };
    return segment_box(local(p), local(q), o.half) - r - margin;
  }

  // Everything closer to its margin than this at the pose last placed.
  std::vector<Near> within(double excess_below) const {
    std::vector<Near> out;
    const auto look = [&](Near::Kind kind, std::size_t a, std::size_t b) {
      const double e = excess(kind, static_cast<int>(a), static_cast<int>(b));
      if (e < excess_below) out.push_back({kind, static_cast<int>(a), static_cast<int>(b), e});
    };
    for (const auto& [a, b] : m_.pairs)
      look(Near::kSelf, static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    for (std::size_t c = 0; c < ends_.size(); ++c) {
      if (!outside_[c]) continue;
      for (std::size_t o = 0; o < things.size(); ++o) look(Near::kThing, c, o);
      for (std::size_t o = 0; o < cells.size(); ++o) look(Near::kCell, c, o);
    }
    return out;
  }

  // The worst of everything at the pose last placed.
  Near nearest() const {
    Near best;
    const auto better = [&](Near::Kind kind, std::size_t a, std::size_t b, const Vec& to,
                            double ball, double margin) {
      const Vec middle = 0.5 * (ends_[a][0] + ends_[a][1]);
      const double own = norm(ends_[a][0] - middle) + m_.capsules[a].radius;
      if (norm(middle - to) - own - ball - margin > best.excess) return;
      const double e = excess(kind, static_cast<int>(a), static_cast<int>(b));
      if (e < best.excess) best = {kind, static_cast<int>(a), static_cast<int>(b), e};
    };
    for (const auto& [a, b] : m_.pairs) {
      const auto i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
      const Vec to = 0.5 * (ends_[k][0] + ends_[k][1]);
      better(Near::kSelf, i, k, to, norm(ends_[k][0] - to) + m_.capsules[k].radius,
             m_.envelope.self_margin);
    }
    for (std::size_t c = 0; c < ends_.size(); ++c) {
      if (!outside_[c]) continue;
      for (std::size_t o = 0; o < things.size(); ++o) {
        const openral::Primitive& t = things[o];
        const Vec to = t.box ? t.p0 : 0.5 * (t.p0 + t.p1);
        better(Near::kThing, c, o, to, t.box ? norm(t.half) : norm(t.p0 - to) + t.radius,
               m_.envelope.world_margin);
      }
      for (std::size_t o = 0; o < cells.size(); ++o)
        better(Near::kCell, c, o, cells[o], cell, m_.envelope.world_margin);
    }
    return best;
  }

 private:
  bool base(std::size_t joint) const {
    const int c = m_.joints[joint].coordinate;
    return c >= 0 && m_.joints[joint].kind != openral::JointKind::kFixed &&
           m_.coordinates[static_cast<std::size_t>(c)].role == openral::Role::kBase;
  }
  const openral::RobotModel& m_;
  Rigid base_;
  std::vector<Rigid> link_;
  std::vector<std::array<Vec, 2>> ends_;
  std::vector<bool> outside_;
};

}  // namespace fuzz
