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

namespace localegop {

// Centered form: the weighted means of the basis and of the labels are subtracted before the normal
// equations are formed, which loses far fewer digits than the raw ones where the neighborhood is thin.
class LocalFit {
  public:
    LocalFit(const Points& points, int degree, std::size_t bends = 0)
        : points_(points),
          hot_(hot_loops()),
          degree_(degree),
          bends_(bends),
          basis_(degree == 0 ? 0
                 : degree == 1 ? points.dim * (1 + bends)
                               : points.dim + points.dim * (points.dim + 1) / 2),
          rows_(basis_ + points.outputs) {}

    void set_directions(const double* d) { directions_ = d; }

    // Moments of the weighted points around the center.
    void accumulate(const double* center, const std::int32_t* indices, const double* weights,
                    std::size_t count) {
        mean_.assign(rows_, 0.0);
        terms_.resize(rows_);
        for (std::size_t k = 0; k < count; ++k) {
            expand(center, indices[k]);
            for (std::size_t a = 0; a < rows_; ++a) mean_[a] += weights[k] * terms_[a];
        }
        gram_.assign(rows_ * rows_, 0.0);
        columns_.resize(rows_ * kStride);
        for (std::size_t from = 0; from < count; from += kTile) {
            const std::size_t size = std::min(kTile, count - from);
            for (std::size_t k = 0; k < size; ++k) {
                expand(center, indices[from + k]);
                const double root = std::sqrt(weights[from + k]);
                for (std::size_t a = 0; a < rows_; ++a)
                    columns_[a * kStride + k] = root * (terms_[a] - mean_[a]);
            }
            for (std::size_t k = size; k < padded(size); ++k)
                for (std::size_t a = 0; a < rows_; ++a) columns_[a * kStride + k] = 0.0;
            hot_.gram(columns_.data(), kStride, size, rows_, gram_.data());
        }
    }

    // The same from columns (rows x stride) of coordinates and labels, relative to some origin, and roots of
    // the weights, zero up to the padded count; `center` holds the center's coordinates in that frame.
    // Linear fits only.
    void accumulate_columns(const double* columns, std::size_t stride, const double* roots,
                            std::size_t count, const double* center, std::size_t center_stride) {
        const double total = hot_.sum_of_squares(roots, count);
        mean_.resize(rows_);
        shift_.resize(rows_);
        for (std::size_t a = 0; a < rows_; ++a) {
            shift_[a] = hot_.weighted_sum(columns + a * stride, roots, count) / total;
            mean_[a] = shift_[a] - (a < basis_ ? center[a * center_stride] : 0.0);
        }
        gram_.assign(rows_ * rows_, 0.0);
        columns_.resize(rows_ * kStride);
        for (std::size_t from = 0; from < count; from += kTile) {
            const std::size_t size = std::min(kTile, count - from);
            for (std::size_t a = 0; a < rows_; ++a)
                hot_.centered(columns + a * stride + from, roots + from, size, shift_[a],
                              columns_.data() + a * kStride);
            hot_.gram(columns_.data(), kStride, size, rows_, gram_.data());
        }
        for (double& g : gram_) g /= total;
    }

    // Value (outputs) and gradient (outputs x dim) at the center for one ridge.
    void solve(double ridge, double* value, double* gradient) {
        const std::size_t dim = points_.dim, outputs = points_.outputs;
        const bool solvable = basis_ > 0 && factorize(ridge);
        for (std::size_t j = 0; j < outputs; ++j) {
            coefficients_.assign(basis_, 0.0);
            if (solvable) {
                const double* cross = gram_.data() + (basis_ + j) * rows_;
                std::copy(cross, cross + basis_, coefficients_.begin());
                solve_cholesky(system_.data(), basis_, coefficients_.data());
            }
            double at_center = mean_[basis_ + j];
            for (std::size_t a = 0; a < basis_; ++a) at_center -= coefficients_[a] * mean_[a];
            value[j] = at_center;
            for (std::size_t a = 0; a < dim; ++a)
                gradient[j * dim + a] = basis_ > 0 ? coefficients_[a] : 0.0;
        }
    }

    // Sum of squared smoother coefficients, value = sum_k l_k y_k, for the ridge solved last.
    double variance_factor(const double* center, const std::int32_t* indices, const double* weights,
                           const double* share, std::size_t count) {
        coefficients_.assign(mean_.begin(), mean_.begin() + basis_);
        if (basis_ > 0 && factorized_) solve_cholesky(system_.data(), basis_, coefficients_.data());
        double sum = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            expand(center, indices[k]);
            double tilt = 1.0;
            if (factorized_)
                for (std::size_t a = 0; a < basis_; ++a)
                    tilt -= (terms_[a] - mean_[a]) * coefficients_[a];
            const double l = weights[k] * tilt;
            sum += l * (l / share[k]);
        }
        return sum;
    }

  private:
    static constexpr std::size_t kTile = 128, kStride = kTile + kLane;

    // Basis terms of x - center, then the labels.
    void expand(const double* center, std::size_t i) {
        const std::size_t dim = points_.dim;
        const double* row = points_.row(i);
        if (degree_ > 0)
            for (std::size_t a = 0; a < dim; ++a) terms_[a] = row[a] - center[a];
        if (bends_ > 0 && degree_ == 1) {
            std::size_t at = dim;
            for (std::size_t j = 0; j < bends_; ++j) {
                double along = 0.0;
                for (std::size_t a = 0; a < dim; ++a) along += directions_[j * dim + a] * terms_[a];
                for (std::size_t a = 0; a < dim; ++a) terms_[at++] = along * terms_[a];
            }
        }
        if (degree_ > 1) {
            std::size_t at = dim;
            for (std::size_t a = 0; a < dim; ++a)
                for (std::size_t b = 0; b <= a; ++b) terms_[at++] = terms_[a] * terms_[b];
        }
        const double* label = points_.label(i);
        for (std::size_t j = 0; j < points_.outputs; ++j) terms_[basis_ + j] = label[j];
    }

    // Cholesky factor of the covariance of the basis plus the ridge, which is relative to the mean
    // variance of the linear and of the quadratic terms each. False if nothing varies.
    bool factorize(double ridge) {
        factorized_ = false;
        const std::size_t linear = std::min(basis_, points_.dim);
        double mean_variance[2] = {0.0, 0.0};
        for (std::size_t a = 0; a < basis_; ++a)
            mean_variance[a >= linear] +=
                gram_[a * rows_ + a] / (a < linear ? linear : basis_ - linear);
        if (!(mean_variance[0] > 0.0)) return false;
        for (double added = ridge; added < 1.0; added = std::max(added * 100.0, 1e-14)) {
            system_.resize(basis_ * basis_);
            for (std::size_t a = 0; a < basis_; ++a) {
                std::copy_n(gram_.data() + a * rows_, a + 1, system_.data() + a * basis_);
                system_[a * basis_ + a] += added * mean_variance[a >= linear];
            }
            if ((factorized_ = hot_.cholesky(system_.data(), basis_))) return true;
        }
        return false;
    }

    const Points& points_;
    const HotLoops& hot_;
    int degree_;
    std::size_t bends_;
    const double* directions_ = nullptr;
    std::size_t basis_, rows_;
    bool factorized_ = false;
    std::vector<double> mean_, shift_, terms_, gram_, columns_, system_, coefficients_;
};

}  // namespace localegop
