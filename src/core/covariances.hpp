// Covariances of a Gaussian process between centers and all points: what a global process is solved from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "hot.hpp"
#include "parallel.hpp"

namespace localegop {

// A kernel of scaled squared distances, and a trend: constant + slope <x, x'>.
struct Covariance {
    KernelId kernel;
    double scale, constant, slope;
};

// Points as columns (dim x stride), padded, and centers as rows (count x dim).
struct CovarianceInput {
    const double* columns;
    std::size_t stride, n, dim;
    const double* centers;
    std::size_t count;
    bool lower;  // the centers are the points: of row i only the first i + 1 entries are wanted
};

// Each (count x n), or null if not asked for.
struct CovarianceOutput {
    double *squared, *kernel, *covariance;
};

// Takes kCenters centers at a time.
class CovarianceWorker {
  public:
    CovarianceWorker(const CovarianceInput& in, const Covariance& process, const double* norms,
                     const CovarianceOutput& out)
        : in_(in), process_(process), norms_(norms), out_(out), hot_(hot_loops()),
          centers_(in.dim * kCenters), squared_(kCenters * in.stride), kernel_(in.stride) {}

    void operator()(std::size_t block) {
        const std::size_t first = block * kCenters, last = std::min(first + kCenters, in_.count);
        std::fill(centers_.begin(), centers_.end(), 0.0);
        for (std::size_t c = first; c < last; ++c)
            for (std::size_t r = 0; r < in_.dim; ++r)
                centers_[r * kCenters + c - first] = in_.centers[c * in_.dim + r];
        hot_.squared_distances(in_.columns, in_.stride, wanted(last - 1), centers_.data(), in_.dim,
                               squared_.data());
        for (std::size_t c = first; c < last; ++c) write(c, squared_.data() + (c - first) * in_.stride);
    }

  private:
    std::size_t wanted(std::size_t center) const { return in_.lower ? center + 1 : in_.n; }

    void write(std::size_t center, const double* squared) {
        const std::size_t count = wanted(center), at = center * in_.n;
        if (out_.squared) std::copy_n(squared, count, out_.squared + at);
        hot_.weights(process_.kernel, squared, nullptr, count, process_.scale, 0.0, kernel_.data());
        if (out_.kernel) std::copy_n(kernel_.data(), count, out_.kernel + at);
        if (!out_.covariance) return;
        double norm = 0.0;
        for (std::size_t r = 0; r < in_.dim; ++r) {
            const double x = in_.centers[center * in_.dim + r];
            norm += x * x;
        }
        double* row = out_.covariance + at;
        for (std::size_t k = 0; k < count; ++k)  // the product <x, x'> is half the bracket
            row[k] = kernel_[k] + process_.constant + 0.5 * process_.slope * (norm + norms_[k] - squared[k]);
    }

    const CovarianceInput& in_;
    const Covariance& process_;
    const double* norms_;
    const CovarianceOutput& out_;
    const HotLoops& hot_;
    std::vector<double> centers_, squared_, kernel_;
};

// Fills what is asked for; false if interrupted.
template <class Interrupted>
bool fill_covariances(const CovarianceInput& in, const Covariance& process, const CovarianceOutput& out,
                      int threads, Interrupted interrupted) {
    std::vector<double> norms(in.stride, 0.0);
    for (std::size_t r = 0; r < in.dim; ++r)
        for (std::size_t k = 0; k < in.n; ++k) {
            const double x = in.columns[r * in.stride + k];
            norms[k] += x * x;
        }
    const auto make = [&] { return CovarianceWorker(in, process, norms.data(), out); };
    return parallel_for((in.count + kCenters - 1) / kCenters, threads, make, interrupted);
}

}  // namespace localegop
