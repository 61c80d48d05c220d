// Squared Mahalanobis distances of many points from one center.
#pragma once

#include <cstddef>
#include <vector>

namespace localegop {

// out[i] = (x_i - center)' metric (x_i - center), row-major `points` (n x dim), `metric` (dim x dim).
inline void squared_distances(const double* points, const double* center, const double* metric,
                              std::size_t n, std::size_t dim, double* out) {
    std::vector<double> difference(dim);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t a = 0; a < dim; ++a) difference[a] = points[i * dim + a] - center[a];
        double total = 0.0;
        for (std::size_t a = 0; a < dim; ++a) {
            double row = 0.0;
            for (std::size_t b = 0; b < dim; ++b) row += metric[a * dim + b] * difference[b];
            total += difference[a] * row;
        }
        out[i] = total;
    }
}

}  // namespace localegop
