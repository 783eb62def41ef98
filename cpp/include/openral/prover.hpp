// The proof that a path is clear.
//
// A path is a list of spans. A span says: joint by joint, the robot stays within `width` of the
// straight line between two configurations (assumption: the controller's tracking error, or what
// the mode leaves open; the lowering of each mode justifies it). Time plays no part, so a robot
// that lags, stops early or slows down is covered.
//
// 1. Inflation. Take a piece of a span with middle m and a configuration q of its box, i.e.
//    |q_j − m_j| ≤ h_j = |Δq_j|/2 + width_j. Go from m to q one joint at a time. Turning joint j
//    by θ moves a point along an arc of length ≤ L·|θ|, L being its distance from the axis, and
//    the precomputed lever L_cj bounds that distance for every point of capsule c and every value
//    of the joints in between. So each point of c is within I_c = Σ_j L_cj·h_j of its place at m,
//    whatever order or speed the joints take. For a pair of links only joints between them change
//    their distance. A box proven whole therefore covers every joint path inside it,
//    unsynchronised joints too; a piece of a bisected span covers the tube of `width` around it.
// 2. Along one direction. Where I_c is too much, take the direction n that separates a capsule's
//    end p from an obstacle at m, and g_j = ∂(n·p)/∂q_j there. By Taylor's theorem n·p changes over
//    the piece by at most |Σ_j g_j·Δq_j/2| + Σ_j |g_j|·width_j + B: the nominal motion counts with
//    its sign, widths do not, and B = Σ_k r_k·h_k·(h_k/2 + Σ_{j before k} h_j) bounds half of the
//    second derivative, because turning j and k moves p with at most the lever of the outer one.
//    Here r_k is p's distance from axis k anywhere in the piece: at most L_k, and at most what it
//    is at m plus Σ_{j beyond k} r_j·h_j, by which the joints beyond k can move p. Σ_k r_k·h_k
//    itself is a bound like I_c. A segment's points lie between its ends, so the smaller of the two
//    ends' bounds holds. For a pair of links the same holds in the frame of the link that both hang
//    on.
// 3. Lower bounds. Distances at m come from separating directions, valid for any direction
//    (geometry.hpp), or from the voxel field (voxels.hpp) minus the half length of the piece of
//    capsule around the point looked up. Outside the grid the field is read at the nearest point
//    c of the grid: for x in the grid |p−x| ≥ |c−x| because the grid is convex.
//    What is farther away than the widest of eight lanes needs is skipped: from balls around each
//    capsule's segment in every lane (pairs), or around where all lanes have it, against boxes
//    around obstacles and against the field. Both are enclosures, so no distance is overestimated.
// 4. Rounding. Lanes are floats. Middles are halved and reduced to ±π in double and h_j grows by
//    what that and the conversion to float lost. Placing a capsule costs at most
//    SkeletonCapsule::slack; obstacle and grid coordinates carry their own (Obstacle::radius,
//    VoxelField::slack). The distance formulas err by a few units of the same magnitudes, inside
//    the factor 64 used there. Levers and radii are rounded up. Every test has the form `bound ≥
//    need`, so NaN and overflow are never proof.
// 5. Bisection. An unproven piece is cut in two, four or eight. A piece whose middle is too close
//    by more than its nominal motion can explain is a hit; pieces that stay undecided at the
//    shortest length, and everything past the work budget, are refusals.
#pragma once

#include <cstdint>

#include "openral/skeleton.hpp"
#include "openral/voxels.hpp"
#include "openral/world.hpp"

namespace openral {

// One stretch of motion between two of the path's configurations.
struct Span {
  std::int32_t from = 0, to = 0, width = 0;  // rows in Path::points and Path::widths
  std::int32_t row = -1;                     // row of the chunk it leads to; −1: measured state
  float rate = 0;                            // 1/duration for speed checks, 0: none
};

struct Path {
  const double* points = nullptr;  // rows of Skeleton::coordinates values
  const double* widths = nullptr;
  const Span* spans = nullptr;
  int count = 0;
};

enum class Finding : std::uint8_t {
  kNothing,
  kSelf,
  kWorld,
  kVoxel,
  kWorkspace,
  kToolSpeed,
  kToolRate
};
enum class Proof : std::uint8_t { kProven, kViolated, kUndecided, kBudget };

struct Outcome {
  Proof proof = Proof::kProven;
  Finding finding = Finding::kNothing;
  int span = 0;
  int open = 0;              // all spans before this one are proven
  float start = 0, end = 1;  // part of the span
  int capsule = -1;          // capsule or tool
  int other = -1;            // capsule or obstacle
  int cell[3] = {0, 0, 0};   // voxel
  float distance = 0;  // lower bound between the surfaces at the middle of that part, or speed
  float limit = 0;
  int work = 0;
};

struct Query {
  const Skeleton* skeleton = nullptr;
  const World* world = nullptr;
  const VoxelField* voxels = nullptr;     // may be null
  const float* capsule_margin = nullptr;  // by capsule, against the world
  const float* pair_margin = nullptr;     // by pair
  float workspace_lower[3] = {0, 0, 0}, workspace_upper[3] = {0, 0, 0};
  bool workspace = false;
  float tool_speed = 0, tool_rate = 0;  // limits; 0: none
  Path path;
  // Where set, the spans are eight at most and looked at once, without cuts: an outcome for each.
  Outcome* each = nullptr;
  // The one pair of links, or the one capsule against the world, to look at; −1: everything.
  int only_pair = -1, only_capsule = -1;
  int budget = kDefaultBudget;  // units of work

  // Either is some 0.6 ms at worst: all work counts, and a unit takes up to 40 ns with AVX2 and
  // 80 ns without. The rest of a millisecond is room for slower machines.
  static constexpr int kDefaultBudget = 16000, kScalarBudget = 8000;
};

using ProveFunction = Outcome (*)(const Query&) noexcept;

// Which of `count` configurations (rows of Skeleton::coordinates values, the base where it is) keep
// their distances, one answer for each: proven clear, or not. The query's path plays no part.
using CheckFunction = void (*)(const Query&, const double* rows, int count, bool* clear) noexcept;

// Distances at one configuration in double precision, for explanations and recovery:
// per capsule to the nearest obstacle or voxel, per pair between the two; cut off at `reach`.
// Surfaces, so negative when they overlap. Gives the number of tests that this took; where it is
// above `most`, they were not all done and the distances mean nothing.
int clearances(const Skeleton& skeleton, const World& world, const VoxelField* voxels,
               const double* q, float reach, int most, float* by_capsule, float* by_pair) noexcept;

namespace scalar {
Outcome prove(const Query& query) noexcept;
void check(const Query& query, const double* rows, int count, bool* clear) noexcept;
}  // namespace scalar
#if defined(__x86_64__)
namespace avx2 {
Outcome prove(const Query& query) noexcept;
void check(const Query& query, const double* rows, int count, bool* clear) noexcept;
}  // namespace avx2
#endif

// The fastest prover that this machine runs; `scalar_only` picks the portable one.
ProveFunction select_prover(bool scalar_only) noexcept;
CheckFunction select_check(bool scalar_only) noexcept;

}  // namespace openral
