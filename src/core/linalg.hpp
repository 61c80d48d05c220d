// Small dense linear algebra for one center: factors and leading directions of a D x D metric.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace localegop {

// Pivoted Cholesky: rows of `factor` (rank x dim) with factor' factor = metric up to a rest whose trace is
// at most `tolerance` times that of the metric. Costs O(rank^2 dim), so that low rank is cheap. Columns
// stand in the order of the pivots, `order`, which makes the factor upper triangular.
inline std::size_t pivoted_cholesky(const double* metric, std::size_t dim, double tolerance,
                                    std::vector<double>& factor, std::vector<std::size_t>& order) {
    factor.assign(dim * dim, 0.0);
    order.resize(dim);
    std::vector<double> diagonal(dim);
    double trace = 0.0;
    for (std::size_t a = 0; a < dim; ++a) {
        order[a] = a;
        trace += diagonal[a] = metric[a * dim + a];
    }
    const double enough = tolerance * trace;
    std::size_t rank = 0;
    for (; rank < dim; ++rank) {
        const std::size_t pivot =
            std::max_element(diagonal.begin() + rank, diagonal.end()) - diagonal.begin();
        double rest = 0.0;
        for (std::size_t a = rank; a < dim; ++a) rest += std::max(diagonal[a], 0.0);
        if (!(rest > enough) || !(diagonal[pivot] > 0.0)) break;
        std::swap(order[rank], order[pivot]);
        std::swap(diagonal[rank], diagonal[pivot]);
        for (std::size_t r = 0; r < rank; ++r) std::swap(factor[r * dim + rank], factor[r * dim + pivot]);
        const double root = std::sqrt(diagonal[rank]);
        double* row = factor.data() + rank * dim;
        for (std::size_t a = rank; a < dim; ++a) row[a] = metric[order[rank] * dim + order[a]];
        for (std::size_t r = 0; r < rank; ++r) {
            const double* other = factor.data() + r * dim;
            const double weight = other[rank];
            for (std::size_t a = rank; a < dim; ++a) row[a] -= weight * other[a];
        }
        for (std::size_t a = rank; a < dim; ++a) {
            row[a] /= root;
            diagonal[a] -= row[a] * row[a];
        }
    }
    return rank;
}

// Leading eigenvectors of a metric as rows of `directions` (count x dim), by orthogonal iteration from the
// rows of its pivoted factor, which are close to them already.
inline void leading_directions(const double* metric, std::size_t dim, std::size_t count,
                               std::vector<double>& directions) {
    std::vector<double> factor, image(dim);
    std::vector<std::size_t> order;
    const std::size_t rank = pivoted_cholesky(metric, dim, 0.0, factor, order);
    directions.assign(count * dim, 0.0);
    for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t a = 0; j < rank && a < dim; ++a)
            directions[j * dim + order[a]] = factor[j * dim + a];
        directions[j * dim + j] += 1e-8;  // a start even where the rank is short
    }
    for (int sweep = 0; sweep < 20; ++sweep) {
        for (std::size_t j = 0; j < count; ++j) {
            double* v = directions.data() + j * dim;
            if (sweep > 0) {
                for (std::size_t a = 0; a < dim; ++a) {
                    image[a] = 0.0;
                    for (std::size_t b = 0; b < dim; ++b) image[a] += metric[a * dim + b] * v[b];
                }
                double size = 0.0;
                for (double x : image) size = std::max(size, std::abs(x));
                if (size > 0.0) std::copy(image.begin(), image.end(), v);
            }
            for (std::size_t i = 0; i < j; ++i) {
                const double* u = directions.data() + i * dim;
                double along = 0.0;
                for (std::size_t a = 0; a < dim; ++a) along += u[a] * v[a];
                for (std::size_t a = 0; a < dim; ++a) v[a] -= along * u[a];
            }
            double norm = 0.0;
            for (std::size_t a = 0; a < dim; ++a) norm = std::hypot(norm, v[a]);
            for (std::size_t a = 0; a < dim; ++a) v[a] = norm > 0.0 ? v[a] / norm : 0.0;
        }
    }
}

}  // namespace localegop
