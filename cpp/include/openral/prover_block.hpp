// The test of eight pieces of path at once; see prover.hpp for the argument.
#pragma once

#include "openral/posing.hpp"
#include "openral/prover.hpp"
#include "openral/prover_parts.hpp"
#include "openral/voxel_test.hpp"

namespace openral::OPENRAL_LANES {

class Block {
 public:
  explicit Block(const Query& query) : q_(query), s_(*query.skeleton) {
    planar_ = false;
    for (int i = 0; i < q_.path.count && !planar_; ++i) planar_ = moves_base(q_.path.spans[i]);
    for (int i = 0; i < q_.path.count && !tools_; ++i) tools_ = q_.path.spans[i].holds > 0;
  }

  void test(const Piece* pieces, int count) {
    active_ = (1U << count) - 1;
    unproven = hit = 0;
    for (S& e : excess) e = 0;
    fill(pieces, count);
    pose(s_, configurations_, planar_, posed_);
    inflate(pieces, count);
    self();
    world();
    if (q_.voxels != nullptr && !q_.voxels->empty()) voxels();
    if (q_.workspace || q_.tool_speed > 0 || q_.tool_rate > 0) tools();
  }

  unsigned unproven = 0, hit = 0;  // lanes
  Culprit culprit[kLanes];
  S excess[kLanes];         // how many times too wide each unproven lane's motion is
  int work = 0, limit = 0;  // units spent in this block on voxels, and how many may be

 private:
  bool moves_base(const Span& span) const {
    const std::size_t n = s_.coordinates;
    for (std::size_t j = s_.dof; j < n; ++j) {
      if (q_.path.points[static_cast<std::size_t>(span.from) * n + j] != 0) return true;
      if (q_.path.points[static_cast<std::size_t>(span.to) * n + j] != 0) return true;
      if (q_.path.widths[static_cast<std::size_t>(span.width) * n + j] != 0) return true;
    }
    return false;
  }

  void fill(const Piece* pieces, int count);
  void inflate(const Piece* pieces, int count);
  void hold(const Hold& held, int lane);
  void self();
  void world();
  void obstacle(int c, int o, V need, V reach);
  Approach approach(const V3& n, const Segment& g, const LeverList& swing,
                    const LeverList* motion) const;
  Closing closing(const Apart& apart, const Segment& g, int c) const;
  Closing closing(const SkeletonPair& pair) const;
  void columns(int c, int lane, Columns& out) const;
  void voxels();
  void tools();

  OPENRAL_INLINE V sum(const Lever* lever, const LeverList& list, const S (*by)[kLanes]) {
    V total = splat(0);
    for (int k = list.first; k < list.last; ++k)
      total += static_cast<S>(lever[k].length) * load(by[lever[k].coordinate]);
    return total;
  }

  // The part of a capsule's inflation that no cut makes smaller.
  OPENRAL_INLINE V least(const Block& b, int c) {
    return b.tools_ ? b.least_[c]
                    : sum(b.s_.levers.data(), b.s_.capsules.data()[c].motion, b.wide_);
  }

  // Notes how much smaller a lane's motion would have to be for the bound to suffice.
  OPENRAL_INLINE void exceed(Block& b, int lane, S bound, S need, S least) {
    const S times = bound > least ? (need - least) / (bound - least) : static_cast<S>(8);
    b.excess[lane] = times > b.excess[lane] ? times : b.excess[lane];
  }

  // Files the verdict of one test: proven where bound ≥ need, a hit where it is below `least`.
  OPENRAL_INLINE void judge(Block& b, V bound, V need, V least, Finding finding, int capsule,
                            int other, S radii, S limit) {
    const unsigned open = b.active_ & ~bits(bound >= need);
    if (open == 0) return;
    const unsigned sure = open & ~bits(bound >= least);
    alignas(32) S value[kLanes], all[kLanes], rest[kLanes];
    store(value, bound);
    store(all, need);
    store(rest, least);
    for (unsigned m = open; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const unsigned bit = 1U << lane;
      exceed(b, lane, value[lane], all[lane], rest[lane]);
      if ((b.hit & bit) != 0 || ((b.unproven & bit) != 0 && (sure & bit) == 0)) continue;
      const S distance = value[lane] == value[lane] ? value[lane] - radii : -radii;
      b.culprit[lane] = {finding, capsule, other, {0, 0, 0}, distance, limit};
      b.unproven |= bit;
      b.hit |= sure & bit;
    }
  }

  const Query& q_;
  const Skeleton& s_;
  bool planar_ = false, tools_ = false;
  unsigned active_ = 0;
  Configurations configurations_;
  // Half-widths of each lane's box: `half` in full, `wide` without the nominal motion.
  alignas(32) S half_[kMaxCoordinates][kLanes];
  alignas(32) S wide_[kMaxCoordinates][kLanes];
  alignas(32) S move_[kMaxCoordinates][kLanes];  // half of the nominal motion, signed
  alignas(32) S rate_[kMaxCoordinates][kLanes];  // nominal speed of each coordinate
  V full_[kMaxCapsules], least_[kMaxCapsules];   // inflation by capsule
  Posed posed_;
  Columns columns_;
};

inline void Block::fill(const Piece* pieces, int count) {
  const std::size_t n = s_.coordinates;
  const std::size_t used = planar_ ? n : s_.dof;
  alignas(32) double middle[kMaxCoordinates][kLanes];
  std::int64_t a[kLanes], b[kLanes], w[kLanes];
  double at[kLanes], part[kLanes], rate[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Piece& piece = pieces[lane < count ? lane : 0];
    const Span& span = q_.path.spans[piece.span];
    const auto stride = static_cast<std::int64_t>(n);
    a[lane] = span.from * stride;
    b[lane] = span.to * stride;
    w[lane] = span.width * stride;
    part[lane] = 0.5 * static_cast<double>(piece.length);
    at[lane] = static_cast<double>(piece.start) + part[lane];
    rate[lane] = static_cast<double>(span.rate);
  }
  for (std::size_t j = 0; j < used; ++j) {
    const double* points = q_.path.points + j;
    const double* widths = q_.path.widths + j;
    for (int lane = 0; lane < kLanes; ++lane) {
      const double from = points[a[lane]], delta = points[b[lane]] - from, wide = widths[w[lane]];
      middle[j][lane] = from + delta * at[lane];
      rate_[j][lane] = static_cast<S>(delta * rate[lane]);
      move_[j][lane] = static_cast<S>(delta * part[lane]);
      wide_[j][lane] = static_cast<S>(wide * (1 + 1e-6));
      // 4e-7 covers the rounding of a middle in ±π to float; sliding joints stay below ±6 m.
      half_[j][lane] = static_cast<S>((std::fabs(delta) * part[lane] + wide) * (1 + 1e-6) + 4e-7);
    }
  }
  const int frames = static_cast<int>(s_.frames.size());
  const MovingFrame* frame = s_.frames.data();
  for (int f = 1; f < frames; ++f) {
    const double* q = middle[frame[f].coordinate];
    const double multiplier = frame[f].multiplier, offset = frame[f].offset;
    if (frame[f].revolute)
      for (int lane = 0; lane < kLanes; ++lane)
        configurations_.theta[f][lane] = static_cast<S>(reduced(multiplier * q[lane] + offset));
    else
      for (int lane = 0; lane < kLanes; ++lane)
        configurations_.theta[f][lane] = static_cast<S>(multiplier * q[lane] + offset);
  }
  if (!planar_) {
    for (std::size_t j = s_.dof; j < n; ++j)
      for (int lane = 0; lane < kLanes; ++lane)
        half_[j][lane] = wide_[j][lane] = move_[j][lane] = rate_[j][lane] = 0;
    return;
  }
  for (std::size_t i = 0; i < 3; ++i)
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = middle[s_.dof + i][lane];
      configurations_.base[i][lane] = static_cast<S>(i == 2 ? reduced(value) : value);
    }
}

inline void Block::inflate(const Piece* pieces, int count) {
  const int capsules = static_cast<int>(s_.capsules.size());
  const Lever* lever = s_.levers.data();
  for (int c = 0; c < capsules; ++c) {
    full_[c] = sum(lever, s_.capsules.data()[c].motion, half_);
    if (tools_) least_[c] = sum(lever, s_.capsules.data()[c].motion, wide_);
  }
  if (!tools_) return;
  for (int lane = 0; lane < count; ++lane) {
    const Span& span = q_.path.spans[pieces[lane].span];
    for (int i = 0; i < span.holds; ++i) hold(q_.path.holds[span.hold + i], lane);
  }
}

// Point 3 of the argument: the capsules as seen from a tool whose path is prescribed.
inline void Block::hold(const Hold& held, int lane) {
  const Lever* lever = s_.levers.data();
  const SkeletonTool& tool = s_.tools.data()[held.tool];
  S shift = held.error, twist = held.turn;
  for (int k = tool.motion.first; k < tool.motion.last; ++k) {
    const S nominal = half_[lever[k].coordinate][lane] - wide_[lever[k].coordinate][lane];
    shift += static_cast<S>(lever[k].length) * nominal;
    twist += static_cast<S>(lever[k].turn) * nominal;
  }
  const int capsules = static_cast<int>(s_.capsules.size());
  const int dof = static_cast<int>(s_.dof);
  for (int c = 0; c < capsules; ++c) {
    const S away = tool.distance.data()[c];
    S full = shift + twist * away, least = held.error + held.turn * away;
    const auto add = [&](const Lever& l, S& sum, const S(*by)[kLanes]) {
      sum += static_cast<S>(l.length) * by[l.coordinate][lane];
    };
    const LeverList& list = tool.from_tool.data()[c];
    for (int k = list.first; k < list.last; ++k) {
      add(lever[k], full, half_);
      add(lever[k], least, wide_);
    }
    // The tool's path is prescribed in the base's frame, so the base's own uncertainty comes on
    // top.
    const LeverList& own = s_.capsules.data()[c].motion;
    for (int k = own.first; k < own.last; ++k)
      if (lever[k].coordinate >= dof) {
        add(lever[k], full, wide_);
        add(lever[k], least, wide_);
      }
    S* f = reinterpret_cast<S*>(&full_[c]) + lane;
    S* l = reinterpret_cast<S*>(&least_[c]) + lane;
    *f = full < *f ? full : *f;
    *l = least < *l ? least : *l;
  }
}

inline void Block::self() {
  const int pairs = static_cast<int>(s_.pairs.size());
  const Lever* lever = s_.levers.data();
  for (int i = 0; i < pairs; ++i) {
    const SkeletonPair& pair = s_.pairs.data()[i];
    const S fixed = pair.radii + pair.slack + static_cast<S>(q_.pair_margin[i]);
    V spread = sum(lever, pair.motion, half_);
    // Two links move apart no faster than each of them moves.
    if (tools_) spread = vmin(spread, full_[pair.a] + full_[pair.b]);
    V need = fixed + spread;
    const V3 gap = posed_.middle[pair.a] - posed_.middle[pair.b];
    const V reach =
        need + (s_.capsules.data()[pair.a].half_length + s_.capsules.data()[pair.b].half_length);
    if ((active_ & ~bits(dot(gap, gap) > reach * reach)) == 0) continue;
    const Segment &first = posed_.segment[pair.a], &second = posed_.segment[pair.b];
    if ((active_ & ~bits(apart(gap, first.d, second.d, need))) == 0) continue;
    const V bound = segment_segment(first, second);
    if ((active_ & ~bits(bound >= need)) == 0) continue;
    V rest = sum(lever, pair.motion, wide_);
    if (tools_) rest = vmin(rest, least_[pair.a] + least_[pair.b]);
    const Closing by = closing(pair);
    need = vmin(fixed + by.full, need);
    rest = vmin(by.least, rest);
    judge(*this, bound, need, fixed + rest, Finding::kSelf, pair.a, pair.b, pair.radii,
          static_cast<S>(q_.pair_margin[i]));
  }
}

// A point amid the lanes, the same in each.
OPENRAL_INLINE V3 near_middle(const V3& m) {
#ifdef OPENRAL_LANE_DOUBLE
  return m;
#else
  const S half = static_cast<S>(0.5);
  return {splat(half * (m.x[0] + m.x[kLanes - 1])), splat(half * (m.y[0] + m.y[kLanes - 1])),
          splat(half * (m.z[0] + m.z[kLanes - 1]))};
#endif
}

inline void Block::world() {
  const int capsules = static_cast<int>(s_.capsules.size());
  const int obstacles = static_cast<int>(q_.world->obstacles.size());
  for (int c = 0; c < capsules; ++c) {
    const SkeletonCapsule& capsule = s_.capsules.data()[c];
    if (!capsule.against_world || obstacles == 0) continue;
    const V need = capsule.radius + capsule.slack + static_cast<S>(q_.capsule_margin[c]) + full_[c];
    const V reach = need + capsule.half_length;
    // One ball around the capsule in all lanes, against eight obstacles at a time.
    const V3& m = posed_.middle[c];
    const V3 centre = near_middle(m);
    const S ball = largest(vsqrt(dot(m - centre, m - centre)) + reach);
    for (int o = 0; o < obstacles; o += kLanes) {
      const V3 other{load(q_.world->x.data() + o), load(q_.world->y.data() + o),
                     load(q_.world->z.data() + o)};
      const V far = load(q_.world->bound.data() + o) + ball * static_cast<S>(1 + 1e-6);
      unsigned open = ~bits(dot(other - centre, other - centre) > far * far) & ((1U << kLanes) - 1);
      for (; open != 0; open &= open - 1) {
        const int which = o + __builtin_ctz(open);
        if (which < obstacles) obstacle(c, which, need, reach);
      }
    }
  }
}

inline void Block::obstacle(int c, int o, V need, V reach) {
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  const Obstacle& other = q_.world->obstacles.data()[o];
  const V3 gap = posed_.middle[c] - splat3(other.centre.data());
  const V far = reach + other.bound;
  if ((active_ & ~bits(dot(gap, gap) > far * far)) == 0) return;
  const Segment& segment = posed_.segment[c];
  V all = need + other.radius;
  Apart apart_by;
  if (other.box) {
    const V3 p = segment.p - splat3(other.p.data());
    const V3 d = segment.d;
    const auto& r = other.rotation;
    const Segment local{{r[0] * p.x + r[3] * p.y + r[6] * p.z, r[1] * p.x + r[4] * p.y + r[7] * p.z,
                         r[2] * p.x + r[5] * p.y + r[8] * p.z},
                        {r[0] * d.x + r[3] * d.y + r[6] * d.z, r[1] * d.x + r[4] * d.y + r[7] * d.z,
                         r[2] * d.x + r[5] * d.y + r[8] * d.z}};
    const V3 size = splat3(other.d.data());
    if ((active_ & ~bits(apart_box(local, size, all))) == 0) return;
    apart_by = beside(local, size);
    const V3 n = apart_by.n;  // back from the box's axes
    apart_by.n = {r[0] * n.x + r[1] * n.y + r[2] * n.z, r[3] * n.x + r[4] * n.y + r[5] * n.z,
                  r[6] * n.x + r[7] * n.y + r[8] * n.z};
  } else {
    const V3 d = splat3(other.d.data());
    if ((active_ & ~bits(apart(gap, segment.d, d, all))) == 0) return;
    apart_by = between(segment, {splat3(other.p.data()), d});
  }
  const V bound = vmin(apart_by.start, apart_by.end);
  if ((active_ & ~bits(bound >= all)) == 0) return;
  const S margin = static_cast<S>(q_.capsule_margin[c]);
  const S fixed = capsule.radius + capsule.slack + margin + static_cast<S>(other.radius);
  const Closing by = closing(apart_by, segment, c);
  all = vmin(fixed + by.full, all);
  const V rest = fixed + vmin(by.least, least(*this, c));
  judge(*this, bound, all, rest, Finding::kWorld, c, o, capsule.radius + other.radius, margin);
}

}  // namespace openral::OPENRAL_LANES
