// Eight floats as two vectors of SSE2, which every x86-64 has: compilers compare vectors that are
// wider than the machine's one number at a time.
#pragma once

namespace openral::OPENRAL_LANES {

inline constexpr int kLanes = 8;
using S = float;

struct V {
  __m128 half[2];
  S operator[](int i) const {
    alignas(16) S all[kLanes];
    _mm_store_ps(all, half[0]);
    _mm_store_ps(all + 4, half[1]);
    return all[i];
  }
};
// Lanes of ones or zeros.
struct M {
  __m128 half[2];
};

OPENRAL_INLINE V splat(S x) { return {{_mm_set1_ps(x), _mm_set1_ps(x)}}; }
OPENRAL_INLINE V load(const float* x) { return {{_mm_loadu_ps(x), _mm_loadu_ps(x + 4)}}; }
OPENRAL_INLINE void store(float* out, V x) {
  _mm_storeu_ps(out, x.half[0]);
  _mm_storeu_ps(out + 4, x.half[1]);
}

#define OPENRAL_BOTH(type, name, instruction)                                        \
  OPENRAL_INLINE type name(V a, V b) {                                               \
    return {{instruction(a.half[0], b.half[0]), instruction(a.half[1], b.half[1])}}; \
  }                                                                                  \
  [[maybe_unused]] OPENRAL_INLINE type name(V a, S b) { return name(a, splat(b)); }  \
  [[maybe_unused]] OPENRAL_INLINE type name(S a, V b) { return name(splat(a), b); }
OPENRAL_BOTH(V, operator+, _mm_add_ps)
OPENRAL_BOTH(V, operator-, _mm_sub_ps)
OPENRAL_BOTH(V, operator*, _mm_mul_ps)
OPENRAL_BOTH(V, operator/, _mm_div_ps)
OPENRAL_BOTH(M, operator<, _mm_cmplt_ps)
OPENRAL_BOTH(M, operator<=, _mm_cmple_ps)
OPENRAL_BOTH(M, operator>, _mm_cmpgt_ps)
OPENRAL_BOTH(M, operator>=, _mm_cmpge_ps)
OPENRAL_BOTH(M, operator==, _mm_cmpeq_ps)
// These return b when a is NaN.
OPENRAL_BOTH(V, vmin, _mm_min_ps)
OPENRAL_BOTH(V, vmax, _mm_max_ps)
#undef OPENRAL_BOTH

OPENRAL_INLINE V& operator+=(V& a, V b) { return a = a + b; }
OPENRAL_INLINE V operator-(V a) {
  const __m128 sign = _mm_set1_ps(-0.0F);
  return {{_mm_xor_ps(sign, a.half[0]), _mm_xor_ps(sign, a.half[1])}};
}
OPENRAL_INLINE V vabs(V a) {
  const __m128 sign = _mm_set1_ps(-0.0F);
  return {{_mm_andnot_ps(sign, a.half[0]), _mm_andnot_ps(sign, a.half[1])}};
}
OPENRAL_INLINE V vsqrt(V a) { return {{_mm_sqrt_ps(a.half[0]), _mm_sqrt_ps(a.half[1])}}; }
OPENRAL_INLINE M both(M a, M b) {
  return {{_mm_and_ps(a.half[0], b.half[0]), _mm_and_ps(a.half[1], b.half[1])}};
}
OPENRAL_INLINE V select(M m, V a, V b) {
  V out;
  for (int i = 0; i < 2; ++i)
    out.half[i] = _mm_or_ps(_mm_and_ps(m.half[i], a.half[i]), _mm_andnot_ps(m.half[i], b.half[i]));
  return out;
}
OPENRAL_INLINE unsigned bits(M m) {
  return static_cast<unsigned>(_mm_movemask_ps(m.half[0]) | _mm_movemask_ps(m.half[1]) << 4);
}

// The last bits of a float, as counted in them by `sincos`.
OPENRAL_INLINE M odd(V turned) {
  M out;
  for (int i = 0; i < 2; ++i) {
    const __m128i one = _mm_and_si128(_mm_castps_si128(turned.half[i]), _mm_set1_epi32(1));
    out.half[i] = _mm_castsi128_ps(_mm_cmpeq_epi32(one, _mm_set1_epi32(1)));
  }
  return out;
}
// Negated where the second bit of `turned`, counted on by `more`, is set.
OPENRAL_INLINE V flipped(V x, V turned, int more) {
  for (int i = 0; i < 2; ++i) {
    const __m128i count = _mm_add_epi32(_mm_castps_si128(turned.half[i]), _mm_set1_epi32(more));
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(count, _mm_set1_epi32(2)), 30);
    x.half[i] = _mm_xor_ps(x.half[i], _mm_castsi128_ps(sign));
  }
  return x;
}

OPENRAL_INLINE V largest_of_each(const V (&v)[8]) {
  V out;
  for (int i = 0; i < 2; ++i) {
    __m128 m[4];
    for (int k = 0; k < 4; ++k) m[k] = _mm_max_ps(v[4 * i + k].half[0], v[4 * i + k].half[1]);
    _MM_TRANSPOSE4_PS(m[0], m[1], m[2], m[3]);
    out.half[i] = _mm_max_ps(_mm_max_ps(m[0], m[1]), _mm_max_ps(m[2], m[3]));
  }
  return out;
}

}  // namespace openral::OPENRAL_LANES
