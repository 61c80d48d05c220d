// One step of Algorithm 1 for one query: weights, a sample, leave-one-out fits at its members, averages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "local_fit.hpp"
#include "neighborhood.hpp"
#include "points.hpp"

namespace localegop {

// What a drawn point counts in averages over the sample: its weight divided by the probability of having been
// drawn, one, or its weight.
enum class Weighting { unbiased, uniform, renormalized };

struct SampledStep {
    std::size_t subsamples = 0;  // m
    double ridge = 0.0;
    Weighting weighting = Weighting::unbiased;
};

// A hash of (seed, step, point) as a uniform number in (0, 1): the same for any order or chunk of queries.
inline double hashed_uniform(std::uint64_t seed, std::uint64_t step, std::uint64_t point) {
    std::uint64_t x = seed;
    for (std::uint64_t part : {step, point}) {  // splitmix64 rounds
        x += 0x9E3779B97F4A7C15ull * (part + 1);
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        x ^= x >> 31;
    }
    return (static_cast<double>(x >> 11) + 0.5) * 0x1.0p-53;
}

class SampledQuery {
  public:
    SampledQuery(const Points& points, const KernelSpec& kernel, const SampledStep& step)
        : points_(points), kernel_(kernel), step_(step), hood_(points, kernel), fit_(points, 1, 0),
          hot_(hot_loops()) {}

    // `drawn` is the part of all weight that the sample has.
    double scale = 0.0, size = 0.0, loo_error = 0.0, drawn = 0.0;

    // Fills value (outputs), gradient (outputs x dim) and agop (dim x dim) of this step.
    void run(const double* query, const double* metric, const std::int32_t* candidates,
             std::size_t count, double target, double given, std::uint64_t seed, std::uint64_t t,
             double* value, double* gradient, double* agop) {
        const std::size_t dim = points_.dim, outputs = points_.outputs;
        hood_.measure(query, metric, candidates, count, -1);
        scale = target > 0.0 ? hood_.match(target, given) : given;
        hood_.weigh(scale);
        size = hood_.effective_size();
        fit_.accumulate(query, hood_.indices(), hood_.weights(), hood_.count());
        fit_.solve(0, step_.ridge, value, gradient);

        sample(seed, t);
        line_up(query, metric, candidates, count);
        std::fill(agop, agop + dim * dim, 0.0);
        loo_error = 0.0;
        value_.resize(outputs);
        gradient_.resize(outputs * dim);
        double total = 0.0;
        for (std::size_t k = 0; k < sample_.size(); ++k) total += draw_weights_[k];
        for (std::size_t k = 0; k < sample_.size(); ++k) {
            fit_at(sample_[k]);
            const double part = draw_weights_[k] / total;
            const double* label = points_.label(sample_[k]);
            for (std::size_t j = 0; j < outputs; ++j) {
                loo_error += part * (label[j] - value_[j]) * (label[j] - value_[j]);
                const double* g = gradient_.data() + j * dim;
                for (std::size_t a = 0; a < dim; ++a)
                    for (std::size_t b = 0; b <= a; ++b) agop[a * dim + b] += part * g[a] * g[b];
            }
        }
        for (std::size_t a = 0; a < dim; ++a)
            for (std::size_t b = 0; b < a; ++b) agop[b * dim + a] = agop[a * dim + b];
    }

  private:
    // Exponential race: clock i rings after an exponential time of rate w_i; the first m form the sample.
    // Given the time tau of the next one, i was drawn with probability 1 - exp(-w_i tau).
    void sample(std::uint64_t seed, std::uint64_t t) {
        const std::size_t count = hood_.count(), m = std::min(step_.subsamples, count);
        const bool all = m == count;
        times_.resize(count);
        order_.resize(count);
        std::iota(order_.begin(), order_.end(), 0);
        if (!all) {
            for (std::size_t k = 0; k < count; ++k)
                times_[k] = std::log(-std::log(hashed_uniform(seed, t, hood_.indices()[k]))) -
                            std::log(hood_.weights()[k]);
            const auto earlier = [&](std::size_t a, std::size_t b) {
                return times_[a] != times_[b] ? times_[a] < times_[b] : a < b;
            };
            std::nth_element(order_.begin(), order_.begin() + m, order_.end(), earlier);
            next_ = times_[order_[m]];
            order_.resize(m);
            std::sort(order_.begin(), order_.end());
        }
        sample_.resize(m);
        draw_weights_.resize(m);
        drawn = 0.0;
        for (std::size_t k = 0; k < m; ++k) {
            const double w = hood_.weights()[order_[k]];
            sample_[k] = hood_.indices()[order_[k]];
            draw_weights_[k] = draw_weight(w, all);
            drawn += w;
        }
    }

    double draw_weight(double w, bool all) const {
        switch (step_.weighting) {
        case Weighting::uniform: return 1.0;
        case Weighting::renormalized: return w;
        case Weighting::unbiased: break;
        }
        return all ? w : w / -std::expm1(-std::exp(std::log(w) + next_));
    }

    // All fits of a step share one metric, so its factor is applied once to all candidates, which are then
    // sorted by the leading coordinate: who counts for a center stands in a window around it.
    void line_up(const double* query, const double* metric, const std::int32_t* candidates,
                 std::size_t count) {
        const std::size_t dim = points_.dim;
        rank_ = pivoted_cholesky(metric, dim, kernel_.tolerance, factor_, features_);
        if (rank_ == 0) rank_ = 1;  // a zero metric: all at distance 0
        const double root = std::sqrt(scale);
        for (std::size_t a = 0; a < rank_ * dim; ++a) factor_[a] *= root;
        leading_.resize(count);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t i = candidates ? candidates[k] : k;
            double along = 0.0;
            for (std::size_t a = 0; a < dim; ++a)
                along += factor_[a] * (points_.row(i)[features_[a]] - query[features_[a]]);
            leading_[k] = {along, static_cast<std::int32_t>(i)};
        }
        std::sort(leading_.begin(), leading_.end(), [](const Placed& a, const Placed& b) {
            return a.along != b.along ? a.along < b.along : a.index < b.index;
        });
        stride_ = padded(count) + kLane;
        mapped_.assign(rank_ * stride_, 0.0);
        terms_.assign((dim + points_.outputs) * stride_, 0.0);
        position_.resize(points_.n);
        for (std::size_t k = 0; k < count; ++k) {
            const std::int32_t i = leading_[k].index;
            position_[i] = static_cast<std::int32_t>(k);
            const double* row = points_.row(i);
            for (std::size_t a = 0; a < dim; ++a) terms_[a * stride_ + k] = row[a] - query[a];
            for (std::size_t j = 0; j < points_.outputs; ++j)
                terms_[(dim + j) * stride_ + k] = points_.label(i)[j];
        }
        for (std::size_t r = 0; r < rank_; ++r)
            for (std::size_t a = 0; a < dim; ++a) {
                const double f = factor_[r * dim + a];
                for (std::size_t k = 0; k < count; ++k)
                    mapped_[r * stride_ + k] += f * terms_[features_[a] * stride_ + k];
            }
        count_ = count;
        root_sample_weights_.assign(stride_, 0.0);
        for (std::size_t k = 0; k < count; ++k)
            root_sample_weights_[k] = std::sqrt(points_.sample_weights[leading_[k].index]);
        squared_.resize(stride_);
        roots_.resize(stride_);
    }

    // Leave-one-out fit at point i.
    void fit_at(std::int32_t i) {
        const std::size_t at = position_[i];
        const double reach = kernel_.reach();
        std::size_t from = 0, to = count_;
        double nearest;
        // A little more than the reach at once, because distances count from the nearest neighbor's.
        for (double radius = std::sqrt(reach + 1.0);;) {
            window(leading_[at].along, radius, from, to);
            nearest = distances(at, from, to);
            const double needed = std::sqrt(reach + nearest) * (1.0 + 1e-12);
            if (!(needed > radius) || (from == 0 && to == count_)) break;
            radius = std::isfinite(needed) ? needed : 2.0 * radius;  // nobody yet: look farther
        }
        const std::size_t size = to - from;
        const double shift = kernel_.shift_invariant() ? nearest : 0.0;
        // The center itself is at distance infinity, or counts with what is left of its weight.
        const double own = root_sample_weights_[at];
        const double left = own * own > 1.0 ? std::sqrt(own * own - 1.0) : 0.0;
        const bool inside = at >= from && at < to;
        if (inside) root_sample_weights_[at] = left, squared_[at - from] = 0.0;
        if (kernel_.id == KernelId::custom) {
            kernel_.custom_weights(squared_.data(), size, 1.0, shift, shifted_, roots_.data());
            for (std::size_t k = 0; k < size; ++k)
                roots_[k] = std::sqrt(roots_[k]) * root_sample_weights_[from + k];
            std::fill(roots_.begin() + size, roots_.begin() + padded(size), 0.0);
        } else {
            hot_.root_weights(kernel_.id, squared_.data(), root_sample_weights_.data() + from, size, shift,
                              roots_.data());
        }
        double total = hot_.sum_of_squares(roots_.data(), size);
        if (!(total > 0.0)) {
            for (std::size_t k = 0; k < size; ++k)  // compact kernel, nobody inside: the nearest share
                roots_[k] = squared_[k] == nearest ? root_sample_weights_[from + k] : 0.0;
            total = hot_.sum_of_squares(roots_.data(), size);
        }
        root_sample_weights_[at] = own;
        const double* center = terms_.data() + at;
        fit_.accumulate_columns(terms_.data() + from, stride_, roots_.data(), total, size, center);
        fit_.solve(0, step_.ridge, value_.data(), gradient_.data());
    }

    void window(double along, double radius, std::size_t& from, std::size_t& to) const {
        const auto before = [](const Placed& p, double x) { return p.along < x; };
        const auto after = [](double x, const Placed& p) { return x < p.along; };
        from = std::lower_bound(leading_.begin(), leading_.end(), along - radius, before) - leading_.begin();
        to = std::upper_bound(leading_.begin(), leading_.end(), along + radius, after) - leading_.begin();
    }

    // Squared distances of the window from the point at `at`; returns the smallest among the others.
    double distances(std::size_t at, std::size_t from, std::size_t to) {
        hot_.squared_differences(mapped_.data() + from, stride_, to - from, mapped_.data() + at, rank_,
                                 squared_.data());
        const bool stays = points_.sample_weights[leading_[at].index] > 1.0;
        if (at >= from && at < to && !stays)
            squared_[at - from] = std::numeric_limits<double>::infinity();
        return hot_.minimum(squared_.data(), to - from);
    }

    struct Placed {
        double along;
        std::int32_t index;
    };

    const Points& points_;
    const KernelSpec& kernel_;
    const SampledStep& step_;
    Neighborhood hood_;
    LocalFit fit_;
    const HotLoops& hot_;
    double next_ = 0.0;
    std::size_t rank_ = 0, stride_ = 0, count_ = 0;
    std::vector<Placed> leading_;
    std::vector<std::int32_t> sample_, position_;
    std::vector<std::size_t> order_, features_;
    std::vector<double> times_, draw_weights_, factor_, mapped_, terms_, squared_, shifted_, roots_,
        root_sample_weights_, value_, gradient_;
};

}  // namespace localegop
