// The chunk to be executed, written as CDR into memory that was set aside once.
#pragma once

#include <memory>
#include <span>

#include "openral/chunk.hpp"

namespace openral {

class ChunkWriter {
 public:
  ChunkWriter() : buffer_(std::make_unique_for_overwrite<std::byte[]>(kCapacity)) {}

  // Begins a chunk with the head of `like`: same header, sequence and trace id.
  void begin(const ChunkView& like, Mode mode, double dt) noexcept;
  // A slot as it came, its numbers multiplied by `scale`.
  void copy(const SlotView& slot, std::size_t rows, double scale) noexcept;
  // A slot of that name with one row of values for each time step; `value` is then called for
  // each of them, row by row.
  void open(std::string_view name, Mode mode, std::span<const std::string_view> joints,
            std::size_t rows) noexcept;
  void value(double number_of_row) noexcept { number(number_of_row); }
  // The message, or nothing if it did not fit.
  std::span<const std::byte> bytes() const noexcept {
    return {buffer_.get(), fits_ ? size_ : std::size_t{0}};
  }
  void clear() noexcept { size_ = 0; }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 21;

  std::byte* room(std::size_t align, std::size_t size) noexcept;
  template <class T>
  void number(T value) noexcept {
    if (std::byte* p = room(sizeof value, sizeof value)) std::memcpy(p, &value, sizeof value);
  }
  void text(std::string_view text) noexcept;

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

}  // namespace openral
