// Small dense linear algebra for one center: factors and solves of a D x D matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace localegop {

// Pivoted Cholesky: rows of `factor` (rank x dim) with factor' factor = metric up to a rest whose trace is
// at most `tolerance` times that of the metric. Costs O(rank^2 dim), so that low rank is cheap.
inline std::size_t pivoted_cholesky(const double* metric, std::size_t dim, double tolerance,
                                    std::vector<double>& factor, std::vector<double>& diagonal) {
    factor.assign(dim * dim, 0.0);
    diagonal.resize(dim);
    double trace = 0.0;
    for (std::size_t a = 0; a < dim; ++a) trace += diagonal[a] = metric[a * dim + a];
    const double enough = tolerance * trace;
    std::size_t rank = 0;
    for (; rank < dim; ++rank) {
        const std::size_t pivot =
            std::max_element(diagonal.begin(), diagonal.end()) - diagonal.begin();
        double rest = 0.0;
        for (double d : diagonal) rest += std::max(d, 0.0);
        if (!(rest > enough) || !(diagonal[pivot] > 0.0)) break;
        const double root = std::sqrt(diagonal[pivot]);
        double* row = factor.data() + rank * dim;
        for (std::size_t a = 0; a < dim; ++a) row[a] = metric[pivot * dim + a];
        for (std::size_t r = 0; r < rank; ++r) {
            const double* other = factor.data() + r * dim;
            const double weight = other[pivot];
            for (std::size_t a = 0; a < dim; ++a) row[a] -= weight * other[a];
        }
        for (std::size_t a = 0; a < dim; ++a) {
            row[a] /= root;
            diagonal[a] -= row[a] * row[a];
        }
        diagonal[pivot] = 0.0;
    }
    return rank;
}

// Solve L L' x = b for the Cholesky factor L (lower triangle, row-major), in place.
inline void solve_cholesky(const double* lower, std::size_t size, double* x) {
    for (std::size_t i = 0; i < size; ++i) {
        double value = x[i];
        for (std::size_t j = 0; j < i; ++j) value -= lower[i * size + j] * x[j];
        x[i] = value / lower[i * size + i];
    }
    for (std::size_t i = size; i-- > 0;) {
        x[i] /= lower[i * size + i];
        for (std::size_t j = 0; j < i; ++j) x[j] -= lower[i * size + j] * x[i];
    }
}

}  // namespace localegop
