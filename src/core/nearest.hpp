// The nearest points of many centers by all distances: what a tree cannot shorten in many dimensions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hot.hpp"
#include "parallel.hpp"
#include "points.hpp"

namespace localegop {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The nearest so many of points that come in the order of their numbers; of equally far ones the first.
class Shortlist {
  public:
    Shortlist(std::size_t wanted, std::size_t most_at_once)
        : wanted_(wanted), squared_(2 * wanted + most_at_once), numbers_(squared_.size()) {}

    // Starts anew, with none but points nearer than a bound.
    void clear(double bound) {
        size_ = 0;
        bound_ = bound;
    }

    bool full() const { return size_ >= wanted_; }

    // Squared distances of the points from number `first` on.
    void offer(const double* squared, std::size_t count, std::size_t first) {
        std::size_t size = size_;
        for (std::size_t k = 0; k < count; ++k) {
            squared_[size] = squared[k];
            numbers_[size] = static_cast<std::int32_t>(first + k);
            size += squared[k] < bound_;
        }
        size_ = size;
        if (size_ > 2 * wanted_) shorten();
    }

    // Writes their numbers, in rising order.
    void write(std::int32_t* out) {
        if (size_ > wanted_) shorten();
        std::copy(numbers_.begin(), numbers_.begin() + size_, out);
    }

  private:
    void shorten() {
        ranked_.assign(squared_.begin(), squared_.begin() + size_);
        const auto last = ranked_.begin() + (wanted_ - 1);
        std::nth_element(ranked_.begin(), last, ranked_.end());
        bound_ = *last;
        std::size_t ties = 1;  // at the bound that are wanted
        for (auto it = ranked_.begin(); it != last; ++it) ties += *it == bound_;
        std::size_t kept = 0;
        for (std::size_t k = 0; k < size_; ++k) {
            const bool tied = squared_[k] == bound_ && ties > 0;
            const bool wanted = squared_[k] < bound_ || tied;
            squared_[kept] = squared_[k];
            numbers_[kept] = numbers_[k];
            kept += wanted;
            ties -= tied;
        }
        size_ = kept;
    }

    std::size_t wanted_, size_ = 0;
    double bound_ = kUnbounded;
    std::vector<double> squared_, ranked_;
    std::vector<std::int32_t> numbers_;
};

// Blocks of centers: every tile of points is laid out once for all of a block.
class NearestWorker {
  public:
    static constexpr std::size_t kBlock = 32;

    NearestWorker(const Points& points, const double* centers, std::size_t count, std::size_t wanted,
                  std::int32_t* out)
        : points_(points), centers_(centers), count_(count), wanted_(wanted), out_(out),
          lists_(kBlock, Shortlist(wanted, kTile)), samples_(kBlock), numbers_(kTile),
          origin_(points.dim, 0.0), columns_(points.dim * kStride), groups_(points.dim * kBlock),
          squared_(kCenters * kStride) {}

    void operator()(std::size_t block) {
        const std::size_t first = block * kBlock, size = std::min(kBlock, count_ - first);
        guess_bounds(first, size);
        search(first, size);
        for (std::size_t c = 0; c < size; ++c) {
            if (!lists_[c].full()) {  // the bound was too low
                lists_[c].clear(kUnbounded);
                std::swap(lists_[0], lists_[c]);
                search(first + c, 1);
                std::swap(lists_[0], lists_[c]);
            }
            lists_[c].write(out_ + (first + c) * wanted_);
        }
    }

  private:
    static constexpr std::size_t kTile = 256, kStride = kTile + kLane, kEvery = 16;

    // Bounds that a little more than the wanted points will probably keep, from every k-th point.
    void guess_bounds(std::size_t first, std::size_t size) {
        const double expected = static_cast<double>(wanted_) / kEvery;
        const auto rank = static_cast<std::size_t>(expected + 4.0 * std::sqrt(expected) + 4.0);
        const bool enough = 2 * rank < points_.n / kEvery;
        for (std::size_t c = 0; c < size; ++c) samples_[c].clear();
        if (enough)
            visit(first, size, kEvery, [&](std::size_t c, const double* squared, std::size_t here, std::size_t) {
                samples_[c].insert(samples_[c].end(), squared, squared + here);
            });
        for (std::size_t c = 0; c < size; ++c) {
            if (enough)
                std::nth_element(samples_[c].begin(), samples_[c].begin() + rank, samples_[c].end());
            lists_[c].clear(enough ? samples_[c][rank] : kUnbounded);
        }
    }

    void search(std::size_t first, std::size_t size) {
        visit(first, size, 1, [&](std::size_t c, const double* squared, std::size_t here, std::size_t from) {
            lists_[c].offer(squared, here, from);
        });
    }

    // Calls take(c, squared, count, from) with squared distances of center first + c from points from,
    // from + every, ...
    template <class Take>
    void visit(std::size_t first, std::size_t size, std::size_t every, Take take) {
        const std::size_t dim = points_.dim, total = (points_.n + every - 1) / every;
        for (std::size_t c = 0; c < size; ++c)
            for (std::size_t a = 0; a < dim; ++a)
                groups_[(c / kCenters * dim + a) * kCenters + c % kCenters] =
                    centers_[(first + c) * dim + a];
        for (std::size_t from = 0; from < total; from += kTile) {
            const std::size_t here = std::min(kTile, total - from);
            for (std::size_t k = 0; k < here; ++k)
                numbers_[k] = static_cast<std::int32_t>((from + k) * every);
            gather_columns(points_, numbers_.data(), here, origin_.data(), nullptr, columns_.data(),
                           kStride);
            for (std::size_t c = 0; c < size; ++c) {
                if (c % kCenters == 0)
                    hot_.squared_distances(columns_.data(), kStride, here, groups_.data() + c * dim, dim,
                                           squared_.data());
                take(c, squared_.data() + c % kCenters * kStride, here, from * every);
            }
        }
    }

    const Points& points_;
    const double* centers_;
    std::size_t count_, wanted_;
    std::int32_t* out_;
    const HotLoops& hot_ = hot_loops();
    std::vector<Shortlist> lists_;
    std::vector<std::vector<double>> samples_;
    std::vector<std::int32_t> numbers_;
    std::vector<double> origin_, columns_, groups_, squared_;
};

// out (count x wanted): numbers of the nearest points of each center, in rising order.
template <class Interrupted>
bool nearest(const Points& points, const double* centers, std::size_t count, std::size_t wanted,
             std::int32_t* out, int threads, Interrupted interrupted) {
    const std::size_t blocks = (count + NearestWorker::kBlock - 1) / NearestWorker::kBlock;
    const auto make = [&] { return NearestWorker(points, centers, count, wanted, out); };
    return parallel_for(blocks, threads, make, interrupted);
}

}  // namespace localegop
