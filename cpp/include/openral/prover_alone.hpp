// The test of one pair of links, or of one capsule against the world, in eight pieces at once: what
// everything else would cost is saved.
#pragma once

#include "openral/prover_close.hpp"
#include "openral/prover_voxels.hpp"

namespace openral::OPENRAL_LANES {

// What no block can do without, in instructions.
inline int Block::work_alone() const {
  const auto chain = [this](int c) {
    const LeverList& swing = s_.capsules.data()[c].swing;
    return swing.last - swing.first;
  };
  const int coordinates = static_cast<int>(s_.coordinates);
  if (q_.only_capsule >= 0)
    return 45 * coordinates + 75 * chain(q_.only_capsule) + 95 +
           3 * static_cast<int>(q_.world->obstacles.size());
  const SkeletonPair& pair = s_.pairs.data()[q_.only_pair];
  return 45 * coordinates + 75 * (chain(pair.a) + chain(pair.b)) + 190;
}

inline void Block::pose_alone(int c) {
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  for (int k = capsule.swing.first; k < capsule.swing.last; ++k) {
    const int f = s_.swings.data()[k].frame;
    pose_frame(s_.frames.data()[f], load(configurations_.theta[f]), posed_, posed_.rotation[f],
               posed_.origin[f]);
  }
  pose_capsule(capsule, posed_, c);
}

// As `reaches` and `balls`, for one capsule.
inline void Block::ball_alone(int c) {
  const std::size_t n = s_.coordinates, used = planar_ ? n : s_.dof;
  const std::size_t first = static_cast<std::size_t>(c / kLanes * kLanes);
  alignas(32) S reach[kLanes];
  store(reach, reach_of_eight(s_.capsule_reach, first, fixed_, most_, n, used));
  reach_[c] = reach[c % kLanes];
  const V3& m = posed_.middle[c];
  const S at[3] = {m.x[0], m.y[0], m.z[0]};
  const V3 d = m - splat3(at);
  const V apart = dot(d, d);
  const bool numbers = bits(apart < kBeyond) == kAll && reach_[c] < kBeyond;
  for (int axis = 0; axis < 3; ++axis) ball_[axis][c] = numbers ? at[axis] : 0;
  keep_[c] = numbers ? std::sqrt(largest(apart)) * kRounded + reach_[c] : kBeyond;
}

inline void Block::check_alone() {
  pose_base(configurations_, planar_, posed_);
  if (q_.only_pair >= 0) {
    const SkeletonPair& pair = s_.pairs.data()[q_.only_pair];
    pose_alone(pair.a);
    pose_alone(pair.b);
    if (!spend(1)) close_pair(q_.only_pair, posed_.middle[pair.a] - posed_.middle[pair.b]);
  } else {
    pose_alone(q_.only_capsule);
    ball_alone(q_.only_capsule);
    world();
    if (q_.voxels != nullptr && !q_.voxels->empty() && !skipped_) voxels();
  }
  if (skipped_) give_up();
}

}  // namespace openral::OPENRAL_LANES
