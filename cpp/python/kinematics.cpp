#include "openral/kinematics.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace openral {
namespace {

using Ints = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vectors = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Matrices = nb::ndarray<const double, nb::shape<-1, 4, 4>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Tree make_tree(const Ints& kinds, const Ints& parents, const Matrices& origins, const Vectors& axes,
               const Ints& coordinates, const Doubles& multipliers, const Doubles& offsets,
               std::size_t dof) {
  const std::size_t n = kinds.shape(0);
  for (std::size_t size : {parents.shape(0), origins.shape(0), axes.shape(0), coordinates.shape(0),
                           multipliers.shape(0), offsets.shape(0)})
    if (size != n) throw std::invalid_argument("arrays differ in length");
  std::vector<Joint> joints(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (kinds(i) < 0 || kinds(i) > 2) throw std::invalid_argument("unknown joint kind");
    joints[i].kind = static_cast<JointKind>(kinds(i));
    joints[i].parent = parents(i);
    joints[i].coordinate = coordinates(i);
    joints[i].multiplier = multipliers(i);
    joints[i].offset = offsets(i);
    for (std::size_t r = 0; r < 3; ++r) {
      joints[i].axis[r] = axes(i, r);
      joints[i].origin.translation[r] = origins(i, r, 3);
      for (std::size_t c = 0; c < 3; ++c) joints[i].origin.rotation[3 * r + c] = origins(i, r, c);
    }
  }
  return Tree(std::move(joints), dof);
}

// Homogeneous link poses, shape (rows, links, 4, 4).
auto forward(const Tree& tree, const Rows& q) {
  if (q.shape(1) != tree.coordinates()) throw std::invalid_argument("wrong number of coordinates");
  const std::size_t rows = q.shape(0), links = tree.links();
  auto* out = new double[rows * links * 16]();
  nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  std::vector<Pose> poses(links);
  for (std::size_t row = 0; row < rows; ++row) {
    tree.forward({q.data() + row * q.shape(1), q.shape(1)}, poses);
    for (std::size_t link = 0; link < links; ++link) {
      double* m = out + (row * links + link) * 16;
      for (std::size_t r = 0; r < 3; ++r) {
        std::copy_n(&poses[link].rotation[3 * r], 3, m + 4 * r);
        m[4 * r + 3] = poses[link].translation[r];
      }
      m[15] = 1;
    }
  }
  return nb::ndarray<nb::numpy, double, nb::ndim<4>>(out, {rows, links, 4, 4}, owner);
}

}  // namespace
}  // namespace openral

void bind_kinematics(nb::module_& module) {
  using openral::Tree;
  nb::class_<Tree>(module, "Tree", "Forward kinematics of a tree of links")
      .def_static("make", &openral::make_tree, "kinds"_a.noconvert(), "parents"_a.noconvert(),
                  "origins"_a.noconvert(), "axes"_a.noconvert(), "coordinates"_a.noconvert(),
                  "multipliers"_a.noconvert(), "offsets"_a.noconvert(), "dof"_a)
      .def("forward", &openral::forward, "q"_a.noconvert());
}
