// The driver: blocks of eight spans in order, each undecided piece cut in eight at once.
#pragma once

#include "openral/prover_tools.hpp"
#include "openral/prover_voxels.hpp"

namespace openral::OPENRAL_LANES {

inline constexpr int kMaxDepth = 5;    // pieces down to 1/32768 of a span
inline constexpr int kBlockWork = 40;  // units of work that a block stands for
inline constexpr int kPending = 8 * 8 * (kMaxDepth + 1);

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

// Without a cut a lane is refused only when it is a hit or cannot be cut any further.
Outcome prove(const Query& query) noexcept {
  Block block(query);
  Piece pending[kPending];
  int waiting = 0, next = 0, work = 0;
  while (waiting > 0 || next < query.path.count) {
    Piece pieces[kLanes];
    int count = 0;
    while (count < kLanes && waiting > 0) pieces[count++] = pending[--waiting];
    while (count < kLanes && next < query.path.count) pieces[count++] = {next++, 0, 0.0F, 1.0F};
    block.work = 0;
    block.test(pieces, count);
    work += kBlockWork + block.work;
    Outcome refused;
    bool refuse = false;
    for (int lane = count; lane-- > 0;) {
      const bool sure = (block.hit >> lane & 1U) != 0;
      const bool open = (block.unproven >> lane & 1U) != 0;
      if (sure || (open && pieces[lane].depth == kMaxDepth)) {
        refused = report(block, pieces[lane], lane, sure ? Proof::kViolated : Proof::kUndecided);
        refuse = true;
      }
    }
    if (refuse) {
      refused.work = work;
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
      for (int k = 8; k-- > 0;)
        pending[waiting++] = {p.span, p.depth + 1, p.start + p.length * static_cast<float>(k) / 8,
                              p.length / 8};
    }
  }
  Outcome out;
  out.work = work;
  return out;
}

}  // namespace openral::OPENRAL_LANES
