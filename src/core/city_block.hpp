// Covariances exp(-sum_r |x_r - x'_r|) of the process of a jagged function, and what moves their lengths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "covariances.hpp"
#include "hot.hpp"
#include "parallel.hpp"

namespace localegop {

// Takes one center at a time.
class CityBlockWorker {
  public:
    CityBlockWorker(const CovarianceInput& in, double* kernel)
        : in_(in), kernel_(kernel), hot_(hot_loops()), distances_(in.stride), found_(in.stride) {}

    void operator()(std::size_t center) {
        const std::size_t count = in_.lower ? center + 1 : in_.n;
        std::fill_n(distances_.begin(), count, 0.0);
        for (std::size_t r = 0; r < in_.dim; ++r) {
            const double* column = in_.columns + r * in_.stride;
            const double x = in_.centers[center * in_.dim + r];
            for (std::size_t k = 0; k < count; ++k) distances_[k] += std::abs(column[k] - x);
        }
        for (std::size_t k = 0; k < count; ++k) distances_[k] *= distances_[k];
        hot_.weights(KernelId::laplace, distances_.data(), nullptr, count, 1.0, 0.0, found_.data());
        std::copy_n(found_.data(), count, kernel_ + center * in_.n);
    }

  private:
    const CovarianceInput& in_;
    double* kernel_;  // (count x n)
    const HotLoops& hot_;
    std::vector<double> distances_, found_;
};

// Fills the covariances; false if interrupted.
template <class Interrupted>
bool fill_city_block(const CovarianceInput& in, double* kernel, int threads, Interrupted interrupted) {
    const auto make = [&] { return CityBlockWorker(in, kernel); };
    return parallel_for(in.count, threads, make, interrupted);
}

// sums[r] = sum_ik matrix[i][k] |x_ir - x_kr| for points as columns and a symmetric matrix (n x n), of which
// the lower triangle is read.
inline void city_block_sums(const double* columns, std::size_t stride, std::size_t n, std::size_t dim,
                            const double* matrix, double* sums) {
    for (std::size_t r = 0; r < dim; ++r) {
        const double* column = columns + r * stride;
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            double row = 0.0;
            for (std::size_t k = 0; k < i; ++k) row += matrix[i * n + k] * std::abs(column[i] - column[k]);
            sum += row;
        }
        sums[r] = 2.0 * sum;
    }
}

}  // namespace localegop
