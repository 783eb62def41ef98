// The driver: blocks of eight spans in order; undecided pieces are cut in two, four or eight,
// whatever should do, and their parts fill the next blocks.
#pragma once

#include "openral/prover_alone.hpp"
#include "openral/prover_tools.hpp"

namespace openral::OPENRAL_LANES {

inline constexpr float kShortest = 1.0F / 32768;  // of a span
inline constexpr int kPending = 1024;

OPENRAL_INLINE Outcome report(const Block& block, const Piece& piece, int lane, Proof proof) {
  Outcome out;
  const Culprit& c = block.culprit[lane];
  out.proof = proof;
  out.finding = c.finding;
  out.span = piece.span;
  out.start = piece.start;
  out.end = piece.start + piece.length;
  out.capsule = c.capsule;
  out.other = c.other;
  for (int i = 0; i < 3; ++i) out.cell[i] = c.cell[i];
  out.distance = static_cast<float>(c.distance);
  out.limit = static_cast<float>(c.limit);
  return out;
}

OPENRAL_INLINE Outcome at_once(const Block& block, const Piece& piece, int lane) {
  if ((block.unproven >> lane & 1U) == 0) return {};
  const bool sure = (block.hit >> lane & 1U) != 0;
  return report(block, piece, lane, sure ? Proof::kViolated : Proof::kUndecided);
}

// Without a cut a lane is refused only when it is a hit or cannot be cut any further.
Outcome prove(const Query& query) noexcept {
  Block block(query);
  Piece pending[kPending];
  int waiting = 0, next = 0, work = 0;
  while (waiting > 0 || next < query.path.count) {
    Piece pieces[kLanes];
    int count = 0;
    while (count < kLanes && waiting > 0) pieces[count++] = pending[--waiting];
    while (count < kLanes && next < query.path.count) pieces[count++] = {next++, 0.0F, 1.0F};
    block.limit = query.budget > work ? query.budget - work : 0;
    block.test(pieces, count);
    work += block.work;
    if (query.each != nullptr) {
      for (int lane = 0; lane < count; ++lane)
        query.each[lane] = at_once(block, pieces[lane], lane);
      break;
    }
    Outcome refused;
    bool refuse = false;
    for (int lane = count; lane-- > 0;) {
      const bool sure = (block.hit >> lane & 1U) != 0;
      const bool open = (block.unproven >> lane & 1U) != 0;
      if (sure || (open && pieces[lane].length <= kShortest)) {
        refused = report(block, pieces[lane], lane, sure ? Proof::kViolated : Proof::kUndecided);
        refuse = true;
      }
    }
    if (refuse) {
      refused.work = work;
      // What waits and what this block has left open may be of earlier spans.
      refused.open = refused.span;
      for (int i = 0; i < waiting; ++i)
        refused.open = pending[i].span < refused.open ? pending[i].span : refused.open;
      for (int lane = 0; lane < count; ++lane)
        if ((block.unproven >> lane & 1U) != 0 && pieces[lane].span < refused.open)
          refused.open = pieces[lane].span;
      return refused;
    }
    for (int lane = count; lane-- > 0;) {
      if ((block.unproven >> lane & 1U) == 0) continue;
      const Piece& p = pieces[lane];
      if (work > query.budget || waiting + 8 > kPending) {
        Outcome out = report(block, p, lane, Proof::kBudget);
        out.work = work;
        return out;
      }
      const int parts = block.excess[lane] < S(1.7) ? 2 : block.excess[lane] < S(3.4) ? 4 : 8;
      const float length = p.length / static_cast<float>(parts);
      for (int k = parts; k-- > 0;)
        pending[waiting++] = {p.span, p.start + length * static_cast<float>(k), length};
    }
  }
  Outcome out;
  out.work = work;
  return out;
}

void check(const Query& query, const double* rows, int count, bool* clear) noexcept {
  Block block(query);
  for (int i = 0; i < count; i += kLanes) {
    const int lanes = count - i < kLanes ? count - i : kLanes;
    block.limit = query.budget;
    block.test(rows + static_cast<std::size_t>(i) * query.skeleton->coordinates, lanes);
    for (int lane = 0; lane < lanes; ++lane) clear[i + lane] = (block.unproven >> lane & 1U) == 0;
  }
}

}  // namespace openral::OPENRAL_LANES
