// The test of eight pieces of path at once; see prover.hpp for the argument. Most of the work is
// to skip: what lies farther away than the widest of the eight lanes needs is not looked at again.
#pragma once

#include "openral/posing.hpp"
#include "openral/prover.hpp"
#include "openral/prover_parts.hpp"
#include "openral/rows.hpp"
#include "openral/voxel_test.hpp"

namespace openral::OPENRAL_LANES {

inline constexpr unsigned kAll = (1U << kLanes) - 1;
inline constexpr S kBeyond = static_cast<S>(1e30);  // farther away than anything, m

class Block {
 public:
  explicit Block(const Query& query);

  void test(const Piece* pieces, int count) {
    begin(count);
    for (int lane = 0; lane < kLanes; ++lane)
      source_[lane] = source(pieces[lane < count ? lane : 0]);
    fill();
    if (alone_) {
      check_alone();
      return;
    }
    pose(s_, configurations_, planar_, posed_);
    check();
    if (q_.workspace || q_.tool_speed > 0 || q_.tool_rate > 0) tools();
  }

  // Configurations instead of pieces: rows of Skeleton::coordinates values.
  void test(const double* rows, int count) {
    begin(count);
    planar_ = false;
    for (int lane = 0; lane < kLanes; ++lane) {
      const double* row = rows + static_cast<std::size_t>(lane < count ? lane : 0) * s_.coordinates;
      source_[lane] = {row, row, still_, 0, 0, 0};
      for (std::size_t j = s_.dof; j < s_.coordinates; ++j) planar_ = planar_ || row[j] != 0;
    }
    fill();
    unproven = hit = active_ & ~finite();
    pose(s_, configurations_, planar_, posed_);
    check();
  }

  unsigned unproven = 0, hit = 0;  // lanes
  Culprit culprit[kLanes];
  S excess[kLanes];         // how many times too wide each unproven lane's motion is
  int work = 0, limit = 0;  // units spent in this block, and how many may be

 private:
  // Where a lane's box comes from: rows of the path, and which part of the way between them.
  struct Source {
    const double *from, *to, *wide;
    double at, part, rate;  // its middle, half of its length; of the nominal speed
  };

  void begin(int count) {
    active_ = (1U << count) - 1;
    unproven = hit = 0;
    for (S& e : excess) e = 0;
    for (unsigned char& r : ready_) r = 0;
    detailed_ = skipped_ = false;
    work = least_work_;
  }
  void check() {
    reaches();
    self();
    const bool cells = q_.voxels != nullptr && !q_.voxels->empty();
    if (!q_.world->obstacles.empty() || cells) {
      balls();
      world();
      if (cells && !skipped_) voxels();
    }
    if (skipped_) give_up();
  }
  // Adds to the work; true, and no lane is proven, where it is more than may be.
  bool spend(int units) {
    work += units;
    skipped_ = skipped_ || work > limit;
    return skipped_;
  }
  void give_up();
  int work_alone() const;
  void check_alone();
  void pose_alone(int c);
  void ball_alone(int c);

  bool moves_base(const Span& span) const;
  Source source(const Piece& piece) const;
  void fill();
  void turn_frames();
  unsigned finite() const;
  void detail();
  void reaches();
  void balls();
  void self();
  void close_pair(int i, const V3& gap);
  void world();
  void capsules_near(int o);
  void obstacle(int c, int o);
  Approach approach(const V3& n, const Segment& g, const LeverList& swing,
                    const LeverList* motion) const;
  Closing closing(const Apart& apart, const Segment& g, int c) const;
  Closing closing(const SkeletonPair& pair);
  void columns(int c, int lane, Columns& out);
  void voxels();
  void voxels(int c);
  void tools();

  OPENRAL_INLINE V sum(const Lever* lever, const LeverList& list, const S (*by)[kLanes]) {
    V total = splat(0);
    for (int k = list.first; k < list.last; ++k)
      total += static_cast<S>(lever[k].length) * load(by[lever[k].coordinate]);
    return total;
  }

  enum Ready : unsigned char { kSegment = 1, kFull = 2 };
  const Segment& segment(int c) {
    if ((ready_[c] & kSegment) == 0)
      segment_[c] = OPENRAL_LANES::segment(s_.capsules.data()[c], posed_, c);
    ready_[c] |= kSegment;
    return segment_[c];
  }
  // A capsule's inflation, lane by lane.
  V full(int c) {
    if ((ready_[c] & kFull) == 0)
      full_[c] = sum(s_.levers.data(), s_.capsules.data()[c].motion, half_);
    ready_[c] |= kFull;
    return full_[c];
  }
  // The part of it that no cut makes smaller.
  V least(int c) {
    detail();
    return sum(s_.levers.data(), s_.capsules.data()[c].motion, wide_);
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
  bool alone_ = false, planar_ = false, detailed_ = false, skipped_ = false;
  int least_work_ = 0;
  unsigned active_ = 0;
  Source source_[kLanes];
  Configurations configurations_;
  double still_[kMaxCoordinates] = {};
  alignas(32) double middle_[kMaxCoordinates][kLanes];
  // Half-widths of each lane's box: `half` in full, `wide` without the nominal motion.
  alignas(32) S half_[kMaxCoordinates][kLanes];
  alignas(32) S wide_[kMaxCoordinates][kLanes];
  alignas(32) S move_[kMaxCoordinates][kLanes];  // half of the nominal motion, signed
  alignas(32) S rate_[kMaxCoordinates][kLanes];  // nominal speed of each coordinate
  S most_[kMaxCoordinates];                      // the widest lane's half-width
  S reached_[kMaxCoordinates];                   // what reach_ and pair_reach_ were computed from
  Posed posed_;
  unsigned char ready_[kMaxCapsules];
  Segment segment_[kMaxCapsules];
  V full_[kMaxCapsules];  // inflation by capsule
  // For all lanes at once: radius, slack, margin and half length, without and with the motion.
  alignas(32) S fixed_[kMaxCapsules], reach_[kMaxCapsules];
  alignas(32) S pair_fixed_[kMaxPairs], pair_reach_[kMaxPairs];  // the latter squared
  // A ball around each capsule's middles, and one around all that its lanes must keep clear.
  alignas(32) S ball_[3][kMaxCapsules];  // x, y, z
  alignas(32) S keep_[kMaxCapsules];
  std::uint8_t against_world_[kMaxCapsules / kLanes];
  Columns columns_;
};

inline bool Block::moves_base(const Span& span) const {
  const std::size_t n = s_.coordinates;
  for (std::size_t j = s_.dof; j < n; ++j) {
    if (q_.path.points[static_cast<std::size_t>(span.from) * n + j] != 0) return true;
    if (q_.path.points[static_cast<std::size_t>(span.to) * n + j] != 0) return true;
    if (q_.path.widths[static_cast<std::size_t>(span.width) * n + j] != 0) return true;
  }
  return false;
}

inline void Block::give_up() {
  for (unsigned m = active_ & ~unproven; m != 0; m &= m - 1) culprit[__builtin_ctz(m)] = {};
  unproven |= active_;
}

inline Block::Block(const Query& query) : q_(query), s_(*query.skeleton) {
  // What no block can do without, in instructions; a unit is worth some 400.
  const std::size_t least = 45 * s_.coordinates + 75 * s_.frames.size() + 95 * s_.capsules.size() +
                            17 * s_.pairs.size() + 3 * query.world->obstacles.size();
  least_work_ = 3 + static_cast<int>(least / 400);
  alone_ = q_.only_pair >= 0 || q_.only_capsule >= 0;
  for (S& r : reached_) r = -1;
  for (int i = 0; s_.mobile && i < q_.path.count && !planar_; ++i)
    planar_ = moves_base(q_.path.spans[i]);
  for (std::size_t j = s_.dof; j < s_.coordinates; ++j) {
    most_[j] = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      half_[j][lane] = wide_[j][lane] = move_[j][lane] = rate_[j][lane] = 0;
  }
  if (alone_) least_work_ = 4 + work_alone() / 400;
  const std::size_t capsules = s_.capsules.size(), pairs = alone_ ? 0 : s_.pairs.size();
  for (std::size_t i = 0; !alone_ && i < s_.pair_reach.fixed.size(); ++i)
    pair_fixed_[i] = i < pairs ? s_.pair_reach.fixed.data()[i] + q_.pair_margin[i] : 0;
  for (std::uint8_t& members : against_world_) members = 0;
  for (std::size_t i = 0; i < s_.capsule_reach.fixed.size(); ++i) {
    for (S(&of)[kMaxCapsules] : ball_) of[i] = 0;
    fixed_[i] = keep_[i] = -kBeyond;  // nothing to keep clear
    if (i >= capsules || !s_.capsules.data()[i].against_world) continue;
    if (alone_ && static_cast<int>(i) != q_.only_capsule) continue;
    fixed_[i] = s_.capsule_reach.fixed.data()[i] + q_.capsule_margin[i];
    against_world_[i / kLanes] |= static_cast<std::uint8_t>(1U << i % kLanes);
  }
}

}  // namespace openral::OPENRAL_LANES
