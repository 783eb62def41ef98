// The kernel's answer to a chunk, with what a person needs to understand it.
#pragma once

#include <cstdint>

namespace openral {

enum class Status : std::uint8_t {
  kAccepted,
  // Dropped without a stop: motion resumes when the input does.
  kStateUnavailable,
  kWorldUnavailable,
  kVoxelUnavailable,
  kBaseUnavailable,
  kClockStalled,
  kWorldOverflow,
  kVoxelOverflow,
  kEstopped,
  kRecovery,  // recovering, and the motion does not lead away
  kUnsolved,  // no joint motion takes the tool along its path: out of reach, or singular
  // Refused, and the stop latches.
  kSelfCollision,
  kWorldCollision,
  kVoxelCollision,
  kUnproven,
  kBudgetExceeded,
  kPositionLimit,
  kVelocityLimit,
  kAccelerationLimit,
  kEffortLimit,
  kWorkspace,
  kToolSpeed,
  kToolRate,
  kStep,
  kBaseSpeed,
  kGripperRange,
  kNotFinite,
  kMalformed,
  kChunkOverflow,
  kUnknownMode,
  kUnsupportedMode,
  kUnknownFrame,
  kUnknownJoint,
  kUnknownSlot,
  kSlotConflict,
  kWrongWidth,
  kCount
};

inline bool latches(Status s) { return s >= Status::kSelfCollision; }
// Input that cannot be executed as it stands: refused even where findings only warn.
inline bool unusable(Status s) { return s >= Status::kNotFinite && s <= Status::kWrongWidth; }

const char* status_name(Status status);

struct Verdict {
  Status status = Status::kAccepted;
  bool accepted = true;    // may be executed
  bool stopped = false;    // the stop is latched after this verdict
  bool rewritten = false;  // what may be executed is not the chunk's own bytes
  bool whole = true;       // proven to its end; else for `valid_ns` only
  bool warn_only = false;  // findings do not refuse: simulation
  std::uint8_t mode = 0;   // of the slot concerned, else of the chunk
  std::int16_t slot = -1;
  std::int32_t row = -1;     // row that it leads to; −1: the measured state
  float start = 0, end = 1;  // part of the way to that row
  std::int16_t link = -1, other_link = -1, joint = -1;
  std::int32_t cell[3] = {0, 0, 0};
  double value = 0, limit = 0;  // distance and margin, or the number and the limit it breaks
  double speed_factor = 1;      // share of its speed at which it may be executed
  std::int64_t valid_ns = 0;    // how long the acceptance holds without a new verdict
  std::uint64_t sequence = 0;
  std::int32_t work = 0;
  char object[48] = {};
};

}  // namespace openral
