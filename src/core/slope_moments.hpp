// What points that know the slopes of their labels add to the normal equations of a local fit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "points.hpp"

namespace localegop {

// A fit with the terms of `LocalFit` has the gradient J'c at the offset d from the center, where the columns of
// J are e_a for the linear term a and e d_b + (e'd) e_b for the product (e'd) d_b. A point that knows its slopes
// g asks that J c = g. What a fit misses of f grows with the offset, so slopes along a direction are the less
// certain the narrower the neighborhood is there, and residuals r count as r'S r with S the covariance of the
// neighborhood, which has the units of squared labels: with a weight of one, slopes tell about as much as labels.
// The sums over the points are those of 1, d, d d', g and g d' alone.
class SlopeMoments {
  public:
    void resize(std::size_t dim, std::size_t outputs, std::size_t n_directions) {
        dim_ = dim, outputs_ = outputs, n_directions_ = n_directions;
    }

    // Sums over the weighted points that know all of their slopes.
    void gather(const Points& points, const double* center, const std::int32_t* indices,
                const double* weights, std::size_t count) {
        weight_ = 0.0;
        offset_.resize(dim_);
        offsets_.assign(dim_, 0.0);
        squares_.assign(dim_ * dim_, 0.0);
        slopes_.assign(outputs_ * dim_, 0.0);
        products_.assign(outputs_ * dim_ * dim_, 0.0);
        for (std::size_t k = 0; k < count; ++k) {
            const double *row = points.row(indices[k]), *slope = points.slope(indices[k]), w = weights[k];
            if (std::isnan(slope[0])) continue;
            weight_ += w;
            for (std::size_t a = 0; a < outputs_ * dim_; ++a) slopes_[a] += w * slope[a];
            if (n_directions_ == 0) continue;
            for (std::size_t a = 0; a < dim_; ++a) {
                offset_[a] = row[a] - center[a];
                offsets_[a] += w * offset_[a];
            }
            add_outer(offset_.data(), dim_, w, squares_.data());
            add_outer(slope, outputs_ * dim_, w, products_.data());
        }
    }

    // S, from the lower triangle of the moments of the linear terms, and what follows from it for the leading
    // directions (n_directions x dim).
    void set_extent(const double* gram, std::size_t stride, const double* directions) {
        extent_.resize(dim_ * dim_);
        for (std::size_t a = 0; a < dim_; ++a)
            for (std::size_t b = 0; b < dim_; ++b)
                extent_[a * dim_ + b] = gram[std::max(a, b) * stride + std::min(a, b)];
        directions_ = directions;
        stretched_ = images(extent_);
        spread_ = images(squares_);
        along_.resize(n_directions_);
        for (std::size_t j = 0; j < n_directions_; ++j) along_[j] = dot(direction(j), offsets_.data());
    }

    // Adds J'S J to the lower triangle of the moments, and J'S g to the rows of the labels.
    void add_to(double* gram, std::size_t stride, double weight) const {
        const std::size_t terms = dim_ * (1 + n_directions_);
        for (std::size_t a = 0; a < terms; ++a)
            for (std::size_t b = 0; b <= a; ++b) gram[a * stride + b] += weight * of_terms(a, b);
        for (std::size_t j = 0; j < outputs_; ++j) add_slopes(gram + (terms + j) * stride, j, weight);
    }

  private:
    // Adds the outer product of some numbers and the offset.
    void add_outer(const double* numbers, std::size_t count, double weight, double* sums) const {
        for (std::size_t a = 0; a < count; ++a) {
            const double factor = weight * numbers[a];
            for (std::size_t b = 0; b < dim_; ++b) sums[a * dim_ + b] += factor * offset_[b];
        }
    }

    // Products of a symmetric matrix and the directions (n_directions x dim).
    std::vector<double> images(const std::vector<double>& matrix) const {
        std::vector<double> found(n_directions_ * dim_);
        for (std::size_t j = 0; j < n_directions_; ++j)
            for (std::size_t a = 0; a < dim_; ++a)
                found[j * dim_ + a] = dot(matrix.data() + a * dim_, direction(j));
        return found;
    }

    const double* direction(std::size_t j) const { return directions_ + j * dim_; }

    double dot(const double* x, const double* y) const {
        double sum = 0.0;
        for (std::size_t a = 0; a < dim_; ++a) sum += x[a] * y[a];
        return sum;
    }

    // J'S J of two terms, the first of which is not before the second.
    double of_terms(std::size_t first, std::size_t second) const {
        const std::size_t b = first % dim_, c = second % dim_;
        const double extent = extent_[b * dim_ + c];
        if (first < dim_) return weight_ * extent;
        const std::size_t j = first / dim_ - 1;
        const double* stretched = stretched_.data() + j * dim_;
        if (second < dim_) return stretched[c] * offsets_[b] + extent * along_[j];
        const std::size_t i = second / dim_ - 1;
        const double *other = stretched_.data() + i * dim_, *spread = spread_.data();
        return dot(direction(j), other) * squares_[b * dim_ + c] + spread[i * dim_ + b] * stretched[c] +
               spread[j * dim_ + c] * other[b] + dot(direction(j), spread + i * dim_) * extent;
    }

    // Adds J'S g of one output to a row of the moments.
    void add_slopes(double* row, std::size_t output, double weight) const {
        const double* products = products_.data() + output * dim_ * dim_;
        for (std::size_t b = 0; b < dim_; ++b)
            row[b] += weight * dot(extent_.data() + b * dim_, slopes_.data() + output * dim_);
        for (std::size_t j = 0; j < n_directions_; ++j)
            for (std::size_t b = 0; b < dim_; ++b) {
                double sum = 0.0;
                for (std::size_t a = 0; a < dim_; ++a)
                    sum += products[a * dim_ + b] * stretched_[j * dim_ + a] +
                           extent_[b * dim_ + a] * dot(products + a * dim_, direction(j));
                row[(1 + j) * dim_ + b] += weight * sum;
            }
    }

    std::size_t dim_ = 0, outputs_ = 0, n_directions_ = 0;
    double weight_ = 0.0;
    const double* directions_ = nullptr;
    std::vector<double> offset_, offsets_, squares_, slopes_, products_;  // sums over the points
    std::vector<double> extent_, stretched_, spread_, along_;
};

}  // namespace localegop
