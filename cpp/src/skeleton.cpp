#include "openral/skeleton.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>

namespace openral {
namespace {

constexpr double kUnit = 1.0 / (1 << 24);  // rounding unit of a float
constexpr double kPastLimits = 0.1;        // rad or m: how far outside its limits a joint may start

double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double norm(const Vec3& a) { return std::sqrt(dot(a, a)); }
Vec3 axpy(double s, const Vec3& a, const Vec3& b) {
  return {s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2]};
}
Vec3 rotate(const Pose& pose, const Vec3& v) {
  Vec3 out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k) out[i] += pose.rotation[3 * i + k] * v[k];
  return out;
}
Vec3 transform(const Pose& pose, const Vec3& v) {
  return axpy(1, rotate(pose, v), pose.translation);
}
Vec3 turn(const Vec3& axis, double angle, const Vec3& v) {
  const double c = std::cos(angle), s = std::sin(angle);
  const Vec3 n{axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2],
               axis[0] * v[1] - axis[1] * v[0]};
  return axpy(dot(axis, v) * (1 - c), axis, axpy(s, n, {c * v[0], c * v[1], c * v[2]}));
}

// Everywhere a capsule's segment can be, seen from one frame: a ball, and at first the segment.
struct Ball {
  Vec3 centre{};
  double radius = 0;
  bool segment = false;
  Vec3 p0{}, p1{};
};

Ball around(const Vec3& p0, const Vec3& p1) {
  const Vec3 middle{(p0[0] + p1[0]) / 2, (p0[1] + p1[1]) / 2, (p0[2] + p1[2]) / 2};
  return {middle, norm(axpy(-1, middle, p0)), true, p0, p1};
}

Ball moved(const Ball& ball, const auto& by) {
  return {by(ball.centre), ball.radius, ball.segment, by(ball.p0), by(ball.p1)};
}

double off_axis(const Vec3& axis, const Vec3& p) { return norm(axpy(-dot(axis, p), axis, p)); }

// Farthest distance from the joint's axis; on a segment it is at one of its ends.
double lever(const MovingFrame& f, const Ball& b) {
  if (!f.revolute) return 1;
  const double bound = off_axis(f.exact_axis, b.centre) + b.radius;
  if (!b.segment) return bound;
  return std::min(bound, std::max(off_axis(f.exact_axis, b.p0), off_axis(f.exact_axis, b.p1)));
}

// A ball around everything a full turn of the segment reaches.
Ball whirled(const Vec3& axis, const Ball& b) {
  const double z0 = dot(axis, b.p0), z1 = dot(axis, b.p1), middle = (z0 + z1) / 2;
  const double radius = std::max(std::hypot(off_axis(axis, b.p0), z0 - middle),
                                 std::hypot(off_axis(axis, b.p1), z1 - middle));
  return {axpy(middle, axis, Vec3{}), radius, false, {}, {}};
}

// The ball after the joint has taken every value in [low, high]: an arc's smallest enclosing ball.
Ball sweep(const MovingFrame& f, const Ball& ball, double low, double high) {
  const double middle = (low + high) / 2, half = (high - low) / 2;
  if (!f.revolute)
    return {axpy(middle, f.exact_axis, ball.centre), ball.radius + half, false, {}, {}};
  const double d = off_axis(f.exact_axis, ball.centre), along = dot(f.exact_axis, ball.centre);
  const Vec3 axial = axpy(along, f.exact_axis, Vec3{});
  Ball out{axial, ball.radius + d, false, {}, {}};
  if (half < std::numbers::pi / 2) {
    const Vec3 radial = axpy(-1, axial, turn(f.exact_axis, middle, ball.centre));
    out = {axpy(std::cos(half), radial, axial), ball.radius + d * std::sin(half), false, {}, {}};
  }
  if (ball.segment) {
    const Ball other = whirled(f.exact_axis, ball);
    if (other.radius < out.radius) return other;
  }
  return out;
}

struct Reach {
  double length = 0, turn = 0;
};
using Levers = std::map<int, Reach>;  // by coordinate

Ball segment(const SkeletonCapsule& c) { return around(c.p0, c.p1); }

class Builder {
 public:
  Builder(const RobotModel& model, Skeleton& out) : model_(model), out_(out) {}

  void build() {
    frames();
    capsules();
    pairs();
    for (const EndEffector& e : model_.tools) tool(e);
  }

 private:
  void frames();
  void capsules();
  void pairs();
  void tool(const EndEffector& effector);
  std::vector<int> chain(int frame) const {
    std::vector<int> up;
    for (; frame != 0; frame = out_.frames[static_cast<std::size_t>(frame)].parent)
      up.push_back(frame);
    return up;
  }
  const MovingFrame& frame(int i) const { return out_.frames[static_cast<std::size_t>(i)]; }

  static void add(Reach& reach, const MovingFrame& joint, const Ball& ball) {
    reach.length += std::abs(joint.multiplier) * lever(joint, ball);
    if (joint.revolute) reach.turn += std::abs(joint.multiplier);
  }
  // Adds the lever of every joint from `from` up to (not including) `to`; returns the ball in `to`.
  Ball climb(Ball ball, int from, int to, Levers& levers, LeverList* swing = nullptr) {
    std::vector<Swing> met;
    for (int f = from; f != to; f = frame(f).parent) {
      const MovingFrame& joint = frame(f);
      add(levers[joint.coordinate], joint, ball);
      met.push_back({f, static_cast<float>(lever(joint, ball) * (1 + 1e-6) + 1e-7)});
      ball = sweep(joint, ball, joint.low, joint.high);
      ball = moved(ball, [&](const Vec3& v) { return transform(joint.exact_origin, v); });
    }
    if (swing != nullptr) {
      swing->first = static_cast<std::int32_t>(out_.swings.size());
      out_.swings.insert(out_.swings.end(), met.rbegin(), met.rend());
      swing->last = static_cast<std::int32_t>(out_.swings.size());
    }
    return ball;
  }
  int common(int a, int b) const {
    const std::vector<int> up = chain(a);
    while (b != 0 && std::find(up.begin(), up.end(), b) == up.end()) b = frame(b).parent;
    return b;
  }
  LeverList keep(const Levers& levers) {
    LeverList list{static_cast<std::int32_t>(out_.levers.size()), 0};
    for (const auto& [coordinate, reach] : levers)
      if (reach.length > 0 || reach.turn > 0)
        out_.levers.push_back({coordinate, static_cast<float>(reach.length * (1 + 1e-6) + 1e-7),
                               static_cast<float>(reach.turn * (1 + 1e-6))});
    list.last = static_cast<std::int32_t>(out_.levers.size());
    return list;
  }
  // Rounding of a chain of k float poses: each rotation adds at most 40 units of error to the
  // orientation and 4 to the position, so a point at most `span` away is off by less than this.
  float rounding(int from, double span) const {
    const double travel = model_.mobile ? 20 : 0;  // the farthest planar displacement
    const double depth = static_cast<double>(chain(from).size()) + 2;
    return static_cast<float>(kUnit * 64 * (depth * span + travel));
  }
  double span(int from, double extent) const {
    for (int f : chain(from)) {
      extent += norm(frame(f).exact_origin.translation);
      if (!frame(f).revolute) extent += std::max(std::abs(frame(f).low), std::abs(frame(f).high));
    }
    return extent;
  }

  const RobotModel& model_;
  Skeleton& out_;
  std::vector<int> frame_of_link_;
  std::vector<Pose> link_in_frame_;
};

void Builder::frames() {
  (void)Tree(model_.joints, model_.coordinates.size());  // the checks of a well-formed tree
  out_.frames.emplace_back();
  frame_of_link_.assign(1, 0);
  link_in_frame_.assign(1, model_.root);
  for (const Joint& joint : model_.joints) {
    const auto parent = static_cast<std::size_t>(joint.parent);
    const Pose origin = link_in_frame_[parent] * joint.origin;
    const Coordinate* c = joint.coordinate < 0
                              ? nullptr
                              : &model_.coordinates[static_cast<std::size_t>(joint.coordinate)];
    // The base's own joints stay at zero: everything is seen from the base.
    if (joint.kind == JointKind::kFixed || c->role == Role::kBase) {
      frame_of_link_.push_back(frame_of_link_[parent]);
      link_in_frame_.push_back(origin);
      continue;
    }
    MovingFrame f;
    f.parent = frame_of_link_[parent];
    f.coordinate = joint.coordinate;
    f.revolute = joint.kind == JointKind::kRevolute;
    f.multiplier = joint.multiplier;
    f.offset = joint.offset;
    f.exact_origin = origin;
    const double length = norm(joint.axis);
    for (std::size_t i = 0; i < 3; ++i) f.exact_axis[i] = joint.axis[i] / length;
    const double past = kPastLimits + c->tracking;
    const double a = joint.multiplier * (c->lower - past) + joint.offset;
    const double b = joint.multiplier * (c->upper + past) + joint.offset;
    f.low = std::min(a, b);
    f.high = std::max(a, b);
    if (!f.revolute && !(std::isfinite(f.low) && std::isfinite(f.high)))
      throw std::invalid_argument("joint '" + c->name + "': a sliding joint needs position limits");
    out_.frames.push_back(f);
    frame_of_link_.push_back(static_cast<int>(out_.frames.size()) - 1);
    link_in_frame_.push_back(Pose{});
  }
  if (out_.frames.size() > kMaxFrames) throw std::invalid_argument("too many joints");
}

void Builder::capsules() {
  const auto x = static_cast<int>(out_.dof);
  for (const Capsule& c : model_.capsules) {
    if (c.link < 0 || static_cast<std::size_t>(c.link) >= frame_of_link_.size())
      throw std::invalid_argument("a capsule hangs on a link that does not exist");
    if (!(c.radius >= 0) || !std::isfinite(norm(c.p0) + norm(c.p1) + c.radius))
      throw std::invalid_argument("a capsule's numbers must be finite and its radius positive");
    const auto link = static_cast<std::size_t>(c.link);
    SkeletonCapsule s;
    s.frame = frame_of_link_[link];
    s.link = c.link;
    s.p0 = transform(link_in_frame_[link], c.p0);
    s.p1 = transform(link_in_frame_[link], c.p1);
    const double half = norm(axpy(-1, s.p0, s.p1)) / 2;
    s.radius = static_cast<float>(c.radius * (1 + 1e-6));
    s.half_length = static_cast<float>(half * (1 + 1e-6));
    s.slack = rounding(s.frame, span(s.frame, std::max(norm(s.p0), norm(s.p1)) + c.radius));
    Levers levers;
    const Ball ball = climb(segment(s), s.frame, 0, levers, &s.swing);
    out_.reach =
        std::max(out_.reach, static_cast<float>(norm(ball.centre) + ball.radius + c.radius));
    s.against_world = model_.mobile || s.frame != 0;  // what cannot move cannot hit
    if (model_.mobile) {
      levers[x] = levers[x + 1] = {1, 0};
      levers[x + 2] = {std::hypot(ball.centre[0], ball.centre[1]) + ball.radius, 1};
    }
    s.motion = keep(levers);
    out_.capsules.push_back(s);
  }
  if (out_.capsules.size() > kMaxCapsules) throw std::invalid_argument("too many capsules");
}

void Builder::pairs() {
  const auto count = static_cast<int>(out_.capsules.size());
  if (model_.pairs.size() > kMaxPairs) throw std::invalid_argument("too many collision pairs");
  for (const auto& [a, b] : model_.pairs) {
    if (a < 0 || b < 0 || a >= count || b >= count)
      throw std::invalid_argument("a collision pair names a capsule that does not exist");
    const SkeletonCapsule& ca = out_.capsules[static_cast<std::size_t>(a)];
    const SkeletonCapsule& cb = out_.capsules[static_cast<std::size_t>(b)];
    const int meet = common(ca.frame, cb.frame);
    Levers levers;
    SkeletonPair pair{a, b, ca.radius + cb.radius, ca.slack + cb.slack, {}, {}, {}};
    climb(segment(ca), ca.frame, meet, levers, &pair.swing_a);
    climb(segment(cb), cb.frame, meet, levers, &pair.swing_b);
    pair.motion = keep(levers);
    out_.pairs.push_back(pair);
  }
}

void Builder::tool(const EndEffector& effector) {
  if (effector.link < 0 || static_cast<std::size_t>(effector.link) >= frame_of_link_.size())
    throw std::invalid_argument("end effector '" + effector.name + "': its link does not exist");
  const auto link = static_cast<std::size_t>(effector.link);
  SkeletonTool t;
  t.frame = frame_of_link_[link];
  t.exact_tcp = link_in_frame_[link] * effector.tcp;
  const Vec3 point = t.exact_tcp.translation;
  t.slack = rounding(t.frame, span(t.frame, norm(point)));
  Levers levers;
  climb(around(point, point), t.frame, 0, levers);
  t.in_base = keep(levers);
  t.chain = chain(t.frame);
  std::reverse(t.chain.begin(), t.chain.end());
  out_.tools.push_back(std::move(t));
}

}  // namespace

Skeleton::Skeleton(const RobotModel& model) {
  dof = model.coordinates.size();
  coordinates = dof + 3;
  if (coordinates > kMaxCoordinates) throw std::invalid_argument("too many joints");
  if (model.tools.size() > kMaxTools) throw std::invalid_argument("too many end effectors");
  if (model.mobile && dof == 0) throw std::invalid_argument("a mobile robot needs a joint");
  mobile = model.mobile;
  Builder(model, *this).build();
  prepare_lanes(*this);
}

}  // namespace openral
