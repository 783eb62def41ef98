#include "openral/verdict.hpp"

namespace openral {

const char* status_name(Status status) {
  static const char* const kNames[] = {
      "accepted",         "state_unavailable", "world_unavailable",  "voxel_unavailable",
      "base_unavailable", "clock_stalled",     "world_overflow",     "voxel_overflow",
      "estopped",         "recovery",          "unsolved",           "self_collision",
      "world_collision",  "voxel_collision",   "unproven",           "budget_exceeded",
      "position_limit",   "velocity_limit",    "acceleration_limit", "effort_limit",
      "workspace",        "tool_speed",        "tool_rate",          "step",
      "base_speed",       "gripper_range",     "not_finite",         "malformed",
      "chunk_overflow",   "unknown_mode",      "unsupported_mode",   "unknown_frame",
      "unknown_joint",    "unknown_slot",      "slot_conflict",      "wrong_width"};
  static_assert(sizeof kNames / sizeof *kNames == static_cast<unsigned>(Status::kCount));
  return kNames[static_cast<unsigned>(status)];
}

}  // namespace openral
