// Batches: the neighborhoods of many centers, the fits in them, and averages over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_fit.hpp"
#include "neighborhood.hpp"
#include "parallel.hpp"
#include "points.hpp"

namespace localegop {

// Weights of one center's neighbors, kept for averages to come.
struct Neighbors {
    std::vector<std::int32_t> indices;
    std::vector<double> weights;
};

struct Batch {
    std::size_t count = 0;              // centers
    const double* centers = nullptr;    // count x dim
    const double* metrics = nullptr;    // count x dim x dim
    Candidates candidates;              // one list a center, or none
    const std::int64_t* left_out = nullptr;
    const double* targets = nullptr;    // effective sizes, or
    const double* scales = nullptr;     // scales as they are (with targets: first guesses)
    bool keep = false;
    int degree = -1;                    // -1: no fits
    const double* ridges = nullptr;
    std::size_t ridge_count = 0;
    bool variances = false;
    const double* directions = nullptr;  // count x bends x dim
    std::size_t bends = 0;
};

struct BatchResult {
    double* scales;            // count
    double* sizes;             // count
    double* values;            // count x ridges x outputs
    double* gradients;         // count x ridges x outputs x dim
    double* variance_factors;  // count x ridges
};

template <class Interrupted>
bool localize(const Points& points, const Rule& rule, const Batch& batch, const BatchResult& out,
              std::vector<Neighbors>& kept, int threads, Interrupted interrupted) {
    const std::size_t dim = points.dim, per_fit = points.outputs, ridges = batch.ridge_count;
    if (batch.keep) kept.resize(batch.count);
    const auto make = [&] {
        return [&, hood = Neighborhood(points, rule),
                fit = LocalFit(points, batch.degree < 0 ? 0 : batch.degree, batch.bends)](std::size_t i) mutable {
            const double* center = batch.centers + i * dim;
            const Candidates& c = batch.candidates;
            const std::int32_t* list = c ? c.indices + c.start[i] : nullptr;
            const std::size_t size = c ? c.start[i + 1] - c.start[i] : points.n;
            hood.measure(center, batch.metrics + i * dim * dim, list, size,
                         batch.left_out ? batch.left_out[i] : -1);
            const double given = batch.scales ? batch.scales[i] : 0.0;
            const double scale = batch.targets ? hood.match(batch.targets[i], given) : given;
            hood.weigh(scale);
            out.scales[i] = scale;
            out.sizes[i] = hood.effective_size();
            if (batch.keep) {
                kept[i].indices.assign(hood.indices(), hood.indices() + hood.count());
                kept[i].weights.assign(hood.weights(), hood.weights() + hood.count());
            }
            if (batch.degree < 0) return;
            fit.set_directions(batch.directions + i * batch.bends * dim);
            fit.accumulate(center, hood.indices(), hood.weights(), hood.count());
            for (std::size_t r = 0; r < ridges; ++r) {
                const std::size_t at = i * ridges + r;
                fit.solve(batch.ridges[r], out.values + at * per_fit, out.gradients + at * per_fit * dim);
                if (batch.variances)
                    out.variance_factors[at] = fit.variance_factor(
                        center, hood.indices(), hood.weights(), hood.share(), hood.count());
            }
        };
    };
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
            const Neighbors& near = kept[i];
            const std::size_t total = near.indices.size() * outputs;
            for (std::size_t from = 0; from < total; from += tile) {
                const std::size_t size = std::min(tile, total - from);
                for (std::size_t k = 0; k < padded(size); ++k) {
                    const std::size_t at = (from + k) / outputs, output = (from + k) % outputs;
                    const bool real = k < size;
                    const double root = real ? std::sqrt(near.weights[at]) : 0.0;
                    const double* g =
                        real ? gradients + (near.indices[at] * outputs + output) * dim : gradients;
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
