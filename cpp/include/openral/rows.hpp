// From rows of doubles, one a lane, to lanes: four columns at a time.
#pragma once

#include "openral/lanes.hpp"

namespace openral::OPENRAL_LANES {

typedef double Row __attribute__((vector_size(32)));      // four columns of one lane
typedef float FloatRow __attribute__((vector_size(16)));  // the same, rounded

OPENRAL_INLINE Row load_row(const double* x) {
  Row row;
  __builtin_memcpy(&row, x, sizeof row);
  return row;
}
OPENRAL_INLINE FloatRow rounded(Row row) { return __builtin_convertvector(row, FloatRow); }
OPENRAL_INLINE Row magnitude(Row a) {
  typedef std::int64_t Bits __attribute__((vector_size(32)));
  return reinterpret_cast<Row>(reinterpret_cast<Bits>(a) & INT64_MAX);
}
OPENRAL_INLINE FloatRow larger(FloatRow a, FloatRow b) { return a > b ? a : b; }

// Each angle's representative in ±π.
OPENRAL_INLINE Row reduced(Row angle) {
  constexpr double kMagic = 6755399441055744.0;
  const Row turns = (angle * 0.15915494309189535 + kMagic) - kMagic;
  return angle - turns * 6.283185307179586;
}

// out[k] holds column k of all rows.
OPENRAL_INLINE void transpose(const FloatRow (&row)[kLanes], S (*out)[kLanes]) {
#if defined(__AVX2__)
  V pair[4];
  for (int k = 0; k < 4; ++k)
    pair[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(row[k]), row[k + 4], 1);
  const V a = _mm256_unpacklo_ps(pair[0], pair[1]), b = _mm256_unpackhi_ps(pair[0], pair[1]);
  const V c = _mm256_unpacklo_ps(pair[2], pair[3]), d = _mm256_unpackhi_ps(pair[2], pair[3]);
  store(out[0], _mm256_shuffle_ps(a, c, 0x44));
  store(out[1], _mm256_shuffle_ps(a, c, 0xEE));
  store(out[2], _mm256_shuffle_ps(b, d, 0x44));
  store(out[3], _mm256_shuffle_ps(b, d, 0xEE));
#elif defined(OPENRAL_LANES_SSE2)
  for (int half = 0; half < kLanes; half += 4) {
    __m128 a = row[half], b = row[half + 1], c = row[half + 2], d = row[half + 3];
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out[0] + half, a);
    _mm_storeu_ps(out[1] + half, b);
    _mm_storeu_ps(out[2] + half, c);
    _mm_storeu_ps(out[3] + half, d);
  }
#else
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; k < 4; ++k) out[k][lane] = row[lane][k];
#endif
}

OPENRAL_INLINE void transpose(const Row (&row)[kLanes], double (*out)[kLanes]) {
#if defined(__AVX2__)
  for (int half = 0; half < kLanes; half += 4) {
    const Row a = _mm256_unpacklo_pd(row[half], row[half + 1]);
    const Row b = _mm256_unpackhi_pd(row[half], row[half + 1]);
    const Row c = _mm256_unpacklo_pd(row[half + 2], row[half + 3]);
    const Row d = _mm256_unpackhi_pd(row[half + 2], row[half + 3]);
    _mm256_storeu_pd(out[0] + half, _mm256_permute2f128_pd(a, c, 0x20));
    _mm256_storeu_pd(out[1] + half, _mm256_permute2f128_pd(b, d, 0x20));
    _mm256_storeu_pd(out[2] + half, _mm256_permute2f128_pd(a, c, 0x31));
    _mm256_storeu_pd(out[3] + half, _mm256_permute2f128_pd(b, d, 0x31));
  }
#else
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; k < 4; ++k) out[k][lane] = row[lane][k];
#endif
}

}  // namespace openral::OPENRAL_LANES
