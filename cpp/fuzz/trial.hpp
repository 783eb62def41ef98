// One chunk put to the kernel, and what the oracle says about the motion it describes.
#pragma once

#include "openral/kernel.hpp"
#include "place.hpp"

namespace fuzz {

using openral::Status;

struct Tally {
  long chunks = 0, segments = 0, accepted = 0, accepted_segments = 0;
  long judged = 0;                    // chunks whose true motion the oracle could follow
  long clear = 0, refused_clear = 0;  // at least 2 mm beyond the margin; of these, refused
  long false_accepts = 0;
  long unsolved = 0, followable = 0;  // tool paths that the kernel found no joints for; we did
};

constexpr double kClear = 0.002;  // m beyond the margin at which a refusal is false

struct Trial {
  openral::Verdict verdict;
  double excess = 1e9;  // of the true motion with its tracking tube, beyond the margin
  Near worst;
  std::string broken;  // limit that the motion breaks
  bool judged = true, resolved = false;
};

class Judge {
 public:
  Judge(Random& r, const RobotModel& m, Oracle& oracle) : r_(r), m_(m), o_(oracle) {}

  // `c` is what is executed.
  void look(const Case& c, Trial& out) {
    const Motion motion(m_, c);
    best_.clear();
    sweep(c, motion);
    for (Found& f : best_) {
      const double here = tube(f.sample, f.near);
      if (here < out.excess) {
        out.excess = here;
        out.worst = f.near;
      }
    }
    limits(c, motion, out);
  }

  // Whether a slowed chunk leads where the other does.
  void retrace(const Case& c, const Case& slow, double factor, Trial& out) {
    const Motion one(m_, c), two(m_, slow);
    if (std::abs(slow.dt * factor - c.dt) > 1e-12) out.broken = "the slowed timing";
    for (int row = 0; row < c.rows; ++row) {
      const Sample a = one.along(row, 0.7, {}), b = two.along(row, 0.7, {});
      for (std::size_t j = 0; j < a.q.size(); ++j)
        if (std::abs(a.q[j] - b.q[j]) > 1e-9) out.broken = "the slowed path";
      if (norm(a.base - b.base) > 1e-9) out.broken = "the slowed path of the base";
    }
  }

  // Whether the tools keep to what was asked of them.
  void compare(const Case& asked, const Case& done, Trial& out) {
    Case still = done;
    still.age = 0;
    const Motion motion(m_, still);
    for (const Slot& s : asked.slots) {
      if (!by_tool(s)) continue;
      Follower follower(m_, o_, asked, s);
      for (int row = 0; row < asked.rows; ++row)
        for (int i = 0; i < 3; ++i) {
          const double part = uniform(r_, 0, 1);
          const auto off = follower.missed(motion.along(row, part, {}).q, row, part);
          if (off[0] > m_.envelope.follow_shift * (1 + 1e-6) + 1e-7 ||
              off[1] > m_.envelope.follow_turn * (1 + 1e-6) + 1e-7)
            out.broken = "the tool's path";
        }
    }
  }

  // The same with far more samples, each with the tube of all that is near: before a refusal is
  // called false.
  double thorough(const Case& c) {
    const Motion motion(m_, c);
    double least = 1e9;
    int hunts = 0;
    const auto look = [&](const Sample& s) {
      if (least < kClear) return;  // it is settled
      double reach = 0;
      for (std::size_t j = 0; j < s.width.size(); ++j) reach += s.width[j] * 1.5;
      o_.place(s.q.data(), s.base);
      for (const Near& near : o_.within(std::min(least, 0.05) + reach))
        least = std::min(least, tube(s, near));
      if (reach > 0.15 && hunts++ < 8) least = std::min(least, hunt(s));
    };
    for (int row = 0; row < motion.rows(); ++row) {
      const int samples = motion.rows() > 60 ? 4 : 10;
      const int more = std::min(static_cast<int>(way(motion, row) / 1e-3), 2000);
      for (int i = 0; i < more && motion.rows() <= 10 && least >= kClear;
           ++i) {  // long rows, without their tubes
        const Sample s = motion.along(row, static_cast<double>(i) / more, {});
        o_.place(s.q.data(), s.base);
        least = std::min(least, o_.nearest().excess);
      }
      for (int i = 0; i <= samples; ++i)
        look(motion.along(row, static_cast<double>(i) / samples,
                          {((row + i) % 3 - 1) * m_.envelope.jitter, (row + i / 3) % 2 * 1.0,
                           uniform(r_, 0, 1)}));
    }
    for (int i = 0; i < 30 && motion.rolls(); ++i) look(motion.brake(uniform(r_, 0, 1), luck(c)));
    for (int i = 0; i < 60 && motion.coasts(); ++i) look(coasted(c, motion, motion.rows() - 1));
    for (int row = 0; row + 1 < motion.rows() && motion.coasts(); ++row)
      for (int i = 0; i < 6; ++i) look(coasted(c, motion, row));
    return least;
  }

 private:
  struct Found {
    Sample sample;
    Near near;
  };

  // About how far the robot goes on the way to a row, m.
  double way(const Motion& motion, int row) const {
    const Sample from = motion.along(row, 0, {}), to = motion.along(row, 1, {});
    double out = norm(to.base - from.base);
    for (std::size_t j = 0; j < from.q.size(); ++j) out += std::abs(to.q[j] - from.q[j]) * 0.5;
    return out;
  }

  void keep(const Sample& s) {
    o_.place(s.q.data(), s.base);
    const Near near = o_.nearest();
    if (best_.size() < 3) {
      best_.push_back({s, near});
    } else {
      auto most = std::max_element(best_.begin(), best_.end(), [](const Found& a, const Found& b) {
        return a.near.excess < b.near.excess;
      });
      if (near.excess < most->near.excess) *most = {s, near};
    }
  }

  void sweep(const Case& c, const Motion& motion) {
    const int samples = 4;
    keep(motion.along(0, 0, {}));
    for (int row = 0; row < motion.rows(); ++row)
      for (int i = 0; i < samples; ++i)
        keep(motion.along(row, (i + uniform(r_, 0, 1)) / samples, luck(c)));
    for (int i = 0; i < 4 && motion.rolls(); ++i) keep(motion.brake(uniform(r_, 0, 1), luck(c)));
    if (motion.coasts()) {
      for (int i = 0; i < 6; ++i) keep(coasted(c, motion, motion.rows() - 1));
      keep(motion.coast(motion.rows() - 1, 1, 1, 1, {m_.envelope.jitter, 1}));
      for (int row = 0; row + 1 < motion.rows(); row += 3) keep(coasted(c, motion, row));
    }
    // Closer in time around the worst of them.
    for (Found& f : best_) {
      if (f.sample.coasting) continue;
      double width = 1.0 / samples;
      for (int i = 0; i < 14; ++i, width *= 0.6) {
        const double part = std::clamp(f.sample.part + uniform(r_, -width, width), 0.0, 1.0);
        const Sample other = motion.along(f.sample.row, part, f.sample.luck);
        o_.place(other.q.data(), other.base);
        const double e = o_.excess(f.near.kind, f.near.a, f.near.b);
        if (f.near.kind != Near::kNothing && e < f.near.excess) {
          f.near.excess = e;
          f.sample = other;
        }
      }
    }
  }

  Luck luck(const Case& c) {
    return {pick(r_, -1, 1) * m_.envelope.jitter, c.age > 0 ? pick(r_, 0, 1) * 1.0 : 0.0,
            uniform(r_, 0, 1)};
  }
  Sample coasted(const Case& c, const Motion& motion, int row) {
    const double part = chance(r_, 0.5) ? 1 : uniform(r_, 0, 1);
    return motion.coast(row, part, uniform(r_, 0, 1), uniform(r_, 0, 1), luck(c));
  }

  // The worst that tracking errors can make of a sample: each joint errs where it hurts.
  double tube(const Sample& s, const Near& near) {
    double least = near.excess;
    if (near.kind == Near::kNothing) return least;
    Sample other = s;
    Sample corner = s;
    for (std::size_t j = 0; j < s.width.size(); ++j) {
      if (s.width[j] == 0) continue;
      double& value = j < s.q.size() ? other.q[j] : other.base[j - s.q.size()];
      const double was = value;
      double slope[2];
      for (int side = 0; side < 2; ++side) {
        value = was + (side ? 1 : -1) * std::min(s.width[j], 1e-3);
        o_.place(other.q.data(), other.base);
        slope[side] = o_.excess(near.kind, near.a, near.b);
      }
      value = was;
      double& at = j < s.q.size() ? corner.q[j] : corner.base[j - s.q.size()];
      at += slope[0] < slope[1] ? -s.width[j] : s.width[j];
    }
    o_.place(corner.q.data(), corner.base);
    least = std::min(least, o_.nearest().excess);
    double size = 0;
    for (double w : s.width) size += w;
    return size > 0.02 ? std::min(least, search(s, near, corner)) : least;
  }

  // The worst place of a wide tube, wherever it is: many guesses, then downhill from the best.
  double hunt(const Sample& s) {
    std::vector<std::pair<double, Sample>> best;
    for (int i = 0; i < 400; ++i) {
      Sample at = s;
      for (std::size_t j = 0; j < s.width.size(); ++j) {
        const double by = chance(r_, 0.6) ? (chance(r_, 0.5) ? 1 : -1) : uniform(r_, -1, 1);
        (j < s.q.size() ? at.q[j] : at.base[j - s.q.size()]) += by * s.width[j];
      }
      o_.place(at.q.data(), at.base);
      best.emplace_back(o_.nearest().excess, at);
    }
    const auto closer = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::partial_sort(best.begin(), best.begin() + 4, best.end(), closer);
    double least = best[0].first;
    for (int i = 0; i < 4; ++i) {
      const Sample& at = best[static_cast<std::size_t>(i)].second;
      o_.place(at.q.data(), at.base);
      const Near near = o_.nearest();
      if (near.kind != Near::kNothing) least = std::min(least, search(s, near, at));
    }
    return least;
  }

  // A wide tube is not flat: goes on from a corner, joint by joint, while it gets worse.
  double search(const Sample& s, const Near& near, Sample at) {
    o_.place(at.q.data(), at.base);
    double least = o_.excess(near.kind, near.a, near.b);
    for (int round = 0; round < 3; ++round)
      for (std::size_t j = 0; j < s.width.size(); ++j) {
        if (s.width[j] == 0) continue;
        double& value = j < s.q.size() ? at.q[j] : at.base[j - s.q.size()];
        const double middle = j < s.q.size() ? s.q[j] : s.base[j - s.q.size()], was = value;
        double best = was;
        for (double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
          value = middle + share * s.width[j];
          o_.place(at.q.data(), at.base);
          const double e = o_.excess(near.kind, near.a, near.b);
          if (e < least) {
            least = e;
            best = value;
          }
        }
        value = best;
      }
    return least;
  }

  void limits(const Case& c, const Motion& motion, Trial& out) {
    const openral::Envelope& e = m_.envelope;
    const double more = 1 + 1e-5;
    bool joints = true;
    for (const Slot& s : c.slots) {
      if (s.mode == Mode::kBodyTwist)
        for (int r = 0; r < c.rows; ++r)
          if (std::hypot(s.at(r, 0), s.at(r, 1)) > e.base_speed * more ||
              std::abs(s.at(r, 2)) > e.base_rate * more)
            out.broken = "base speed";
      joints = joints && (s.mode == Mode::kJointPosition || s.mode == Mode::kJointVelocity ||
                          s.mode == Mode::kJointTrajectory);
    }
    if (!joints) return;
    // A tool that follows its path by joints varies its speed a little.
    const double speed_slack = out.resolved ? 1.021 : 1 + 1e-4;
    std::vector<Vec> tools;
    for (int r = 0; r < c.rows; ++r)
      for (int i = r == 0 ? 0 : 1; i <= 2; ++i) {
        // Row 0 begins where the robot is expected to be by now.
        const Sample s = motion.along(r, i / 2.0, {0, 0.5}), last = motion.along(r, 0, {0, 0.5});
        for (std::size_t j = 0; j < s.q.size() && i == 2; ++j) {
          const openral::Coordinate& k = m_.coordinates[j];
          if (k.role != Role::kBody) continue;
          const double gone = std::abs(c.qd[j]) * c.age;
          const double slack = 2e-6 + (r == 0 ? k.tracking + gone : 0);
          if (s.q[j] < std::min(k.lower, c.q[j]) - 2e-6 - gone ||
              s.q[j] > std::max(k.upper, c.q[j]) + 2e-6 + gone)
            out.broken = "position of " + k.name;
          if (std::abs(s.q[j] - last.q[j]) > k.velocity * c.dt * more + slack)
            out.broken = "velocity of " + k.name;
        }
        o_.place(s.q.data(), s.base);
        for (std::size_t t = 0; t < m_.tools.size(); ++t) {
          const Vec p = o_.in_base(o_.tool(t).at);
          if (tools.size() == m_.tools.size()) {
            if (norm(p - tools[t]) / (c.dt / 2) > e.tool_speed * speed_slack + 1e-5)
              out.broken = "tool speed";
            tools[t] = p;
          } else {
            tools.push_back(p);
          }
          for (std::size_t k = 0; k < 3; ++k)
            if (p[k] < e.workspace_lower[k] - 2e-6 || p[k] > e.workspace_upper[k] + 2e-6)
              out.broken = "workspace";
        }
      }
  }

  Random& r_;
  const RobotModel& m_;
  Oracle& o_;
  std::vector<Found> best_;
};

}  // namespace fuzz
