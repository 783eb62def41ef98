#include "openral/chunk.hpp"

#include <bit>

namespace openral {
namespace {

static_assert(std::endian::native == std::endian::little, "the parser reads numbers in place");

// Reads forward, never past the end; after the first failure every read fails.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> body) : body_(body) {}

  template <class T>
  T number() noexcept {
    T value{};
    if (const std::byte* p = take(sizeof(T), sizeof(T), 1)) std::memcpy(&value, p, sizeof(T));
    return value;
  }
  std::string_view text() noexcept {
    const auto size = number<std::uint32_t>();
    const std::byte* p = take(1, 1, size);
    // A ROS string counts its terminating zero; some writers send an empty one as length 0.
    if (p == nullptr || size == 0) return {};
    if (p[size - 1] != std::byte{0}) ok_ = false;
    return {reinterpret_cast<const char*>(p), size - 1};
  }
  const std::byte* take(std::size_t align, std::size_t size, std::size_t count) noexcept {
    if (count == 0) return ok_ ? body_.data() : nullptr;
    const std::size_t start = (at_ + align - 1) / align * align;
    if (!ok_ || start > body_.size() || count > (body_.size() - start) / size) {
      ok_ = false;
      return nullptr;
    }
    at_ = start + size * count;
    return body_.data() + start;
  }
  bool ok() const { return ok_; }
  std::span<const std::byte> passed() const { return body_.first(at_); }
  std::size_t left() const { return body_.size() - at_; }

 private:
  std::span<const std::byte> body_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

Parse read_slot(Reader& in, std::size_t rows, SlotView& slot) {
  slot.name = in.text();
  slot.mode = in.number<std::uint8_t>();
  slot.frame = in.text();
  slot.names = in.number<std::uint32_t>();
  if (!in.ok()) return Parse::kMalformed;
  if (slot.names > kMaxWidth) return Parse::kOverflow;
  for (std::size_t i = 0; i < slot.names; ++i) slot.joints[i] = in.text();
  slot.width = in.number<std::uint32_t>();
  const auto values = in.number<std::uint32_t>();
  slot.data = in.take(sizeof(double), sizeof(double), values);
  if (!in.ok()) return Parse::kMalformed;
  if (slot.width > kMaxWidth) return Parse::kOverflow;
  return slot.width > 0 && values == rows * slot.width ? Parse::kOk : Parse::kWrongWidth;
}

}  // namespace

Parse parse_chunk(std::span<const std::byte> bytes, ChunkView& out, int& slot) noexcept {
  slot = -1;
  if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{1})
    return Parse::kMalformed;
  Reader in(bytes.subspan(4));
  in.number<std::int32_t>();  // header.stamp
  in.number<std::uint32_t>();
  in.text();  // header.frame_id
  out.sequence = in.number<std::uint64_t>();
  in.take(1, 1, 16);  // trace_id
  out.head = in.passed();
  out.mode = in.number<std::uint8_t>();
  out.dt = in.number<double>();
  out.rows = in.number<std::uint32_t>();
  out.count = in.number<std::uint32_t>();
  if (!in.ok() || out.rows == 0 || out.count == 0) return Parse::kMalformed;
  if (out.rows > kMaxRows || out.count > kMaxSlots) return Parse::kOverflow;
  for (std::size_t i = 0; i < out.count; ++i) {
    slot = static_cast<int>(i);
    const Parse result = read_slot(in, out.rows, out.slots[i]);
    if (result != Parse::kOk) return result;
  }
  slot = -1;
  // A writer may pad to a multiple of 4; more than that is no part of this message.
  return in.left() < 4 ? Parse::kOk : Parse::kMalformed;
}

}  // namespace openral
