// The training points, as every loop of the core sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace localegop {

struct Points {
    std::size_t n = 0, dim = 0, outputs = 0;
    std::vector<double> rows;    // n x dim
    std::vector<double> labels;  // n x outputs
    std::vector<double> share;   // n: how many rows each one stands for (sample weights)

    const double* row(std::size_t i) const { return rows.data() + i * dim; }
    const double* label(std::size_t i) const { return labels.data() + i * outputs; }
};

// Candidate lists in compressed form: list g holds indices[start[g]] .. indices[start[g + 1] - 1]. Without
// lists every point is a candidate.
struct Candidates {
    const std::int64_t* start = nullptr;
    const std::int32_t* indices = nullptr;

    explicit operator bool() const { return start != nullptr; }
};

}  // namespace localegop
