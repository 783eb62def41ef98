#include "openral/prover.hpp"

namespace openral {

ProveFunction select_prover(bool scalar_only) noexcept {
#if defined(__x86_64__)
  if (!scalar_only && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &avx2::prove;
#else
  (void)scalar_only;
#endif
  return &scalar::prove;
}

}  // namespace openral
