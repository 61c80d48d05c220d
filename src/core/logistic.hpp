// Weighted local multinomial logistic regression at one center, by Newton's method.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hot.hpp"
#include "local_fit.hpp"
#include "points.hpp"

namespace localegop {

// Labels are one-hot columns. The logit of class k is b_k + sum_a beta_ka (t_a - m_a), with t the terms of the
// basis of a local polynomial and m their weighted means; what is minimized is the weighted mean log loss plus
//
//     ridge / 2 * sum_ka v_a beta_ka^2,
//
// where v_a is the mean variance of the linear terms, or of the products. Labels are drawn a little to equal
// shares of all classes, as if kPseudo of the points around the center had these: no logit is infinite, even where
// all neighbors are of one class, and nothing depends on points that are not around it. Classes that no neighbor has keep a constant logit. Newton steps go over
// the classes in turn, each with the others as they are; of two classes only one has a logit that moves. Second
// derivatives are found anew in some sweeps only, which are what takes time.
class LogisticFit : public LocalFit {
  public:
    using LocalFit::LocalFit;

    // After `accumulate` with the same points: probabilities (outputs) and their gradients (outputs x dim; may
    // be null) at the center. `effective_size` is that of the neighborhood.
    void solve_logistic(const std::int32_t* indices, std::size_t count, double effective_size,
                        std::size_t n_quadratic_directions, double ridge, double* value, double* gradient) {
        const std::size_t dim = points_.dim, classes = points_.outputs;
        used_ = basis_ == 0 ? 0 : dim * (1 + n_quadratic_directions);
        prepare(indices, count, effective_size, ridge);
        for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
            double moved = 0.0;
            const bool refresh = (sweep & (sweep - 1)) == 0;  // sweeps 0, 1, 2, 4, 8 ...
            for (std::size_t k : free_) moved = std::max(moved, step(k, count, refresh));
            if (moved < kTolerance) break;
        }
        answer(classes, dim, value, gradient);
    }

  private:
    static constexpr double kPseudo = 0.25, kTolerance = 3e-3, kLeastCurvature = 1e-9;
    static constexpr int kMostSweeps = 20, kMostHalvings = 12;

    // Smoothed labels, penalties, and logits of no slope.
    void prepare(const std::int32_t* indices, std::size_t count, double effective_size, double ridge) {
        const std::size_t classes = points_.outputs, linear = std::min(used_, points_.dim);
        const double drawn = kPseudo / (effective_size + kPseudo);
        labels_.resize(classes * count);
        means_.assign(classes, 0.0);
        std::vector<bool> present(classes, false);
        for (std::size_t k = 0; k < classes; ++k)
            for (std::size_t i = 0; i < count; ++i) {
                const double y = points_.label(indices[i])[k];
                present[k] = present[k] || y > 0.0;
                labels_[k * count + i] = (1.0 - drawn) * y + drawn / static_cast<double>(classes);
                means_[k] += roots_[i] * roots_[i] * labels_[k * count + i];
            }
        double mean_variance[2] = {0.0, 0.0};
        for (std::size_t a = 0; a < used_; ++a)
            mean_variance[a >= linear] += gram_[a * rows_ + a] / (a < linear ? linear : used_ - linear);
        penalty_.resize(used_);
        for (std::size_t a = 0; a < used_; ++a)
            penalty_[a] = std::max(ridge, 1e-6) * std::max(mean_variance[a >= linear], 1e-200);
        const std::size_t terms = used_ + 1;
        beta_.assign(classes * terms, 0.0);  // the constant comes last
        logits_.resize(classes * count);
        for (std::size_t k = 0; k < classes; ++k) {
            beta_[k * terms + used_] = std::log(means_[k]);
            std::fill_n(logits_.begin() + k * count, count, beta_[k * terms + used_]);
        }
        free_.clear();
        for (std::size_t k = 0; k < classes; ++k)
            if (present[k]) free_.push_back(k);
        if (free_.size() == 1) free_.clear();  // the constants say all
        if (classes == 2 && !free_.empty()) free_.erase(free_.begin());
        exponents_.resize(count);
        others_.resize(count);
        factors_.resize(classes * terms * padded(terms));
    }

    // A step of Newton's method for the logit of class k, with second derivatives of this place or of one before;
    // returns by how much logits have moved.
    double step(std::size_t k, std::size_t count, bool refresh) {
        const std::size_t terms = used_ + 1, stride = padded(count) + kLane;
        double* beta = beta_.data() + k * terms;
        double* logit = logits_.data() + k * count;
        sum_others(k, count);
        pull_.assign(padded(count), 0.0);
        curve_.assign(padded(count), 0.0);
        for (std::size_t i = 0; i < count; ++i) {
            const double p = probability(logit[i], others_[i]);
            pull_[i] = roots_[i] * (labels_[k * count + i] - p);
            curve_[i] = std::sqrt(std::max(p * (1.0 - p), kLeastCurvature));
        }
        if (refresh) curvature(k, count);
        direction_.resize(terms);
        for (std::size_t a = 0; a < terms; ++a) {
            const double* column = a < used_ ? columns_.data() + a * stride : roots_.data();
            direction_[a] = hot_.dot(column, pull_.data(), count);
            if (a < used_) direction_[a] -= penalty_[a] * beta[a];
        }
        hot_.solve(factors_.data() + k * terms * padded(terms), terms, direction_.data());
        return search(k, count);
    }

    // Factor of the second derivatives of the penalized loss in the coefficients of class k.
    void curvature(std::size_t k, std::size_t count) {
        const std::size_t terms = used_ + 1, stride = padded(count) + kLane, full = padded(count);
        scaled_.resize(terms * stride);
        for (std::size_t a = 0; a < terms; ++a) {
            const double* column = a < used_ ? columns_.data() + a * stride : roots_.data();
            double* out = scaled_.data() + a * stride;
            for (std::size_t i = 0; i < full; ++i) out[i] = column[i] * curve_[i];
        }
        hessian_.assign(terms * terms, 0.0);
        const std::size_t tile = std::clamp<std::size_t>(3072 / terms, 8, 128) * kLane;
        for (std::size_t from = 0; from < count; from += tile)
            hot_.gram(scaled_.data() + from, stride, std::min(tile, count - from), terms, hessian_.data());
        const std::size_t width = padded(terms);
        double* factor = factors_.data() + k * terms * width;
        for (double added = 0.0; added < 1e3; added = std::max(100.0 * added, 1e-10)) {
            for (std::size_t a = 0; a < terms; ++a) {
                for (std::size_t b = a; b < terms; ++b) factor[a * width + b] = hessian_[b * terms + a];
                factor[a * width + a] += (a < used_ ? penalty_[a] : 0.0) * (1.0 + added) + added * 1e-6;
            }
            if (hot_.cholesky(factor, terms)) break;
        }
    }

    // Takes the step along `direction_`, halved until the penalized loss falls.
    double search(std::size_t k, std::size_t count) {
        const std::size_t terms = used_ + 1, stride = padded(count) + kLane;
        double* beta = beta_.data() + k * terms;
        double* logit = logits_.data() + k * count;
        along_.assign(padded(count), 0.0);
        for (std::size_t a = 0; a < used_; ++a) {
            const double* column = columns_.data() + a * stride;
            for (std::size_t i = 0; i < count; ++i) along_[i] += direction_[a] * column[i];
        }
        double largest = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            along_[i] = along_[i] / roots_[i] + direction_[used_];
            largest = std::max(largest, std::abs(along_[i]));
        }
        const double before = loss(k, count, 0.0);
        double part = largest > 10.0 ? 10.0 / largest : 1.0;
        for (int half = 0; half < kMostHalvings; ++half, part *= 0.5) {
            if (!(loss(k, count, part) <= before)) continue;
            for (std::size_t a = 0; a < terms; ++a) beta[a] += part * direction_[a];
            for (std::size_t i = 0; i < count; ++i) logit[i] += part * along_[i];
            return part * largest;
        }
        return 0.0;
    }

    // The part of the penalized loss that depends on class k, after a part of the step.
    double loss(std::size_t k, std::size_t count, double part) const {
        const double* beta = beta_.data() + k * (used_ + 1);
        const double* logit = logits_.data() + k * count;
        double sum = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            const double eta = logit[i] + part * along_[i];
            const double high = std::max(eta, others_[i]), low = std::min(eta, others_[i]);
            const double whole = high + std::log1p(std::exp(low - high));
            sum += roots_[i] * roots_[i] * (whole - labels_[k * count + i] * eta);
        }
        for (std::size_t a = 0; a < used_; ++a) {
            const double b = beta[a] + part * direction_[a];
            sum += 0.5 * penalty_[a] * b * b;
        }
        return sum;
    }

    static double probability(double logit, double others) { return 1.0 / (1.0 + std::exp(others - logit)); }

    // others[i] = log of the sum of the exponentials of all logits but that of class k.
    void sum_others(std::size_t k, std::size_t count) {
        const std::size_t classes = points_.outputs;
        std::fill_n(exponents_.begin(), count, -1e300);
        for (std::size_t j = 0; j < classes; ++j)
            if (j != k)
                for (std::size_t i = 0; i < count; ++i)
                    exponents_[i] = std::max(exponents_[i], logits_[j * count + i]);
        std::fill_n(others_.begin(), count, 0.0);
        for (std::size_t j = 0; j < classes; ++j)
            if (j != k)
                for (std::size_t i = 0; i < count; ++i)
                    others_[i] += std::exp(logits_[j * count + i] - exponents_[i]);
        for (std::size_t i = 0; i < count; ++i) others_[i] = exponents_[i] + std::log(others_[i]);
    }

    // Probabilities and gradients at the center, where terms are zero before their means are subtracted.
    void answer(std::size_t classes, std::size_t dim, double* value, double* gradient) const {
        const std::size_t terms = used_ + 1;
        double largest = -1e300, total = 0.0;
        for (std::size_t k = 0; k < classes; ++k) {
            value[k] = beta_[k * terms + used_];
            for (std::size_t a = 0; a < used_; ++a) value[k] -= beta_[k * terms + a] * mean_[a];
            largest = std::max(largest, value[k]);
        }
        for (std::size_t k = 0; k < classes; ++k) total += value[k] = std::exp(value[k] - largest);
        for (std::size_t k = 0; k < classes; ++k) value[k] /= total;
        if (!gradient) return;
        for (std::size_t a = 0; a < dim; ++a) {
            double mean = 0.0;
            for (std::size_t k = 0; k < classes && used_ > 0; ++k) mean += value[k] * beta_[k * terms + a];
            for (std::size_t k = 0; k < classes; ++k)
                gradient[k * dim + a] = used_ > 0 ? value[k] * (beta_[k * terms + a] - mean) : 0.0;
        }
    }

    std::vector<double> labels_, means_, penalty_, beta_, logits_, exponents_, others_, scaled_, pull_,
        curve_, hessian_, factors_, direction_;
    std::vector<std::size_t> free_;
};

}  // namespace localegop
