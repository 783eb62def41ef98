// Eight configurations against the voxels: one look-up a capsule, closer tests where it fails.
#pragma once

#include "openral/prover_swing.hpp"

namespace openral::OPENRAL_LANES {

// One configuration's capsule against eight cells at a time: a cell's distance, made comparable
// with the need of an undirected motion by what the direction saves (prover.hpp, point 2).
struct DirectedDistance {
  static constexpr int kWork = 8;
  const Columns* columns;
  S from, to;     // part of the capsule
  S full, least;  // the undirected motion
  S need, rest;   // radii and margin included

  V operator()(const Segment& local, const V3& h) const {
    const Apart apart = beside(local, h);
    const V zero = splat(0);
    V nominal[2] = {zero, zero}, wide[2] = {zero, zero};
    for (int k = 0; k < columns->count; ++k) {
      const Columns::Joint& j = columns->joint[k];
      const V start = apart.n.x * j.start[0] + apart.n.y * j.start[1] + apart.n.z * j.start[2];
      const V way = apart.n.x * j.way[0] + apart.n.y * j.way[1] + apart.n.z * j.way[2];
      const V rate[2] = {start + from * way, start + to * way};
      for (int e = 0; e < 2; ++e) {
        nominal[e] += rate[e] * j.move;
        wide[e] += vabs(rate[e]) * j.wide;
      }
    }
    const V far = vmin(apart.start, apart.end);
    const V closest = vmax(
        vmin(apart.start - vabs(nominal[0]) - wide[0], apart.end - vabs(nominal[1]) - wide[1]) -
            columns->bend,
        far - columns->moved);
    const V nearest = vmax(vmin(apart.start - wide[0], apart.end - wide[1]) - columns->bend_wide,
                           far - columns->moved_wide);
    const V moving = vmax(far, far - padded(far - closest) + full);
    const V resting = vmax(far, far - padded(far - nearest) + least);
    const V undecided = select(resting >= rest, vmax(moving, splat(rest)), resting);
    return select(moving >= need, moving, undecided);
  }
};

inline void Block::columns(int c, int lane, Columns& out) {
  detail();
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  const Segment& g = segment(c);
  const S p[3] = {at(g.p.x, lane), at(g.p.y, lane), at(g.p.z, lane)};
  const S d[3] = {at(g.d.x, lane), at(g.d.y, lane), at(g.d.z, lane)};
  out.count = 0;
  out.bend = out.bend_wide = out.moved = out.moved_wide = 0;
  const auto turning = [&](Columns::Joint& j, const S* axis, const V3& origin) {
    const S o[3] = {p[0] - at(origin.x, lane), p[1] - at(origin.y, lane),
                    p[2] - at(origin.z, lane)};
    for (int i = 0; i < 3; ++i) {
      const int a = (i + 1) % 3, b = (i + 2) % 3;
      j.start[i] = axis[a] * o[b] - axis[b] * o[a];
      j.way[i] = axis[a] * d[b] - axis[b] * d[a];
    }
  };
  // As turn_by, for one lane.
  const auto curve = [&](const Columns::Joint& j, bool revolute, S half, S wide, S lever) {
    S length = lever;
    if (revolute) {
      S off = 0;
      for (int e = 0; e < 2; ++e) {
        S sum = 0;
        for (int i = 0; i < 3; ++i) {
          const S x = j.start[i] + static_cast<S>(e) * j.way[i];
          sum += x * x;
        }
        off = sum > off ? sum : off;
      }
      const S here = std::sqrt(off) + out.moved;
      length = here < lever ? here : lever;
      out.bend += half * (length * half / 2 + out.moved);
      out.bend_wide += wide * (length * wide / 2 + out.moved_wide);
    }
    out.moved += length * half;
    out.moved_wide += length * wide;
  };
  for (int k = capsule.swing.last; k-- > capsule.swing.first;) {
    const Swing& swing = s_.swings.data()[k];
    const MovingFrame& f = s_.frames.data()[swing.frame];
    const V3& along = posed_.rotation[swing.frame].axis[2];
    const S axis[3] = {at(along.x, lane), at(along.y, lane), at(along.z, lane)};
    Columns::Joint& j = out.joint[out.count++];
    j = {};
    if (f.revolute)
      turning(j, axis, posed_.origin[swing.frame]);
    else
      for (int i = 0; i < 3; ++i) j.start[i] = axis[i];
    const auto times = static_cast<S>(f.multiplier), size = times < 0 ? -times : times;
    j.move = times * move_[f.coordinate][lane];
    j.wide = size * wide_[f.coordinate][lane];
    curve(j, f.revolute, size * half_[f.coordinate][lane], j.wide, static_cast<S>(swing.length));
  }
  if (!planar_) return;
  const int dof = static_cast<int>(s_.dof);
  const S up[3] = {0, 0, 1};
  for (int k = capsule.motion.last; k-- > capsule.motion.first;) {
    const Lever& l = s_.levers.data()[k];
    if (l.coordinate < dof) break;
    Columns::Joint& j = out.joint[out.count++];
    j = {};
    if (l.coordinate == dof + 2)
      turning(j, up, posed_.origin[0]);
    else
      j.start[l.coordinate - dof] = 1;
    j.move = move_[l.coordinate][lane];
    j.wide = wide_[l.coordinate][lane];
    curve(j, l.turn > 0, half_[l.coordinate][lane], j.wide, static_cast<S>(l.length));
  }
}

// The distance of a ball's middle to anything occupied, for all lanes, settles most capsules.
inline void Block::voxels() {
  const VoxelField& field = *q_.voxels;
  const int capsules = static_cast<int>(s_.capsules.size());
  const S inverse = 1 / static_cast<S>(field.resolution());
  const auto shape = field.shape();
  const auto origin = field.origin();
  for (int c = 0; c < capsules; ++c) {
    const SkeletonCapsule& capsule = s_.capsules.data()[c];
    if (!capsule.against_world) continue;
    int cell[3];
    for (std::size_t i = 0; i < 3; ++i)
      cell[i] = cell_of(ball_[i][c], static_cast<S>(origin[i]), inverse, shape[i]);
    const S apart = field.distance(field.index(cell[0], cell[1], cell[2]));
    if (apart >= keep_[c] + static_cast<S>(field.slack())) continue;
    if (spend(1)) return;
    voxels(c);
  }
}

inline void Block::voxels(int c) {
  const VoxelField& field = *q_.voxels;
  const SkeletonCapsule& capsule = s_.capsules.data()[c];
  const S inverse = 1 / static_cast<S>(field.resolution());
  const auto shape = field.shape();
  const auto origin = field.origin();
  const V top[3] = {splat(static_cast<S>(shape[0] - 1)), splat(static_cast<S>(shape[1] - 1)),
                    splat(static_cast<S>(shape[2] - 1))};
  const V zero = splat(0);
  const std::uint8_t* squared = field.squared();
  const float* metres = field.metres();
  const S margin = static_cast<S>(q_.capsule_margin[c]);
  const S fixed = capsule.radius + capsule.slack + field.slack() + margin;
  const V need = fixed + full(c);
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
  if (open == 0) return;
  alignas(32) S p[6][kLanes], full[kLanes], rest[kLanes];
  const Segment& g = segment(c);
  store(p[0], g.p.x), store(p[1], g.p.y), store(p[2], g.p.z);
  store(p[3], g.d.x), store(p[4], g.d.y), store(p[5], g.d.z);
  store(full, need);
  store(rest, fixed + least(c));
  for (; open != 0; open &= open - 1) {
    const int lane = __builtin_ctz(open);
    const unsigned bit = 1U << lane;
    if ((unproven & bit) != 0 && full[lane] > rest[lane] + static_cast<S>(1e-3)) continue;
    work += 3;
    bool ready = false;
    const auto measures = [&](S from, S to) -> DirectedDistance {
      if (!ready) columns(c, lane, columns_);
      ready = true;
      return {&columns_, from, to, full[lane] - fixed, rest[lane] - fixed, full[lane], rest[lane]};
    };
    const VoxelAnswer answer = voxel_test(
        field, {{p[0][lane], p[1][lane], p[2][lane]}}, {{p[3][lane], p[4][lane], p[5][lane]}},
        capsule.half_length, full[lane], rest[lane], work, limit, measures);
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

}  // namespace openral::OPENRAL_LANES
