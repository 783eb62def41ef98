// Many configurations at once, without a path between them.
#include <algorithm>
#include <stdexcept>

#include "openral/kernel.hpp"

namespace openral {

void Kernel::clear(std::span<const double> q, std::span<bool> out) {
  const Inputs in = read();
  const std::size_t dof = body_->skeleton.dof, n = body_->skeleton.coordinates;
  if (q.size() != dof * out.size())
    throw std::invalid_argument("wrong number of joint positions in the configurations");
  constexpr std::size_t kRows = 64;
  double rows[kRows * kMaxCoordinates];
  std::fill_n(rows, kRows * n, 0.0);
  const auto unknown = [](const auto& seen, bool needed) {
    return seen.overflow || (!seen.valid && (seen.seen || needed));
  };
  if (unknown(*in.world, options_.needs_world) || unknown(*in.voxels, options_.needs_voxels)) {
    std::fill(out.begin(), out.end(), false);
    return;
  }
  const Scene around = scene(in, in.base->empty() ? 0 : in.base->last_stamp());
  const double base[3] = {around.base.x, around.base.y, around.base.yaw};
  for (std::size_t i = 0; i < kRows; ++i) std::copy_n(base, 3, rows + i * n + dof);
  const Query asked = query(around);
  const CheckFunction check = select_check(options_.scalar_only);
  for (std::size_t first = 0; first < out.size(); first += kRows) {
    const std::size_t count = std::min(kRows, out.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(q.data() + (first + i) * dof, dof, rows + i * n);
    check(asked, rows, static_cast<int>(count), out.data() + first);
  }
}

}  // namespace openral
