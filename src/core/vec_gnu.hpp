// Vectors of doubles as GCC and Clang have them, which know the usual operators; as wide as the instruction
// set that this copy of hot.cpp is compiled for. The same functions as in vec_plain.hpp.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LOCALEGOP_INLINE inline __attribute__((always_inline))

namespace localegop {
namespace {

#if defined(__AVX512F__)
constexpr size_t kWidth = 8;
#else
constexpr size_t kWidth = 4;
#endif

typedef double Vec __attribute__((vector_size(kWidth * 8)));
typedef uint64_t Bits __attribute__((vector_size(kWidth * 8)));

LOCALEGOP_INLINE Vec load(const double* from) {
    Vec v;
    memcpy(&v, from, sizeof(v));
    return v;
}
LOCALEGOP_INLINE void store(double* to, Vec v) { memcpy(to, &v, sizeof(v)); }
LOCALEGOP_INLINE Vec spread(double x) { return Vec{} + x; }

LOCALEGOP_INLINE Vec where_less(Vec x, Vec y, Vec yes, Vec no) { return x < y ? yes : no; }

LOCALEGOP_INLINE Vec square_root(Vec x) {
    Vec root;
    for (size_t l = 0; l < kWidth; ++l) root[l] = __builtin_sqrt(x[l]);
    return root;
}

LOCALEGOP_INLINE Vec times_power(Vec x, Vec shifted) {
    Bits bits, power;
    memcpy(&bits, &x, sizeof(bits));
    memcpy(&power, &shifted, sizeof(power));
    bits += power << 52;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

}  // namespace
}  // namespace localegop
