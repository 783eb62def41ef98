#include "openral/mapper.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <stdexcept>

#include "openral/voxels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace openral {
namespace {

using Image = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const float, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::shape<-1, 7>, nb::c_contig, nb::device::cpu>;
using Bits = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using Matrix = std::array<double, 16>;  // 4×4, row by row

Pose to_pose(const Matrix& m) {
  return {{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, {m[3], m[7], m[11]}};
}

// Rows of two ends and a radius.
std::vector<Capsule> to_capsules(const Rows& rows) {
  std::vector<Capsule> out(rows.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      out[i].p0[k] = rows(i, k);
      out[i].p1[k] = rows(i, k + 3);
    }
    out[i].radius = rows(i, 6);
  }
  return out;
}

template <class Pack>
Bits packed(const Mapper& mapper, Pack&& pack) {
  const std::size_t bytes = (mapper.cells() + 7) / 8;
  auto* out = new std::uint8_t[bytes];
  nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
  {
    const nb::gil_scoped_release release;
    pack(out);
  }
  return Bits(out, {bytes}, owner);
}

}  // namespace
}  // namespace openral

void bind_mapper(nb::module_& module) {
  using namespace openral;
  nb::class_<ViewReport>(module, "ViewReport", "What became of one view")
      .def_ro("measured", &ViewReport::measured)
      .def_ro("hit", &ViewReport::hit)
      .def_ro("carved", &ViewReport::carved)
      .def_ro("own", &ViewReport::own);
  nb::class_<Mapper>(module, "Mapper", "What depth cameras have seen, on a lattice that stands")
      .def(
          "__init__",
          [](Mapper* self, double resolution, const std::array<int, 3>& dims, int hit, int miss,
             int low, int high, double share, double padding) {
            new (self) Mapper({resolution, dims, hit, miss, low, high, share, padding});
          },
          "resolution"_a, "dims"_a, "hit"_a, "miss"_a, "low"_a, "high"_a, "share"_a, "padding"_a)
      .def_prop_ro("origin", &Mapper::origin)
      .def_prop_ro("memory", &Mapper::memory)
      .def("recentre", &Mapper::recentre, "centre"_a)
      .def("reset", &Mapper::reset)
      .def(
          "insert_depth",
          [](Mapper& m, const Image& depth, const std::array<double, 4>& lens, const Matrix& camera,
             double nearest, double farthest, const Rows& body, const Rows& held) {
            const auto own = to_capsules(body), others = to_capsules(held);
            const nb::gil_scoped_release release;
            return m.insert_depth(depth.data(), static_cast<int>(depth.shape(1)),
                                  static_cast<int>(depth.shape(0)),
                                  {lens[0], lens[1], lens[2], lens[3]}, to_pose(camera), nearest,
                                  farthest, own, others);
          },
          "depth"_a.noconvert(), "lens"_a, "camera"_a, "nearest"_a, "farthest"_a,
          "body"_a.noconvert(), "held"_a.noconvert())
      .def(
          "insert_points",
          [](Mapper& m, const Points& points, const Matrix& sensor, double nearest, double farthest,
             const Rows& body, const Rows& held) {
            const auto own = to_capsules(body), others = to_capsules(held);
            const nb::gil_scoped_release release;
            return m.insert_points(points.data(), points.shape(0), to_pose(sensor), nearest,
                                   farthest, own, others);
          },
          "points"_a.noconvert(), "sensor"_a, "nearest"_a, "farthest"_a, "body"_a.noconvert(),
          "held"_a.noconvert())
      .def(
          "hide",
          [](Mapper& m, const Rows& shapes, double padding) {
            m.hide(to_capsules(shapes), padding);
          },
          "shapes"_a.noconvert(), "padding"_a)
      .def("show", &Mapper::show)
      .def(
          "assume_free",
          [](Mapper& m, const Rows& shapes, double padding) {
            m.assume_free(to_capsules(shapes), padding);
          },
          "shapes"_a.noconvert(), "padding"_a)
      .def(
          "decay",
          [](Mapper& m, const Rows& shapes, double padding) {
            m.decay(to_capsules(shapes), padding);
          },
          "shapes"_a.noconvert(), "padding"_a)
      .def("occupied",
           [](const Mapper& m) {
             return packed(m, [&m](std::uint8_t* bits) { m.pack_occupied(bits); });
           })
      .def("unknown", [](const Mapper& m) {
        return packed(m, [&m](std::uint8_t* bits) { m.pack_unknown(bits); });
      });
}
