// Kriging at one center: a small Gaussian process with a linear trend, in the metric of the neighborhood.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hot.hpp"
#include "linalg.hpp"
#include "neighborhood.hpp"
#include "neighborhoods.hpp"
#include "parallel.hpp"
#include "points.hpp"

namespace localegop {

// Coordinates z are such that squared distances are those of the metric at the scale of the neighborhood.
// The covariance of f at z and z' is exp(-|z - z'|^2 / (2 length^2)) + kTrend (1 + z'z' / length^2). Rough
// functions have exp(-|z - z'| / length) for the first term; without a linear trend the last one is left out.
// That of the labels has ridge / sample weight on the diagonal in addition. Only the ratio of the ridge to the
// first term matters, so labels may have any unit.
class Kriging {
  public:
    static constexpr double kTrend = 10.0;

    Kriging(const Points& points, std::size_t most) : points_(points), hot_(hot_loops()), most_(most) {}

    // The first term is this kernel of the squared distance, times this scale.
    static KernelId kernel(bool rough) { return rough ? KernelId::laplace : KernelId::gaussian; }
    static double scale(double length, bool rough) { return (rough ? 1.0 : 0.5) / (length * length); }

    // Take the heaviest points of a neighborhood, in the order of their indices, around a center.
    void gather(const double* center, const Neighborhood& hood, double scale) {
        choose(hood);
        full_ = padded(count_);
        place(center, hood, std::sqrt(scale));
        measure();
        center_labels(hood);
    }

    // Covariances for a length, with or without a linear trend, of a rough or a smooth process.
    void set_length(double length, bool trend, bool rough) {
        const double per_square = 1.0 / (length * length), slope = trend ? per_square : 0.0;
        const KernelId kernel = Kriging::kernel(rough);
        const double scale = Kriging::scale(length, rough);
        slope_ = slope * kTrend;
        covariance_.resize(count_ * full_);  // the upper triangle
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t first = i / kLane * kLane;
            const double* squared = squared_.data() + i * full_;
            double* row = covariance_.data() + i * full_;
            hot_.weights(kernel, squared + first, nullptr, count_ - first, scale, 0.0, row + first);
            for (std::size_t j = first; j < full_; ++j)  // the product of two places is half the last bracket
                row[j] += kTrend + 0.5 * slope_ * (norms_[i] + norms_[j] - squared[j]);
        }
        to_center_.resize(full_);
        hot_.weights(kernel, norms_.data(), nullptr, count_, scale, 0.0, to_center_.data());
        pull_.resize(count_);
        for (std::size_t k = 0; k < count_; ++k) {
            const double distance = std::sqrt(norms_[k]);
            const double steep = !rough ? per_square : distance > 0.0 ? 1.0 / (length * distance) : 0.0;
            pull_[k] = steep * to_center_[k] + slope * kTrend;
            to_center_[k] += kTrend;
        }
    }

    // Value (outputs), gradient (outputs x dim; may be null) and variance factor (may be null).
    void solve(double ridge, double* value, double* gradient, double* variance) {
        factorize(ridge);
        smoother_.assign(to_center_.begin(), to_center_.begin() + count_);
        hot_.solve(system_.data(), count_, smoother_.data());
        const std::size_t outputs = points_.outputs;
        for (std::size_t j = 0; j < outputs; ++j) {
            value[j] = means_[j];
            for (std::size_t k = 0; k < count_; ++k) value[j] += smoother_[k] * labels_[j * count_ + k];
        }
        if (variance) *variance = variance_factor();
        for (std::size_t j = 0; gradient && j < outputs; ++j) slopes(j, gradient + j * points_.dim);
    }

    // Coordinates z of the points as columns (dim x stride), zero beyond the rank.
    void write_places(double* columns, std::size_t stride) const {
        for (std::size_t r = 0; r < rank_; ++r)
            std::copy_n(places_.data() + r * full_, count_, columns + r * stride);
    }

    // The fit as a function of the offset d from the center: constant (outputs), slopes (outputs x dim) of the
    // trend, and coefficients (outputs x stride) of the first terms of the covariance.
    void solve_duals(double ridge, double* constant, double* slopes, double* duals, std::size_t stride) {
        factorize(ridge);
        for (std::size_t j = 0; j < points_.outputs; ++j) {
            solve_dual(j);
            std::copy(dual_.begin(), dual_.end(), duals + j * stride);
            constant[j] = means_[j];
            for (std::size_t k = 0; k < count_; ++k) constant[j] += kTrend * dual_[k];
            pull_.assign(count_, slope_);
            combine_places(slopes + j * points_.dim);
        }
    }

  private:
    // The points of largest weight, which are the nearest; of equal ones those of smaller index.
    void choose(const Neighborhood& hood) {
        chosen_.resize(hood.count());
        for (std::size_t k = 0; k < chosen_.size(); ++k) chosen_[k] = k;
        count_ = std::min(most_, chosen_.size());
        const double* distance = hood.squared();
        if (count_ < chosen_.size())
            std::nth_element(chosen_.begin(), chosen_.begin() + count_, chosen_.end(),
                             [&](std::size_t a, std::size_t b) {
                                 return distance[a] < distance[b] || (distance[a] == distance[b] && a < b);
                             });
        std::sort(chosen_.begin(), chosen_.begin() + count_);
    }

    // Places z as columns (rank x full), and their squared norms.
    void place(const double* center, const Neighborhood& hood, double root) {
        const std::size_t dim = points_.dim;
        rank_ = hood.rank();
        order_.assign(hood.order(), hood.order() + dim);
        factor_.resize(rank_ * dim);
        for (std::size_t k = 0; k < factor_.size(); ++k) factor_[k] = root * hood.factor()[k];
        picked_.resize(count_);
        for (std::size_t k = 0; k < count_; ++k) picked_[k] = hood.indices()[chosen_[k]];
        offsets_.resize(dim * full_);
        gather_columns(points_, picked_.data(), count_, center, order_.data(), offsets_.data(), full_);
        places_.assign(rank_ * full_, 0.0);
        norms_.assign(full_, 0.0);
        for (std::size_t r = 0; r < rank_; ++r) {
            double* column = places_.data() + r * full_;
            for (std::size_t a = r; a < dim; ++a) {  // the factor is upper triangular
                const double weight = factor_[r * dim + a];
                const double* offset = offsets_.data() + a * full_;
                if (weight == 0.0) continue;
                for (std::size_t k = 0; k < full_; ++k) column[k] += weight * offset[k];
            }
            for (std::size_t k = 0; k < full_; ++k) norms_[k] += column[k] * column[k];
        }
    }

    // Squared distances (count x full) between the places: the upper triangle.
    void measure() {
        centers_.resize(rank_ * kCenters);
        squared_.resize((count_ + kCenters) * full_);
        for (std::size_t i = 0; i < count_; i += kCenters) {
            const std::size_t first = i / kLane * kLane;
            for (std::size_t r = 0; r < rank_; ++r)
                for (std::size_t c = 0; c < kCenters; ++c)  // within the padding, since kLane is a multiple
                    centers_[r * kCenters + c] = places_[r * full_ + i + c];
            hot_.squared_distances(places_.data() + first, full_, count_ - first, centers_.data(), rank_,
                                   squared_.data() + i * full_ + first);
        }
    }

    void center_labels(const Neighborhood& hood) {
        const std::size_t outputs = points_.outputs;
        sample_weights_.resize(count_);
        part_.resize(count_);
        double total = 0.0;
        for (std::size_t k = 0; k < count_; ++k) {
            sample_weights_[k] = hood.sample_weights()[chosen_[k]];
            total += part_[k] = hood.weights()[chosen_[k]];
        }
        for (double& part : part_) part /= total;
        means_.assign(outputs, 0.0);
        labels_.resize(outputs * count_);
        for (std::size_t j = 0; j < outputs; ++j) {
            for (std::size_t k = 0; k < count_; ++k) {
                labels_[j * count_ + k] = points_.label(hood.indices()[chosen_[k]])[j];
                means_[j] += part_[k] * labels_[j * count_ + k];
            }
            for (std::size_t k = 0; k < count_; ++k) labels_[j * count_ + k] -= means_[j];
        }
    }

    // Raises the ridge until the matrix is positive definite: far from the data the trend outweighs all else,
    // and rounding in it the ridge.
    void factorize(double ridge) {
        double largest = 1.0;
        for (std::size_t k = 0; k < count_; ++k) largest = std::max(largest, covariance_[k * full_ + k]);
        system_.resize(count_ * full_);
        for (double added = ridge;; added = std::max(added * 100.0, 1e-12 * largest)) {
            for (std::size_t k = 0; k < count_; ++k) {
                const std::size_t first = k * full_ + k / kLane * kLane;
                std::copy(covariance_.begin() + first, covariance_.begin() + (k + 1) * full_,
                          system_.begin() + first);
                system_[k * full_ + k] += added / sample_weights_[k];
            }
            if (hot_.cholesky(system_.data(), count_) || added > 1e3 * largest) return;
        }
    }

    // Sum of the squared coefficients by which the value depends on the labels.
    double variance_factor() const {
        double rest = 1.0, sum = 0.0;
        for (std::size_t k = 0; k < count_; ++k) rest -= smoother_[k];
        for (std::size_t k = 0; k < count_; ++k) {
            const double l = smoother_[k] + rest * part_[k];
            sum += l * (l / sample_weights_[k]);
        }
        return sum;
    }

    // Gradient of output j.
    void slopes(std::size_t j, double* gradient) {
        solve_dual(j);
        combine_places(gradient);
    }

    // Coefficients of the covariances in output j.
    void solve_dual(std::size_t j) {
        dual_.assign(labels_.begin() + j * count_, labels_.begin() + (j + 1) * count_);
        hot_.solve(system_.data(), count_, dual_.data());
    }

    // Slopes (dim) of sum_k dual_k pull_k z_k'z in the features.
    void combine_places(double* gradient) {
        const std::size_t dim = points_.dim;
        std::fill(gradient, gradient + dim, 0.0);
        for (std::size_t r = 0; r < rank_; ++r) {
            double slope = 0.0;
            for (std::size_t k = 0; k < count_; ++k) slope += dual_[k] * pull_[k] * places_[r * full_ + k];
            for (std::size_t a = r; a < dim; ++a) gradient[order_[a]] += slope * factor_[r * dim + a];
        }
    }

    const Points& points_;
    const HotLoops& hot_;
    std::size_t most_, count_ = 0, full_ = 0, rank_ = 0;  // full: the padded count
    double slope_ = 0.0;                                  // of the trend
    std::vector<std::size_t> chosen_, order_;             // order: of the features, as the factor has them
    std::vector<std::int32_t> picked_;
    std::vector<double> factor_, offsets_, places_, norms_, centers_, squared_, sample_weights_, part_, means_,
        labels_, covariance_, to_center_, pull_, system_, smoother_, dual_;
};

// What to krige: one neighborhood a center, in it several fits, each with a length, a ridge and more.
struct KrigingPlan {
    std::size_t most = 0;  // points at each center
    std::vector<double> lengths, ridges;
    std::vector<bool> trends, rough;

    // Whether fit f has other covariances than the one before.
    bool changes(std::size_t f) const {
        return f == 0 || lengths[f] != lengths[f - 1] || trends[f] != trends[f - 1] ||
               rough[f] != rough[f - 1];
    }
};

class KrigingWorker {
  public:
    KrigingWorker(const Points& points, const KernelSpec& kernel, const Batch& batch, const KrigingPlan& plan,
                  const BatchResult& out)
        : points_(points), batch_(batch), plan_(plan), out_(out), hood_(points, kernel),
          kriging_(points, plan.most) {}

    void operator()(std::size_t i) {
        const std::size_t dim = points_.dim, outputs = points_.outputs, fits = plan_.lengths.size();
        measure(hood_, points_, batch_, i);
        const double scale = hood_.match(batch_.targets[i], 0.0);
        hood_.weigh(scale);
        out_.scales[i] = scale;
        out_.effective_sizes[i] = hood_.effective_size();
        kriging_.gather(batch_.centers + i * dim, hood_, scale);
        for (std::size_t f = 0; f < fits; ++f) {
            const std::size_t at = i * fits + f;
            if (plan_.changes(f)) kriging_.set_length(plan_.lengths[f], plan_.trends[f], plan_.rough[f]);
            kriging_.solve(plan_.ridges[f], out_.values + at * outputs,
                           out_.gradients ? out_.gradients + at * outputs * dim : nullptr,
                           out_.variance_factors ? out_.variance_factors + at : nullptr);
        }
    }

  private:
    const Points& points_;
    const Batch& batch_;
    const KrigingPlan& plan_;
    const BatchResult& out_;
    Neighborhood hood_;
    Kriging kriging_;
};

template <class Interrupted>
bool krige(const Points& points, const KernelSpec& kernel, const Batch& batch, const KrigingPlan& plan,
           const BatchResult& out, int threads, Interrupted interrupted) {
    const auto make = [&] { return KrigingWorker(points, kernel, batch, plan, out); };
    return parallel_for(batch.count, threads, make, interrupted);
}

}  // namespace localegop
