// A closer look where the box of a span is too wide for a proof in one go. Bounds on a box err by
// the square of its size, so it is cut into smaller ones; and because what a link can hit depends
// on few joints, each culprit (a pair of links, or a link and the world) is settled alone, by cuts
// along its own joints, and then left out.
#include <algorithm>

#include "openral/kernel.hpp"

namespace openral {
namespace {

constexpr float kLeftOut = -1e3F;  // a margin that everything keeps

}  // namespace

Outcome Kernel::look(const Query& q, int first, int count) noexcept {
  Query part = q;
  part.path.spans += first;
  part.path.count = count;
  part.budget = work_left_ - work_kept_;
  Outcome found = prove_(part);
  work_left_ -= found.work;
  found.span += first;
  found.open += first;
  return found;
}

// Whether the spans from `first` on are clear; else `found` is what stands against it.
bool Kernel::settle(const Query& q, int first, int count, Outcome& found) noexcept {
  while (count > 0) {
    found = look(q, first, count);
    if (found.proof == Proof::kProven) return true;
    const Outcome culprit = found;
    const int span = found.span, before = work_left_;
    work_kept_ = std::max(0, work_left_ - closer_left_);
    const bool settled = settle_culprits(q, found);
    closer_left_ -= before - work_left_;
    work_kept_ = 0;
    if (!settled) {
      // Where the closer look ran out of work, what it looked at is the reason.
      if (found.proof == Proof::kBudget) found = culprit;
      return false;
    }
    // Some of what lies before the span that was looked at may not have been decided yet.
    if (!settle(q, culprit.open, span - culprit.open, found)) return false;
    count -= span + 1 - first;
    first = span + 1;
  }
  return true;
}

// Settles the culprits of one span one after the other; `found` is the one at hand.
bool Kernel::settle_culprits(const Query& q, Outcome& found) noexcept {
  Query rest = q;
  std::copy_n(q.capsule_margin, body_->skeleton.capsules.size(), body_->rest_capsules.data());
  std::copy_n(q.pair_margin, body_->skeleton.pairs.size(), body_->rest_pairs.data());
  rest.capsule_margin = body_->rest_capsules.data();
  rest.pair_margin = body_->rest_pairs.data();
  const Outcome& here = found;
  while (here.proof != Proof::kProven) {
    if (here.proof == Proof::kBudget || work_left_ <= work_kept_) return false;
    Query only = q;
    std::fill(body_->only_capsules.begin(), body_->only_capsules.end(), kLeftOut);
    std::fill(body_->only_pairs.begin(), body_->only_pairs.end(), kLeftOut);
    only.capsule_margin = body_->only_capsules.data();
    only.pair_margin = body_->only_pairs.data();
    only.workspace = false;
    only.tool_speed = only.tool_rate = 0;
    const auto capsule = static_cast<std::size_t>(here.capsule);
    if (here.finding == Finding::kWorld || here.finding == Finding::kVoxel) {
      body_->only_capsules[capsule] = q.capsule_margin[capsule];
      only.only_capsule = here.capsule;
      body_->rest_capsules[capsule] = kLeftOut;
    } else if (here.finding == Finding::kSelf) {
      const std::size_t pair = pair_of(here);
      body_->only_pairs[pair] = q.pair_margin[pair];
      only.only_pair = static_cast<int>(pair);
      body_->rest_pairs[pair] = kLeftOut;
    } else if (here.finding == Finding::kWorkspace) {
      only.workspace = true;
      rest.workspace = false;
    } else {
      return false;
    }
    if (!settle_in_parts(only, here, 0)) return false;
    found = look(rest, here.span, 1);
  }
  return true;
}

// Whether a culprit is clear in all parts of a span's box.
bool Kernel::settle_in_parts(const Query& only, const Outcome& found, int depth) noexcept {
  if (depth == Lowering::kDepth || found.proof == Proof::kBudget || work_left_ <= work_kept_)
    return false;
  int coordinates[3];
  const int n = widest(found, coordinates);
  if (n == 0 || !middle_is_clear(only, found, depth)) return false;
  body_->lowering.put_parts(found.span, coordinates, n, depth);
  const int first = body_->lowering.parts(depth), count = 1 << n;
  Outcome each[Lowering::kParts];
  Query all = only;
  all.each = each;
  look(all, first, count);
  for (int part = 0; part < count; ++part) {
    Outcome& here = each[part];
    if (here.proof == Proof::kProven) continue;
    here.span = first + part;
    if (here.proof == Proof::kUndecided) here = look(only, first + part, 1);
    if (here.proof != Proof::kProven && !settle_in_parts(only, here, depth + 1)) return false;
  }
  return true;
}

// A middle that is too close without any width is no matter of width. Voxels are found by bounds
// that do not say how close it is.
bool Kernel::middle_is_clear(const Query& only, const Outcome& found, int depth) noexcept {
  if (found.finding == Finding::kSelf || found.finding == Finding::kWorld)
    return found.distance >= found.limit;
  body_->lowering.put_middle(found.span, found.start, found.end, depth);
  return look(only, body_->lowering.parts(depth), 1).proof == Proof::kProven;
}

std::size_t Kernel::pair_of(const Outcome& found) const noexcept {
  std::size_t i = 0;
  while (i + 1 < body_->skeleton.pairs.size() &&
         (body_->skeleton.pairs[i].a != found.capsule || body_->skeleton.pairs[i].b != found.other))
    ++i;
  return i;
}

// The coordinates, three at most, whose widths bend the way of the culprit most: what is left of a
// bound's error when all else is straight.
int Kernel::widest(const Outcome& found, int* coordinates) const noexcept {
  const Path path = body_->lowering.path();
  const auto row = static_cast<std::size_t>(path.spans[found.span].width);
  const double* wide = path.widths + row * body_->skeleton.coordinates;
  const auto culprit = static_cast<std::size_t>(found.capsule);
  const LeverList& list =
      found.finding == Finding::kSelf        ? body_->skeleton.pairs[pair_of(found)].motion
      : found.finding == Finding::kWorkspace ? body_->skeleton.tools[culprit].in_base
                                             : body_->skeleton.capsules[culprit].motion;
  double most[3] = {1e-4, 1e-4, 1e-4};  // m: less than that is not worth a cut
  int n = 0;
  for (int k = list.first; k < list.last; ++k) {
    const Lever& l = body_->skeleton.levers[static_cast<std::size_t>(k)];
    const double moved = static_cast<double>(l.length) * wide[l.coordinate];
    int at = n < 3 ? n : 2;
    if (!(moved > most[at])) continue;
    n = std::min(n + 1, 3);
    for (; at > 0 && moved > most[at - 1]; --at) {
      most[at] = most[at - 1];
      coordinates[at] = coordinates[at - 1];
    }
    most[at] = moved;
    coordinates[at] = l.coordinate;
  }
  return n;
}

}  // namespace openral
