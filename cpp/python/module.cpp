// The one extension module, openral._core; each concept binds itself.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_kernel(nb::module_& module);
void bind_kinematics(nb::module_& module);
void bind_mapper(nb::module_& module);

NB_MODULE(_core, module) {
  module.doc() = "openral's C++ core";
  bind_kernel(module);
  bind_kinematics(module);
  bind_mapper(module);
}
