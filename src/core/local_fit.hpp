// Weighted local polynomial regression at one center, for several ridges at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hot.hpp"
#include "linalg.hpp"
#include "points.hpp"
#include "slope_moments.hpp"

namespace localegop {

// The basis is 1; then, for degree 1, the coordinates d = x - center; then, for each of some leading
// directions e of the metric, the products (e'd) d. The latter are the part of a quadratic fit that matters
// where f varies in few directions: dim terms per direction instead of dim^2 / 2 in all. Smaller numbers
// of directions are nested in larger ones, so one set of moments serves them all.
//
// Centered form: the weighted means of the basis and of the labels are subtracted before the normal
// equations are formed, which loses far fewer digits than the raw ones where the neighborhood is thin.
//
// Points that know the slopes g of their labels may bring these as further equations, see `SlopeMoments`.
class LocalFit {
  public:
    LocalFit(const Points& points, int degree, std::size_t n_quadratic_directions)
        : points_(points),
          hot_(hot_loops()),
          basis_(degree == 0 ? 0 : points.dim * (1 + n_quadratic_directions)),
          n_quadratic_directions_(degree == 0 ? 0 : n_quadratic_directions),
          rows_(basis_ + points.outputs) {}

    // Must be called for every center if there are quadratic directions.
    void set_metric(const double* metric) {
        if (n_quadratic_directions_ > 0)
            leading_directions(metric, points_.dim, n_quadratic_directions_, directions_);
    }

    // How much a slope counts; 0 (as long as nothing is set) if slopes do not.
    void set_slope_weight(double weight) {
        slope_weight_ = points_.slopes.empty() || basis_ == 0 ? 0.0 : weight;
    }

    // Moments of the weighted points around the center.
    void accumulate(const double* center, const std::int32_t* indices, const double* weights,
                    std::size_t count) {
        shares_.clear();
        roots_.resize(padded(count));
        for (std::size_t k = 0; k < count; ++k) roots_[k] = std::sqrt(weights[k]);
        std::fill(roots_.begin() + count, roots_.end(), 0.0);
        const std::size_t stride = padded(count) + kLane;
        columns_.resize(rows_ * stride);
        gather(center, indices, count, stride);
        mean_.resize(rows_);
        hot_.weighted_sums(columns_.data(), stride, roots_.data(), count, rows_, mean_.data());  // of sum one
        for (std::size_t a = 0; a < rows_; ++a) {
            double* column = columns_.data() + a * stride;
            hot_.centered(column, roots_.data(), count, mean_[a], column);
        }
        set_floor(mean_);
        gram_.assign(rows_ * rows_, 0.0);
        const std::size_t tile = tile_size();
        for (std::size_t from = 0; from < count; from += tile)
            hot_.gram(columns_.data() + from, stride, std::min(tile, count - from), rows_, gram_.data());
        if (slope_weight_ > 0.0) add_slopes(center, indices, weights, count);
    }

    // The same from columns (rows x stride) of coordinates and labels, relative to some origin, and roots of
    // the weights, of sum `total`, zero up to the padded count; `center` is a column of the same frame.
    // Linear fits only.
    void accumulate_columns(const double* columns, std::size_t stride, const double* roots, double total,
                            std::size_t count, const double* center) {
        mean_.resize(rows_);
        shift_.resize(rows_);
        hot_.weighted_sums(columns, stride, roots, count, rows_, shift_.data());
        for (std::size_t a = 0; a < rows_; ++a) {
            shift_[a] /= total;
            mean_[a] = shift_[a] - (a < basis_ ? center[a * stride] : 0.0);
        }
        set_floor(shift_);
        gram_.assign(rows_ * rows_, 0.0);
        const std::size_t tile = tile_size(), own = tile + kLane;
        columns_.resize(rows_ * own);
        for (std::size_t from = 0; from < count; from += tile) {
            const std::size_t size = std::min(tile, count - from);
            for (std::size_t a = 0; a < rows_; ++a)
                hot_.centered(columns + a * stride + from, roots + from, size, shift_[a],
                              columns_.data() + a * own);
            hot_.gram(columns_.data(), own, size, rows_, gram_.data());
        }
        for (double& g : gram_) g /= total;
    }

    // Value (outputs) and gradient (outputs x dim; may be null) at the center with the first
    // `n_quadratic_directions` of the directions and one ridge; all coefficients (outputs x terms) if asked for.
    void solve(std::size_t n_quadratic_directions, double ridge, double* value, double* gradient,
               double* coefficients = nullptr) {
        const std::size_t dim = points_.dim;
        used_ = basis_ == 0 ? 0 : dim * (1 + n_quadratic_directions);
        factorize(ridge);
        coefficients_.resize(used_);
        for (std::size_t j = 0; j < points_.outputs; ++j) {
            if (factorized_) {
                std::copy_n(gram_.data() + (basis_ + j) * rows_, used_, coefficients_.begin());
                hot_.solve(system_.data(), used_, coefficients_.data());
            } else {
                std::fill(coefficients_.begin(), coefficients_.end(), 0.0);
            }
            double at_center = mean_[basis_ + j];
            for (std::size_t a = 0; a < used_; ++a) at_center -= coefficients_[a] * mean_[a];
            value[j] = at_center;
            if (coefficients)
                std::copy(coefficients_.begin(), coefficients_.end(), coefficients + j * used_);
            if (!gradient) continue;
            for (std::size_t a = 0; a < dim; ++a) gradient[j * dim + a] = used_ > 0 ? coefficients_[a] : 0.0;
        }
    }

    // Sum of squared smoother coefficients, value = sum_k l_k y_k, of the fit solved last, by the columns
    // that `accumulate` left: terms less their means, times roots of the weights.
    double variance_factor(const double* sample_weights, std::size_t count) {
        coefficients_.assign(used_, 0.0);
        if (factorized_) {
            std::copy_n(mean_.begin(), used_, coefficients_.begin());
            hot_.solve(system_.data(), used_, coefficients_.data());
        }
        const std::size_t full = padded(count), stride = full + kLane;
        if (shares_.empty()) {
            shares_.assign(full, 0.0);
            for (std::size_t k = 0; k < count; ++k) shares_[k] = roots_[k] * (roots_[k] / sample_weights[k]);
        }
        along_.assign(roots_.begin(), roots_.begin() + full);
        hot_.subtract_columns(columns_.data(), stride, count, coefficients_.data(), used_, along_.data());
        double sum = 0.0;
        hot_.weighted_sums(shares_.data(), full, along_.data(), count, 1, &sum);
        return sum;
    }

    // The leading directions (n_quadratic_directions x dim).
    const double* directions() const { return directions_.data(); }

  protected:
    // Points per tile of the Gram matrix: as many as the first-level cache holds.
    std::size_t tile_size() const { return std::clamp<std::size_t>(3072 / rows_, 8, 128) * kLane; }

    // Basis terms and labels of all points as columns, zero from count to the padded count.
    void gather(const double* center, const std::int32_t* indices, std::size_t count, std::size_t stride) {
        const std::size_t dim = points_.dim, full = padded(count);
        if (basis_ > 0) gather_columns(points_, indices, count, center, nullptr, columns_.data(), stride);
        for (std::size_t j = 0; j < points_.outputs; ++j) {
            double* column = columns_.data() + (basis_ + j) * stride;
            for (std::size_t k = 0; k < count; ++k) column[k] = points_.label(indices[k])[j];
            std::fill(column + count, column + full, 0.0);
        }
        for (std::size_t j = 0; j < n_quadratic_directions_; ++j) {
            along_.assign(full, 0.0);
            for (std::size_t a = 0; a < dim; ++a)
                for (std::size_t k = 0; k < full; ++k)
                    along_[k] += directions_[j * dim + a] * columns_[a * stride + k];
            for (std::size_t a = 0; a < dim; ++a)
                for (std::size_t k = 0; k < full; ++k)
                    columns_[((1 + j) * dim + a) * stride + k] = along_[k] * columns_[a * stride + k];
        }
    }

    // Adds the equations of slopes to the moments.
    void add_slopes(const double* center, const std::int32_t* indices, const double* weights,
                    std::size_t count) {
        slopes_.resize(points_.dim, points_.outputs, n_quadratic_directions_);
        slopes_.gather(points_, center, indices, weights, count);
        slopes_.set_extent(gram_.data(), rows_, directions_.data());
        slopes_.add_to(gram_.data(), rows_, slope_weight_);
    }

    // Where all weight is on one place, rounding of the means leaves a variance of this order, not zero.
    void set_floor(const std::vector<double>& means) {
        floor_ = 0.0;
        const std::size_t linear = std::min(basis_, points_.dim);
        for (std::size_t a = 0; a < linear; ++a) floor_ += 1e-28 * means[a] * means[a] / linear;
    }

    // Cholesky factor of the covariance of the first `used_` terms plus the ridge, which is relative to
    // the mean variance of the linear and of the product terms each. Fails if nothing varies.
    void factorize(double ridge) {
        factorized_ = false;
        const std::size_t linear = std::min(used_, points_.dim);
        double mean_variance[2] = {0.0, 0.0};
        for (std::size_t a = 0; a < used_; ++a)
            mean_variance[a >= linear] += gram_[a * rows_ + a] / (a < linear ? linear : used_ - linear);
        if (!(mean_variance[0] > floor_)) return;
        const std::size_t stride = padded(used_);
        system_.resize(used_ * stride);
        for (double added = ridge; added < 1e3; added = std::max(added * 100.0, 1e-14)) {
            for (std::size_t a = 0; a < used_; ++a) {
                for (std::size_t b = a; b < used_; ++b) system_[a * stride + b] = gram_[b * rows_ + a];
                system_[a * stride + a] += added * mean_variance[a >= linear];
            }
            if ((factorized_ = hot_.cholesky(system_.data(), used_))) return;
        }
    }

    const Points& points_;
    const HotLoops& hot_;
    std::size_t basis_, n_quadratic_directions_, rows_, used_ = 0;
    bool factorized_ = false;
    double floor_ = 0.0, slope_weight_ = 0.0;
    SlopeMoments slopes_;
    std::vector<double> mean_, shift_, gram_, columns_, roots_, along_, system_, coefficients_,
        directions_;
    std::vector<double> shares_;  // squared roots over the sample weights, once `variance_factor` needs them
};

}  // namespace localegop
