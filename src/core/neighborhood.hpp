// One center's neighborhood: squared distances of its candidates, the scale that gives the effective sample
// size wanted, and normalized weights of the points that count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "hot.hpp"
#include "linalg.hpp"
#include "points.hpp"

namespace localegop {

// The kernel and how neighborhoods are cut out of the data with it; the same for all centers of a call.
struct KernelSpec {
    KernelId id = KernelId::gaussian;
    double support = kInfinite;  // weights are zero from this squared distance on
    double decay = 0.0;          // c if the kernel is exp(-c u), otherwise 0
    double cutoff = 1e-12;       // points of a smaller weight, relative to the largest, are dropped
    double tolerance = 1e-15;    // part of the metric's trace that its factor may leave out
    // Profile of a custom kernel: squared distances in, weights out.
    std::function<void(const double*, double*, std::size_t)> profile;

    // Whether distances may be counted from the nearest point on.
    bool shift_invariant() const { return decay > 0.0; }
    // Squared distance, counted so, beyond which nobody has a weight that counts.
    double reach() const { return shift_invariant() ? -std::log(cutoff) / decay : support; }

    // Profile of a custom kernel at scale * squared - shift, which is never below 0 for a point that counts.
    void custom_weights(const double* squared, std::size_t count, double scale, double shift,
                        std::vector<double>& buffer, double* weights) const {
        buffer.resize(count);
        for (std::size_t k = 0; k < count; ++k) buffer[k] = std::max(scale * squared[k] - shift, 0.0);
        profile(buffer.data(), weights, count);
    }
};

class Neighborhood {
  public:
    Neighborhood(const Points& points, const KernelSpec& kernel)
        : points_(points), kernel_(kernel), hot_(hot_loops()) {}

    // Squared distances of the candidates from the center; `left_out` (a point or -1) loses one unit.
    void measure(const double* center, const double* metric, const std::int32_t* candidates,
                 std::size_t count, std::int64_t left_out) {
        rank_ = pivoted_cholesky(metric, points_.dim, kernel_.tolerance, factor_, order_);
        list(candidates, count, left_out);
        if (count_ == 0) throw std::runtime_error("localegop: a center has no candidate points");
        columns_.resize(points_.dim * kStride);
        for (std::size_t from = 0; from < count_; from += kTile) {
            const std::size_t size = std::min(kTile, count_ - from);
            gather_columns(points_, indices_.data() + from, size, center, order_.data(), columns_.data(),
                           kStride);
            hot_.squared_norms(columns_.data(), kStride, size, factor_.data(), rank_, points_.dim,
                               squared_.data() + from);
        }
        nearest_ = *std::min_element(squared_.begin(), squared_.begin() + count_);
    }

    // Weighing drops points; what was measured can be remembered and had again.
    void remember() {
        measured_.count = count_;
        measured_.indices.assign(indices_.begin(), indices_.begin() + count_);
        measured_.squared.assign(squared_.begin(), squared_.begin() + count_);
        measured_.sample_weights.assign(sample_weights_.begin(), sample_weights_.begin() + count_);
    }
    void restore() {
        count_ = measured_.count;
        std::copy(measured_.indices.begin(), measured_.indices.end(), indices_.begin());
        std::copy(measured_.squared.begin(), measured_.squared.end(), squared_.begin());
        std::copy(measured_.sample_weights.begin(), measured_.sample_weights.end(), sample_weights_.begin());
        pad();
    }

    // Scale s for which the weights kernel(s u) have effective size `target`; `guess` <= 0 if none.
    double match(double target, double guess) {
        const double typical = typical_distance();
        const double lowest = std::log(1.0 / typical) - 40.0, highest = lowest + 80.0;
        double low = lowest, high = highest;  // the size is above the target at low, below at high
        double x = guess > 0.0 ? std::clamp(std::log(guess), low, high) : std::log(1.0 / typical);
        for (int step = 0; step < 200; ++step) {
            double slope;
            const double gap = log_effective_size(std::exp(x), slope) - std::log(target);
            if (std::abs(gap) < 1e-12) break;
            (gap > 0.0 ? low : high) = x;
            double next = slope < 0.0 ? x - gap / slope : 0.5 * (low + high);
            next = std::clamp(next, x - 4.0, x + 4.0);
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            if (std::abs(next - x) < 1e-14 * std::max(1.0, std::abs(x))) break;
            x = next;
        }
        return std::exp(x);
    }

    // Keep the points that count at this scale and give them weights that sum to one.
    void weigh(double scale) {
        const bool shifted = kernel_.shift_invariant();
        if (shifted) keep_within(kernel_.reach() / scale + nearest_);
        evaluate(scale);
        double largest = 0.0;
        for (std::size_t k = 0; k < count_; ++k) largest = std::max(largest, weights_[k]);
        if (!(largest > 0.0)) {
            keep_within(nearest_);
            for (std::size_t k = 0; k < count_; ++k) weights_[k] = sample_weights_[k];
        } else if (!shifted) {
            drop_below(largest * kernel_.cutoff);
        }
        normalize();
    }

    std::size_t count() const { return count_; }
    const std::int32_t* indices() const { return indices_.data(); }
    const double* weights() const { return weights_.data(); }
    const double* sample_weights() const { return sample_weights_.data(); }
    const double* squared() const { return squared_.data(); }
    // Factor (rank x dim) of the metric; its columns stand for the features in `order`.
    std::size_t rank() const { return rank_; }
    const double* factor() const { return factor_.data(); }
    const std::size_t* order() const { return order_.data(); }
    double effective_size() const { return effective_size_; }

  private:
    static constexpr std::size_t kTile = 64, kStride = kTile + kLane;
    static constexpr double kTiny = 1e-100;  // weights smaller than this are divided by the largest

    void list(const std::int32_t* candidates, std::size_t count, std::int64_t left_out) {
        indices_.resize(padded(count));
        sample_weights_.resize(padded(count));
        squared_.resize(padded(count));
        weights_.resize(padded(count));
        count_ = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const std::int32_t i = candidates ? candidates[k] : static_cast<std::int32_t>(k);
            const double sample_weight = points_.sample_weights[i] - (i == left_out ? 1.0 : 0.0);
            if (!(sample_weight > 0.0)) continue;
            indices_[count_] = i;
            sample_weights_[count_++] = sample_weight;
        }
        pad();
    }

    void pad() {
        for (std::size_t k = count_; k < padded(count_); ++k) sample_weights_[k] = squared_[k] = 0.0;
    }

    double typical_distance() const {
        double sum = 0.0;
        for (std::size_t k = 0; k < count_; ++k) sum += (squared_[k] - nearest_) / count_;
        return sum > 0.0 ? sum : 1.0;
    }

    // log of the effective size at this scale, and its slope in log scale.
    double log_effective_size(double scale, double& slope) {
        if (kernel_.shift_invariant() && kernel_.id != KernelId::custom) {
            shifted_.resize(padded(count_));
            for (std::size_t k = 0; k < padded(count_); ++k) shifted_[k] = squared_[k] - nearest_;
            const KernelSums s =
                hot_.decaying_sums(kernel_.id, shifted_.data(), sample_weights_.data(), count_, scale);
            slope = 2.0 * s.first_slope / s.first - s.second_slope / s.second;
            return 2.0 * std::log(s.first) - std::log(s.second);
        }
        slope = 0.0;  // bisection
        evaluate(scale);
        double first = 0.0, second = 0.0;
        for (std::size_t k = 0; k < count_; ++k) {
            first += weights_[k];
            second += weights_[k] * weights_[k] / sample_weights_[k];
        }
        return first > 0.0 ? 2.0 * std::log(first) - std::log(second) : 0.0;
    }

    // Weights at this scale, not yet normalized.
    void evaluate(double scale) {
        evaluate_as_is(scale);
        double largest = 0.0;
        for (std::size_t k = 0; k < count_; ++k) largest = std::max(largest, weights_[k]);
        if (!(largest > 0.0 && largest < kTiny)) return;  // far away, squares of weights would be 0
        for (std::size_t k = 0; k < count_; ++k) weights_[k] /= largest;
    }

    void evaluate_as_is(double scale) {
        const double shift = kernel_.shift_invariant() ? scale * nearest_ : 0.0;
        if (kernel_.id != KernelId::custom) {
            hot_.weights(kernel_.id, squared_.data(), sample_weights_.data(), count_, scale, shift,
                         weights_.data());
            return;
        }
        kernel_.custom_weights(squared_.data(), count_, scale, shift, shifted_, weights_.data());
        for (std::size_t k = 0; k < count_; ++k) weights_[k] *= sample_weights_[k];
    }

    void keep_within(double limit) {
        keep_if([&](std::size_t k) { return squared_[k] <= limit; });
    }
    void drop_below(double limit) {
        keep_if([&](std::size_t k) { return weights_[k] > limit; });
    }
    template <class Test>
    void keep_if(Test test) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < count_; ++k) {
            if (!test(k)) continue;
            indices_[kept] = indices_[k];
            squared_[kept] = squared_[k];
            sample_weights_[kept] = sample_weights_[k];
            weights_[kept++] = weights_[k];
        }
        count_ = kept;
        pad();
    }

    void normalize() {
        double first = 0.0, second = 0.0;
        for (std::size_t k = 0; k < count_; ++k) {
            first += weights_[k];
            second += weights_[k] * (weights_[k] / sample_weights_[k]);
        }
        effective_size_ = first * (first / second);
        for (std::size_t k = 0; k < count_; ++k) weights_[k] /= first;
    }

    struct Measured {
        std::size_t count = 0;
        std::vector<std::int32_t> indices;
        std::vector<double> squared, sample_weights;
    };

    const Points& points_;
    const KernelSpec& kernel_;
    const HotLoops& hot_;
    Measured measured_;
    std::size_t count_ = 0, rank_ = 0;
    double nearest_ = 0.0, effective_size_ = 0.0;
    std::vector<std::int32_t> indices_;
    std::vector<double> squared_, sample_weights_, weights_, shifted_, columns_, factor_;
    std::vector<std::size_t> order_;  // of the features, as the factor has them
};

}  // namespace localegop
