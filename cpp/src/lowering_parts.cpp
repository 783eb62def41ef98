// A closer look at one span: its middle alone, or its box cut into parts.
#include <algorithm>

#include "openral/lowering.hpp"

namespace openral {

void Lowering::put_middle(int of, float start, float end, int depth) noexcept {
  const Span& span = spans_[static_cast<std::size_t>(of)];
  const int at = parts(depth), place = point_count_ + 2 * kParts * depth;
  const double *a = seen(static_cast<std::size_t>(span.from)),
               *b = seen(static_cast<std::size_t>(span.to));
  double* to = seen(static_cast<std::size_t>(place));
  const double share = (static_cast<double>(start) + static_cast<double>(end)) / 2;
  for (std::size_t j = 0; j < skeleton_.coordinates; ++j) to[j] = a[j] + (b[j] - a[j]) * share;
  std::fill_n(width(static_cast<std::size_t>(at)), skeleton_.coordinates, 0.0);
  spans_[static_cast<std::size_t>(at)] = {place, place, at, span.row, 0};
}

void Lowering::put_parts(int of, const int* coordinates, int n, int depth) noexcept {
  const Span whole = spans_[static_cast<std::size_t>(of)];
  for (int part = 0; part < 1 << n; ++part) {
    const int at = parts(depth) + part;
    const int place = point_count_ + 2 * (kParts * depth + part);
    double *from = seen(static_cast<std::size_t>(place)),
           *to = seen(static_cast<std::size_t>(place) + 1),
           *wide = width(static_cast<std::size_t>(at));
    std::copy_n(seen(static_cast<std::size_t>(whole.from)), skeleton_.coordinates, from);
    std::copy_n(seen(static_cast<std::size_t>(whole.to)), skeleton_.coordinates, to);
    std::copy_n(width(static_cast<std::size_t>(whole.width)), skeleton_.coordinates, wide);
    for (int i = 0; i < n; ++i) {
      const int j = coordinates[i];
      const double by = wide[j] / 2 * ((part >> i & 1) != 0 ? 1 : -1);
      from[j] += by;
      to[j] += by;
      wide[j] = wide[j] / 2 * (1 + 1e-12);
    }
    spans_[static_cast<std::size_t>(at)] = {place, place + 1, at, whole.row, whole.rate};
  }
}

}  // namespace openral
