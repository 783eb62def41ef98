#include "openral/describe.hpp"

#include <cstdio>

#include "openral/chunk.hpp"

namespace openral {
namespace {

std::string number(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4g%s", value, unit);
  return text;
}
std::string millimetres(double metres) { return number(metres * 1000, " mm"); }

std::string link(const RobotModel& m, int i) {
  return i >= 0 && static_cast<std::size_t>(i) < m.links.size()
             ? m.links[static_cast<std::size_t>(i)]
             : std::string("?");
}

std::string place(const Verdict& v) {
  if (v.row < 0) return "at the measured pose";
  std::string text = "on the way to row " + std::to_string(v.row);
  if (v.start > 0 || v.end < 1)
    text += " (" + number(static_cast<double>(v.start) * 100, "") + " to " +
            number(static_cast<double>(v.end) * 100, "% of the way)");
  return text;
}

// What would have moved: a link, or what it holds.
std::string mover(const Verdict& v, const RobotModel& m) {
  const std::string carrier = "link '" + link(m, v.link) + "'";
  const bool held = v.object[0] != 0 && v.status != Status::kWorldCollision;
  return held ? "object '" + std::string(v.object) + "' on " + carrier : carrier;
}

std::string hit(const Verdict& v, const RobotModel& m, const std::string& what) {
  const std::string gap = v.value < 0 ? "overlaps " + what + " by " + millimetres(-v.value)
                                      : "comes within " + millimetres(v.value) + " of " + what;
  if (v.value > v.limit)  // apart there, but not by as much as this motion leaves open
    return mover(v, m) + " cannot be shown to keep " + millimetres(v.limit) + " from " + what +
           ", " + millimetres(v.value) + " away " + place(v);
  return mover(v, m) + " " + gap + " (margin " + millimetres(v.limit) + ") " + place(v);
}

std::string limit(const Verdict& v, const RobotModel& m, const char* what, const char* unit) {
  std::string who;
  if (v.joint >= 0) who = "joint '" + m.coordinates[static_cast<std::size_t>(v.joint)].name + "': ";
  return who + what + " " + number(v.value, unit) + " is beyond " + number(v.limit, unit) +
         (v.row < 0 ? " at the measured pose" : " in row " + std::to_string(v.row));
}

std::string slowed(const Verdict& v, const RobotModel& m) {
  if (!(v.speed_factor < 1)) return {};
  std::string why = "its way to a standstill is not clear";
  if (v.link >= 0)
    why = "link '" + link(m, v.link) + "' comes within " + millimetres(v.value) + " of " +
          (v.object[0] != 0    ? "obstacle '" + std::string(v.object) + "'"
           : v.other_link >= 0 ? "link '" + link(m, v.other_link) + "'"
                               : std::string("a voxel")) +
          " " + place(v);
  return " at " + number(v.speed_factor * 100, " % of its speed") + ", because " + why;
}

std::string finding(const Verdict& v, const RobotModel& m) {
  const std::string object = "'" + std::string(v.object) + "'";
  const std::string slot = "slot " + std::to_string(v.slot);
  switch (v.status) {
    case Status::kAccepted:
      return "proven clear for " + number(static_cast<double>(v.valid_ns) * 1e-9, " s") +
             slowed(v, m);
    case Status::kStateUnavailable:
      return "the joint state is missing, incomplete or too old";
    case Status::kWorldUnavailable:
      return "the list of obstacles is missing or too old";
    case Status::kVoxelUnavailable:
      return "the voxel map is missing or too old";
    case Status::kBaseUnavailable:
      return "the base's pose is missing or too old";
    case Status::kClockStalled:
      return "the clock stands still, so nothing can be called recent";
    case Status::kWorldOverflow:
      return "more obstacles were received than fit";
    case Status::kVoxelOverflow:
      return "the voxel map has more cells than fit";
    case Status::kEstopped:
      return "the emergency stop is latched; reset or recover first";
    case Status::kRecovery:
      return "recovering, and this motion does not lead out of the margin";
    case Status::kSelfCollision:
      return hit(v, m, "link '" + link(m, v.other_link) + "'");
    case Status::kWorldCollision:
      return hit(v, m, "obstacle " + object);
    case Status::kVoxelCollision:
      return hit(v, m,
                 "voxel (" + std::to_string(v.cell[0]) + ", " + std::to_string(v.cell[1]) + ", " +
                     std::to_string(v.cell[2]) + ")");
    case Status::kUnproven:
      return "where this motion leads cannot be bounded tightly enough to prove it clear";
    case Status::kBudgetExceeded:
      return "no proof within the work budget " + place(v);
    case Status::kPositionLimit:
      return limit(v, m, "position", "");
    case Status::kVelocityLimit:
      return limit(v, m, "speed", "/s");
    case Status::kAccelerationLimit:
      return limit(v, m, "acceleration", "/s²");
    case Status::kEffortLimit:
      return limit(v, m, "effort", "");
    case Status::kWorkspace:
      return "the end effector leaves the workspace " + place(v);
    case Status::kToolSpeed:
      return limit(v, m, "end effector speed", " m/s");
    case Status::kToolRate:
      return limit(v, m, "end effector turning speed", " rad/s");
    case Status::kStep:
      return limit(v, m, "cartesian step", "");
    case Status::kUnsolved:
      return "no joint motion within the limits keeps the tool on its path " + place(v) +
             ": it misses by " + number(v.value, "") + " (limit " + number(v.limit, "") + ")";
    case Status::kBaseSpeed:
      return limit(v, m, "base motion", "");
    case Status::kGripperRange:
      return limit(v, m, "gripper value", "");
    case Status::kNotFinite:
      return slot + " has a number that is not finite in row " + std::to_string(v.row);
    case Status::kMalformed:
      return "the chunk is not well formed";
    case Status::kChunkOverflow:
      return "the chunk has more rows, slots or columns than fit (" + std::to_string(kMaxRows) +
             ", " + std::to_string(kMaxSlots) + ", " + std::to_string(kMaxWidth) + ")";
    case Status::kUnknownMode:
      return "control mode " + number(v.value, "") + " is none that exists";
    case Status::kUnsupportedMode:
      return "this robot does not take control mode '" + std::string(mode_name(v.mode)) + "'";
    case Status::kUnknownFrame:
      return slot + ": frame " + object + " is neither '" + m.base_frame + "' nor the tool's";
    case Status::kUnknownJoint:
      return slot + ": joint " + object + " is none that it can drive";
    case Status::kUnknownSlot:
      return slot + " names no joint group or end effector of this robot";
    case Status::kSlotConflict:
      return slot + " drives what another slot already drives";
    case Status::kWrongWidth:
      return slot + " has rows of " + number(v.value, "") + " numbers where " +
             number(v.limit, "") + " are needed";
    case Status::kCount:
      break;
  }
  return status_name(v.status);
}

}  // namespace

const char* mode_name(unsigned mode) {
  static const char* const kNames[] = {
      "joint_position",   "joint_velocity",  "joint_torque",  "joint_trajectory", "cartesian_pose",
      "cartesian_delta",  "cartesian_twist", "body_twist",    "foot_placement",   "gripper_binary",
      "gripper_position", "dex_hand_joint",  "composite_mode"};
  return mode < sizeof kNames / sizeof *kNames ? kNames[mode] : "unknown";
}

std::string describe(const Verdict& v, const RobotModel& model) {
  std::string head = v.accepted ? "accepted" : latches(v.status) ? "refused" : "dropped";
  if (v.accepted && v.status != Status::kAccepted) head = "WARN ONLY, would be refused";
  if (v.accepted && v.status == Status::kAccepted && v.warn_only) head = "accepted (warn only)";
  return head + ": " + mode_name(v.mode) + ": " + finding(v, model);
}

}  // namespace openral
