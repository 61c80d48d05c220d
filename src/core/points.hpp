// The training points, as every loop of the core sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hot.hpp"

namespace localegop {

struct Points {
    std::size_t n = 0, dim = 0, outputs = 0;
    std::vector<double> rows;            // n x dim
    std::vector<double> labels;          // n x outputs
    std::vector<double> sample_weights;  // n: how many rows each one stands for
    std::vector<double> slopes;          // n x outputs x dim, NaN where not all are known; empty if nobody knows

    const double* row(std::size_t i) const { return rows.data() + i * dim; }
    const double* label(std::size_t i) const { return labels.data() + i * outputs; }
    const double* slope(std::size_t i) const { return slopes.data() + i * outputs * dim; }
};

// Columns (dim x stride) of x - center for some points, with features in some order (null: their own), zero
// from count to the padded count. Eight points at a time, so that what is written lies together.
inline void gather_columns(const Points& points, const std::int32_t* indices, std::size_t count,
                           const double* center, const std::size_t* order, double* columns,
                           std::size_t stride) {
    for (std::size_t k = 0; k < count; k += kLane) {
        const double* rows[kLane];
        for (std::size_t l = 0; l < kLane; ++l) rows[l] = points.row(indices[k + l < count ? k + l : k]);
        for (std::size_t a = 0; a < points.dim; ++a) {
            const std::size_t feature = order ? order[a] : a;
            double* column = columns + a * stride + k;
            for (std::size_t l = 0; l < kLane; ++l) column[l] = rows[l][feature] - center[feature];
        }
    }
    for (std::size_t k = count; k < padded(count); ++k)
        for (std::size_t a = 0; a < points.dim; ++a) columns[a * stride + k] = 0.0;
}

// Candidate lists in compressed form: list g holds indices[start[g]] .. indices[start[g + 1] - 1]. Without
// lists every point is a candidate.
struct Candidates {
    const std::int64_t* start = nullptr;
    const std::int32_t* indices = nullptr;

    explicit operator bool() const { return start != nullptr; }
};

}  // namespace localegop
