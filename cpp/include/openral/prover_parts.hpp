// What the tests of a block hand to each other.
#pragma once

#include "openral/geometry.hpp"
#include "openral/prover.hpp"

namespace openral::OPENRAL_LANES {

// A piece of a span: from fraction `start` on, `length` of it.
struct Piece {
  std::int32_t span;
  float start, length;
};

// How much closer a capsule can come along a direction: in all, and by widths alone.
struct Closing {
  V full, least;
};
struct Approach;

// One lane's capsule: how each joint moves its two ends, for tests against many voxels.
struct Columns {
  struct Joint {
    S start[3], way[3];  // of the first end, and from there to the second
    S move, wide;
  };
  Joint joint[kMaxFrames + 3];
  int count = 0;
  S bend = 0, bend_wide = 0, moved = 0, moved_wide = 0;  // as in Approach
};

struct Culprit {
  Finding finding = Finding::kNothing;
  int capsule = -1, other = -1;
  int cell[3] = {0, 0, 0};
  S distance = 0, limit = 0;
};

}  // namespace openral::OPENRAL_LANES
