#include "openral/chunk_writer.hpp"

#include <algorithm>

namespace openral {
namespace {

constexpr std::size_t kEncapsulation = 4;

}  // namespace

std::byte* ChunkWriter::room(std::size_t align, std::size_t size) noexcept {
  const std::size_t start = (size_ - kEncapsulation + align - 1) / align * align + kEncapsulation;
  if (!fits_ || start + size > kCapacity) {
    fits_ = false;
    return nullptr;
  }
  std::fill_n(buffer_.get() + size_, start - size_, std::byte{0});
  size_ = start + size;
  return buffer_.get() + start;
}

void ChunkWriter::text(std::string_view text) noexcept {
  number(static_cast<std::uint32_t>(text.size() + 1));
  if (std::byte* p = room(1, text.size() + 1)) {
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = std::byte{0};
  }
}

void ChunkWriter::begin(const ChunkView& like, Mode mode, double dt) noexcept {
  fits_ = true;
  size_ = kEncapsulation;
  buffer_[0] = buffer_[2] = buffer_[3] = std::byte{0};
  buffer_[1] = std::byte{1};
  if (std::byte* p = room(1, like.head.size())) std::copy(like.head.begin(), like.head.end(), p);
  number(static_cast<std::uint8_t>(mode));
  number(dt);
  number(static_cast<std::uint32_t>(like.rows));
  number(static_cast<std::uint32_t>(like.count));
}

void ChunkWriter::copy(const SlotView& slot, std::size_t rows, double scale) noexcept {
  text(slot.name);
  number(slot.mode);
  text(slot.frame);
  number(static_cast<std::uint32_t>(slot.names));
  for (std::size_t i = 0; i < slot.names; ++i) text(slot.joints[i]);
  number(static_cast<std::uint32_t>(slot.width));
  number(static_cast<std::uint32_t>(rows * slot.width));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < slot.width; ++k) number(slot.at(row, k) * scale);
}

void ChunkWriter::open(std::string_view name, Mode mode, std::span<const std::string_view> joints,
                       std::size_t rows) noexcept {
  text(name);
  number(static_cast<std::uint8_t>(mode));
  text({});
  number(static_cast<std::uint32_t>(joints.size()));
  for (const std::string_view& joint : joints) text(joint);
  number(static_cast<std::uint32_t>(joints.size()));
  number(static_cast<std::uint32_t>(rows * joints.size()));
}

}  // namespace openral
