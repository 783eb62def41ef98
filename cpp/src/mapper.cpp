// The window of cells: where it is, what fades, what the robot itself covers, and its bits.
#include "openral/mapper.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "openral/voxels.hpp"

namespace openral {
namespace {

[[gnu::always_inline]] inline double squared_distance(const Capsule& c, const Vec3& p) {
  double along = 0, length = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    along += (p[i] - c.p0[i]) * (c.p1[i] - c.p0[i]);
    length += (c.p1[i] - c.p0[i]) * (c.p1[i] - c.p0[i]);
  }
  const double t = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0;
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double d = p[i] - c.p0[i] - t * (c.p1[i] - c.p0[i]);
    sum += d * d;
  }
  return sum;
}

template <class Test>
std::size_t pack(const std::vector<std::int8_t>& value, std::uint8_t* bits, Test&& test) {
  std::size_t set = 0;
  for (std::size_t i = 0; i < value.size(); i += 8) {
    const std::size_t count = std::min<std::size_t>(8, value.size() - i);
    unsigned byte = 0;
    for (std::size_t k = 0; k < count; ++k) byte |= (test(value[i + k]) ? 1U : 0U) << k;
    bits[i / 8] = static_cast<std::uint8_t>(byte);
    set += static_cast<std::size_t>(__builtin_popcount(byte));
  }
  return set;
}

}  // namespace

Mapper::Mapper(MapperOptions options) : options_(options) {
  double size = 1;
  for (const int n : options.dims) {
    if (n < kBlock || n % kBlock != 0)
      throw std::invalid_argument("a map has a multiple of " + std::to_string(kBlock) +
                                  " cells a side, not " + std::to_string(n));
    size *= n;
  }
  if (size > static_cast<double>(VoxelField::kMaxCells))
    throw std::invalid_argument("a map has at most " + std::to_string(VoxelField::kMaxCells) +
                                " cells");
  if (!(options.resolution >= 1e-3 && options.resolution <= 10))
    throw std::invalid_argument("cells are 1 mm to 10 m large");
  if (!(options.hit >= 1 && options.miss >= 1 && options.low < 0 && options.low >= -100 &&
        options.high > 0 && options.high <= 100 && options.hit <= 100 && options.miss <= 100))
    throw std::invalid_argument("weights lie in 1..100, low in −100..−1, high in 1..100");
  if (!(options.share >= 0 && options.share <= 0.5 && options.padding >= 0 && options.padding <= 1))
    throw std::invalid_argument("share lies in 0..0.5 and padding in 0..1 m");
  value_.resize(static_cast<std::size_t>(size));
  count_.resize(value_.size());
  for (std::size_t i = 0; i < 3; ++i) first_[i] = -options.dims[i] / 2;
}

Vec3 Mapper::origin() const {
  Vec3 out;
  for (std::size_t i = 0; i < 3; ++i) out[i] = static_cast<double>(first_[i]) * options_.resolution;
  return out;
}

std::size_t Mapper::memory() const {
  return value_.capacity() + count_.capacity() + touched_.capacity() * sizeof(std::uint32_t) +
         columns_.capacity() * sizeof(float) + hidden_.capacity() * sizeof(hidden_[0]) +
         pyramid_.memory();
}

void Mapper::reset() {
  std::fill(value_.begin(), value_.end(), std::int8_t{0});
  show();
}

void Mapper::recentre(const Vec3& centre) {
  std::array<std::int64_t, 3> shift{};
  bool moves = false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(std::abs(centre[i]) <= 1e6)) throw std::invalid_argument("a map's centre is finite");
    const auto wanted = static_cast<std::int64_t>(std::llround(centre[i] / options_.resolution)) -
                        options_.dims[i] / 2;
    shift[i] = wanted - first_[i];
    // A little slack, so that a base that sways does not make the window roll to and fro. Height
    // is kept to the cell: the floor must stay outside.
    if (i < 2 && std::abs(shift[i]) < kBlock) shift[i] = 0;
    moves = moves || shift[i] != 0;
  }
  if (!moves) return;
  const auto& dims = options_.dims;
  std::vector<std::int8_t> next(value_.size());
  const std::int64_t from = std::max<std::int64_t>(0, shift[0]);
  const std::int64_t to = std::min<std::int64_t>(dims[0], dims[0] + shift[0]);
  for (std::int64_t z = 0; z < dims[2] && from < to; ++z) {
    const std::int64_t old_z = z + shift[2];
    if (old_z < 0 || old_z >= dims[2]) continue;
    for (std::int64_t y = 0; y < dims[1]; ++y) {
      const std::int64_t old_y = y + shift[1];
      if (old_y < 0 || old_y >= dims[1]) continue;
      std::memcpy(
          &next[index(static_cast<int>(from - shift[0]), static_cast<int>(y), static_cast<int>(z))],
          &value_[index(static_cast<int>(from), static_cast<int>(old_y), static_cast<int>(old_z))],
          static_cast<std::size_t>(to - from));
    }
  }
  value_.swap(next);
  for (std::size_t i = 0; i < 3; ++i) first_[i] += shift[i];
}

// Calls visit(cell, depth) for cells whose centre is within radius + padding of the shape's axis;
// `depth` tells whether it is within the radius alone.
template <class Visit>
void Mapper::within(const Capsule& shape, double padding, Visit&& visit) {
  const double res = options_.resolution, reach = shape.radius + padding;
  const Vec3 corner = origin();
  int low[3], high[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = std::min(shape.p0[i], shape.p1[i]) - reach - corner[i];
    const double b = std::max(shape.p0[i], shape.p1[i]) + reach - corner[i];
    const double limit = options_.dims[i];
    if (!(b > 0 && a < limit * res)) return;
    low[i] = static_cast<int>(std::clamp(a / res - 0.5, 0.0, limit - 1));
    high[i] = static_cast<int>(std::clamp(b / res, 0.0, limit - 1));
  }
  for (int z = low[2]; z <= high[2]; ++z)
    for (int y = low[1]; y <= high[1]; ++y)
      for (int x = low[0]; x <= high[0]; ++x) {
        const double d =
            squared_distance(shape, {corner[0] + (x + 0.5) * res, corner[1] + (y + 0.5) * res,
                                     corner[2] + (z + 0.5) * res});
        if (d <= reach * reach) visit(index(x, y, z), d <= shape.radius * shape.radius);
      }
}

// Whether it was not marked before.
bool Mapper::mark(std::size_t cell) {
  if (count_[cell] == kOwn) return false;
  count_[cell] = kOwn;
  touched_.push_back(static_cast<std::uint32_t>(cell));
  return true;
}

void Mapper::mark_own(std::span<const Capsule> body, std::span<const Capsule> held,
                      ViewReport& report) {
  for (const Capsule& shape : body)
    within(shape, options_.padding, [&](std::size_t cell, bool inside) {
      report.own += mark(cell) ? 1 : 0;
      // Only the body itself frees cells: the padding must never eat into an obstacle.
      if (inside && value_[cell] >= 0) value_[cell] = -1;
    });
  // A capsule around something held is larger than it, and may reach into what it was taken from.
  for (const Capsule& shape : held)
    within(shape, options_.padding,
           [&](std::size_t cell, bool) { report.own += mark(cell) ? 1 : 0; });
}

void Mapper::hide(std::span<const Capsule> shapes, double padding) {
  const auto nx = static_cast<std::size_t>(options_.dims[0]);
  const auto ny = static_cast<std::size_t>(options_.dims[1]);
  for (const Capsule& shape : shapes)
    within(shape, padding, [&](std::size_t cell, bool) {
      if (value_[cell] <= 0) return;
      hidden_.push_back({first_[0] + static_cast<std::int64_t>(cell % nx),
                         first_[1] + static_cast<std::int64_t>(cell / nx % ny),
                         first_[2] + static_cast<std::int64_t>(cell / nx / ny)});
    });
}

// The cell at a place of the lattice; cells() if it is outside.
std::size_t Mapper::in_window(const std::array<std::int64_t, 3>& place) const {
  int at[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t along = place[i] - first_[i];
    if (along < 0 || along >= options_.dims[i]) return cells();
    at[i] = static_cast<int>(along);
  }
  return index(at[0], at[1], at[2]);
}

// What this view hit is there, whatever was taken away.
void Mapper::show_hits() {
  std::erase_if(hidden_, [this](const auto& place) {
    const std::size_t cell = in_window(place);
    return cell == cells() || count_[cell] == kHit;
  });
}

void Mapper::assume_free(std::span<const Capsule> shapes, double padding) {
  for (const Capsule& shape : shapes)
    within(shape, padding, [&](std::size_t cell, bool) {
      if (value_[cell] == 0) value_[cell] = -1;
    });
}

void Mapper::decay(std::span<const Capsule> shapes, double padding) {
  for (const Capsule& shape : shapes)
    within(shape, padding, [&](std::size_t cell, bool) { mark(cell); });
  for (std::size_t i = 0; i < value_.size(); ++i) {
    const std::int8_t v = value_[i];
    const bool fades = v < 0 && count_[i] != kOwn;
    value_[i] = static_cast<std::int8_t>(v - (v > 0 ? 1 : 0) + (fades ? 1 : 0));
  }
  forget_marks();
}

void Mapper::forget_marks() {
  for (const std::uint32_t cell : touched_) count_[cell] = 0;
  touched_.clear();
}

std::size_t Mapper::pack_occupied(std::uint8_t* bits) const {
  std::size_t set = pack(value_, bits, [](std::int8_t v) { return v > 0; });
  for (const auto& place : hidden_) {
    const std::size_t cell = in_window(place);
    if (cell == cells()) continue;
    const auto bit = static_cast<std::uint8_t>(1U << cell % 8);
    set -= (bits[cell / 8] & bit) != 0 ? 1 : 0;
    bits[cell / 8] = static_cast<std::uint8_t>(bits[cell / 8] & ~bit);
  }
  return set;
}

std::size_t Mapper::pack_unknown(std::uint8_t* bits) const {
  return pack(value_, bits, [](std::int8_t v) { return v == 0; });
}

}  // namespace openral
