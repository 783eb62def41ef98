// From a path to lanes: middles, half-widths, joint angles, inflation.
#pragma once

#include "openral/prover_block.hpp"

namespace openral::OPENRAL_LANES {

inline Block::Source Block::source(const Piece& piece) const {
  const Span& span = q_.path.spans[piece.span];
  const auto row = [this](const double* rows, std::int32_t i) {
    return rows + static_cast<std::size_t>(i) * s_.coordinates;
  };
  const double part = 0.5 * static_cast<double>(piece.length);
  return {row(q_.path.points, span.from),
          row(q_.path.points, span.to),
          row(q_.path.widths, span.width),
          static_cast<double>(piece.start) + part,
          part,
          static_cast<double>(span.rate)};
}

inline void Block::fill() {
  const std::size_t n = s_.coordinates, used = planar_ ? n : s_.dof;
  for (std::size_t j = 0; j < used; j += 4) {
    const std::size_t first = j + 4 <= n ? j : n - 4;  // rows end there
    Row middle[kLanes];
    FloatRow half[kLanes], most{}, total{};
    for (int lane = 0; lane < kLanes; ++lane) {
      const Source& of = source_[lane];
      const Row from = load_row(of.from + first), delta = load_row(of.to + first) - from;
      middle[lane] = from + delta * of.at;
      // 4e-7 covers the rounding of a middle in ±π to float; sliding joints stay below ±6 m. The
      // rest covers the reduction to ±π.
      const Row lost = magnitude(middle[lane]) * 1e-15 + 4e-7;
      half[lane] =
          rounded((magnitude(delta) * of.part + load_row(of.wide + first)) * (1 + 1e-6) + lost);
      most = larger(half[lane], most);
      total += half[lane];
    }
    transpose(middle, middle_ + first);
    transpose(half, half_ + first);
    most += total - total;  // a number that is none must not get lost
    __builtin_memcpy(most_ + first, &most, sizeof most);
  }
  turn_frames();
}

inline void Block::turn_frames() {
  const int frames = static_cast<int>(s_.frames.size());
  const MovingFrame* frame = s_.frames.data();
  for (int f = 1; f < frames; ++f) {
    if (!frame[f].needed) continue;
    const double* q = middle_[frame[f].coordinate];
    for (int lane = 0; lane < kLanes; lane += 4) {
      const Row value = load_row(q + lane) * frame[f].multiplier + frame[f].offset;
      const FloatRow theta = rounded(frame[f].revolute ? reduced(value) : value);
      __builtin_memcpy(configurations_.theta[f] + lane, &theta, sizeof theta);
    }
  }
  if (!planar_) return;
  for (std::size_t i = 0; i < 3; ++i)
    for (int lane = 0; lane < kLanes; lane += 4) {
      const Row value = load_row(middle_[s_.dof + i] + lane);
      const FloatRow to = rounded(i == 2 ? reduced(value) : value);
      __builtin_memcpy(configurations_.base[i] + lane, &to, sizeof to);
    }
}

// Lanes whose joint values are all numbers.
inline unsigned Block::finite() const {
  V total = splat(0);
  for (std::size_t f = 1; f < s_.frames.size(); ++f)
    if (s_.frames.data()[f].needed) total += load(configurations_.theta[f]) * static_cast<S>(0);
  return bits(total == static_cast<S>(0));
}

// What only the closer tests ask for: widths alone, and the nominal motion.
inline void Block::detail() {
  if (detailed_) return;
  detailed_ = true;
  const std::size_t n = s_.coordinates, used = planar_ ? n : s_.dof;
  for (std::size_t j = 0; j < used; j += 4) {
    const std::size_t first = j + 4 <= n ? j : n - 4;
    FloatRow wide[kLanes], move[kLanes], rate[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const Source& of = source_[lane];
      const Row delta = load_row(of.to + first) - load_row(of.from + first);
      wide[lane] = rounded(load_row(of.wide + first) * (1 + 1e-6));
      move[lane] = rounded(delta * of.part);
      rate[lane] = rounded(delta * of.rate);
    }
    transpose(wide, wide_ + first);
    transpose(move, move_ + first);
    transpose(rate, rate_ + first);
  }
}

// Inflation where a mode prescribes a tool's path.
inline void Block::inflate(const Piece* pieces, int count) {
  detail();
  const int capsules = static_cast<int>(s_.capsules.size());
  const Lever* lever = s_.levers.data();
  for (int c = 0; c < capsules; ++c) {
    full_[c] = sum(lever, s_.capsules.data()[c].motion, half_);
    least_[c] = sum(lever, s_.capsules.data()[c].motion, wide_);
  }
  for (int lane = 0; lane < count; ++lane) {
    const Span& span = q_.path.spans[pieces[lane].span];
    for (int i = 0; i < span.holds; ++i) hold(q_.path.holds[span.hold + i], lane);
  }
}

// Point 3 of the argument: the capsules as seen from a tool whose path is prescribed.
inline void Block::hold(const Hold& held, int lane) {
  const Lever* lever = s_.levers.data();
  const SkeletonTool& tool = s_.tools.data()[held.tool];
  S shift = held.error, twist = held.turn;
  for (int k = tool.motion.first; k < tool.motion.last; ++k) {
    const S nominal = half_[lever[k].coordinate][lane] - wide_[lever[k].coordinate][lane];
    shift += static_cast<S>(lever[k].length) * nominal;
    twist += static_cast<S>(lever[k].turn) * nominal;
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

}  // namespace openral::OPENRAL_LANES
