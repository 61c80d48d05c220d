// The innermost loops. This file is compiled several times with different instruction-set flags; it must
// not instantiate anything from the standard library, whose inline functions would be shared between
// the copies.

#include "hot.hpp"

#include <math.h>
#include <string.h>

// The vectors to work on. Only the copies for AVX need GCC or Clang.
#if defined(LOCALEGOP_PLAIN)
#include "vec_plain.hpp"
#elif defined(__AVX__) && defined(__GNUC__)
#include "vec_gnu.hpp"
#elif defined(__x86_64__) || defined(_M_X64)
#include "vec_sse2.hpp"
#else
#include "vec_plain.hpp"
#endif

#ifndef LOCALEGOP_ISA
#error "LOCALEGOP_ISA must name the instruction set of this copy"
#endif
#define LOCALEGOP_JOIN_(a, b) a##b
#define LOCALEGOP_JOIN(a, b) LOCALEGOP_JOIN_(a, b)
#define LOCALEGOP_TEXT_(a) #a
#define LOCALEGOP_TEXT(a) LOCALEGOP_TEXT_(a)

namespace localegop {
namespace {

LOCALEGOP_INLINE double total(Vec v) {
    double lanes[kWidth];
    store(lanes, v);
    for (size_t half = kWidth / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0];
}

// exp(x) for x <= 0 to about one unit in the last place; below -700 it is 0.
LOCALEGOP_INLINE Vec exp_negative(Vec x) {
    const Vec lowest = spread(-700.0), given = x;
    x = where_less(lowest, given, x, lowest);
    const Vec magic = spread(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to an integer
    const Vec shifted = x * 1.4426950408889634 + magic;
    const Vec whole = shifted - magic;
    Vec r = x - whole * 6.93147180369123816490e-01;
    r = r - whole * 1.90821492927058770002e-10;
    Vec p = spread(1.6059043836821613e-10);
    p = p * r + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 1.984126984126984e-04;
    p = p * r + 1.388888888888889e-03;
    p = p * r + 8.333333333333333e-03;
    p = p * r + 4.1666666666666664e-02;
    p = p * r + 1.6666666666666666e-01;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // The low bits of `shifted` hold the integer; moved to the exponent they multiply by 2^whole.
    return where_less(lowest, given, times_power(p, shifted), Vec{});
}

LOCALEGOP_INLINE Vec positive(Vec u) { return where_less(Vec{}, u, u, Vec{}); }
LOCALEGOP_INLINE Vec inside(Vec u) { return where_less(u, spread(1.0), 1.0 - u, Vec{}); }

// One past the last column in which some row of the factor is not zero: early for a diagonal one.
template <int kRows>
inline size_t end_of_rows(const double* factor, size_t first, size_t dim) {
    for (size_t end = dim; end > first; --end)
        for (int r = 0; r < kRows; ++r)
            if (factor[r * dim + end - 1] != 0.0) return end;
    return first;
}

template <int kRows>
LOCALEGOP_INLINE void project(const double* columns, size_t stride, size_t count, const double* factor,
                              size_t first, size_t dim, double* squared) {
    const bool fresh = first == 0;
    const size_t end = end_of_rows<kRows>(factor, first, dim);
    for (size_t k = 0; k < count; k += 2 * kWidth) {
        const bool both = k + kWidth < count;
        const size_t next = both ? k + kWidth : k;
        Vec low[kRows], high[kRows];
        for (int r = 0; r < kRows; ++r) low[r] = high[r] = Vec{};
        for (size_t a = first; a < end; ++a) {  // zeros elsewhere
            const Vec x = load(columns + a * stride + k), z = load(columns + a * stride + next);
            for (int r = 0; r < kRows; ++r) {
                const Vec f = spread(factor[r * dim + a]);
                low[r] += f * x;
                high[r] += f * z;
            }
        }
        Vec first = fresh ? Vec{} : load(squared + k), second = fresh ? Vec{} : load(squared + next);
        for (int r = 0; r < kRows; ++r) {
            first += low[r] * low[r];
            second += high[r] * high[r];
        }
        store(squared + k, first);
        if (both) store(squared + next, second);
    }
}

void squared_norms(const double* columns, size_t stride, size_t count, const double* factor,
                   size_t rank, size_t dim, double* squared) {
    const size_t full = padded(count);
    if (rank == 0) memset(squared, 0, full * sizeof(double));
    for (size_t r = 0; r < rank;) {
        const double* rows = factor + r * dim;
        if (rank - r >= 4) {
            project<4>(columns, stride, full, rows, r, dim, squared);
            r += 4;
        } else if (rank - r >= 2) {
            project<2>(columns, stride, full, rows, r, dim, squared);
            r += 2;
        } else {
            project<1>(columns, stride, full, rows, r, dim, squared);
            r += 1;
        }
    }
}

// One struct a kernel of the table, gaussian_kernel and so on.
#define LOCALEGOP_KERNEL_STRUCT(name, expression, support, decay_)                                     \
    struct name##_kernel {                                                                             \
        static constexpr double decay = decay_;                                                        \
        static LOCALEGOP_INLINE Vec profile(Vec u) { return expression; }         \
    };
LOCALEGOP_KERNELS(LOCALEGOP_KERNEL_STRUCT)

template <class Kernel>
void fill_weights(const double* squared, const double* sample_weights, size_t count, double scale,
                  double shift, double* weights) {
    for (size_t k = 0; k < padded(count); k += kWidth) {
        Vec w = Kernel::profile(load(squared + k) * scale - shift);
        if (sample_weights) w *= load(sample_weights + k);
        store(weights + k, w);
    }
}

void weights(KernelId kernel, const double* squared, const double* sample_weights, size_t count,
             double scale, double shift, double* out) {
#define LOCALEGOP_CASE(name, profile, support, decay) \
    case KernelId::name:                              \
        return fill_weights<name##_kernel>(squared, sample_weights, count, scale, shift, out);
    switch (kernel) {
        LOCALEGOP_KERNELS(LOCALEGOP_CASE)
        case KernelId::custom: break;
    }
#undef LOCALEGOP_CASE
}

template <class Kernel>
void fill_roots(const double* squared, const double* root_sample_weights, size_t count, double shift,
                double* roots) {
    for (size_t k = 0; k < padded(count); k += kWidth) {
        const Vec u = load(squared + k) - shift;
        // The root of exp(-c u) is exp(-c u / 2): no square root needed.
        const Vec root = Kernel::decay > 0.0 ? Kernel::profile(0.5 * u) : square_root(Kernel::profile(u));
        store(roots + k, root * load(root_sample_weights + k));
    }
    for (size_t k = count; k < padded(count); ++k) roots[k] = 0.0;
}

void root_weights(KernelId kernel, const double* squared, const double* root_sample_weights, size_t count,
                  double shift, double* roots) {
#define LOCALEGOP_CASE(name, profile, support, decay) \
    case KernelId::name:                              \
        return fill_roots<name##_kernel>(squared, root_sample_weights, count, shift, roots);
    switch (kernel) {
        LOCALEGOP_KERNELS(LOCALEGOP_CASE)
        case KernelId::custom: break;
    }
#undef LOCALEGOP_CASE
}

double minimum(const double* values, size_t count) {
    Vec low = spread(kInfinite);
    size_t k = 0;
    for (; k + kWidth <= count; k += kWidth) {
        const Vec v = load(values + k);
        low = where_less(v, low, v, low);
    }
    double lanes[kWidth], least = kInfinite;
    store(lanes, low);
    for (size_t l = 0; l < kWidth; ++l) least = lanes[l] < least ? lanes[l] : least;
    for (; k < count; ++k) least = values[k] < least ? values[k] : least;
    return least;
}

double sum_of_squares(const double* roots, size_t count) {
    Vec sum{};
    for (size_t k = 0; k < padded(count); k += kWidth) {
        const Vec r = load(roots + k);
        sum += r * r;
    }
    return total(sum);
}

void squared_differences(const double* columns, size_t stride, size_t count, const double* center,
                         size_t rank, double* squared) {
    for (size_t k = 0; k < padded(count); k += kWidth) {
        Vec sum{};
        for (size_t r = 0; r < rank; ++r) {
            const Vec d = load(columns + r * stride + k) - center[r * stride];
            sum += d * d;
        }
        store(squared + k, sum);
    }
}

void squared_distances(const double* columns, size_t stride, size_t count, const double* centers,
                       size_t rank, double* squared) {
    for (size_t k = 0; k < padded(count); k += kWidth) {
        Vec sum[kCenters];
        for (size_t c = 0; c < kCenters; ++c) sum[c] = Vec{};
        for (size_t r = 0; r < rank; ++r) {
            const Vec x = load(columns + r * stride + k);
            for (size_t c = 0; c < kCenters; ++c) {
                const Vec d = x - centers[r * kCenters + c];
                sum[c] += d * d;
            }
        }
        for (size_t c = 0; c < kCenters; ++c) store(squared + c * stride + k, sum[c]);
    }
}

void centered(const double* column, const double* roots, size_t count, double mean, double* out) {
    for (size_t k = 0; k < padded(count); k += kWidth)
        store(out + k, load(roots + k) * (load(column + k) - mean));
}

template <int kRows>
LOCALEGOP_INLINE void sum_rows(const double* columns, size_t stride, const double* roots, size_t full,
                               double* sums) {
    Vec sum[kRows];
    for (int a = 0; a < kRows; ++a) sum[a] = Vec{};
    for (size_t k = 0; k < full; k += kWidth) {
        const Vec r = load(roots + k), w = r * r;
        for (int a = 0; a < kRows; ++a) sum[a] += w * load(columns + a * stride + k);
    }
    for (int a = 0; a < kRows; ++a) sums[a] = total(sum[a]);
}

void weighted_sums(const double* columns, size_t stride, const double* roots, size_t count, size_t rows,
                   double* sums) {
    const size_t full = padded(count);
    size_t a = 0;
    for (; a + 4 <= rows; a += 4) sum_rows<4>(columns + a * stride, stride, roots, full, sums + a);
    for (; a + 2 <= rows; a += 2) sum_rows<2>(columns + a * stride, stride, roots, full, sums + a);
    for (; a < rows; ++a) sum_rows<1>(columns + a * stride, stride, roots, full, sums + a);
}

template <int kVecs>
LOCALEGOP_INLINE void subtract_at(const double* columns, size_t stride, const double* coefficients,
                                  size_t rows, double* out) {
    Vec left[kVecs];
    for (int v = 0; v < kVecs; ++v) left[v] = load(out + v * kWidth);
    for (size_t a = 0; a < rows; ++a)
        for (int v = 0; v < kVecs; ++v)
            left[v] -= load(columns + a * stride + v * kWidth) * coefficients[a];
    for (int v = 0; v < kVecs; ++v) store(out + v * kWidth, left[v]);
}

void subtract_columns(const double* columns, size_t stride, size_t count, const double* coefficients,
                      size_t rows, double* out) {
    const size_t full = padded(count);
    size_t k = 0;
    for (; k + 4 * kWidth <= full; k += 4 * kWidth)
        subtract_at<4>(columns + k, stride, coefficients, rows, out + k);
    for (; k < full; k += kWidth) subtract_at<1>(columns + k, stride, coefficients, rows, out + k);
}

// The slope of exp(-c scale u) in log scale is -c scale u times itself.
template <class Kernel>
KernelSums sums_of(const double* squared, const double* sample_weights, size_t count, double scale) {
    Vec first{}, second{}, first_slope{}, second_slope{};
    for (size_t k = 0; k < padded(count); k += kWidth) {
        const Vec u = load(squared + k) * scale;
        const Vec k1 = Kernel::profile(u);
        const Vec w = sample_weights ? k1 * load(sample_weights + k) : k1;
        const Vec w2 = w * k1;
        first += w;
        second += w2;
        first_slope -= u * w;
        second_slope -= u * w2;
    }
    return {total(first), total(second), Kernel::decay * total(first_slope),
            2.0 * Kernel::decay * total(second_slope)};
}

KernelSums decaying_sums(KernelId kernel, const double* squared, const double* sample_weights, size_t count,
                         double scale) {
#define LOCALEGOP_CASE(name, profile, support, decay) \
    case KernelId::name: return sums_of<name##_kernel>(squared, sample_weights, count, scale);
    switch (kernel) {
        LOCALEGOP_KERNELS(LOCALEGOP_CASE)
        case KernelId::custom: break;
    }
#undef LOCALEGOP_CASE
    return {};
}

// Dot products of kA rows with kB rows over all points, added to the lower triangle.
template <int kA, int kB>
LOCALEGOP_INLINE void tile(const double* columns, size_t stride, size_t full, size_t rows, size_t a0,
                           size_t b0, double* gram) {
    Vec sums[kA][kB];
    for (int a = 0; a < kA; ++a)
        for (int b = 0; b < kB; ++b) sums[a][b] = Vec{};
    const double* left = columns + a0 * stride;
    const double* right = columns + b0 * stride;
    for (size_t k = 0; k < full; k += kWidth) {
        Vec r[kB];
        for (int b = 0; b < kB; ++b) r[b] = load(right + b * stride + k);
        for (int a = 0; a < kA; ++a) {
            const Vec l = load(left + a * stride + k);
            for (int b = 0; b < kB; ++b) sums[a][b] += l * r[b];
        }
    }
    for (int a = 0; a < kA; ++a)
        for (int b = 0; b < kB; ++b)
            if (b0 + b <= a0 + a) gram[(a0 + a) * rows + b0 + b] += total(sums[a][b]);
}

template <int kA>
LOCALEGOP_INLINE void tile_row(const double* columns, size_t stride, size_t full, size_t rows, size_t a0,
                               double* gram) {
    const size_t end = a0 + kA;  // columns past the diagonal of the last row are not needed
    size_t b = 0;
    for (; b + 3 <= end; b += 3) tile<kA, 3>(columns, stride, full, rows, a0, b, gram);
    if (end - b == 2) tile<kA, 2>(columns, stride, full, rows, a0, b, gram);
    if (end - b == 1) tile<kA, 1>(columns, stride, full, rows, a0, b, gram);
}

void gram(const double* columns, size_t stride, size_t count, size_t rows, double* out) {
    const size_t full = padded(count);
    size_t a = 0;
    for (; a + 4 <= rows; a += 4) tile_row<4>(columns, stride, full, rows, a, out);
    if (rows - a == 3) tile_row<3>(columns, stride, full, rows, a, out);
    if (rows - a == 2) tile_row<2>(columns, stride, full, rows, a, out);
    if (rows - a == 1) tile_row<1>(columns, stride, full, rows, a, out);
}

LOCALEGOP_INLINE double dot(const double* x, const double* y, size_t size) {
    Vec sum[4] = {Vec{}, Vec{}, Vec{}, Vec{}};  // several, so that additions need not wait for each other
    size_t k = 0;
    for (; k + 4 * kWidth <= size; k += 4 * kWidth)
        for (size_t u = 0; u < 4; ++u) sum[u] += load(x + k + u * kWidth) * load(y + k + u * kWidth);
    for (; k + kWidth <= size; k += kWidth) sum[0] += load(x + k) * load(y + k);
    double rest = total((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; k < size; ++k) rest += x[k] * y[k];
    return rest;
}

double dot_product(const double* x, const double* y, size_t size) { return dot(x, y, size); }

// Subtract from kRows rows, at kBlocks vectors from column i on, what the rows above them contribute.
template <int kRows, int kBlocks>
LOCALEGOP_INLINE void reduce(double* matrix, size_t stride, size_t first, size_t i) {
    Vec sums[kRows][kBlocks];
    for (int r = 0; r < kRows; ++r)
        for (int u = 0; u < kBlocks; ++u) sums[r][u] = load(matrix + (first + r) * stride + i + u * kWidth);
    for (size_t p = 0; p < first; ++p) {
        const double* row = matrix + p * stride;
        Vec above[kBlocks];
        for (int u = 0; u < kBlocks; ++u) above[u] = load(row + i + u * kWidth);
        for (int r = 0; r < kRows; ++r) {
            const Vec f = spread(row[first + r]);
            for (int u = 0; u < kBlocks; ++u) sums[r][u] -= f * above[u];
        }
    }
    for (int r = 0; r < kRows; ++r)
        for (int u = 0; u < kBlocks; ++u) store(matrix + (first + r) * stride + i + u * kWidth, sums[r][u]);
}

// Rows first .. first + kRows of the factor, given those above. Columns before the diagonal hold nothing.
template <int kRows>
LOCALEGOP_INLINE bool factor_rows(double* matrix, size_t stride, size_t first) {
    const size_t start = first / kWidth * kWidth;
    size_t i = start;
    for (; i + 2 * kWidth <= stride; i += 2 * kWidth) reduce<kRows, 2>(matrix, stride, first, i);
    for (; i < stride; i += kWidth) reduce<kRows, 1>(matrix, stride, first, i);
    for (int r = 0; r < kRows; ++r) {
        double* row = matrix + (first + r) * stride;
        for (int s = 0; s < r; ++s) {
            const double* above = matrix + (first + s) * stride;
            const Vec f = spread(above[first + r]);
            for (i = start; i < stride; i += kWidth) store(row + i, load(row + i) - f * load(above + i));
        }
        const double pivot = row[first + r];
        if (!(pivot > 0.0)) return false;
        const Vec scale = spread(1.0 / sqrt(pivot));
        for (i = start; i < stride; i += kWidth) store(row + i, load(row + i) * scale);
    }
    return true;
}

bool cholesky(double* matrix, size_t size) {
    const size_t stride = padded(size);
    size_t k = 0;
    for (; k + 4 <= size; k += 4)
        if (!factor_rows<4>(matrix, stride, k)) return false;
    for (; k < size; ++k)
        if (!factor_rows<1>(matrix, stride, k)) return false;
    return true;
}

void solve(const double* factor, size_t size, double* x) {
    const size_t stride = padded(size);
    for (size_t k = 0; k < size; ++k) {
        const double* row = factor + k * stride;
        x[k] /= row[k];
        const Vec f = spread(x[k]);
        size_t i = k + 1;
        for (; i + kWidth <= size; i += kWidth) store(x + i, load(x + i) - f * load(row + i));
        for (; i < size; ++i) x[i] -= x[k] * row[i];
    }
    for (size_t k = size; k-- > 0;) {
        const double* row = factor + k * stride;
        x[k] = (x[k] - dot(row + k + 1, x + k + 1, size - k - 1)) / row[k];
    }
}

// By name, because several of these have one type and could be exchanged unseen in a list.
constexpr HotLoops assembled() {
    HotLoops loops{};
    loops.name = LOCALEGOP_TEXT(LOCALEGOP_ISA);
    loops.squared_norms = squared_norms;
    loops.weights = weights;
    loops.root_weights = root_weights;
    loops.minimum = minimum;
    loops.squared_differences = squared_differences;
    loops.squared_distances = squared_distances;
    loops.centered = centered;
    loops.weighted_sums = weighted_sums;
    loops.sum_of_squares = sum_of_squares;
    loops.subtract_columns = subtract_columns;
    loops.decaying_sums = decaying_sums;
    loops.dot = dot_product;
    loops.gram = gram;
    loops.cholesky = cholesky;
    loops.solve = solve;
    return loops;
}

}  // namespace

extern const HotLoops LOCALEGOP_JOIN(hot_loops_, LOCALEGOP_ISA);
const HotLoops LOCALEGOP_JOIN(hot_loops_, LOCALEGOP_ISA) = assembled();

}  // namespace localegop
