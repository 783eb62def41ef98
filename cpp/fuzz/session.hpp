// One robot and a kernel for it: shots at the kernel, each judged by the oracle.
#pragma once

#include <deque>

#include "limits.hpp"
#include "openral/kernel.hpp"
#include "place.hpp"
#include "recovery.hpp"
#include "tally.hpp"
#include "wire.hpp"
#include "withheld.hpp"

namespace fuzz {

using openral::Status;

constexpr double kClear = 0.002;  // m beyond the margin at which a refusal is false

struct Settings {
  std::uint64_t seed = 1;
  int mode = -1;       // only this one of kTried
  double audit = 0.1;  // share of shots whose refusals are judged too
  Withheld withheld = Withheld::kNothing;
};

class Session {
 public:
  Session(const Settings& settings, long number, RobotModel robot, Totals& totals)
      : settings_(settings),
        number_(number),
        r_(settings.seed * 1'000'003 + static_cast<std::uint64_t>(number)),
        m_(std::move(robot)),
        totals_(totals) {}

  void run(int shots, bool own) {
    if (own) m_ = drawn_robot(r_);
    loosen(r_, m_);
    openral::KernelOptions options;
    options.scalar_only = chance(r_, 0.2);
    openral::Kernel kernel(without(settings_.withheld, m_), options);
    for (shot_ = 0; shot_ < shots; ++shot_) {
      const int mode = settings_.mode >= 0 ? settings_.mode : draw_mode();
      if (kTried[mode] == Mode::kBodyTwist && !m_.mobile) continue;
      if (by_tool(kTried[mode]) && m_.tools.empty()) continue;
      bool grips = false;
      for (const openral::EndEffector& t : m_.tools) grips = grips || t.gripper >= 0;
      if (kTried[mode] == Mode::kGripperPosition && !grips) continue;
      shoot(kernel, mode);
    }
  }

 private:
  struct Trial {
    openral::Verdict verdict;
    bool resolved = false, judged = true, recovering = false;
    Finding worst;
    std::string broken;
  };

  static bool refused(Status s) {
    return s == Status::kSelfCollision || s == Status::kWorldCollision ||
           s == Status::kVoxelCollision || s == Status::kUnproven || s == Status::kBudgetExceeded;
  }

  void shoot(openral::Kernel& kernel, int mode) {
    attached_ = draw_attached(r_, m_);
    Figure figure(m_, attached_);
    Scene scene;
    Caster caster(r_, m_, figure);
    const bool inwards =
        kTried[mode] == Mode::kJointPosition && chance(r_, 0.4) && !m_.pairs.empty();
    Case asked =
        inwards ? caster.towards_itself(uniform(r_, -0.002, 0.01)) : caster.draw(kTried[mode]);
    if (asked.slots.empty()) return;
    figure.place(asked.q.data());
    if (!attached_.empty() && self_excess(figure) < 0.002) return;
    Trial t;
    // Some start too close to something, recovering.
    t.recovering = chance(r_, 0.04);
    if (t.recovering) calm(asked);
    for (const Slot& s : asked.slots) t.resolved = t.resolved || by_tool(s.mode);
    const std::vector<std::byte> bytes = encode(m_, asked);
    Case c = asked;
    Grid grid;
    if (t.resolved) {  // what it would do if nothing stood in the way
      judge(kernel, scene, grid, asked, bytes, false, t);
      t.judged = !kernel.rewritten().empty();
      if (t.judged) {
        c = at_full_speed(executed(m_, asked, kernel.rewritten()), t.verdict.speed_factor);
        goals_.clear();
      } else if (t.verdict.status == Status::kUnsolved && chance(r_, settings_.audit)) {
        miss(totals_.tallies[mode], figure, asked);
      }
    }
    if (kernel.gate() != openral::Gate::kReady) goals_.clear();
    in_force(c);
    in_force(asked);
    if (t.judged) furnish(figure, scene, c, inwards, grid, t.recovering);
    judge(kernel, scene, grid, asked, bytes, t.recovering, t);
    if (t.verdict.accepted && t.verdict.rewritten) {
      Case now = executed(m_, asked, kernel.rewritten());
      if (!t.recovering && t.judged) retrace(c, now, t.verdict.speed_factor, t);
      now.goals = c.goals;
      c = now;
    }
    if (t.verdict.accepted && !t.verdict.whole)
      c.valid = static_cast<double>(t.verdict.valid_ns) * 1e-9;
    const bool leads_out = t.recovering && kernel.gate() == openral::Gate::kRecovering;
    const bool audited = chance(r_, settings_.audit) && !t.recovering && plain(c);
    if (t.judged && (t.verdict.accepted || (audited && refused(t.verdict.status)))) {
      Search search(r_, figure, scene, c);
      if (leads_out) {
        if (t.verdict.accepted) t.broken = recovery_broken(search, figure, scene, c);
      } else {
        Effort effort;
        if (audited) effort.starts = 6;
        t.worst = search.worst(audited ? kClear : 0, effort);
      }
      if (t.verdict.accepted) {
        ++totals_.searched;
        if (t.resolved) compare(figure, asked, c, search.joints(), t);
        const std::string limit = Limits(figure, c, search.joints(), t.resolved).broken();
        if (!limit.empty()) t.broken = limit;
        keep_goals(c);
      }
    }
    count(c, asked, t, unbounded(c) ? kUnbounded : mode, audited);
  }

  // Cases that recovery is judged by: slow, from rest, measured just now.
  void calm(Case& c) {
    const double share = 0.9 * m_.envelope.recovery_speed;
    std::fill(c.qd.begin(), c.qd.end(), 0.0);
    c.age = c.odometry_age = 0;
    c.things = c.cells = View{c.odometry, c.odometry, false, 0.01};
    for (Slot& s : c.slots) {
      if (by_place(s.mode))
        for (int r = 0; r < c.rows; ++r)
          for (std::size_t k = 0; k < s.coordinates.size(); ++k) {
            const double q = c.q[static_cast<std::size_t>(s.coordinates[k])];
            double& v = s.data[static_cast<std::size_t>(r) * s.coordinates.size() + k];
            v = q + share * (v - q);
          }
      else if (s.mode == Mode::kJointVelocity || s.mode == Mode::kBodyTwist ||
               s.mode == Mode::kCartesianTwist || s.mode == Mode::kCartesianDelta)
        for (double& v : s.data) v *= share;
    }
  }

  // Tells the kernel all it may know, and asks it.
  void judge(openral::Kernel& kernel, const Scene& scene, const Grid& grid, const Case& c,
             const std::vector<std::byte>& bytes, bool recovering, Trial& t) {
    now_ += 400'000'000;
    const auto ago = [&](double s) { return now_ - static_cast<std::int64_t>(s * 1e9); };
    const Withheld no = settings_.withheld;
    if (kernel.gate() != openral::Gate::kReady) kernel.reset();
    if (m_.mobile) {
      if (!c.things.fixed && c.things.age > c.odometry_age) {
        const bool between = norm(c.things.to - c.things.from) > 0;
        put_base(kernel, c.things.from, ago(c.things.age + (between ? 0.01 : 0)));
        if (between && norm(c.things.to - c.odometry) > 0)
          put_base(kernel, c.things.to, ago(c.things.age - 0.01));
      } else {
        put_base(kernel, c.odometry, ago(c.odometry_age + 0.1));
      }
      put_base(kernel, c.odometry, ago(no == Withheld::kAge ? 0 : c.odometry_age));
    }
    std::vector<openral::Held> held;
    for (const Attached& a : attached_)
      held.push_back({a.id, a.link, a.p0, a.p1, a.radius, a.touches});
    if (no == Withheld::kAttached) held.clear();
    const std::int64_t seen = ago(m_.mobile ? c.things.age : 0.01);
    kernel.set_world(primitives(scene), seen, held, c.things.fixed);
    const std::uint8_t nothing = 0;
    if (grid.side > 0)
      kernel.set_voxels(grid.cells.data(), grid.shape, grid.origin, grid.side, seen, c.cells.fixed);
    else
      kernel.set_voxels(&nothing, {1, 1, 1}, c.cells.fixed ? c.odometry : Vec{}, 0.05, seen,
                        c.cells.fixed);
    std::vector<double> qd = c.qd;
    if (no == Withheld::kFound) std::fill(qd.begin(), qd.end(), 0.0);
    kernel.set_state(c.q, qd, ago(no == Withheld::kAge ? 0 : c.age));
    if (recovering) {
      kernel.estop();
      kernel.recover();
    }
    t.verdict = kernel.validate(bytes, now_);
    if (recovering) t.recovering = true;
  }
  static void put_base(openral::Kernel& kernel, const Vec& at, std::int64_t stamp) {
    kernel.set_base(at[0], at[1], at[2], stamp);
  }
  static std::vector<openral::Primitive> primitives(const Scene& scene) {
    std::vector<openral::Primitive> out;
    for (const Thing& t : scene.things) {
      openral::Primitive p;
      p.box = t.box;
      p.id = t.id;
      p.p0 = t.p0;
      p.p1 = t.p1;
      p.half = t.half;
      p.radius = t.radius;
      for (std::size_t i = 0; i < 3; ++i) {
        p.rotation[3 * i] = t.axes.x[i];
        p.rotation[3 * i + 1] = t.axes.y[i];
        p.rotation[3 * i + 2] = t.axes.z[i];
      }
      out.push_back(p);
    }
    return out;
  }

  // Obstacles that graze what the chunk may do.
  void furnish(Figure& figure, Scene& scene, const Case& c, bool inwards, Grid& grid, bool inside) {
    Search search(r_, figure, scene, c);
    Placer placer(r_, figure, c);
    // What would stop the robot elsewhere on its way anyway teaches little.
    const auto blocks = [&](Kind kind, std::size_t first, std::size_t end) {
      if (inside) return false;
      std::vector<double> q(c.q.size());
      const std::vector<double> knobs(
          static_cast<std::size_t>(std::max(search.base().knobs(), BaseMotion::kChanges)), 0.0);
      for (int row = 0; row < c.rows; row += 1 + c.rows / 12) {
        for (std::size_t j = 0; j < q.size(); ++j) q[j] = search.joints().nominal(j, row, 0.5);
        const Vec pose =
            m_.mobile ? search.base().relative(c.things, (row + 0.5) * c.dt, knobs.data()) : Vec{};
        for (std::size_t b = 0; b < figure.bodies.size(); ++b)
          for (std::size_t k = first; k < end && figure.bodies[b].outside; ++k)
            if (search.excess({kind, static_cast<int>(b), static_cast<int>(k)}, q.data(), pose,
                              pose) < -0.006)
              return chance(r_, 0.9);
      }
      return false;
    };
    for (int i = inwards ? 0 : pick(r_, inside ? 1 : 0, 3); i-- > 0;) {
      const bool voxel = grid.side == 0 && chance(r_, 0.4);
      Placer::Spot spot;
      if (!placer.spot(search, inside && chance(r_, 0.7) ? 0.001 : c.rows, voxel, spot)) continue;
      if (inside) spot.at = spot.at - uniform(r_, 0, 0.01) * spot.normal;
      if (voxel) {
        grid = placer.grid(spot);
        scene.cells = centres(grid);
        scene.side = grid.side;
        if (blocks(Kind::kCell, 0, scene.cells.size())) {
          scene.cells.clear();
          grid = {};
        }
      } else {
        scene.things.push_back(placer.thing(spot, i));
        if (blocks(Kind::kThing, scene.things.size() - 1, scene.things.size()))
          scene.things.pop_back();
      }
    }
  }

  // Whether a slowed chunk leads where the other does.
  static void retrace(const Case& c, const Case& slow, double factor, Trial& out) {
    if (std::abs(slow.dt * factor - c.dt) > 1e-12) out.broken = "the slowed timing";
    for (std::size_t i = 0; i < c.slots.size(); ++i) {
      const Slot &a = c.slots[i], &b = slow.slots[i];
      const bool rates = a.mode == Mode::kJointVelocity || a.mode == Mode::kBodyTwist;
      for (std::size_t k = 0; k < a.data.size(); ++k)
        if (std::abs(a.data[k] * (rates ? c.dt : 1) - b.data[k] * (rates ? slow.dt : 1)) > 1e-9)
          out.broken = "the slowed path";
    }
  }
  // Whether the tools keep to what was asked of them.
  void compare(Figure& figure, const Case& asked, const Case& done, const JointMotion& joints,
               Trial& out) {
    std::vector<double> q(asked.q.size());
    for (const Slot& s : asked.slots) {
      if (!by_tool(s.mode)) continue;
      Follower follower(m_, figure, asked, s);
      for (int row = 0; row < done.rows; ++row)
        for (int i = 0; i < 2; ++i) {
          const double part = uniform(r_, 0, 1);
          for (std::size_t j = 0; j < q.size(); ++j) q[j] = joints.nominal(j, row, part);
          const auto off = follower.missed(q, row, part);
          if (off[0] > m_.envelope.follow_shift * (1 + 1e-6) + 1e-7 ||
              off[1] > m_.envelope.follow_turn * (1 + 1e-6) + 1e-7)
            out.broken = "the tool's path";
        }
    }
  }
  void miss(Tally& tally, Figure& figure, const Case& c) {
    ++tally.unsolved;
    bool can = true;
    for (const Slot& s : c.slots)
      can = can && (!by_tool(s.mode) || Follower(m_, figure, c, s).followable());
    tally.followable += can ? 1 : 0;
  }

  // Grippers go on to the goals of the last two chunks that owned them.
  void in_force(Case& c) const {
    c.goals.clear();
    for (std::size_t j = 0; j < c.q.size(); ++j) {
      int chunks = 0;
      for (const auto& chunk : goals_) {
        bool owns = false;
        for (const auto& [coordinate, goal] : chunk)
          if (static_cast<std::size_t>(coordinate) == j) {
            owns = true;
            if (chunks < 2 && !std::isnan(goal)) c.goals.push_back({coordinate, goal});
          }
        chunks += owns ? 1 : 0;
      }
    }
  }
  void keep_goals(const Case& c) {
    std::vector<std::array<double, 2>> goals;
    for (const Slot& s : c.slots)
      for (std::size_t k = 0; k < s.coordinates.size(); ++k) {
        const auto j = static_cast<std::size_t>(s.coordinates[k]);
        const openral::Coordinate& l = m_.coordinates[j];
        if (l.role != Role::kGripper) continue;
        // One that was driven by speed or torque stays where that ended: it has no goal.
        const bool goes_on = s.mode != Mode::kJointVelocity && s.mode != Mode::kJointTorque;
        if (!goes_on) goals.push_back({static_cast<double>(j), std::nan("")});
        for (int r = 0; r < c.rows && goes_on; ++r)
          goals.push_back(
              {static_cast<double>(j), JointMotion::goal(s, r, static_cast<int>(k), l)});
      }
    goals_.push_front(goals);
    if (goals_.size() > 40) goals_.pop_back();
  }

  bool unbounded(const Case& c) const {
    for (const Slot& s : c.slots)
      for (int j : s.coordinates) {
        const openral::Coordinate& k = m_.coordinates[static_cast<std::size_t>(j)];
        if (s.mode == Mode::kJointTorque && k.role == Role::kBody && !(k.acceleration < 1e6))
          return true;
      }
    return false;
  }
  // Nothing open about the base: refusals are judged only then.
  bool plain(const Case& c) const {
    return !m_.mobile ||
           (norm(c.things.from - c.odometry) == 0 && norm(c.things.to - c.odometry) == 0);
  }

  // Any mode; more of those of which few are clear or few robots are capable.
  int draw_mode() {
    const auto index = [](Mode mode) {
      return static_cast<int>(std::find(kTried, kTried + kModes, mode) - kTried);
    };
    if (m_.mobile && chance(r_, 0.25)) return index(Mode::kBodyTwist);
    bool bounded = true;
    for (const openral::Coordinate& c : m_.coordinates) bounded = bounded && c.acceleration < 1e6;
    if (!bounded && chance(r_, 0.1)) return index(Mode::kJointTorque);
    return pick(r_, 0, kModes - 1);
  }

  void count(const Case& c, const Case& asked, const Trial& t, int mode, bool audited) {
    Tally& tally = totals_.tallies[mode];
    ++tally.chunks;
    tally.segments += c.rows;
    totals_.segments += c.rows;
    ++totals_.statuses[static_cast<std::size_t>(t.verdict.status)];
    const bool wrong = t.verdict.accepted && (t.worst.excess < -2e-6 || !t.broken.empty());
    if (t.verdict.accepted) {
      ++tally.accepted;
      tally.accepted_segments += c.rows;
      if (wrong) {
        ++tally.false_accepts;
        describe(c, t, mode);
      }
    }
    behaviours(c, asked, t, wrong);
    if (!audited || !(t.verdict.accepted || refused(t.verdict.status)) || !t.judged) return;
    ++totals_.audited;
    if (t.worst.excess < kClear) return;
    ++tally.clear;
    if (t.verdict.accepted) return;
    ++tally.refused_clear;
    if (std::getenv("OPENRAL_FUZZ_REJECTS"))
      std::fprintf(stderr, "false reject: scene %ld shot %d %s: %.4f %s row %d/%d work %d\n",
                   number_, shot_, kNames[mode], t.worst.excess,
                   openral::status_name(t.verdict.status), t.verdict.row, c.rows, t.verdict.work);
  }

  void behaviours(const Case& c, const Case& asked, const Trial& t, bool wrong) {
    bool found = false, commanded = false, joints = false, speeds = false, pushed = false;
    bool frame = false, grips = false, on_gripper = false, uncommanded = false;
    std::vector<bool> owned(c.q.size());
    for (const Slot& s : asked.slots) frame = frame || (by_tool(s.mode) && !s.frame.empty());
    for (const Slot& s : c.slots) {
      commanded = commanded || s.mode == Mode::kBodyTwist;
      speeds = speeds || s.mode == Mode::kJointVelocity;
      pushed = pushed || s.mode == Mode::kJointTorque;
      for (int j : s.coordinates) {
        const Role role = m_.coordinates[static_cast<std::size_t>(j)].role;
        owned[static_cast<std::size_t>(j)] = true;
        joints = joints || role == Role::kBase;
        grips = grips || role == Role::kGripper;
      }
    }
    for (std::size_t j = 0; j < owned.size(); ++j)
      uncommanded =
          uncommanded || (!owned[j] && m_.coordinates[j].role == Role::kBody && c.qd[j] != 0);
    for (int j : m_.base) found = found || (j >= 0 && c.qd[static_cast<std::size_t>(j)] != 0);
    for (const Attached& a : attached_)
      for (int link = a.link; link > 0;
           link = m_.joints[static_cast<std::size_t>(link) - 1].parent) {
        const openral::Joint& j = m_.joints[static_cast<std::size_t>(link) - 1];
        on_gripper = on_gripper || (j.kind != openral::JointKind::kFixed &&
                                    m_.coordinates[static_cast<std::size_t>(j.coordinate)].role ==
                                        Role::kGripper);
      }
    const bool is[kBehaviours] = {speeds,
                                  found,
                                  commanded || joints,
                                  joints,
                                  !attached_.empty(),
                                  on_gripper,
                                  grips || !c.goals.empty(),
                                  c.age > 0,
                                  m_.mobile && c.odometry_age > 0,
                                  m_.mobile && norm(c.things.to - c.things.from) > 0,
                                  m_.mobile && !c.things.fixed && c.things.age < c.odometry_age,
                                  m_.mobile && m_.differential,
                                  m_.mobile && std::abs(c.odometry[2]) > 3,
                                  t.recovering,
                                  t.verdict.speed_factor < 1,
                                  frame,
                                  m_.envelope.jitter > 0 && (speeds || commanded),
                                  m_.coordinates[0].tracking > 0,
                                  pushed,
                                  uncommanded};
    for (int i = 0; i < kBehaviours; ++i) {
      if (!is[i]) continue;
      Count& b = totals_.behaviours[i];
      b.segments += c.rows;
      b.accepted_segments += t.verdict.accepted ? c.rows : 0;
      b.false_accepts += wrong ? 1 : 0;
    }
    if (!wrong) return;
    std::string& text = totals_.findings.back();
    text += " behaviours:";
    for (int i = 0; i < kBehaviours; ++i)
      if (is[i]) text += std::string(" ") + kBehaviourNames[i];
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  void describe(const Case& c, const Trial& t, int mode) {
    char text[512];
    const char* kinds[] = {"nothing", "itself", "an obstacle", "a voxel"};
    std::snprintf(
        text, sizeof text,
        "false accept: seed %llu scene %ld shot %d %s slots %zu rows %d dt %.4g: %s %.3f mm "
        "from %s (body %d, %d) at row %.2f",
        static_cast<unsigned long long>(settings_.seed), number_, shot_, kNames[mode],
        c.slots.size(), c.rows, c.dt, t.broken.c_str(),
        t.worst.excess < 1 ? t.worst.excess * 1e3 : 999.0,
        kinds[static_cast<int>(t.worst.touch.kind)], t.worst.touch.a, t.worst.touch.b,
        t.worst.time);
    std::string line = text;
    if (m_.mobile) {
      line += " knobs";
      for (double k : t.worst.knobs) {
        std::snprintf(text, sizeof text, " %.2f", k);
        line += text;
      }
    }
    totals_.findings.push_back(line);
  }

  Settings settings_;
  long number_;
  int shot_ = 0;
  Random r_;
  RobotModel m_;
  Totals& totals_;
  std::vector<Attached> attached_;
  std::deque<std::vector<std::array<double, 2>>> goals_;
  std::int64_t now_ = 1'000'000'000;
};

}  // namespace fuzz
