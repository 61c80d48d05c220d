// Vectors of doubles in standard C++, for any compiler and processor: structs and loops that compilers turn
// into what vector instructions they know of. Included by hot.cpp only, as are vec_sse2.hpp and vec_gnu.hpp.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LOCALEGOP_INLINE inline

namespace localegop {
namespace {

constexpr size_t kWidth = 2;

struct Vec {
    double lane[kWidth];
};

LOCALEGOP_INLINE Vec load(const double* from) {
    Vec v;
    for (size_t l = 0; l < kWidth; ++l) v.lane[l] = from[l];
    return v;
}
LOCALEGOP_INLINE void store(double* to, Vec v) {
    for (size_t l = 0; l < kWidth; ++l) to[l] = v.lane[l];
}
LOCALEGOP_INLINE Vec spread(double x) {
    Vec v;
    for (size_t l = 0; l < kWidth; ++l) v.lane[l] = x;
    return v;
}

#define LOCALEGOP_OPERATOR(op)                                                               \
    LOCALEGOP_INLINE Vec operator op(Vec x, Vec y) {                                         \
        for (size_t l = 0; l < kWidth; ++l) x.lane[l] = x.lane[l] op y.lane[l];              \
        return x;                                                                            \
    }                                                                                        \
    LOCALEGOP_INLINE Vec operator op(Vec x, double y) { return x op spread(y); }             \
    LOCALEGOP_INLINE Vec operator op(double x, Vec y) { return spread(x) op y; }
LOCALEGOP_OPERATOR(+)
LOCALEGOP_OPERATOR(-)
LOCALEGOP_OPERATOR(*)
LOCALEGOP_OPERATOR(/)
#undef LOCALEGOP_OPERATOR

LOCALEGOP_INLINE Vec& operator+=(Vec& x, Vec y) { return x = x + y; }
LOCALEGOP_INLINE Vec& operator-=(Vec& x, Vec y) { return x = x - y; }
LOCALEGOP_INLINE Vec& operator*=(Vec& x, Vec y) { return x = x * y; }
LOCALEGOP_INLINE Vec operator-(Vec x) {
    for (size_t l = 0; l < kWidth; ++l) x.lane[l] = -x.lane[l];
    return x;
}

// In each lane, `yes` where x < y, else `no`.
LOCALEGOP_INLINE Vec where_less(Vec x, Vec y, Vec yes, Vec no) {
    for (size_t l = 0; l < kWidth; ++l) no.lane[l] = x.lane[l] < y.lane[l] ? yes.lane[l] : no.lane[l];
    return no;
}

LOCALEGOP_INLINE Vec square_root(Vec x) {
    for (size_t l = 0; l < kWidth; ++l) x.lane[l] = sqrt(x.lane[l]);
    return x;
}

// x * 2^n, with n the integer in the low bits of `shifted`.
LOCALEGOP_INLINE Vec times_power(Vec x, Vec shifted) {
    for (size_t l = 0; l < kWidth; ++l) {
        uint64_t bits, power;
        memcpy(&bits, &x.lane[l], sizeof(bits));
        memcpy(&power, &shifted.lane[l], sizeof(power));
        bits += power << 52;
        memcpy(&x.lane[l], &bits, sizeof(bits));
    }
    return x;
}

}  // namespace
}  // namespace localegop
