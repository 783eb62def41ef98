// One capsule against the voxels: the field first, then smaller pieces, then exact cell boxes.
#pragma once

#include "openral/geometry.hpp"
#include "openral/voxels.hpp"

namespace openral::OPENRAL_LANES {

struct VoxelAnswer {
  enum State { kClear, kUnproven, kHit } state = kClear;
  S distance = 0;
  int cell[3] = {0, 0, 0};
};

struct Point {
  S x[3];
};

OPENRAL_INLINE int cell_of(S coordinate, S origin, S inverse, int size) {
  const S at = (coordinate - origin) * inverse;
  if (!(at > 0)) return 0;
  return at >= static_cast<S>(size) ? size - 1 : static_cast<int>(at);
}

// What a cell's distance counts for when nothing moves.
struct PlainDistance {
  static constexpr int kWork = 1;
  V operator()(const Segment& local, const V3& h) const { return segment_box(local, h); }
};

// Smallest certified distance from the segment to occupied cells within `need` of it; stops early
// below `enough`. Counts its work, and gives up (with an answer of no meaning) past `limit`. Cells
// come as boxes of many; `cell` is one of those in the nearest.
template <class Measure>
static S nearest_cell(const VoxelField& field, const Point& p, const Point& d, S need, S enough,
                      int* cell, int& work, int limit, const Measure& measure) {
  const S res = field.resolution();
  const S inverse = 1 / res;
  const S pad = need + field.slack();
  int low[3], high[3], middle[3];
  S start[3], end[3];
  for (int i = 0; i < 3; ++i) {
    const S a = p.x[i], b = p.x[i] + d.x[i];
    const S origin = field.origin()[static_cast<std::size_t>(i)];
    const int size = field.shape()[static_cast<std::size_t>(i)];
    start[i] = a < b ? a : b;
    end[i] = a < b ? b : a;
    if (end[i] + pad < origin || start[i] - pad > origin + res * static_cast<S>(size)) return need;
    low[i] = cell_of(start[i] - pad, origin, inverse, size);
    high[i] = cell_of(end[i] + pad, origin, inverse, size);
    middle[i] = cell_of((a + b) / 2, origin, inverse, size);
  }
  alignas(32) S centre[3][kLanes], half[3][kLanes];
  const VoxelBox* which[kLanes];
  int filled = 0;
  S best = need;
  const auto flush = [&]() {
    for (int k = filled; k < kLanes; ++k)
      for (int i = 0; i < 3; ++i) centre[i][k] = centre[i][0], half[i][k] = half[i][0];
    const V3 at{load(centre[0]), load(centre[1]), load(centre[2])};
    const Segment local{V3{splat(p.x[0]), splat(p.x[1]), splat(p.x[2])} - at,
                        V3{splat(d.x[0]), splat(d.x[1]), splat(d.x[2])}};
    alignas(32) S bound[kLanes];
    store(bound, measure(local, {load(half[0]), load(half[1]), load(half[2])}));
    for (int k = 0; k < filled; ++k) {
      const S value = bound[k] >= 0 ? bound[k] : 0;  // touching boxes give NaN
      if (value >= best) continue;
      best = value;
      for (std::size_t i = 0; i < 3; ++i)
        cell[i] = middle[i] < which[k]->low[i]    ? which[k]->low[i]
                  : middle[i] > which[k]->high[i] ? which[k]->high[i]
                                                  : middle[i];
    }
    filled = 0;
    work += Measure::kWork;
  };
  constexpr int kTile = VoxelField::kTile;
  for (int ti = low[0] / kTile; ti <= high[0] / kTile && work <= limit; ++ti)
    for (int tj = low[1] / kTile; tj <= high[1] / kTile; ++tj) {
      int passed = 0;
      for (const VoxelBox& box : field.boxes(ti, tj)) {
        ++passed;
        S gap = 0;
        for (int i = 0; i < 3; ++i) {
          const auto a = static_cast<std::size_t>(i);
          const S from = field.origin()[a] + res * static_cast<S>(box.low[a]);
          const S to = field.origin()[a] + res * static_cast<S>(box.high[a] + 1);
          const S before = from - end[i], after = start[i] - to;
          const S out = before > after ? before : after;
          gap += out > 0 ? out * out : 0;
          centre[i][filled] = (from + to) / 2;
          half[i][filled] = (to - from) / 2;
        }
        if (gap > pad * pad) continue;
        which[filled] = &box;
        if (++filled < kLanes) continue;
        flush();
        if (best < enough || work > limit) return best;
      }
      work += 1 + passed / 8;
    }
  if (filled > 0) flush();
  return best;
}

// Is the segment at least `need` from every occupied cell? `least` is what no finer motion could
// lower: below it, it is a hit; in between, undecided. `measures(from, to)` gives the measure for
// a part of the segment.
template <class Measures>
static VoxelAnswer voxel_test(const VoxelField& field, const Point& p, const Point& d,
                              S half_length, S need, S least, int& work, int limit,
                              const Measures& measures) {
  struct Part {
    S start, length;
  };
  Part stack[32];
  int count = 1;
  stack[0] = {0, 1};
  S low = 2, high = -1;  // the part that the field does not settle
  const S res = field.resolution();
  const S inverse = 1 / res;
  const std::array<int, 3> shape = field.shape();
  VoxelAnswer answer;
  answer.distance = need;
  while (count > 0) {
    const Part piece = stack[--count];
    Point q, e;
    int at[3];
    bool inside = true;
    const S half = half_length * piece.length;
    for (int i = 0; i < 3; ++i) {
      q.x[i] = p.x[i] + d.x[i] * piece.start;
      e.x[i] = d.x[i] * piece.length;
      const auto a = static_cast<std::size_t>(i);
      const S middle = q.x[i] + e.x[i] / 2;
      at[i] = cell_of(middle, field.origin()[a], inverse, shape[a]);
      const S past = (middle - field.origin()[a]) * inverse - static_cast<S>(at[i]);
      inside = inside && past >= 0 && past <= 1;
    }
    const S bound = field.distance(field.index(at[0], at[1], at[2]));
    if (bound - half >= need) continue;
    // A point of a cell is at most the cell's diagonal farther away than the cell itself.
    // Far below what is needed, no direction helps: cut the motion first.
    if (inside && bound + static_cast<S>(1.7321) * res < (need + least) / 2 && need > least + res) {
      answer.state = VoxelAnswer::kUnproven;
      answer.distance = bound;
      for (int i = 0; i < 3; ++i) answer.cell[i] = at[i];
      return answer;
    }
    if (half > res / 4 && count + 2 <= 32) {
      stack[count++] = {piece.start + piece.length / 2, piece.length / 2};
      stack[count++] = {piece.start, piece.length / 2};
      continue;
    }
    low = piece.start < low ? piece.start : low;
    high = piece.start + piece.length > high ? piece.start + piece.length : high;
  }
  if (low > high) return answer;
  // One exact test of all that the field could not settle.
  Point q, e;
  for (int i = 0; i < 3; ++i) {
    q.x[i] = p.x[i] + d.x[i] * low;
    e.x[i] = d.x[i] * (high - low);
  }
  answer.distance =
      nearest_cell(field, q, e, need, least, answer.cell, work, limit, measures(low, high));
  if (work > limit || (answer.distance < need && answer.distance >= least))
    answer.state = VoxelAnswer::kUnproven;
  else if (!(answer.distance >= need))
    answer.state = VoxelAnswer::kHit;
  return answer;
}

}  // namespace openral::OPENRAL_LANES
