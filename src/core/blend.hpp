// Fits kept at many centers and blended at queries, instead of a fit for each query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hot.hpp"
#include "kriging.hpp"
#include "local_fit.hpp"
#include "neighborhood.hpp"
#include "neighborhoods.hpp"
#include "parallel.hpp"
#include "points.hpp"

namespace localegop {

// The final fit of each center as a function of the offset d from it: with z = F d, where |z|^2 is the squared
// distance in the center's metric at its own scale,
//     value + slopes'd + sum_j (e_j'd) (products_j'd) + sum_k dual_k kernel(|z - z_k|^2).
// Polynomials have no sum over k, kriging none over j.
struct KeptFits {
    Points centers;                  // only rows
    std::size_t outputs = 0, n_quadratic_directions = 0, stride = 0;
    KernelId kernel = KernelId::gaussian;
    double scale = 0.0;              // of squared distances in the kernel
    std::vector<double> factors;     // F: centers x dim x dim
    std::vector<std::size_t> ranks;  // rows of F that distances between queries and centers need
    std::vector<double> rests;       // what the other rows add for each unit of plain squared distance
    std::vector<double> values;      // centers x outputs
    std::vector<double> terms;       // centers x outputs x (1 + n_quadratic_directions) x dim
    std::vector<double> directions;  // e: centers x n_quadratic_directions x dim
    std::vector<double> places;      // z_k as columns: centers x dim x stride
    std::vector<double> duals;       // centers x outputs x stride, zero beyond the points of a center

    std::size_t dim() const { return centers.dim; }
    std::size_t n_slopes() const { return outputs * dim(); }
    std::size_t n_terms() const { return (1 + n_quadratic_directions) * dim(); }

    std::size_t bytes() const {
        return 8 * (centers.rows.size() + factors.size() + values.size() + terms.size() + directions.size() +
                    places.size() + duals.size());
    }

    // Makes room for so many centers, and for so many points at each with kriging.
    void resize(const Batch& batch, const Points& points, std::size_t n_directions, std::size_t most) {
        centers.n = batch.count;
        centers.dim = points.dim;
        centers.rows.assign(batch.centers, batch.centers + batch.count * points.dim);
        outputs = points.outputs;
        n_quadratic_directions = n_directions;
        stride = padded(most);
        factors.assign(batch.count * points.dim * points.dim, 0.0);
        ranks.assign(batch.count, 0);
        rests.assign(batch.count, 0.0);
        values.assign(batch.count * outputs, 0.0);
        terms.assign(batch.count * outputs * n_terms(), 0.0);
        directions.assign(batch.count * n_directions * points.dim, 0.0);
        places.assign(batch.count * points.dim * stride, 0.0);
        duals.assign(batch.count * outputs * stride, 0.0);
    }

    // The metric of center i at its own scale.
    void set_factor(std::size_t i, const Neighborhood& hood, double neighborhood_scale) {
        const double root = std::sqrt(neighborhood_scale);
        double* factor = factors.data() + i * dim() * dim();
        for (std::size_t r = 0; r < hood.rank(); ++r)
            for (std::size_t a = 0; a < dim(); ++a)
                factor[r * dim() + hood.order()[a]] = root * hood.factor()[r * dim() + a];
        set_rank(i, factor);
    }

  private:
    static constexpr double kRest = 0.01;  // part of a metric's trace that is taken to be isotropic

    // The trace is the sum of the squares in all rows, of which the last ones hold the least.
    void set_rank(std::size_t i, const double* factor) {
        const auto squares = [&](std::size_t first, std::size_t last) {
            double sum = 0.0;
            for (std::size_t k = first * dim(); k < last * dim(); ++k) sum += factor[k] * factor[k];
            return sum;
        };
        const double most = kRest * squares(0, dim());
        double rest = 0.0, more = 0.0;
        std::size_t rank = dim();
        while (rank > 0 && rest + (more = squares(rank - 1, rank)) <= most) {
            rest += more;
            --rank;
        }
        ranks[i] = rank;
        rests[i] = rest / static_cast<double>(dim());
    }
};

// The width that is asked of neighborhood i of a batch, one for each center.
inline double matched_scale(Neighborhood& hood, const Batch& batch, std::size_t i) {
    return batch.targets ? hood.match(batch.targets[i], 0.0) : batch.scales[i];
}

template <class Interrupted>
bool keep_polynomials(const Points& points, const KernelSpec& kernel, const Batch& batch,
                      std::size_t n_directions, double ridge, KeptFits& out, int threads,
                      Interrupted interrupted) {
    out.resize(batch, points, n_directions, 0);
    const auto make = [&] {
        LocalFit local(points, batch.degree, n_directions);
        local.set_slope_weight(batch.slope_weight);
        return [&, hood = Neighborhood(points, kernel), fit = std::move(local)](std::size_t i) mutable {
            const double* center = batch.centers + i * points.dim;
            measure(hood, points, batch, i);
            fit.set_metric(batch.metrics + i * points.dim * points.dim);
            const double scale = matched_scale(hood, batch, i);
            hood.weigh(scale);
            out.set_factor(i, hood, scale);
            fit.accumulate(center, hood.indices(), hood.weights(), hood.count());
            fit.solve(n_directions, ridge, out.values.data() + i * out.outputs, nullptr,
                      out.terms.data() + i * out.outputs * out.n_terms());
            std::copy_n(fit.directions(), n_directions * points.dim,
                        out.directions.data() + i * n_directions * points.dim);
        };
    };
    return parallel_for(batch.count, threads, make, interrupted);
}

template <class Interrupted>
bool keep_kriging(const Points& points, const KernelSpec& kernel, const Batch& batch,
                  const KrigingPlan& plan, KeptFits& out, int threads, Interrupted interrupted) {
    out.resize(batch, points, 0, plan.most);
    out.kernel = Kriging::kernel(plan.rough[0]);
    out.scale = Kriging::scale(plan.lengths[0], plan.rough[0]);
    const auto make = [&] {
        return [&, hood = Neighborhood(points, kernel),
                kriging = Kriging(points, plan.most)](std::size_t i) mutable {
            measure(hood, points, batch, i);
            const double scale = matched_scale(hood, batch, i);
            hood.weigh(scale);
            out.set_factor(i, hood, scale);
            kriging.gather(batch.centers + i * points.dim, hood, scale);
            kriging.set_length(plan.lengths[0], plan.trends[0], plan.rough[0]);
            kriging.write_places(out.places.data() + i * points.dim * out.stride, out.stride);
            kriging.solve_duals(plan.ridges[0], out.values.data() + i * out.outputs,
                                out.terms.data() + i * out.outputs * points.dim,
                                out.duals.data() + i * out.outputs * out.stride, out.stride);
        };
    };
    return parallel_for(batch.count, threads, make, interrupted);
}

// How many centers share a query: of its `candidates` nearest ones the `active` nearest in the centers' own
// metrics, with weights that fall to zero before another takes the place of the last.
struct Sharing {
    std::size_t candidates = 0, active = 0;

    std::size_t listed() const { return candidates + 1; }  // the last has no weight
};

// Blends at queries, one at a time.
class BlendWorker {
  public:
    BlendWorker(const KeptFits& fits, const Sharing& sharing, const double* queries,
                const std::int32_t* lists, double* values, double* distances, double* gradients)
        : fits_(fits), sharing_(sharing), hot_(hot_loops()), queries_(queries), lists_(lists),
          values_(values), distances_(distances), gradients_(gradients), offset_(fits.dim()),
          place_(fits.dim() * fits.stride + 1), squared_(fits.stride), kernels_(fits.stride) {}

    void operator()(std::size_t q) {
        const double* query = queries_ + q * fits_.dim();
        double* value = values_ + q * fits_.outputs;
        std::fill(value, value + fits_.outputs, 0.0);
        list(query, lists_ + q * sharing_.listed());
        choose(query);
        distances_[q] = active_.empty() ? kInfinite : active_[0].squared;
        if (active_.empty()) {
            if (gradients_) std::fill_n(gradients_ + q * fits_.n_slopes(), fits_.n_slopes(), 0.0);
            return;
        }
        double reach = active_.size() > sharing_.active ? active_.back().squared : kInfinite;
        if (!(active_[0].squared < reach)) reach = kInfinite;  // all are equally far, and share alike
        double total = 0.0;
        for (const Active& one : active_) {
            const double weight = bump(one.squared, reach);
            if (!(weight > 0.0)) continue;
            total += weight;
            add(one.center, query, weight, value);
        }
        for (std::size_t j = 0; j < fits_.outputs; ++j) value[j] /= total;
        if (gradients_) differentiate(query, reach, total, value, gradients_ + q * fits_.n_slopes());
    }

  private:
    struct Listed {
        double squared;  // plain distance
        std::int32_t center;
    };
    struct Active {
        double squared;  // in the center's own metric, infinite where it is about to leave the list
        std::int32_t center;
        bool operator<(const Active& other) const {
            return squared < other.squared || (squared == other.squared && center < other.center);
        }
    };

    // (1 - u)^2 of the share u of the reach.
    static double bump(double squared, double reach) {
        const double rest = squared < reach ? 1.0 - squared / reach : 0.0;
        return rest * rest;
    }

    // Plain distances of the listed centers, some of the nearest first.
    void list(const double* query, const std::int32_t* numbers) {
        const std::size_t dim = fits_.dim();
        listed_.resize(sharing_.listed());
        for (std::size_t k = 0; k < listed_.size(); ++k) {
            const double* row = fits_.centers.row(numbers[k]);
            double sum = 0.0;
            for (std::size_t a = 0; a < dim; ++a) sum += (query[a] - row[a]) * (query[a] - row[a]);
            listed_[k] = {sum, numbers[k]};
        }
        const auto nearer = [](const Listed& x, const Listed& y) { return x.squared < y.squared; };
        const auto last = std::max_element(listed_.begin(), listed_.end(), nearer);
        farthest_ = last->squared;
        farthest_center_ = last->center;
        const auto middle = listed_.begin() + std::min(2 * sharing_.active, listed_.size() - 1);
        std::nth_element(listed_.begin(), middle, listed_.end(), nearer);
    }

    // The active centers and the next, nearest first.
    void choose(const double* query) {
        active_.clear();
        for (const Listed& one : listed_) {
            const double share = one.squared / farthest_, rest = 1.0 - share * share;
            if (!(rest > 0.0)) continue;
            const bool full = active_.size() > sharing_.active;
            const double limit = full ? active_.back().squared * (rest * rest) : kInfinite;
            const Active found{squared_distance(query, one, limit) / (rest * rest), one.center};
            if (full && !(found < active_.back())) continue;
            if (full) active_.pop_back();
            active_.insert(std::upper_bound(active_.begin(), active_.end(), found), found);
        }
    }

    // In the metric of a center; infinite as soon as it is known to exceed a limit.
    double squared_distance(const double* query, const Listed& one, double limit) {
        const std::size_t dim = fits_.dim(), rank = fits_.ranks[one.center];
        set_offset(query, one.center);
        const double* factor = fits_.factors.data() + one.center * dim * dim;
        double sum = fits_.rests[one.center] * one.squared;
        for (std::size_t r = 0; r < rank; ++r) {
            const double z = hot_.dot(factor + r * dim, offset_.data(), dim);
            sum += z * z;
            if (sum > limit) return kInfinite;
        }
        return sum;
    }

    void set_offset(const double* query, std::size_t center) {
        const double* row = fits_.centers.row(center);
        for (std::size_t a = 0; a < fits_.dim(); ++a) offset_[a] = query[a] - row[a];
    }

    // Adds a center's fit at the query, times a weight.
    void add(std::size_t center, const double* query, double weight, double* value) {
        set_offset(query, center);
        if (fits_.stride > 0) fill_kernels(center);
        for (std::size_t j = 0; j < fits_.outputs; ++j) value[j] += weight * value_of(center, j);
    }

    // A center's fit; the offset and the kernels are set.
    double value_of(std::size_t center, std::size_t output) const {
        const std::size_t stride = fits_.stride, at = center * fits_.outputs + output;
        double sum = fits_.values[at] + polynomial(center, fits_.terms.data() + at * fits_.n_terms());
        if (stride > 0) sum += hot_.dot(fits_.duals.data() + at * stride, kernels_.data(), stride);
        return sum;
    }

    double polynomial(std::size_t center, const double* terms) const {
        const std::size_t dim = fits_.dim(), count = fits_.n_quadratic_directions;
        const double* directions = fits_.directions.data() + center * count * dim;
        double sum = hot_.dot(terms, offset_.data(), dim);
        for (std::size_t j = 0; j < count; ++j)
            sum += hot_.dot(directions + j * dim, offset_.data(), dim) *
                   hot_.dot(terms + (1 + j) * dim, offset_.data(), dim);
        return sum;
    }

    // Kernels of the distances between the query and the points of a center.
    void fill_kernels(std::size_t center) {
        const std::size_t dim = fits_.dim(), stride = fits_.stride;
        const double* factor = fits_.factors.data() + center * dim * dim;
        for (std::size_t r = 0; r < dim; ++r)
            place_[r * stride] = hot_.dot(factor + r * dim, offset_.data(), dim);
        hot_.squared_differences(fits_.places.data() + center * dim * stride, stride, stride, place_.data(),
                                 dim, squared_.data());
        hot_.weights(fits_.kernel, squared_.data(), nullptr, stride, fits_.scale, 0.0, kernels_.data());
    }

    // Gradient (outputs x dim) of the blend at a query, where its value is that of weights of this reach and sum:
    // the sum of weight' (value of a center - value) + weight (value of the center)', over the sum of weights.
    void differentiate(const double* query, double reach, double total, const double* value,
                       double* gradient) {
        const std::size_t dim = fits_.dim();
        std::fill_n(gradient, fits_.n_slopes(), 0.0);
        steps_.assign(2 * dim, 0.0);
        double *own = steps_.data(), *of_reach = own + dim;
        if (reach < kInfinite) slope_of_distance(query, active_.back().center, of_reach);
        for (const Active& one : active_) {
            const double weight = bump(one.squared, reach);
            if (!(weight > 0.0)) continue;
            std::fill_n(own, dim, 0.0);
            if (reach < kInfinite) {
                slope_of_distance(query, one.center, own);
                const double steep = -2.0 * (1.0 - one.squared / reach) / reach, share = one.squared / reach;
                for (std::size_t a = 0; a < dim; ++a) own[a] = steep * (own[a] - share * of_reach[a]);
            }
            set_offset(query, one.center);
            if (fits_.stride > 0) fill_kernels(one.center);
            for (std::size_t j = 0; j < fits_.outputs; ++j) {
                double* slope = gradient + j * dim;
                const double excess = value_of(one.center, j) - value[j];
                for (std::size_t a = 0; a < dim; ++a) slope[a] += own[a] * excess / total;
                add_slope(one.center, j, weight / total, slope);
            }
        }
    }

    // Gradient (dim) of the distance by which centers are chosen: that in the metric of a center over r^2, with
    // r = 1 - (e / f)^2, e its plain squared distance and f that of the farthest in the list.
    void slope_of_distance(const double* query, std::size_t center, double* slope) {
        const std::size_t dim = fits_.dim(), rank = fits_.ranks[center];
        const double* factor = fits_.factors.data() + center * dim * dim;
        const double* last = fits_.centers.row(farthest_center_);
        set_offset(query, center);
        const double plain = hot_.dot(offset_.data(), offset_.data(), dim);
        const double share = plain / farthest_, rest = 1.0 - share * share;
        double squared = fits_.rests[center] * plain;
        for (std::size_t a = 0; a < dim; ++a) slope[a] = 2.0 * fits_.rests[center] * offset_[a];
        for (std::size_t r = 0; r < rank; ++r) {
            const double z = hot_.dot(factor + r * dim, offset_.data(), dim);
            squared += z * z;
            for (std::size_t a = 0; a < dim; ++a) slope[a] += 2.0 * z * factor[r * dim + a];
        }
        const double by_rest = 8.0 * squared * share / (rest * rest * rest) / farthest_;
        for (std::size_t a = 0; a < dim; ++a)
            slope[a] = slope[a] / (rest * rest) + by_rest * (offset_[a] - share * (query[a] - last[a]));
    }

    // Adds the gradient (dim) of a center's fit, times a weight; the offset and the kernels are set.
    void add_slope(std::size_t center, std::size_t output, double weight, double* slope) const {
        const std::size_t dim = fits_.dim(), stride = fits_.stride, count = fits_.n_quadratic_directions;
        const std::size_t at = center * fits_.outputs + output;
        const double* terms = fits_.terms.data() + at * fits_.n_terms();
        const double* directions = fits_.directions.data() + center * count * dim;
        for (std::size_t a = 0; a < dim; ++a) slope[a] += weight * terms[a];
        for (std::size_t j = 0; j < count; ++j) {
            const double *direction = directions + j * dim, *term = terms + (1 + j) * dim;
            const double along = hot_.dot(direction, offset_.data(), dim);
            const double bend = hot_.dot(term, offset_.data(), dim);
            for (std::size_t a = 0; a < dim; ++a)
                slope[a] += weight * (bend * direction[a] + along * term[a]);
        }
        if (stride == 0) return;
        const double *factor = fits_.factors.data() + center * dim * dim, *dual = fits_.duals.data() + at * stride;
        const double* places = fits_.places.data() + center * dim * stride;
        for (std::size_t r = 0; r < dim; ++r) {
            double pull = 0.0;
            for (std::size_t k = 0; k < stride; ++k)
                pull += dual[k] * steepness(k) * (place_[r * stride] - places[r * stride + k]);
            for (std::size_t a = 0; a < dim; ++a) slope[a] += weight * pull * factor[r * dim + a];
        }
    }

    // Derivative of the kernel of point k, by which an offset from it is multiplied.
    double steepness(std::size_t k) const {
        if (fits_.kernel == KernelId::gaussian) return -2.0 * fits_.scale * kernels_[k];
        const double root = std::sqrt(fits_.scale * squared_[k]);
        return root > 0.0 ? -fits_.scale * kernels_[k] / root : 0.0;
    }

    const KeptFits& fits_;
    const Sharing& sharing_;
    const HotLoops& hot_;
    const double* queries_;
    const std::int32_t* lists_;
    double *values_, *distances_, *gradients_, farthest_ = 0.0;
    std::size_t farthest_center_ = 0;
    std::vector<double> offset_, place_, squared_, kernels_, steps_;
    std::vector<Listed> listed_;
    std::vector<Active> active_;
};

// values (count x outputs) at queries (count x dim), and the squared distance (count) of the nearest center in its
// own metric, infinite where none is active; gradients (count x outputs x dim) unless null; lists are
// (count x sharing.listed()) numbers of nearest centers.
template <class Interrupted>
bool blend(const KeptFits& fits, const Sharing& sharing, const double* queries, std::size_t count,
           const std::int32_t* lists, double* values, double* distances, double* gradients, int threads,
           Interrupted interrupted) {
    const auto make = [&] {
        return BlendWorker(fits, sharing, queries, lists, values, distances, gradients);
    };
    return parallel_for(count, threads, make, interrupted);
}

}  // namespace localegop
