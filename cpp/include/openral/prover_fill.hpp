// From a path to lanes: middles, half-widths, joint angles.
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
      // The latter covers the rounding of a middle in ±π to float (sliding joints stay below ±6 m),
      // the former its reduction to ±π. A float itself, it is the same for all that stand still.
      const Row lost = magnitude(middle[lane]) * 1e-15 + static_cast<double>(4.1e-7F);
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

}  // namespace openral::OPENRAL_LANES
