// Eight configurations against the voxels: one look-up a capsule, closer tests where it fails.
#pragma once

#include "openral/prover_block.hpp"

namespace openral::OPENRAL_LANES {

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
    alignas(32) S p[6][kLanes], full[kLanes], rest[kLanes];
    const Segment& g = posed_.segment[c];
    store(p[0], g.p.x), store(p[1], g.p.y), store(p[2], g.p.z);
    store(p[3], g.d.x), store(p[4], g.d.y), store(p[5], g.d.z);
    store(full, need);
    store(rest, fixed + least(*this, c));
    for (; open != 0; open &= open - 1) {
      const int lane = __builtin_ctz(open);
      const unsigned bit = 1U << lane;
      if ((unproven & bit) != 0 && full[lane] > rest[lane] + static_cast<S>(1e-3)) continue;
      work += 2;
      const VoxelAnswer answer = voxel_test(
          field, {{p[0][lane], p[1][lane], p[2][lane]}}, {{p[3][lane], p[4][lane], p[5][lane]}},
          capsule.half_length, full[lane], rest[lane], work, limit);
      if (answer.state == VoxelAnswer::kClear) continue;
      culprit[lane] = {Finding::kVoxel,
                       c,
                       -1,
                       {answer.cell[0], answer.cell[1], answer.cell[2]},
                       answer.distance - capsule.radius,
                       margin};
      unproven |= bit;
      exceed(*this, lane, answer.distance, full[lane], rest[lane]);
      if (answer.state == VoxelAnswer::kHit) hit |= bit;
    }
  }
}

}  // namespace openral::OPENRAL_LANES
