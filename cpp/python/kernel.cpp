#include "openral/kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "openral/describe.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace openral {
namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Occupancy = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Buffer = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = std::array<double, 16>;  // 4×4, row by row

// A verdict that can name the links and joints it speaks of.
struct NamedVerdict : Verdict {
  std::shared_ptr<const RobotModel> model;
};

Pose to_pose(const Matrix& m) {
  return {{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, {m[3], m[7], m[11]}};
}

template <class Bytes>
NamedVerdict validate(Kernel& kernel, const Bytes* data, std::size_t size, std::int64_t now) {
  return {kernel.validate({reinterpret_cast<const std::byte*>(data), size}, now), kernel.model()};
}

std::string link_name(const NamedVerdict& v, int link) {
  return link < 0 ? std::string() : v.model->links[static_cast<std::size_t>(link)];
}

void bind_model(nb::module_& module) {
  nb::class_<RobotModel>(module, "RobotModel", "What the kernel must know about a robot")
      .def(nb::init<>())
      .def(
          "add_coordinate",
          [](RobotModel& m, std::string name, int role, double lower, double upper, double velocity,
             double acceleration, double effort, double tracking) {
            m.coordinates.push_back({std::move(name), static_cast<Role>(role), lower, upper,
                                     velocity, acceleration, effort, tracking});
          },
          "name"_a, "role"_a, "lower"_a, "upper"_a, "velocity"_a, "acceleration"_a, "effort"_a,
          "tracking"_a)
      .def(
          "add_root",
          [](RobotModel& m, std::string link, const Matrix& in_base) {
            m.links.push_back(std::move(link));
            m.root = to_pose(in_base);
          },
          "link"_a, "in_base"_a)
      .def(
          "add_joint",
          [](RobotModel& m, std::string link, int kind, int parent, const Matrix& origin,
             const Vec3& axis, int coordinate, double multiplier, double offset) {
            m.links.push_back(std::move(link));
            m.joints.push_back({static_cast<JointKind>(kind), parent, to_pose(origin), axis,
                                coordinate, multiplier, offset});
          },
          "link"_a, "kind"_a, "parent"_a, "origin"_a, "axis"_a, "coordinate"_a, "multiplier"_a,
          "offset"_a)
      .def(
          "add_capsule",
          [](RobotModel& m, int link, const Vec3& p0, const Vec3& p1, double radius) {
            m.capsules.push_back({link, p0, p1, radius});
          },
          "link"_a, "p0"_a, "p1"_a, "radius"_a)
      .def(
          "add_pair", [](RobotModel& m, int a, int b) { m.pairs.emplace_back(a, b); }, "a"_a, "b"_a)
      .def(
          "add_tool",
          [](RobotModel& m, std::string name, std::string frame, int link, const Matrix& tcp,
             int gripper) {
            m.tools.push_back({std::move(name), std::move(frame), link, to_pose(tcp), gripper});
          },
          "name"_a, "frame"_a, "link"_a, "tcp"_a, "gripper"_a)
      .def(
          "add_group",
          [](RobotModel& m, std::string name, std::vector<int> coordinates) {
            m.groups.push_back({std::move(name), std::move(coordinates)});
          },
          "name"_a, "coordinates"_a)
      .def_rw("base", &RobotModel::base)
      .def_rw("mobile", &RobotModel::mobile)
      .def_rw("differential", &RobotModel::differential)
      .def_rw("base_frame", &RobotModel::base_frame)
      .def_rw("modes", &RobotModel::modes)
      .def_ro("envelope", &RobotModel::envelope);
  nb::class_<Envelope>(module, "Envelope", "Limits beyond the joints' own")
      .def_rw("self_margin", &Envelope::self_margin)
      .def_rw("world_margin", &Envelope::world_margin)
      .def_rw("workspace_lower", &Envelope::workspace_lower)
      .def_rw("workspace_upper", &Envelope::workspace_upper)
      .def_rw("tool_speed", &Envelope::tool_speed)
      .def_rw("tool_rate", &Envelope::tool_rate)
      .def_rw("step", &Envelope::step)
      .def_rw("turn", &Envelope::turn)
      .def_rw("base_speed", &Envelope::base_speed)
      .def_rw("base_rate", &Envelope::base_rate)
      .def_rw("base_tracking", &Envelope::base_tracking)
      .def_rw("base_turn_tracking", &Envelope::base_turn_tracking)
      .def_rw("base_deceleration", &Envelope::base_deceleration)
      .def_rw("recheck", &Envelope::recheck)
      .def_rw("stop_time", &Envelope::stop_time)
      .def_rw("jitter", &Envelope::jitter)
      .def_rw("follow_shift", &Envelope::follow_shift)
      .def_rw("follow_turn", &Envelope::follow_turn)
      .def_rw("slow_distance", &Envelope::slow_distance)
      .def_rw("slow_factor", &Envelope::slow_factor)
      .def_rw("recovery_speed", &Envelope::recovery_speed)
      .def_rw("state_age", &Envelope::state_age)
      .def_rw("world_age", &Envelope::world_age)
      .def_rw("voxel_age", &Envelope::voxel_age)
      .def_rw("base_age", &Envelope::base_age);
}

void bind_verdict(nb::module_& module) {
  nb::class_<NamedVerdict>(module, "Verdict", "The kernel's answer to a chunk; str() explains it")
      .def_prop_ro("status", [](const NamedVerdict& v) { return status_name(v.status); })
      .def_ro("accepted", &NamedVerdict::accepted)
      .def_prop_ro("latched",
                   [](const NamedVerdict& v) { return latches(v.status) && !v.accepted; })
      .def_ro("stopped", &NamedVerdict::stopped)
      .def_ro("warn_only", &NamedVerdict::warn_only)
      .def_ro("rewritten", &NamedVerdict::rewritten)
      .def_ro("whole", &NamedVerdict::whole)
      .def_ro("speed_factor", &NamedVerdict::speed_factor)
      .def_prop_ro("mode", [](const NamedVerdict& v) { return mode_name(v.mode); })
      .def_ro("slot", &NamedVerdict::slot)
      .def_ro("row", &NamedVerdict::row)
      .def_prop_ro("interval",
                   [](const NamedVerdict& v) { return std::array<float, 2>{v.start, v.end}; })
      .def_prop_ro("link", [](const NamedVerdict& v) { return link_name(v, v.link); })
      .def_prop_ro("other_link", [](const NamedVerdict& v) { return link_name(v, v.other_link); })
      .def_prop_ro("joint",
                   [](const NamedVerdict& v) {
                     return v.joint < 0
                                ? std::string()
                                : v.model->coordinates[static_cast<std::size_t>(v.joint)].name;
                   })
      .def_prop_ro("object", [](const NamedVerdict& v) { return std::string(v.object); })
      .def_prop_ro(
          "cell",
          [](const NamedVerdict& v) { return std::array<int, 3>{v.cell[0], v.cell[1], v.cell[2]}; })
      .def_ro("value", &NamedVerdict::value)
      .def_ro("limit", &NamedVerdict::limit)
      .def_ro("valid_ns", &NamedVerdict::valid_ns)
      .def_ro("sequence", &NamedVerdict::sequence)
      .def_ro("work", &NamedVerdict::work)
      .def("__bool__", [](const NamedVerdict& v) { return v.accepted; })
      .def("__str__", [](const NamedVerdict& v) { return describe(v, *v.model); })
      .def("__repr__",
           [](const NamedVerdict& v) { return "<Verdict " + describe(v, *v.model) + ">"; });
}

void bind_primitive(nb::module_& module) {
  nb::class_<Held>(module, "AttachedObject",
                   "An object that moves with a link: a capsule in its frame")
      .def(
          "__init__",
          [](Held* self, std::string id, int link, const Vec3& p0, const Vec3& p1, double radius,
             std::vector<int> touches) {
            new (self) Held{std::move(id), link, p0, p1, radius, std::move(touches)};
          },
          "id"_a, "link"_a, "p0"_a, "p1"_a, "radius"_a, "touches"_a);
  nb::class_<Primitive>(module, "Primitive", "An obstacle in the base's frame")
      .def_static(
          "capsule",
          [](std::string id, const Vec3& p0, const Vec3& p1, double radius) {
            return Primitive{false, std::move(id), p0, p1, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, radius};
          },
          "id"_a, "p0"_a, "p1"_a, "radius"_a)
      .def_static(
          "box",
          [](std::string id, const Vec3& centre, const Vec3& half,
             const std::array<double, 9>& rotation) {
            return Primitive{true, std::move(id), centre, centre, half, rotation, 0};
          },
          "id"_a, "centre"_a, "half"_a, "rotation"_a);
}

}  // namespace
}  // namespace openral

void bind_kernel(nb::module_& module) {
  using namespace openral;
  bind_model(module);
  bind_verdict(module);
  bind_primitive(module);
  nb::class_<Kernel>(module, "Kernel", "The gate between a proposed motion and the motors")
      .def(
          "__init__",
          [](Kernel* self, const RobotModel& model, bool scalar_only, bool warn_only,
             bool needs_world, bool needs_voxels, std::int64_t stall_ns) {
            new (self) Kernel(model, {scalar_only, warn_only, needs_world, needs_voxels, stall_ns});
          },
          "model"_a, "scalar_only"_a, "warn_only"_a, "needs_world"_a, "needs_voxels"_a,
          "stall_ns"_a)
      .def(
          "set_state",
          [](Kernel& k, const Doubles& q, const Doubles& qd, std::int64_t stamp) {
            k.set_state({q.data(), q.shape(0)}, {qd.data(), qd.shape(0)}, stamp);
          },
          "q"_a.noconvert(), "qd"_a.noconvert(), "stamp"_a)
      .def(
          "set_world",
          [](Kernel& k, const std::vector<Primitive>& primitives, const std::vector<Held>& held,
             bool fixed, std::int64_t stamp) { k.set_world(primitives, stamp, held, fixed); },
          "primitives"_a, "held"_a, "fixed"_a, "stamp"_a)
      .def(
          "set_voxels",
          [](Kernel& k, const Occupancy& cells, const Vec3& origin, double resolution, bool fixed,
             std::int64_t stamp) {
            const std::array<int, 3> shape{static_cast<int>(cells.shape(0)),
                                           static_cast<int>(cells.shape(1)),
                                           static_cast<int>(cells.shape(2))};
            const nb::gil_scoped_release release;
            k.set_voxels(cells.data(), shape, origin, resolution, stamp, fixed);
          },
          "cells"_a.noconvert(), "origin"_a, "resolution"_a, "fixed"_a, "stamp"_a)
      .def("forget_world", &Kernel::forget_world)
      .def("set_base", &Kernel::set_base, "x"_a, "y"_a, "yaw"_a, "stamp"_a)
      .def(
          "base_at",
          [](Kernel& k, std::int64_t stamp) -> std::optional<std::array<double, 5>> {
            const auto at = k.base_at(stamp);
            if (!at) return std::nullopt;
            return {{at->pose.x, at->pose.y, at->pose.yaw, at->shift, at->turn}};
          },
          "stamp"_a)
      .def(
          "validate_bytes",
          [](Kernel& k, nb::bytes chunk, std::int64_t now) {
            return validate(k, chunk.c_str(), chunk.size(), now);
          },
          "chunk"_a, "now"_a)
      .def(
          "validate_bytes",
          [](Kernel& k, const Buffer& chunk, std::int64_t now) {
            return validate(k, chunk.data(), chunk.shape(0), now);
          },
          "chunk"_a.noconvert(), "now"_a)
      .def("estop", &Kernel::estop)
      .def("reset", &Kernel::reset)
      .def("recover", &Kernel::recover)
      .def_prop_ro("gate", [](const Kernel& k) { return static_cast<int>(k.gate()); })
      .def_prop_ro("vectorised", &Kernel::vectorised)
      .def(
          "clearance",
          [](Kernel& k, const Doubles& q, float reach) {
            return k.clearance({q.data(), q.shape(0)}, reach);
          },
          "q"_a.noconvert(), "reach"_a)
      .def(
          "clear",
          [](Kernel& k, const Rows& q, const Answers& out) {
            if (q.shape(0) != out.shape(0))
              throw std::invalid_argument("as many answers as configurations");
            k.clear({q.data(), q.size()}, {out.data(), out.shape(0)});
          },
          "q"_a.noconvert(), "out"_a.noconvert())
      .def("rewritten", [](const Kernel& k) {
        const std::span<const std::byte> bytes = k.rewritten();
        return nb::bytes(bytes.data(), bytes.size());
      });
}
