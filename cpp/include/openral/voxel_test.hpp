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
// below `enough`. Counts its work, and gives up (with an answer of no meaning) past `limit`.
template <class Measure>
static S nearest_cell(const VoxelField& field, const Point& p, const Point& d, S half, S need,
                      S enough, int* cell, int& work, int limit, const Measure& measure) {
  const S res = field.resolution();
  const S inverse = 1 / res;
  const S pad = need + field.slack();
  int low[3], high[3];
  S middle[3];
  for (int i = 0; i < 3; ++i) {
    const S a = p.x[i], b = p.x[i] + d.x[i];
    const S origin = field.origin()[static_cast<std::size_t>(i)];
    const int size = field.shape()[static_cast<std::size_t>(i)];
    middle[i] = p.x[i] + d.x[i] / 2;
    const S from = (a < b ? a : b) - pad, to = (a < b ? b : a) + pad;
    if (to < origin || from > origin + res * static_cast<S>(size)) return need;
    low[i] = cell_of(from, origin, inverse, size);
    high[i] = cell_of(to, origin, inverse, size);
  }
  // How far the cells of index k along axis a are from the segment's bounding box.
  const auto gap_to = [&](int a, int k) {
    const S from = field.origin()[static_cast<std::size_t>(a)] + res * static_cast<S>(k);
    const S start = p.x[a] < p.x[a] + d.x[a] ? p.x[a] : p.x[a] + d.x[a];
    const S end = p.x[a] < p.x[a] + d.x[a] ? p.x[a] + d.x[a] : p.x[a];
    const S before = start - from - res, after = from - end;
    const S gap = before > after ? before : after;
    return gap > 0 ? gap : 0;
  };
  const S far = half + need + static_cast<S>(0.8661) * res;
  const V h = splat(res / 2);
  alignas(32) S box[3][kLanes];
  int which[kLanes][3];
  int filled = 0;
  S best = need;
  const auto flush = [&]() {
    for (int k = filled; k < kLanes; ++k)
      for (int i = 0; i < 3; ++i) box[i][k] = box[i][0];
    const V3 centre{load(box[0]), load(box[1]), load(box[2])};
    const Segment local{V3{splat(p.x[0]), splat(p.x[1]), splat(p.x[2])} - centre,
                        V3{splat(d.x[0]), splat(d.x[1]), splat(d.x[2])}};
    alignas(32) S bound[kLanes];
    store(bound, measure(local, {h, h, h}));
    for (int k = 0; k < filled; ++k) {
      const S value = bound[k] >= 0 ? bound[k] : 0;  // touching boxes give NaN
      if (value < best) {
        best = value;
        for (int i = 0; i < 3; ++i) cell[i] = which[k][i];
      }
    }
    filled = 0;
    work += Measure::kWork;
  };
  for (int i = low[0]; i <= high[0] && work <= limit; ++i) {
    int passed = 2 * (high[1] - low[1]);  // rows, and cells that lie too far away
    const S gap_i = gap_to(0, i);
    for (int j = low[1]; j <= high[1]; ++j) {
      const S gap_j = gap_to(1, j);
      if (gap_i * gap_i + gap_j * gap_j > pad * pad) continue;
      for (int w = low[2] / 64; w <= high[2] / 64; ++w) {
        std::uint64_t bits = field.bits(i, j, w);
        if (low[2] > w * 64) bits &= ~std::uint64_t{0} << (low[2] - w * 64);
        if (high[2] - w * 64 < 63) bits &= (std::uint64_t{2} << (high[2] - w * 64)) - 1;
        for (; bits != 0; bits &= bits - 1, ++passed) {
          const int at[3] = {i, j, w * 64 + __builtin_ctzll(bits)};
          S gap = 0;
          for (int a = 0; a < 3; ++a) {
            box[a][filled] = field.origin()[static_cast<std::size_t>(a)] +
                             res * (static_cast<S>(at[a]) + static_cast<S>(0.5));
            which[filled][a] = at[a];
            const S delta = box[a][filled] - middle[a];
            gap += delta * delta;
          }
          if (gap > far * far) continue;
          if (++filled < kLanes) continue;
          flush();
          if (best < enough || work > limit) return best;
        }
      }
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
  answer.distance = nearest_cell(field, q, e, half_length * (high - low), need, least, answer.cell,
                                 work, limit, measures(low, high));
  if (work > limit || (answer.distance < need && answer.distance >= least))
    answer.state = VoxelAnswer::kUnproven;
  else if (!(answer.distance >= need))
    answer.state = VoxelAnswer::kHit;
  return answer;
}

}  // namespace openral::OPENRAL_LANES
