// Looks for the place where an allowed behaviour comes closest to something.
//
// Time is halved as long as that proves pieces of it clear: along the direction that separates two
// convex bodies at the middle of a piece, a joint that moves by w takes a point at most its rate
// times w nearer, and the bend of its way adds at most half the lever times w². What cannot be
// shown clear is searched: from several starts, all variables of the behaviour go downhill.
#pragma once

#include "base_motion.hpp"
#include "figure.hpp"
#include "joint_motion.hpp"
#include "scene.hpp"

namespace fuzz {

enum class Kind { kNothing, kSelf, kThing, kCell };

struct Touch {
  Kind kind = Kind::kNothing;
  int a = -1, b = -1;  // body; body, obstacle or cell
};

struct Finding {
  double excess = 1e9;  // beyond the margin
  Touch touch;
  double time = 0;  // in rows
  std::vector<double> q, knobs;
  Vec base{};
};

struct Effort {
  int nodes = 4000;    // pieces of time looked at
  int descents = 160;  // places that are searched
  int starts = 3;      // for each of them, where the set of behaviours is wide
};

class Search {
 public:
  Search(Random& r, Figure& f, const Scene& s, const Case& c)
      : r_(r), f_(f), s_(s), c_(c), m_(f.model()), joints_(f.model(), c), base_(f.model(), c) {
    n_ = c.q.size();
    for (auto* v : {&low_, &high_, &low0_, &high0_, &low1_, &high1_, &half_, &slope_, &q_})
      v->resize(n_);
    at_.share.resize(n_);
    at_.knob.resize(static_cast<std::size_t>(std::max(base_.knobs(), BaseMotion::kChanges)));
    middle_.assign(at_.knob.size(), 0.5);
    moves_ = m_.mobile && base_.moves();
    rows_ = std::clamp(c.valid / c.dt, 1e-6, static_cast<double>(c.rows));
  }

  const JointMotion& joints() const { return joints_; }
  const BaseMotion& base() const { return base_; }

  // The worst that was found; what is shown to keep `clear` beyond its margin is not looked at.
  Finding worst(double clear, const Effort& effort) {
    clear_ = clear;
    leaves_.clear();
    nodes_ = effort.nodes;
    // A chunk for grippers alone is answerable for what grippers move.
    const bool grips = joints_.only_grippers();
    const auto counts = [&](int body) { return !grips || gripped(body); };
    std::vector<Touch> all;
    for (const auto& [a, b] : f_.pairs)
      if (counts(a) || counts(b)) all.push_back({Kind::kSelf, a, b});
    for (std::size_t a = 0; a < f_.bodies.size(); ++a) {
      if (!f_.bodies[a].outside || !counts(static_cast<int>(a))) continue;
      for (std::size_t k = 0; k < s_.things.size(); ++k)
        all.push_back({Kind::kThing, static_cast<int>(a), static_cast<int>(k)});
      for (std::size_t k = 0; k < s_.cells.size(); ++k)
        all.push_back({Kind::kCell, static_cast<int>(a), static_cast<int>(k)});
    }
    look(0, rows_, all, 0);
    const auto closer = [](const Leaf& a, const Leaf& b) { return a.bound < b.bound; };
    std::sort(leaves_.begin(), leaves_.end(), closer);
    Finding best;
    int left = effort.descents;
    for (const Leaf& leaf : leaves_) {
      if (left-- <= 0) break;
      hunt(leaf, effort.starts, best);
      if (best.excess < -0.005) break;  // settled
    }
    return best;
  }

  // Everything at one instant, nothing uncertain.
  double excess(const Touch& t, const double* q, const Vec& things, const Vec& cells) {
    f_.place(q, static_cast<std::size_t>(t.a));
    if (t.kind == Kind::kSelf) f_.place(q, static_cast<std::size_t>(t.b));
    Closest c;
    return measure(t, planar(t.kind == Kind::kThing ? things : cells), c);
  }

 private:
  struct Leaf {
    double bound, from, to;
    Touch touch;
  };
  struct Point {
    double x = 0.5;  // time, as a share of the piece
    std::vector<double> share, knob;
    Vec error{};
  };
  struct Frame {
    Vec pose{};
    Rigid place;
    double shift = 0, turn = 0;
  };
  struct Slack {
    double end[2] = {0, 0}, bend = 0;
  };

  bool gripped(int body) const {
    for (int i : f_.chain(f_.bodies[static_cast<std::size_t>(body)].link)) {
      const int j = f_.hinges[static_cast<std::size_t>(i)].coordinate;
      if (j >= 0 && m_.coordinates[static_cast<std::size_t>(j)].role == openral::Role::kGripper)
        return true;
    }
    return false;
  }
  double margin(Kind k) const {
    return k == Kind::kSelf ? m_.envelope.self_margin : m_.envelope.world_margin;
  }

  // Distance beyond the margin as placed; closest points in the base's frame for links, else in the
  // frame of the view.
  double measure(const Touch& t, const Rigid& place, Closest& c) const {
    const auto a = static_cast<std::size_t>(t.a), b = static_cast<std::size_t>(t.b);
    const auto& e = f_.ends(a);
    double radius = f_.bodies[a].radius;
    if (t.kind == Kind::kSelf) {
      c = segment_segment(e[0], e[1], f_.ends(b)[0], f_.ends(b)[1]);
      radius += f_.bodies[b].radius;
    } else if (t.kind == Kind::kThing) {
      c = s_.to_thing(place(e[0]), place(e[1]), b);
      radius += s_.things[b].box ? 0 : s_.things[b].radius;
    } else {
      c = s_.to_cell(place(e[0]), place(e[1]), b);
    }
    return c.distance - radius - margin(t.kind);
  }

  // The hull of all intervals between two times.
  void hull(double from, double to) {
    const auto take = [&](int row, double part, bool first) {
      joints_.box(row, part, first ? low_.data() : low1_.data(),
                  first ? high_.data() : high1_.data());
      if (first) return;
      for (std::size_t j = 0; j < n_; ++j) {
        low_[j] = std::min(low_[j], low1_[j]);
        high_[j] = std::max(high_[j], high1_[j]);
      }
    };
    int row = std::min(static_cast<int>(from), c_.rows - 1);
    take(row, from - row, true);
    for (; row + 1 < to; ++row) {
      take(row, 1, false);
      take(row + 1, 0, false);
    }
    take(row, std::min(to - row, 1.0), false);
    for (std::size_t j = 0; j < n_; ++j) {
      q_[j] = (low_[j] + high_[j]) / 2;
      half_[j] = (high_[j] - low_[j]) / 2;
    }
  }

  Frame frame(const View& v, double from, double to) const {
    Frame out;
    const double middle = (from + to) / 2 * c_.dt;
    out.pose = base_.relative(v, middle, middle_.data());
    out.place = planar(out.pose);
    const auto radius = base_.radius(v, middle, to * c_.dt);
    const auto stray = base_.stray(to * c_.dt);
    out.shift = radius[0] + stray[0] * M_SQRT2;
    out.turn = radius[1] + stray[1];
    return out;
  }

  // How much nearer the joints of a body's chain from `skip` on can bring its ends along n.
  Slack slack(std::size_t body, std::size_t skip, const Vec& n, double turn) const {
    Slack out;
    double sum = turn;
    const std::vector<int>& chain = f_.chain(f_.bodies[body].link);
    const std::vector<double>& reach = f_.reach(body);
    for (std::size_t k = skip; k < chain.size(); ++k) {
      const Figure::Hinge& h = f_.hinges[static_cast<std::size_t>(chain[k])];
      if (h.coordinate < 0) continue;
      const double w = half_[static_cast<std::size_t>(h.coordinate)];
      if (w == 0) continue;
      for (int e = 0; e < 2; ++e)
        out.end[e] +=
            w * std::abs(f_.rate(chain[k], f_.ends(body)[static_cast<std::size_t>(e)], n));
      const double by = w * std::abs(h.multiplier);
      out.bend += (h.turns ? reach[k] : 1) * (by * by / 2 + by * sum);
      sum += by;
    }
    return out;
  }
  // How far a body can move at all.
  double sway(std::size_t body) const {
    double out = 0;
    const std::vector<int>& chain = f_.chain(f_.bodies[body].link);
    const std::vector<double>& reach = f_.reach(body);
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const Figure::Hinge& h = f_.hinges[static_cast<std::size_t>(chain[k])];
      if (h.coordinate < 0) continue;
      const double w = half_[static_cast<std::size_t>(h.coordinate)] * std::abs(h.multiplier);
      out += w * (h.turns ? reach[k] : 1);
    }
    return out;
  }

  double self_bound(const Touch& t) const {
    const auto a = static_cast<std::size_t>(t.a), b = static_cast<std::size_t>(t.b);
    const auto &e = f_.ends(a), &g = f_.ends(b);
    const double radii = f_.bodies[a].radius + f_.bodies[b].radius + m_.envelope.self_margin;
    const double far = 0.5 * norm(e[0] + e[1] - g[0] - g[1]) - f_.half(a) - f_.half(b) - radii;
    if (far - sways_[a] - sways_[b] >= clear_) return far;
    const Closest c = segment_segment(e[0], e[1], g[0], g[1]);
    if (c.distance < 1e-9) return -1e9;
    const Vec n = (1 / c.distance) * (c.on_a - c.on_b);
    const std::vector<int>&one = f_.chain(f_.bodies[a].link), &two = f_.chain(f_.bodies[b].link);
    std::size_t same = 0;
    while (same < one.size() && same < two.size() && one[same] == two[same]) ++same;
    const Slack x = slack(a, same, n, 0), y = slack(b, same, n, 0);
    const double on_a = std::min(dot(n, e[0]) - x.end[0], dot(n, e[1]) - x.end[1]);
    const double on_b = std::max(dot(n, g[0]) + y.end[0], dot(n, g[1]) + y.end[1]);
    return on_a - on_b - x.bend - y.bend - radii;
  }
  double world_bound(const Touch& t, const Frame& frame) const {
    const auto a = static_cast<std::size_t>(t.a), b = static_cast<std::size_t>(t.b);
    const Figure::Body& body = f_.bodies[a];
    const auto& e = f_.ends(a);
    const bool thing = t.kind == Kind::kThing;
    const Vec p = frame.place(e[0]), q = frame.place(e[1]);
    const double wide = std::max(std::hypot(e[0][0], e[0][1]), std::hypot(e[1][0], e[1][1]));
    const Vec to = thing ? s_.centre(b) : s_.cells[b];
    const double ball = thing ? s_.ball(b) : s_.side * 0.8661;
    const double moved = sways_[a] + frame.shift + frame.turn * (wide + sways_[a]);
    const double far =
        norm(0.5 * (p + q) - to) - f_.half(a) - ball - body.radius - m_.envelope.world_margin;
    if (far - moved >= clear_) return far;
    Closest c;
    const double gap = measure(t, frame.place, c);
    if (c.distance < 1e-9) return -1e9;
    const Vec n = (1 / c.distance) * (c.on_a - c.on_b);
    const Slack x = slack(a, 0, frame.place.back(n), frame.turn);
    double least = 1e9;
    for (std::size_t i = 0; i < 2; ++i) {
      const Vec at = i == 0 ? p : q, arm = at - frame.place.at;
      const double yaw = frame.turn * std::abs(n[1] * arm[0] - n[0] * arm[1]);
      least = std::min(least, dot(n, at - c.on_a) - x.end[i] - yaw);
    }
    return gap + least - x.bend - frame.turn * frame.turn / 2 * wide - frame.shift;
  }

  void look(double from, double to, const std::vector<Touch>& touches, int depth) {
    hull(from, to);
    f_.place(q_.data());
    const Frame things = frame(c_.things, from, to), cells = frame(c_.cells, from, to);
    sways_.resize(f_.bodies.size());
    for (std::size_t b = 0; b < sways_.size(); ++b) sways_[b] = sway(b);
    std::vector<Touch> open;
    std::vector<double> bounds;
    for (const Touch& t : touches) {
      const double bound = t.kind == Kind::kSelf
                               ? self_bound(t)
                               : world_bound(t, t.kind == Kind::kThing ? things : cells);
      if (bound >= clear_) continue;
      open.push_back(t);
      bounds.push_back(bound);
    }
    if (open.empty()) return;
    const bool splits = --nodes_ > 0 && (to - from > 1.0001 || (depth < 6 && long_way(from, to)));
    if (!splits && to - from <= 1.0001) {
      for (std::size_t i = 0; i < open.size(); ++i)
        leaves_.push_back({bounds[i], from, to, open[i]});
      return;
    }
    double middle = (from + to) / 2;
    if (to - from > 1.0001)
      middle = std::clamp(std::round(middle), std::floor(from) + 1, std::ceil(to) - 1);
    const int next = to - from > 1.0001 ? 0 : depth + 1;
    look(from, middle, open, next);
    look(middle, to, open, next);
  }
  // Whether time moves the robot by much within one row.
  bool long_way(double from, double to) const {
    const int row = std::min(static_cast<int>(from), c_.rows - 1);
    double way = 0;
    for (std::size_t j = 0; j < n_; ++j)
      way += std::abs(joints_.nominal(j, row, to - row) - joints_.nominal(j, row, from - row));
    return way > 0.03 || (moves_ && base_.stray(1e9)[0] + (to - from) * c_.dt > 0.3);
  }

  // --- downhill ---

  double evaluate(const Leaf& leaf, const Point& p, bool slopes) {
    const double t = leaf.from + p.x * (leaf.to - leaf.from);
    const int row = std::min(static_cast<int>(leaf.from), c_.rows - 1);
    joints_.box(row, std::min(t - row, 1.0), low_.data(), high_.data());
    for (std::size_t j = 0; j < n_; ++j) q_[j] = low_[j] + p.share[j] * (high_[j] - low_[j]);
    const Touch& touch = leaf.touch;
    f_.place(q_.data(), static_cast<std::size_t>(touch.a));
    if (touch.kind == Kind::kSelf) f_.place(q_.data(), static_cast<std::size_t>(touch.b));
    Rigid place;
    if (touch.kind != Kind::kSelf) {
      pose_ = base_.relative(view(touch), t * c_.dt, p.knob.data());
      const auto stray = base_.stray(t * c_.dt);
      pose_ = pose_ + Vec{p.error[0] * stray[0], p.error[1] * stray[0], p.error[2] * stray[1]};
      place = planar(pose_);
    }
    Closest c;
    const double value = measure(touch, place, c);
    if (!slopes) return value;
    std::fill(slope_.begin(), slope_.end(), 0.0);
    turn_slope_ = {};
    if (c.distance < 1e-12) return value;
    const Vec n = (1 / c.distance) * (c.on_a - c.on_b);
    if (touch.kind == Kind::kSelf) {
      add_slopes(touch.a, c.on_a, n, 1);
      add_slopes(touch.b, c.on_b, n, -1);
    } else {
      add_slopes(touch.a, place.back(c.on_a - place.at), place.back(n), 1);
      const Vec arm = c.on_a - place.at;
      turn_slope_ = {n[0], n[1], n[1] * arm[0] - n[0] * arm[1]};
    }
    return value;
  }
  void add_slopes(int body, const Vec& point, const Vec& n, double sign) {
    for (int i : f_.chain(f_.bodies[static_cast<std::size_t>(body)].link)) {
      const int j = f_.hinges[static_cast<std::size_t>(i)].coordinate;
      if (j >= 0) slope_[static_cast<std::size_t>(j)] += sign * f_.rate(i, point, n);
    }
  }
  const View& view(const Touch& t) const { return t.kind == Kind::kThing ? c_.things : c_.cells; }

  // The vertex to which the slopes point, and the slope towards it.
  double vertex(const Leaf& leaf, const Point& p, Point& to) {
    double total = 0;
    const double t = leaf.from + p.x * (leaf.to - leaf.from);
    const auto towards = [&](double slope, double now, double least, double most) {
      const double goal = slope > 0 ? least : slope < 0 ? most : now;
      total += slope * (goal - now);
      return goal;
    };
    double in_time = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      if (slope_[j] == 0) continue;
      to.share[j] = towards(slope_[j] * (high_[j] - low_[j]), p.share[j], 0, 1);
      in_time += slope_[j] *
                 ((1 - p.share[j]) * (low1_[j] - low0_[j]) + p.share[j] * (high1_[j] - high0_[j]));
    }
    if (leaf.touch.kind != Kind::kSelf && m_.mobile) {
      const View& v = view(leaf.touch);
      if (moves_) {
        const double h = 1e-5;
        const auto along = [&](double time, const std::vector<double>& knob) {
          return dot(turn_slope_, base_.relative(v, time, knob.data()));
        };
        const double here = along(t * c_.dt, p.knob);
        const double step = p.x < 0.5 ? h : -h;
        in_time += (along((t + step * (leaf.to - leaf.from)) * c_.dt, p.knob) - here) / step;
        std::vector<double>& knob = to.knob;
        for (std::size_t k = 0; k < knob.size(); ++k) {
          const double was = p.knob[k], by = was < 0.5 ? h : -h;
          knob = p.knob;
          knob[k] = was + by;
          slopes_of_knobs_[k] = (along(t * c_.dt, knob) - here) / by;
        }
        for (std::size_t k = 0; k < knob.size(); ++k)
          knob[k] = towards(slopes_of_knobs_[k], p.knob[k], 0, 1);
      }
      const auto stray = base_.stray(t * c_.dt);
      for (std::size_t i = 0; i < 3; ++i)
        to.error[i] = towards(turn_slope_[i] * stray[i == 2 ? 1 : 0], p.error[i], -1, 1);
    }
    to.x = towards(in_time, p.x, 0, 1);
    return total;
  }
  static void mix(const Point& a, const Point& b, double t, Point& out) {
    out = a;
    out.x += t * (b.x - a.x);
    for (std::size_t j = 0; j < a.share.size(); ++j) out.share[j] += t * (b.share[j] - a.share[j]);
    for (std::size_t k = 0; k < a.knob.size(); ++k) out.knob[k] += t * (b.knob[k] - a.knob[k]);
    out.error = a.error + t * (b.error - a.error);
  }

  double descend(const Leaf& leaf, Point& p) {
    slopes_of_knobs_.resize(p.knob.size());
    Point goal, middle;
    double now = 1e9;
    for (int round = 0; round < 14; ++round) {
      now = evaluate(leaf, p, true);
      goal = p;
      const double slope = vertex(leaf, p, goal);
      if (slope > -1e-7 || now < -0.02) break;
      double step = 1, best = evaluate(leaf, goal, false);
      // A parabola through what is known gives a better step than all the way.
      const double bend = best - now - slope;
      if (bend > -slope / 2) {
        for (int i = 0; i < 3; ++i) {
          const double t = i == 0 ? std::clamp(-slope / (2 * bend), 0.02, 0.9) : step / 3;
          mix(p, goal, t, middle);
          const double value = evaluate(leaf, middle, false);
          if (value < best) {
            best = value;
            step = t;
          } else if (i == 0 && best >= now) {
            step = t;
          }
          if (best < now) break;
        }
      }
      if (best >= now - 1e-9) break;
      if (step < 1) {
        mix(p, goal, step, middle);
        p = middle;
      } else {
        p = goal;
      }
    }
    return evaluate(leaf, p, false);
  }

  void hunt(const Leaf& leaf, int starts, Finding& best) {
    const int row = std::min(static_cast<int>(leaf.from), c_.rows - 1);
    joints_.box(row, leaf.from - row, low0_.data(), high0_.data());
    joints_.box(row, std::min(leaf.to - row, 1.0), low1_.data(), high1_.data());
    const bool wide = joints_.wide() || moves_;
    for (int i = 0; i < (wide ? starts : 1); ++i) {
      begin(i);
      const double value = descend(leaf, at_);
      if (value < best.excess) {
        best.excess = value;
        best.touch = leaf.touch;
        best.time = leaf.from + at_.x * (leaf.to - leaf.from);
        best.q = q_;
        best.knobs = at_.knob;
        best.base = pose_;
      }
      if (value < -0.002 || value > 0.05) return;
    }
  }
  // The middle first, then at the outset, then anywhere.
  void begin(int start) {
    const double all = start == 0 ? 0.5 : 0.0;
    at_.x = start == 0 ? 0.5 : uniform(r_, 0, 1);
    for (double& v : at_.share) v = start < 2 ? 0.5 : pick(r_, 0, 1);
    for (double& v : at_.knob) v = start < 2 ? all : uniform(r_, 0, 1);
    at_.error = {};
  }

  Random& r_;
  Figure& f_;
  const Scene& s_;
  const Case& c_;
  const openral::RobotModel& m_;
  JointMotion joints_;
  BaseMotion base_;
  std::size_t n_ = 0;
  bool moves_ = false;
  double rows_ = 0, clear_ = 0;
  int nodes_ = 0;
  std::vector<double> low_, high_, low0_, high0_, low1_, high1_, half_, slope_, q_, middle_, sways_,
      slopes_of_knobs_;
  Vec turn_slope_{}, pose_{};
  Point at_;
  std::vector<Leaf> leaves_;
};

}  // namespace fuzz
