// A proposed motion as it arrives: a view into the bytes of an openral_msgs/msg/ActionChunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace openral {

enum class Mode : std::uint8_t {
  kJointPosition,
  kJointVelocity,
  kJointTorque,
  kJointTrajectory,
  kCartesianPose,
  kCartesianDelta,
  kCartesianTwist,
  kBodyTwist,
  kFootPlacement,
  kGripperBinary,
  kGripperPosition,
  kDexHandJoint,
  kComposite,
  kCount
};

inline constexpr std::size_t kMaxSlots = 8;
inline constexpr std::size_t kMaxRows = 256;
inline constexpr std::size_t kMaxWidth = 64;

struct SlotView {
  std::string_view name, frame;
  std::uint8_t mode = 0;
  std::size_t width = 0, names = 0;
  std::string_view joints[kMaxWidth];
  const std::byte* data = nullptr;  // rows × width doubles, not necessarily aligned

  double at(std::size_t row, std::size_t column) const {
    double value;
    std::memcpy(&value, data + (row * width + column) * sizeof value, sizeof value);
    return value;
  }
};

struct ChunkView {
  std::span<const std::byte> head;  // header, sequence and trace id as they came
  std::uint64_t sequence = 0;
  std::uint8_t mode = 0;
  double dt = 0;
  std::size_t rows = 0, count = 0;
  SlotView slots[kMaxSlots];
};

enum class Parse : std::uint8_t { kOk, kMalformed, kOverflow, kWrongWidth };

// Reads the CDR (little endian, with its four-byte header). The view points into `bytes`.
// `slot` names the slot at fault.
Parse parse_chunk(std::span<const std::byte> bytes, ChunkView& out, int& slot) noexcept;

}  // namespace openral
