// Eight numbers at once. One source, three builds: `avx2` and `scalar` (eight floats, with and
// without AVX2 code), and `exact` (one double, for explanations). Each translation unit names its
// build in OPENRAL_LANES, so no inline function compiled for AVX2 can leak into the others.
#pragma once

#ifndef OPENRAL_LANES
#error "define OPENRAL_LANES (scalar, avx2 or exact) before including lane code"
#endif

#include <cmath>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define OPENRAL_INLINE static inline __attribute__((always_inline))
#if defined(__SSE2__) && !defined(__AVX2__) && !defined(OPENRAL_LANE_DOUBLE)
#define OPENRAL_LANES_SSE2
#include "openral/lanes_sse2.hpp"
#endif

namespace openral::OPENRAL_LANES {

#if defined(OPENRAL_LANES_SSE2)
// All of it is in that header.
#elif defined(OPENRAL_LANE_DOUBLE)
inline constexpr int kLanes = 1;
using S = double;
using V = double;
using M = bool;
OPENRAL_INLINE V splat(S x) { return x; }
OPENRAL_INLINE V load(const float* x) { return *x; }
OPENRAL_INLINE V load(const double* x) { return *x; }
OPENRAL_INLINE void store(float* out, V x) { *out = static_cast<float>(x); }
OPENRAL_INLINE void store(double* out, V x) { *out = x; }
OPENRAL_INLINE unsigned bits(M m) { return m ? 1U : 0U; }
OPENRAL_INLINE V select(M m, V a, V b) { return m ? a : b; }
OPENRAL_INLINE V vmin(V a, V b) { return a < b ? a : b; }
OPENRAL_INLINE V vmax(V a, V b) { return a > b ? a : b; }
OPENRAL_INLINE V vabs(V a) { return std::fabs(a); }
OPENRAL_INLINE V vsqrt(V a) { return std::sqrt(a); }
OPENRAL_INLINE M both(M a, M b) { return a && b; }
#else
inline constexpr int kLanes = 8;
using S = float;
typedef float V __attribute__((vector_size(32)));
typedef int M __attribute__((vector_size(32)));
OPENRAL_INLINE V splat(S x) { return V{x, x, x, x, x, x, x, x}; }
OPENRAL_INLINE V load(const float* x) {
  V v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}
OPENRAL_INLINE void store(float* out, V x) { __builtin_memcpy(out, &x, sizeof x); }
OPENRAL_INLINE V select(M m, V a, V b) { return m ? a : b; }
OPENRAL_INLINE M both(M a, M b) { return a & b; }
#if defined(__AVX2__)
OPENRAL_INLINE unsigned bits(M m) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
}
OPENRAL_INLINE V vmin(V a, V b) { return _mm256_min_ps(a, b); }
OPENRAL_INLINE V vmax(V a, V b) { return _mm256_max_ps(a, b); }
OPENRAL_INLINE V vsqrt(V a) { return _mm256_sqrt_ps(a); }
OPENRAL_INLINE V vabs(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
#else
OPENRAL_INLINE unsigned bits(M m) {
  unsigned out = 0;
  for (int i = 0; i < kLanes; ++i) out |= m[i] ? 1U << i : 0U;
  return out;
}
// Like the AVX2 instructions, these return b when a is NaN.
OPENRAL_INLINE V vmin(V a, V b) { return a < b ? a : b; }
OPENRAL_INLINE V vmax(V a, V b) { return a > b ? a : b; }
OPENRAL_INLINE V vsqrt(V a) {
  V out = a;
  for (int i = 0; i < kLanes; ++i) out[i] = __builtin_sqrtf(a[i]);
  return out;
}
OPENRAL_INLINE V vabs(V a) { return a < 0 ? -a : a; }
#endif
#endif

OPENRAL_INLINE S at(V v, [[maybe_unused]] int lane) {
#ifdef OPENRAL_LANE_DOUBLE
  return v;
#else
  return v[lane];
#endif
}

// The largest of the lanes.
OPENRAL_INLINE S largest(V v) {
#ifdef OPENRAL_LANE_DOUBLE
  return v;
#elif defined(__SSE2__)
  __m128 half[2];
  __builtin_memcpy(half, &v, sizeof v);
  __m128 m = _mm_max_ps(half[0], half[1]);
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  m = _mm_max_ss(m, _mm_shuffle_ps(m, m, 1));
  return _mm_cvtss_f32(m);
#else
  S most = v[0];
  for (int i = 1; i < kLanes; ++i) most = most > v[i] ? most : v[i];
  return most;
#endif
}

#if !defined(OPENRAL_LANE_DOUBLE) && !defined(OPENRAL_LANES_SSE2)
// The largest of the lanes of each of eight vectors.
OPENRAL_INLINE V largest_of_each(const V (&v)[8]) {
#if defined(__AVX2__)
  V four[4], two[2];
  for (int i = 0; i < 4; ++i)
    four[i] = vmax(_mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                   _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  for (int i = 0; i < 2; ++i)
    two[i] = vmax(_mm256_shuffle_ps(four[2 * i], four[2 * i + 1], 0x44),
                  _mm256_shuffle_ps(four[2 * i], four[2 * i + 1], 0xEE));
  return vmax(_mm256_permute2f128_ps(two[0], two[1], 0x20),
              _mm256_permute2f128_ps(two[0], two[1], 0x31));
#else
  V out;
  for (int i = 0; i < 8; ++i) out[i] = largest(v[i]);
  return out;
#endif
}
#endif

struct V3 {
  V x, y, z;
};
OPENRAL_INLINE V3 operator+(V3 a, V3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
OPENRAL_INLINE V3 operator-(V3 a, V3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
OPENRAL_INLINE V3 operator*(V s, V3 a) { return {s * a.x, s * a.y, s * a.z}; }
OPENRAL_INLINE V dot(V3 a, V3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
OPENRAL_INLINE V3 cross(V3 a, V3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
OPENRAL_INLINE V3 vabs(V3 a) { return {vabs(a.x), vabs(a.y), vabs(a.z)}; }
OPENRAL_INLINE V3 vmax(V3 a, V b) { return {vmax(a.x, b), vmax(a.y, b), vmax(a.z, b)}; }
OPENRAL_INLINE V clamp(V x, V lo, V hi) { return vmin(vmax(x, lo), hi); }
OPENRAL_INLINE V3 splat3(const float* p) { return {splat(p[0]), splat(p[1]), splat(p[2])}; }

#if !defined(OPENRAL_LANE_DOUBLE) && !defined(OPENRAL_LANES_SSE2)
// The last bits of a float, as counted in them by `sincos`.
OPENRAL_INLINE M odd(V turned) { return (reinterpret_cast<M>(turned) & 1) != 0; }
// Negated where the second bit of `turned`, counted on by `more`, is set.
OPENRAL_INLINE V flipped(V x, V turned, int more) {
  return reinterpret_cast<V>(reinterpret_cast<M>(x) ^
                             (((reinterpret_cast<M>(turned) + more) & 2) << 30));
}
#endif

// Sine and cosine for |x| ≤ π; error below 4·2⁻²⁴ in float lanes.
OPENRAL_INLINE void sincos(V x, V& sine, V& cosine) {
#ifdef OPENRAL_LANE_DOUBLE
  sine = std::sin(x);
  cosine = std::cos(x);
#else
  const V magic = splat(12582912.0F);  // its sum's last bits count quarter turns
  const V turned = x * 0.636619772F + magic;
  const V k = turned - magic;
  const V r = (x - k * 1.57079637F) + k * 4.37113883e-8F;
  const V z = r * r;
  const V s = ((-1.9515295891e-4F * z + 8.3321608736e-3F) * z - 1.6666654611e-1F) * z * r + r;
  const V c =
      ((2.443315711809948e-5F * z - 1.388731625493765e-3F) * z + 4.166664568298827e-2F) * z * z -
      0.5F * z + 1.0F;
  const M swap = odd(turned);
  sine = flipped(select(swap, c, s), turned, 0);
  cosine = flipped(select(swap, s, c), turned, 1);
#endif
}

}  // namespace openral::OPENRAL_LANES
