// The test of eight pieces of path at once; see prover.hpp for the argument.
#pragma once

#include "openral/posing.hpp"
#include "openral/prover.hpp"
#include "openral/voxel_test.hpp"

namespace openral::OPENRAL_LANES {

// A piece of a span: from fraction `start` on, `length` of it.
struct Piece {
  std::int32_t span, depth;
  float start, length;
};

struct Culprit {
  Finding finding = Finding::kNothing;
  int capsule = -1, other = -1;
  int cell[3] = {0, 0, 0};
  S distance = 0, limit = 0;
};

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
    fill(pieces, count);
    pose(s_, configurations_, planar_, posed_);
    inflate(pieces, count);
    self();
    world();
    if (q_.voxels != nullptr && !q_.voxels->empty()) voxels();
    if (q_.workspace || q_.tool_speed > 0 || q_.tool_rate > 0) tools(pieces, count);
  }

  unsigned unproven = 0, hit = 0;  // lanes
  Culprit culprit[kLanes];
  int work = 0;

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
  void voxels();
  void tools(const Piece* pieces, int count);

  OPENRAL_INLINE V sum(const Lever* lever, const LeverList& list, const S (*by)[kLanes]) {
    V total = splat(0);
    for (int k = list.first; k < list.last; ++k)
      total += static_cast<S>(lever[k].length) * load(by[lever[k].coordinate]);
    return total;
  }

  // Files the verdict of one test: proven where bound ≥ need, a hit where it is below `least`.
  OPENRAL_INLINE void judge(Block& b, V bound, V need, V least, Finding finding, int capsule,
                            int other, S radii, S limit) {
    const unsigned open = b.active_ & ~bits(bound >= need);
    if (open == 0) return;
    const unsigned sure = open & ~bits(bound >= least);
    alignas(32) S value[kLanes];
    store(value, bound);
    for (unsigned m = open; m != 0; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const unsigned bit = 1U << lane;
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
  V full_[kMaxCapsules], least_[kMaxCapsules];  // inflation by capsule
  Posed posed_;
};

inline void Block::fill(const Piece* pieces, int count) {
  const std::size_t n = s_.coordinates;
  const std::size_t used = planar_ ? n : s_.dof;
  alignas(32) double middle[kMaxCoordinates][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Piece& piece = pieces[lane < count ? lane : 0];
    const Span& span = q_.path.spans[piece.span];
    const double* a = q_.path.points + static_cast<std::size_t>(span.from) * n;
    const double* b = q_.path.points + static_cast<std::size_t>(span.to) * n;
    const double* w = q_.path.widths + static_cast<std::size_t>(span.width) * n;
    const double at = static_cast<double>(piece.start) + 0.5 * static_cast<double>(piece.length);
    const double part = 0.5 * static_cast<double>(piece.length);
    for (std::size_t j = 0; j < used; ++j) {
      const double delta = b[j] - a[j];
      middle[j][lane] = a[j] + delta * at;
      const double wide = w[j] * (1 + 1e-6);
      wide_[j][lane] = static_cast<S>(wide);
      // 4e-7 covers the rounding of a middle in ±π to float; sliding joints stay below ±6 m.
      half_[j][lane] = static_cast<S>((std::fabs(delta) * part + w[j]) * (1 + 1e-6) + 4e-7);
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
      for (int lane = 0; lane < kLanes; ++lane) half_[j][lane] = wide_[j][lane] = 0;
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
    full_[c] = sum(lever, s_.capsules[static_cast<std::size_t>(c)].motion, half_);
    least_[c] = sum(lever, s_.capsules[static_cast<std::size_t>(c)].motion, wide_);
  }
  if (!tools_) return;
  for (int lane = 0; lane < count; ++lane) {
    const Span& span = q_.path.spans[pieces[lane].span];
    for (int i = 0; i < span.holds; ++i) hold(q_.path.holds[span.hold + i], lane);
  }
}

// Point 2 of the argument: the capsules as seen from a tool whose path is prescribed.
inline void Block::hold(const Hold& held, int lane) {
  const Lever* lever = s_.levers.data();
  const SkeletonTool& tool = s_.tools.data()[held.tool];
  S shift = held.error, twist = held.turn;
  for (int k = tool.motion.first; k < tool.motion.last; ++k) {
    const S nominal = half_[lever[k].coordinate][lane] - wide_[lever[k].coordinate][lane];
    shift += static_cast<S>(lever[k].length) * nominal;
    twist += nominal;
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
    const V need = fixed + spread;
    const V3 gap = posed_.middle[pair.a] - posed_.middle[pair.b];
    const V reach =
        need + (s_.capsules.data()[pair.a].half_length + s_.capsules.data()[pair.b].half_length);
    if ((active_ & ~bits(dot(gap, gap) > reach * reach)) == 0) continue;
    const V bound = segment_segment(posed_.segment[pair.a], posed_.segment[pair.b]);
    if ((active_ & ~bits(bound >= need)) == 0) continue;
    V least = sum(lever, pair.motion, wide_);
    if (tools_) least = vmin(least, least_[pair.a] + least_[pair.b]);
    judge(*this, bound, need, fixed + least, Finding::kSelf, pair.a, pair.b, pair.radii,
          static_cast<S>(q_.pair_margin[i]));
  }
}

inline void Block::world() {
  const int capsules = static_cast<int>(s_.capsules.size());
  const int obstacles = static_cast<int>(q_.world->obstacles.size());
  const Obstacle* obstacle = q_.world->obstacles.data();
  for (int c = 0; c < capsules; ++c) {
    const SkeletonCapsule& capsule = s_.capsules.data()[c];
    if (!capsule.against_world) continue;
    const S margin = static_cast<S>(q_.capsule_margin[c]);
    const S fixed = capsule.radius + capsule.slack + margin;
    const V need = fixed + full_[c];
    const V reach = need + capsule.half_length;
    const V3 middle = posed_.middle[c];
    for (int o = 0; o < obstacles; ++o) {
      const Obstacle& other = obstacle[o];
      const V3 gap = middle - splat3(other.centre.data());
      const V far = reach + other.bound;
      if ((active_ & ~bits(dot(gap, gap) > far * far)) == 0) continue;
      V bound;
      if (other.box) {
        const V3 p = posed_.segment[c].p - splat3(other.p.data());
        const V3 d = posed_.segment[c].d;
        const auto& r = other.rotation;
        const Segment local{
            {r[0] * p.x + r[3] * p.y + r[6] * p.z, r[1] * p.x + r[4] * p.y + r[7] * p.z,
             r[2] * p.x + r[5] * p.y + r[8] * p.z},
            {r[0] * d.x + r[3] * d.y + r[6] * d.z, r[1] * d.x + r[4] * d.y + r[7] * d.z,
             r[2] * d.x + r[5] * d.y + r[8] * d.z}};
        bound = segment_box(local, splat3(other.d.data()));
      } else {
        bound =
            segment_segment(posed_.segment[c], {splat3(other.p.data()), splat3(other.d.data())});
      }
      judge(*this, bound, need + other.radius, fixed + other.radius + least_[c], Finding::kWorld, c,
            o, capsule.radius + other.radius, margin);
    }
  }
}

inline void Block::voxels() {
  const VoxelField& field = *q_.voxels;
  const int capsules = static_cast<int>(s_.capsules.size());
  const S inverse = 1 / static_cast<S>(field.resolution());
  const auto shape = field.shape();
  const auto origin = field.origin();
  const V top[3] = {splat(static_cast<S>(shape[0] - 1)), splat(static_cast<S>(shape[1] - 1)),
                    splat(static_cast<S>(shape[2] - 1))};
  const V zero = splat(0);
  const std::uint8_t* squared = field.squared();
  const float* metres = field.metres();
  for (int c = 0; c < capsules; ++c) {
    const SkeletonCapsule& capsule = s_.capsules.data()[c];
    if (!capsule.against_world) continue;
    const S margin = static_cast<S>(q_.capsule_margin[c]);
    const S fixed = capsule.radius + capsule.slack + field.slack() + margin;
    const V need = fixed + full_[c];
    const V3& m = posed_.middle[c];
    alignas(32) S at[3][kLanes], bound[kLanes];
    store(at[0], clamp((m.x - static_cast<S>(origin[0])) * inverse, zero, top[0]));
    store(at[1], clamp((m.y - static_cast<S>(origin[1])) * inverse, zero, top[1]));
    store(at[2], clamp((m.z - static_cast<S>(origin[2])) * inverse, zero, top[2]));
    for (int lane = 0; lane < kLanes; ++lane) {
      const int cell =
          (static_cast<int>(at[0][lane]) * shape[1] + static_cast<int>(at[1][lane])) * shape[2] +
          static_cast<int>(at[2][lane]);
      bound[lane] = metres[squared[cell]];
    }
    unsigned open = active_ & ~hit & ~bits(load(bound) - capsule.half_length >= need);
    if (open == 0) continue;
    alignas(32) S p[6][kLanes], full[kLanes], least[kLanes];
    const Segment& g = posed_.segment[c];
    store(p[0], g.p.x), store(p[1], g.p.y), store(p[2], g.p.z);
    store(p[3], g.d.x), store(p[4], g.d.y), store(p[5], g.d.z);
    store(full, need);
    store(least, fixed + least_[c]);
    for (; open != 0; open &= open - 1) {
      const int lane = __builtin_ctz(open);
      const unsigned bit = 1U << lane;
      if ((unproven & bit) != 0 && full[lane] > least[lane] + static_cast<S>(1e-3)) continue;
      ++work;
      const VoxelAnswer answer = voxel_test(field, {{p[0][lane], p[1][lane], p[2][lane]}},
                                            {{p[3][lane], p[4][lane], p[5][lane]}},
                                            capsule.half_length, full[lane], least[lane], work);
      if (answer.state == VoxelAnswer::kClear) continue;
      culprit[lane] = {Finding::kVoxel,
                       c,
                       -1,
                       {answer.cell[0], answer.cell[1], answer.cell[2]},
                       answer.distance - capsule.radius,
                       margin};
      unproven |= bit;
      if (answer.state == VoxelAnswer::kHit) hit |= bit;
    }
  }
}

}  // namespace openral::OPENRAL_LANES
