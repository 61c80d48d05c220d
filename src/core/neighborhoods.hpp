// Batches: the neighborhoods of many centers, the fits in them, and averages over them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_fit.hpp"
#include "logistic.hpp"
#include "neighborhood.hpp"
#include "parallel.hpp"
#include "points.hpp"

namespace localegop {

// Weights of one center's neighbors, kept for averages to come.
struct Neighbors {
    double scale = 0.0, effective_size = 0.0;
    std::vector<std::int32_t> indices;
    std::vector<double> weights;
};

// What to compute for every center: neighborhoods of `sizes` sizes, in each fits with every number of
// quadratic directions and every ridge.
struct Batch {
    std::size_t count = 0;            // centers
    const double* centers = nullptr;  // count x dim
    const double* metrics = nullptr;  // count x dim x dim
    Candidates candidates;            // one list a center, or none
    const std::int64_t* left_out = nullptr;
    std::size_t sizes = 1;
    const double* targets = nullptr;  // count x sizes effective sizes, falling, or
    const double* scales = nullptr;   // count x sizes scales, rising (with targets: first guesses)
    bool keep = false;                     // the neighborhood of the last size, or
    const double* kept_targets = nullptr;  // count, with keep: one of this size
    int degree = -1;  // -1: no fits
    bool logistic = false;  // whether labels are one-hot, and fits logistic
    std::vector<std::size_t> quadratic_directions;  // their numbers
    std::vector<double> ridges;
    double slope_weight = 0.0;  // how much the slopes count that points know
};

struct BatchResult {
    double* scales;            // count x sizes
    double* effective_sizes;   // count x sizes
    double* values;            // count x sizes x quadratic_directions x ridges x outputs
    double* gradients;         // count x sizes x quadratic_directions x ridges x outputs x dim, or null
    double* variance_factors;  // count x sizes x quadratic_directions x ridges, or null
};

// Distances around center i of a batch.
inline void measure(Neighborhood& hood, const Points& points, const Batch& batch, std::size_t i) {
    const Candidates& c = batch.candidates;
    hood.measure(batch.centers + i * points.dim, batch.metrics + i * points.dim * points.dim,
                 c ? c.indices + c.start[i] : nullptr, c ? c.start[i + 1] - c.start[i] : points.n,
                 batch.left_out ? batch.left_out[i] : -1);
}

class BatchWorker {
  public:
    BatchWorker(const Points& points, const KernelSpec& kernel, const Batch& batch, const BatchResult& out,
                std::vector<Neighbors>& kept)
        : points_(points), batch_(batch), out_(out), kept_(kept), hood_(points, kernel),
          fit_(points, std::max(batch.degree, 0),
               batch.quadratic_directions.empty() ? 0
                                                  : *std::max_element(batch.quadratic_directions.begin(),
                                                                      batch.quadratic_directions.end())) {
        fit_.set_slope_weight(batch.slope_weight);
    }

    void operator()(std::size_t i) {
        const std::size_t dim = points_.dim;
        const double* center = batch_.centers + i * dim;
        measure(hood_, points_, batch_, i);
        if (batch_.kept_targets) hood_.remember();
        if (batch_.degree > 0) fit_.set_metric(batch_.metrics + i * dim * dim);
        for (std::size_t s = 0; s < batch_.sizes; ++s) {
            // Sizes fall, so what counts at one size is among what counted at the size before.
            const std::size_t at = i * batch_.sizes + s;
            const double given = batch_.scales ? batch_.scales[at] : s > 0 ? out_.scales[at - 1] : 0.0;
            const double scale = batch_.targets ? hood_.match(batch_.targets[at], given) : given;
            hood_.weigh(scale);
            out_.scales[at] = scale;
            out_.effective_sizes[at] = hood_.effective_size();
            if (batch_.degree >= 0) fit_all(center, at);
        }
        if (batch_.keep) keep(i);
    }

  private:
    void keep(std::size_t i) {
        Neighbors& kept = kept_[i];
        kept.scale = out_.scales[(i + 1) * batch_.sizes - 1];
        if (batch_.kept_targets) {
            hood_.restore();
            kept.scale = hood_.match(batch_.kept_targets[i], 0.0);
            hood_.weigh(kept.scale);
        }
        kept.effective_size = hood_.effective_size();
        kept.indices.assign(hood_.indices(), hood_.indices() + hood_.count());
        kept.weights.assign(hood_.weights(), hood_.weights() + hood_.count());
    }

    void fit_all(const double* center, std::size_t at) {
        const std::size_t dim = points_.dim, outputs = points_.outputs;
        fit_.accumulate(center, hood_.indices(), hood_.weights(), hood_.count());
        std::size_t k = at * batch_.quadratic_directions.size() * batch_.ridges.size();
        for (std::size_t n_quadratic_directions : batch_.quadratic_directions)
            for (double ridge : batch_.ridges) {
                double* value = out_.values + k * outputs;
                double* gradient = out_.gradients ? out_.gradients + k * outputs * dim : nullptr;
                if (!batch_.logistic || out_.variance_factors)
                    fit_.solve(n_quadratic_directions, ridge, value, gradient);
                if (out_.variance_factors)
                    out_.variance_factors[k] =
                        fit_.variance_factor(hood_.sample_weights(), hood_.count());
                if (batch_.logistic)
                    fit_.solve_logistic(hood_.indices(), hood_.count(), hood_.effective_size(),
                                        n_quadratic_directions, ridge, value, gradient);
                ++k;
            }
    }

    const Points& points_;
    const Batch& batch_;
    const BatchResult& out_;
    std::vector<Neighbors>& kept_;
    Neighborhood hood_;
    LogisticFit fit_;
};

template <class Interrupted>
bool localize(const Points& points, const KernelSpec& kernel, const Batch& batch, const BatchResult& out,
              std::vector<Neighbors>& kept, int threads, Interrupted interrupted) {
    if (batch.keep) kept.resize(batch.count);
    const auto make = [&] { return BatchWorker(points, kernel, batch, out, kept); };
    return parallel_for(batch.count, threads, make, interrupted);
}

// out[i] = sum_k w_ik g_k g_k' (dim x dim), with g the (n x outputs x dim) gradients; summed over outputs.
template <class Interrupted>
bool average_outer_products(const Points& points, const std::vector<Neighbors>& kept,
                            const double* gradients, std::size_t outputs, double* out, int threads,
                            Interrupted interrupted) {
    constexpr std::size_t tile = 128, stride = tile + kLane;
    const std::size_t dim = points.dim;
    const HotLoops& hot = hot_loops();
    const auto make = [&] {
        return [&, columns = std::vector<double>(dim * stride)](std::size_t i) mutable {
            double* gram = out + i * dim * dim;
            std::fill(gram, gram + dim * dim, 0.0);
            const Neighbors& found = kept[i];
            const std::size_t total = found.indices.size() * outputs;
            for (std::size_t from = 0; from < total; from += tile) {
                const std::size_t size = std::min(tile, total - from);
                for (std::size_t k = 0; k < padded(size); ++k) {
                    const std::size_t at = (from + k) / outputs, output = (from + k) % outputs;
                    const bool real = k < size;
                    const double root = real ? std::sqrt(found.weights[at]) : 0.0;
                    const double* g =
                        real ? gradients + (found.indices[at] * outputs + output) * dim : gradients;
                    for (std::size_t a = 0; a < dim; ++a) columns[a * stride + k] = root * g[a];
                }
                hot.gram(columns.data(), stride, size, dim, gram);
            }
            for (std::size_t a = 0; a < dim; ++a)
                for (std::size_t b = 0; b < a; ++b) gram[b * dim + a] = gram[a * dim + b];
        };
    };
    return parallel_for(kept.size(), threads, make, interrupted);
}

// out[i] = sum_k w_ik v_k (columns), with v an (n x columns) array.
template <class Interrupted>
bool average(const std::vector<Neighbors>& kept, const double* values, std::size_t columns, double* out,
             int threads, Interrupted interrupted) {
    const auto make = [&] {
        return [&](std::size_t i) {
            double* mean = out + i * columns;
            std::fill(mean, mean + columns, 0.0);
            for (std::size_t k = 0; k < kept[i].indices.size(); ++k)
                for (std::size_t j = 0; j < columns; ++j)
                    mean[j] += kept[i].weights[k] * values[kept[i].indices[k] * columns + j];
        };
    };
    return parallel_for(kept.size(), threads, make, interrupted);
}

}  // namespace localegop
