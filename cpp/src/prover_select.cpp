#include "openral/prover.hpp"

namespace openral {
#if defined(__x86_64__)
namespace {

bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

ProveFunction select_prover(bool scalar_only) noexcept {
  return !scalar_only && has_avx2() ? &avx2::prove : &scalar::prove;
}
CheckFunction select_check(bool scalar_only) noexcept {
  return !scalar_only && has_avx2() ? &avx2::check : &scalar::check;
}
#else
ProveFunction select_prover(bool) noexcept { return &scalar::prove; }
CheckFunction select_check(bool) noexcept { return &scalar::check; }
#endif

}  // namespace openral
