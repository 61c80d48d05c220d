// Vectors of two doubles with the instructions that every 64-bit x86 processor has, by intrinsics that
// every compiler knows. The same functions as in vec_plain.hpp, which compilers turn into slower code there.
#pragma once

#include <emmintrin.h>
#include <stddef.h>

#define LOCALEGOP_INLINE inline

namespace localegop {
namespace {

constexpr size_t kWidth = 2;

struct Vec {
    __m128d lanes;
};

LOCALEGOP_INLINE Vec load(const double* from) { return {_mm_loadu_pd(from)}; }
LOCALEGOP_INLINE void store(double* to, Vec v) { _mm_storeu_pd(to, v.lanes); }
LOCALEGOP_INLINE Vec spread(double x) { return {_mm_set1_pd(x)}; }

#define LOCALEGOP_OPERATOR(op, intrinsic)                                                            \
    LOCALEGOP_INLINE Vec operator op(Vec x, Vec y) { return {intrinsic(x.lanes, y.lanes)}; }         \
    LOCALEGOP_INLINE Vec operator op(Vec x, double y) { return x op spread(y); }                     \
    LOCALEGOP_INLINE Vec operator op(double x, Vec y) { return spread(x) op y; }
LOCALEGOP_OPERATOR(+, _mm_add_pd)
LOCALEGOP_OPERATOR(-, _mm_sub_pd)
LOCALEGOP_OPERATOR(*, _mm_mul_pd)
LOCALEGOP_OPERATOR(/, _mm_div_pd)
#undef LOCALEGOP_OPERATOR

LOCALEGOP_INLINE Vec& operator+=(Vec& x, Vec y) { return x = x + y; }
LOCALEGOP_INLINE Vec& operator-=(Vec& x, Vec y) { return x = x - y; }
LOCALEGOP_INLINE Vec& operator*=(Vec& x, Vec y) { return x = x * y; }
LOCALEGOP_INLINE Vec operator-(Vec x) { return {_mm_xor_pd(x.lanes, _mm_set1_pd(-0.0))}; }

LOCALEGOP_INLINE Vec where_less(Vec x, Vec y, Vec yes, Vec no) {
    const __m128d less = _mm_cmplt_pd(x.lanes, y.lanes);
    return {_mm_or_pd(_mm_and_pd(less, yes.lanes), _mm_andnot_pd(less, no.lanes))};
}

LOCALEGOP_INLINE Vec square_root(Vec x) { return {_mm_sqrt_pd(x.lanes)}; }

LOCALEGOP_INLINE Vec times_power(Vec x, Vec shifted) {
    const __m128i power = _mm_slli_epi64(_mm_castpd_si128(shifted.lanes), 52);
    return {_mm_castsi128_pd(_mm_add_epi64(_mm_castpd_si128(x.lanes), power))};
}

}  // namespace
}  // namespace localegop
