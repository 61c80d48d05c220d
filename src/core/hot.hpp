// The innermost loops, compiled once per instruction set and chosen at run time.
//
// Everything here works on "columns": structure-of-arrays buffers in which row a holds coordinate a of
// all points of a tile, `stride` apart, padded with zeros to a multiple of `kLane`.
#pragma once

#include <cstddef>

#include "kernels.hpp"

namespace localegop {

constexpr std::size_t kLane = 8;  // padding that suits every instruction set used

static inline std::size_t padded(std::size_t count) { return (count + kLane - 1) / kLane * kLane; }

// Sums over points that the search for a scale needs: of w, w^2, and of their derivatives in log scale.
struct KernelSums {
    double first, second, first_slope, second_slope;
};

constexpr std::size_t kCenters = 4;  // whose distances are computed together

struct HotLoops {
    const char* name;
    // squared[k] = sum_r (sum_a factor[r][a] columns[a][k])^2, factor is (rank x dim), upper triangular.
    void (*squared_norms)(const double* columns, std::size_t stride, std::size_t count,
                          const double* factor, std::size_t rank, std::size_t dim, double* squared);
    // weights[k] = sample_weights[k] * kernel(scale * squared[k] - shift); sample_weights may be null.
    void (*weights)(KernelId kernel, const double* squared, const double* sample_weights, std::size_t count,
                    double scale, double shift, double* weights);
    // roots[k] = root_sample_weights[k] * sqrt(kernel(squared[k] - shift)), zero beyond count up to the
    // padded count.
    void (*root_weights)(KernelId kernel, const double* squared, const double* root_sample_weights,
                         std::size_t count, double shift, double* roots);
    double (*minimum)(const double* values, std::size_t count);  // infinite for none
    // squared[k] = sum_r (columns[r][k] - center[r * stride])^2; may write up to the padded count.
    void (*squared_differences)(const double* columns, std::size_t stride, std::size_t count,
                                const double* center, std::size_t rank, double* squared);
    // squared[c][k] = sum_r (columns[r][k] - centers[r][c])^2 for kCenters centers (rank x kCenters); rows of
    // `squared` are a stride apart, and may be written up to the padded count.
    void (*squared_distances)(const double* columns, std::size_t stride, std::size_t count,
                              const double* centers, std::size_t rank, double* squared);
    // out[k] = roots[k] * (column[k] - mean); zero beyond count, up to the padded count.
    void (*centered)(const double* column, const double* roots, std::size_t count, double mean,
                     double* out);
    // sums[a] = sum_k roots[k]^2 * columns[a][k]; roots must be zero from count to the padded count.
    void (*weighted_sums)(const double* columns, std::size_t stride, const double* roots,
                          std::size_t count, std::size_t rows, double* sums);
    double (*sum_of_squares)(const double* roots, std::size_t count);
    // out[k] -= sum_a coefficients[a] * columns[a][k], up to the padded count.
    void (*subtract_columns)(const double* columns, std::size_t stride, std::size_t count,
                             const double* coefficients, std::size_t rows, double* out);
    // Sums for a kernel with a decay, with weights sample_weights * kernel(scale * squared).
    KernelSums (*decaying_sums)(KernelId kernel, const double* squared, const double* sample_weights,
                                std::size_t count, double scale);
    double (*dot)(const double* x, const double* y, std::size_t size);
    // gram[a * rows + b] += sum_k columns[a][k] * columns[b][k] for b <= a.
    void (*gram)(const double* columns, std::size_t stride, std::size_t count, std::size_t rows,
                 double* gram);
    // In place, the upper triangle U of U'U = matrix, both (size x padded(size)), of which only the upper
    // triangle means something; false if not positive definite.
    bool (*cholesky)(double* matrix, std::size_t size);
    // Solve U'U x = b in place.
    void (*solve)(const double* factor, std::size_t size, double* x);
};

// The fastest copy that this processor can run, or the one that the environment variable LOCALEGOP_ISA names;
// throws if it names none that can run.
const HotLoops& hot_loops();

}  // namespace localegop
