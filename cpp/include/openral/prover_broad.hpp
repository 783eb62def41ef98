// The broad phase: bounds over all eight lanes at once say which pairs of bodies can matter.
#pragma once

#include "openral/prover_block.hpp"

namespace openral::OPENRAL_LANES {

static_assert(Reaches::kSide == kLanes);

inline constexpr S kRounded = static_cast<S>(1 + 1e-6);  // for sums and products of a few floats

OPENRAL_INLINE V reach_of_eight(const Reaches& r, std::size_t first, const S* fixed, const S* most,
                                std::size_t coordinates, std::size_t used) {
  const float* lever = r.levers.data() + first * coordinates;
  V sum = load(fixed + first);
  for (std::size_t j = 0; j < used; ++j) sum += load(lever + j * kLanes) * most[j];
  return sum * kRounded;
}

OPENRAL_INLINE V squared(V x) { return x * x; }

// How far each capsule's and each pair's need and half lengths reach in the widest lane. Blocks of
// one chunk, or of configurations without motion, are often as wide as the last.
inline void Block::reaches() {
  const std::size_t n = s_.coordinates, used = planar_ ? n : s_.dof;
  if (__builtin_memcmp(most_, reached_, used * sizeof(S)) == 0) return;
  __builtin_memcpy(reached_, most_, used * sizeof(S));
  for (std::size_t c = 0; c < s_.capsule_reach.fixed.size(); c += kLanes)
    store(reach_ + c, reach_of_eight(s_.capsule_reach, c, fixed_, most_, n, used));
  for (std::size_t i = 0; i < s_.pair_reach.fixed.size(); i += kLanes)
    store(pair_reach_ + i, squared(reach_of_eight(s_.pair_reach, i, pair_fixed_, most_, n, used)));
}

// Balls around the middles of each capsule, about the place where one of the lanes has it.
inline void Block::balls() {
  constexpr int kCentre = kLanes / 2 - 1;
  const int capsules = static_cast<int>(s_.capsules.size());
  V total = splat(0);
  for (int first = 0; first < capsules; first += kLanes) {
    V apart[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      const int c = first + k;
      apart[k] = splat(0);
      if (c >= capsules) continue;
      const V3& m = posed_.middle[c];
      const S x = m.x[kCentre], y = m.y[kCentre], z = m.z[kCentre];
      ball_[0][c] = x;
      ball_[1][c] = y;
      ball_[2][c] = z;
      const V3 d = m - V3{splat(x), splat(y), splat(z)};
      apart[k] = dot(d, d);
      total += apart[k];
    }
    const V radius = vsqrt(largest_of_each(apart)) * kRounded;
    // What is no number becomes far too large, so that it skips nothing.
    store(keep_ + first, vmin(radius + load(reach_ + first), splat(kBeyond)));
  }
  if (bits(total < kBeyond) == kAll) return;
  for (int c = 0; c < capsules; ++c) {  // a lane without numbers: nothing can be skipped
    ball_[0][c] = ball_[1][c] = ball_[2][c] = 0;
    keep_[c] = kBeyond;
  }
}

inline void Block::self() {
  const int pairs = static_cast<int>(s_.pairs.size());
  const CapsulePair* pair = s_.capsule_pairs.data();
  for (int i = 0; i < pairs; ++i) {
    const V3 gap = posed_.middle[pair[i].a] - posed_.middle[pair[i].b];
    if (bits(dot(gap, gap) > splat(pair_reach_[i])) == kAll) continue;
    if (spend(1)) return;
    close_pair(i, gap);
  }
}

// First the box around everything that the robot must keep clear in any lane, against eight
// obstacles at a time.
inline void Block::world() {
  const std::size_t obstacles = q_.world->obstacles.size();
  if (obstacles == 0 || skipped_) return;
  const V none = splat(-kBeyond);
  V edge[8] = {none, none, none, none, none, none, none, none};  // −x, x, −y, y, −z, z
  for (std::size_t c = 0; c < s_.capsule_reach.fixed.size(); c += kLanes) {
    const V keep = load(keep_ + c);
    for (int axis = 0; axis < 3; ++axis) {
      const V at = load(ball_[axis] + c);
      edge[2 * axis] = vmax(keep - at, edge[2 * axis]);
      edge[2 * axis + 1] = vmax(keep + at, edge[2 * axis + 1]);
    }
  }
  const V box = largest_of_each(edge);
  const World& w = *q_.world;
  for (std::size_t o = 0; o < obstacles; o += kLanes) {
    V gap = none;
    for (int axis = 0; axis < 3; ++axis) {
      const V at = load(w.centre[axis].data() + o), half = load(w.half[axis].data() + o);
      const V below = -splat(box[2 * axis]) - at, above = at - splat(box[2 * axis + 1]);
      gap = vmax(gap, vmax(below, above) - half);
    }
    unsigned open = ~bits(gap > load(w.radius.data() + o)) & kAll;
    for (; open != 0; open &= open - 1) {
      const std::size_t which = o + static_cast<std::size_t>(__builtin_ctz(open));
      if (which >= obstacles) break;
      if (spend(1)) return;
      capsules_near(static_cast<int>(which));
    }
  }
}

// One obstacle's box against the balls of eight capsules at a time.
inline void Block::capsules_near(int o) {
  const World& w = *q_.world;
  const V zero = splat(0);
  V at[3], half[3];
  for (int axis = 0; axis < 3; ++axis) {
    at[axis] = splat(w.centre[axis].data()[o]);
    half[axis] = splat(w.half[axis].data()[o]);
  }
  for (std::size_t c = 0; c < s_.capsule_reach.fixed.size(); c += kLanes) {
    V apart = zero;
    for (int axis = 0; axis < 3; ++axis) {
      const V out = vmax(vabs(load(ball_[axis] + c) - at[axis]) - half[axis], zero);
      apart += out * out;
    }
    const V far = (load(keep_ + c) + w.radius.data()[o]) * kRounded;
    unsigned open = ~bits(apart > far * far) & against_world_[c / kLanes];
    if (open != 0 && spend(__builtin_popcount(open) / 4)) return;
    for (; open != 0 && !skipped_; open &= open - 1)
      obstacle(static_cast<int>(c) + __builtin_ctz(open), o);
  }
}

}  // namespace openral::OPENRAL_LANES
