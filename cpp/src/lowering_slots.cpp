// Slots matched with joints and tools.
#include <algorithm>
#include <cmath>

#include "openral/lowering.hpp"

namespace openral {
namespace {

bool refuse(Verdict& out, Status status, double value = 0, double limit = 0) {
  out.status = status;
  out.value = value;
  out.limit = limit;
  return false;
}

bool in(Mode mode, std::initializer_list<Mode> modes) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}
bool by_joint(Mode m) {
  return in(m, {Mode::kJointPosition, Mode::kJointVelocity, Mode::kJointTorque,
                Mode::kJointTrajectory, Mode::kDexHandJoint});
}
bool gripper(Mode m) { return in(m, {Mode::kGripperBinary, Mode::kGripperPosition}); }

}  // namespace

bool Lowering::resolve(const ChunkView& chunk, Verdict& out) noexcept {
  out.mode = chunk.mode;
  if (chunk.mode >= static_cast<std::uint8_t>(Mode::kCount))
    return refuse(out, Status::kUnknownMode, chunk.mode);
  const auto composite = static_cast<std::uint8_t>(Mode::kComposite);
  if (chunk.mode != composite && (chunk.count > 1 || chunk.slots[0].mode != chunk.mode))
    return refuse(out, Status::kMalformed);
  if (!std::isfinite(chunk.dt)) return refuse(out, Status::kNotFinite, chunk.dt);
  if (!(chunk.dt > 1e-5) || chunk.dt > 10) return refuse(out, Status::kMalformed, chunk.dt, 10);
  owned_.fill(false);
  moves_ = torque_ = base_owned_ = false;
  for (std::size_t i = 0; i < chunk.count; ++i) {
    out.slot = static_cast<std::int16_t>(i);
    out.mode = chunk.slots[i].mode;
    if (!resolve_slot(chunk, i, out)) return false;
  }
  out.slot = -1;
  out.mode = chunk.mode;
  return true;
}

bool Lowering::resolve_slot(const ChunkView& chunk, std::size_t index, Verdict& out) noexcept {
  const SlotView& view = chunk.slots[index];
  Slot& slot = slots_[index];
  slot.count = 0;
  slot.tool = -1;
  if (view.mode >= static_cast<std::uint8_t>(Mode::kComposite))
    return refuse(out, Status::kUnknownMode, view.mode);
  if ((model_.modes >> view.mode & 1U) == 0)
    return refuse(out, Status::kUnsupportedMode, view.mode);
  const Mode mode = static_cast<Mode>(view.mode);
  std::size_t width = view.width;
  if (by_joint(mode)) {
    if (!resolve_joints(view, slot, out)) return false;
    width = static_cast<std::size_t>(slot.count);
  } else if (cartesian(mode) || gripper(mode)) {
    if (!resolve_tool(view, slot, out)) return false;
    width = gripper(mode) ? 1 : mode == Mode::kCartesianPose ? 7 : 6;
  } else if (mode == Mode::kBodyTwist) {
    width = 3;
  }
  if (view.width != width)
    return refuse(out, Status::kWrongWidth, static_cast<double>(view.width),
                  static_cast<double>(width));
  for (std::size_t row = 0; row < chunk.rows; ++row)
    for (std::size_t k = 0; k < width; ++k)
      if (!std::isfinite(view.at(row, k))) {
        out.row = static_cast<std::int32_t>(row);
        return refuse(out, Status::kNotFinite, view.at(row, k));
      }
  if (mode == Mode::kDexHandJoint) {
    for (int k = 0; k < slot.count; ++k)
      if (limits(static_cast<std::size_t>(slot.coordinates[static_cast<std::size_t>(k)])).role !=
          Role::kGripper)
        return refuse(out, Status::kUnknownJoint);
  }
  if (mode == Mode::kJointVelocity) moves_ = true;  // where it leads depends on where it begins
  if (mode == Mode::kBodyTwist) {
    if (!model_.mobile) return refuse(out, Status::kUnsupportedMode, view.mode);
    if (base_owned_) return refuse(out, Status::kSlotConflict);
    base_owned_ = moves_ = true;
  } else if (cartesian(mode)) {
    moves_ = true;
    for (int f : skeleton_.tools[static_cast<std::size_t>(slot.tool)].chain)
      slot.coordinates[static_cast<std::size_t>(slot.count++)] =
          skeleton_.frames[static_cast<std::size_t>(f)].coordinate;
    std::sort(slot.coordinates.begin(), slot.coordinates.begin() + slot.count);
    slot.count = static_cast<int>(
        std::unique(slot.coordinates.begin(), slot.coordinates.begin() + slot.count) -
        slot.coordinates.begin());
  }
  for (int k = 0; k < slot.count; ++k)
    if (!own(slot.coordinates[static_cast<std::size_t>(k)], out)) return false;
  return true;
}

bool Lowering::own(int coordinate, Verdict& out) noexcept {
  const auto j = static_cast<std::size_t>(coordinate);
  const bool base = limits(j).role == Role::kBase;
  if (owned_[j]) {
    out.joint = static_cast<std::int16_t>(coordinate);
    return refuse(out, Status::kSlotConflict);
  }
  if (base && base_owned_ && !owned_[static_cast<std::size_t>(model_.base[0])] &&
      !owned_[static_cast<std::size_t>(model_.base[1])] &&
      !owned_[static_cast<std::size_t>(model_.base[2])])
    return refuse(out, Status::kSlotConflict);
  owned_[j] = true;
  base_owned_ = base_owned_ || base;
  // Another gripper may be on its way with an object while this one is commanded.
  moves_ = moves_ || limits(j).role != Role::kGripper ||
           std::find(swings_.begin(), swings_.end(), true) != swings_.end();
  return true;
}

bool Lowering::resolve_joints(const SlotView& view, Slot& slot, Verdict& out) const noexcept {
  const std::size_t n = model_.coordinates.size();
  if (view.names > 0) {
    for (std::size_t i = 0; i < view.names; ++i) {
      std::size_t j = i < n && model_.coordinates[i].name == view.joints[i] ? i : 0;
      while (j < n && model_.coordinates[j].name != view.joints[i]) ++j;
      if (j == n) {
        const std::size_t size = std::min(view.joints[i].size(), sizeof out.object - 1);
        std::copy_n(view.joints[i].data(), size, out.object);
        out.object[size] = 0;
        return refuse(out, Status::kUnknownJoint);
      }
      slot.coordinates[static_cast<std::size_t>(slot.count++)] = static_cast<int>(j);
    }
    return true;
  }
  if (view.name.empty()) {
    for (std::size_t j = 0; j < n; ++j) slot.coordinates[j] = static_cast<int>(j);
    slot.count = static_cast<int>(n);
    return true;
  }
  for (const Group& group : model_.groups)
    if (group.name == view.name) {
      slot.count = static_cast<int>(group.coordinates.size());
      std::copy(group.coordinates.begin(), group.coordinates.end(), slot.coordinates.begin());
      return true;
    }
  return refuse(out, Status::kUnknownSlot);
}

bool Lowering::resolve_tool(const SlotView& view, Slot& slot, Verdict& out) const noexcept {
  const Mode mode = static_cast<Mode>(view.mode);
  int found = -1;
  for (std::size_t i = 0; i < model_.tools.size(); ++i)
    if (model_.tools[i].name == view.name || (view.name.empty() && model_.tools.size() == 1))
      found = static_cast<int>(i);
  if (found < 0) return refuse(out, Status::kUnknownSlot);
  const EndEffector& tool = model_.tools[static_cast<std::size_t>(found)];
  slot.tool = found;
  if (gripper(mode)) {
    if (tool.gripper < 0) return refuse(out, Status::kUnknownSlot);
    slot.coordinates[0] = tool.gripper;
    slot.count = 1;
    return true;
  }
  const bool relative = mode != Mode::kCartesianPose;
  if (view.frame.empty() || view.frame == model_.base_frame) return true;
  if (relative && (view.frame == tool.frame || view.frame == tool.name)) return true;
  const std::size_t size = std::min(view.frame.size(), sizeof out.object - 1);
  std::copy_n(view.frame.data(), size, out.object);
  out.object[size] = 0;
  return refuse(out, Status::kUnknownFrame);
}

}  // namespace openral
