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
};

struct Trial {
  openral::Verdict verdict;
  double excess = 1e9;  // of the true motion with its tracking tube, beyond the margin
  Near worst;
  std::string broken;  // limit that the motion breaks
  bool judged = true;
};

class Judge {
 public:
  Judge(Random& r, const RobotModel& m, Oracle& oracle) : r_(r), m_(m), o_(oracle) {}

  void look(const Case& c, Trial& out) {
    const Motion motion(m_, c);
    const Slot* tool = nullptr;
    for (const Slot& s : c.slots)
      if (s.mode == Mode::kCartesianDelta || s.mode == Mode::kCartesianPose ||
          s.mode == Mode::kCartesianTwist)
        tool = &s;
    best_.clear();
    if (tool != nullptr) {
      follow(c, motion, *tool, out);
    } else {
      sweep(c, motion);
    }
    for (Found& f : best_) {
      const double here = tube(f.sample, f.near);
      if (here < out.excess) {
        out.excess = here;
        out.worst = f.near;
      }
    }
    limits(c, motion, out);
  }

  // The same with far more samples, each with the tube of all that is near: before a refusal is
  // called false.
  double thorough(const Case& c) {
    const Motion motion(m_, c);
    double least = 1e9;
    const auto look = [&](const Sample& s) {
      double reach = 0;
      for (std::size_t j = 0; j < s.width.size(); ++j) reach += s.width[j] * 1.5;
      o_.place(s.q.data(), s.base);
      for (const Near& near : o_.within(std::min(least, 0.05) + reach))
        least = std::min(least, tube(s, near));
    };
    const int samples = c.rows > 60 ? 4 : 10;
    for (int row = 0; row < c.rows; ++row)
      for (int i = 0; i <= samples; ++i)
        look(motion.along(row, static_cast<double>(i) / samples,
                          (row + i) % 3 - 1 ? m_.envelope.jitter * ((row + i) % 3 - 1) : 0));
    for (int i = 0; i < 60 && motion.coasts(); ++i)
      look(motion.coast(c.rows - 1, uniform(r_, 0, 1), uniform(r_, 0, 1),
                        pick(r_, -1, 1) * m_.envelope.jitter));
    for (int row = 0; row + 1 < c.rows; ++row)
      for (int i = 0; i < 6 && turns(c, row); ++i)
        look(motion.coast(row, uniform(r_, 0, 1), uniform(r_, 0, 1), 0));
    return least;
  }

 private:
  struct Found {
    Sample sample;
    Near near;
  };

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
    const double jitter = m_.envelope.jitter;
    const int samples = 4;
    keep(motion.along(0, 0, 0));
    for (int row = 0; row < c.rows; ++row)
      for (int i = 0; i < samples; ++i)
        keep(motion.along(row, (i + uniform(r_, 0, 1)) / samples, pick(r_, -1, 1) * jitter));
    if (motion.coasts()) {
      for (int i = 0; i < 6; ++i)
        keep(motion.coast(c.rows - 1, uniform(r_, 0, 1), uniform(r_, 0, 1),
                          pick(r_, -1, 1) * jitter));
      keep(motion.coast(c.rows - 1, 1, 1, jitter));
      for (int row = 0; row + 1 < c.rows; row += 3)
        if (turns(c, row)) keep(motion.coast(row, 0, uniform(r_, 0, 1), 0));
    }
    // Closer in time around the worst of them.
    for (Found& f : best_) {
      if (f.sample.coasting) continue;
      double width = 1.0 / samples;
      for (int i = 0; i < 14; ++i, width *= 0.6) {
        const double part = std::clamp(f.sample.part + uniform(r_, -width, width), 0.0, 1.0);
        const Sample other = motion.along(f.sample.row, part, f.sample.jitter);
        o_.place(other.q.data(), other.base);
        const double e = o_.excess(f.near.kind, f.near.a, f.near.b);
        if (f.near.kind != Near::kNothing && e < f.near.excess) {
          f.near.excess = e;
          f.sample = other;
        }
      }
    }
  }

  static bool turns(const Case& c, int row) {
    for (const Slot& s : c.slots)
      if (s.mode == Mode::kBodyTwist)
        for (int k = 0; k < 3; ++k)
          if (s.at(row, k) != s.at(row + 1, k)) return true;
    return false;
  }

  void follow(const Case& c, const Motion& motion, const Slot& slot, Trial& out) {
    Follower follower(m_, o_, c, slot);
    int found = 0;
    for (int row = 0; row < c.rows; ++row)
      for (int i = 0; i < 5; ++i) {
        Sample s;
        const double part = (i + uniform(r_, 0, 1)) / 5;
        if (!follower.sample(r_, row, part, s)) continue;
        const Sample base = motion.along(row, part, 0);
        s.base = base.base;
        std::copy(base.width.end() - 3, base.width.end(), s.width.end() - 3);
        ++found;
        keep(s);
      }
    out.judged = found > 0;
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
    std::vector<Vec> tools;
    for (int r = 0; r < c.rows; ++r)
      for (int i = r == 0 ? 0 : 1; i <= 2; ++i) {
        const Sample s = motion.along(r, i / 2.0, 0), last = motion.along(r, 0, 0);
        for (std::size_t j = 0; j < s.q.size() && i == 2; ++j) {
          const openral::Coordinate& k = m_.coordinates[j];
          if (k.role != Role::kBody) continue;
          const double slack = 2e-6 + (r == 0 ? k.tracking : 0);
          if (s.q[j] < std::min(k.lower, c.q[j]) - 2e-6 ||
              s.q[j] > std::max(k.upper, c.q[j]) + 2e-6)
            out.broken = "position of " + k.name;
          if (std::abs(s.q[j] - last.q[j]) > k.velocity * c.dt * more + slack)
            out.broken = "velocity of " + k.name;
        }
        o_.place(s.q.data(), s.base);
        for (std::size_t t = 0; t < m_.tools.size(); ++t) {
          const Vec p = o_.in_base(o_.tool(t).at);
          if (tools.size() == m_.tools.size()) {
            if (norm(p - tools[t]) / (c.dt / 2) > e.tool_speed * (1 + 1e-4) + 1e-5)
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
