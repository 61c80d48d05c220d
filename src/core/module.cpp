// Python bindings of the compiled core: plain arrays in, plain arrays out.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "blend.hpp"
#include "city_block.hpp"
#include "covariances.hpp"
#include "dispatch.hpp"
#include "hot.hpp"
#include "kriging.hpp"
#include "nearest.hpp"
#include "neighborhoods.hpp"
#include "parallel.hpp"
#include "points.hpp"
#include "sampled.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace localegop {
namespace {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Filled = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;  // given to be filled
using Out = nb::ndarray<nb::numpy, double>;

// A new array that Python owns, filled by `data`.
struct Fresh {
    explicit Fresh(std::vector<std::size_t> shape_) : shape(std::move(shape_)) {
        std::size_t size = 1;
        for (std::size_t s : shape) size *= s;
        data = new double[size > 0 ? size : 1];
        owner = nb::capsule(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    }
    Out array() const { return Out(data, shape.size(), shape.data(), owner); }
    std::vector<std::size_t> shape;
    double* data;
    nb::capsule owner;
};

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

bool signal_arrived() {
    nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

// Runs a loop without the GIL; a signal handler's exception (Ctrl-C) passes on to Python.
template <class Loop>
void without_gil(Loop loop) {
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = loop();
    }
    if (!finished) throw nb::python_error();
}

Points make_points(In<double, 2> rows, In<double, 2> labels, In<double, 1> sample_weights,
                   const std::optional<In<double, 3>>& slopes) {
    Points p;
    p.n = rows.shape(0), p.dim = rows.shape(1), p.outputs = labels.shape(1);
    require(labels.shape(0) == p.n && sample_weights.shape(0) == p.n,
            "rows, labels and sample_weights differ in length");
    require(p.n > 0 && p.n < (std::size_t{1} << 31), "the number of points must be in 1 .. 2^31");
    p.rows.assign(rows.data(), rows.data() + p.n * p.dim);
    p.labels.assign(labels.data(), labels.data() + p.n * p.outputs);
    p.sample_weights.assign(sample_weights.data(), sample_weights.data() + p.n);
    if (!slopes) return p;
    require(slopes->shape(0) == p.n && slopes->shape(1) == p.outputs && slopes->shape(2) == p.dim,
            "slopes must be (points, outputs, dimensions)");
    p.slopes.assign(slopes->data(), slopes->data() + p.n * p.outputs * p.dim);
    return p;
}

KernelId kernel_named(const std::string& name) {
    for (std::size_t k = 0; k < kKernelCount; ++k)
        if (name == kKernels[k].name) return static_cast<KernelId>(k);
    throw nb::value_error(("there is no kernel named '" + name + "'").c_str());
}

// (name, support, whether shift invariant) of every kernel of the table.
nb::tuple kernel_table() {
    nb::list table;
    for (const KernelTraits& kernel : kKernels)
        table.append(nb::make_tuple(kernel.name, kernel.support, kernel.decay > 0.0));
    return nb::tuple(table);
}

Out kernel_profile(const std::string& name, In<double, 1> squared) {
    const std::size_t count = squared.shape(0);
    std::vector<double> u(padded(count)), weights(padded(count));
    std::copy(squared.data(), squared.data() + count, u.begin());
    hot_loops().weights(kernel_named(name), u.data(), nullptr, count, 1.0, 0.0, weights.data());
    Fresh out({count});
    std::copy(weights.begin(), weights.begin() + count, out.data);
    return out.array();
}

KernelSpec named_kernel(const std::string& name, double cutoff, double tolerance) {
    KernelSpec kernel;
    kernel.id = kernel_named(name);
    kernel.support = kKernels[static_cast<std::size_t>(kernel.id)].support;
    kernel.decay = kKernels[static_cast<std::size_t>(kernel.id)].decay;
    kernel.cutoff = cutoff;
    kernel.tolerance = tolerance;
    return kernel;
}

KernelSpec custom_kernel(nb::callable profile, double support, bool shift_invariant, double cutoff,
                         double tolerance) {
    KernelSpec kernel;
    kernel.id = KernelId::custom;
    kernel.support = support;
    kernel.cutoff = cutoff;
    kernel.tolerance = tolerance;
    kernel.profile = [profile](const double* u, double* w, std::size_t count) {
        nb::gil_scoped_acquire acquire;
        nb::object result = profile(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(
            u, {count}, nb::handle()).cast(nb::rv_policy::copy));
        const auto weights = nb::cast<In<double, 1>>(result);
        require(weights.shape(0) == count, "the kernel must return one weight per distance");
        std::copy(weights.data(), weights.data() + count, w);
    };
    if (shift_invariant) {
        const double u[2] = {0.0, 1.0};
        double w[2];
        kernel.profile(u, w, 2);
        kernel.decay = std::log(w[0] / w[1]);
        require(kernel.decay > 0.0 && std::isfinite(kernel.decay),
                "a shift invariant kernel must fall from squared distance 0 to 1, but not to zero");
    }
    return kernel;
}

// Weights of the neighbors of a batch of centers, and averages with them.
struct Neighborhoods {
    std::shared_ptr<const Points> points;
    std::vector<Neighbors> kept;

    void outer_products(In<double, 3> gradients, Filled<double, 3> out, int threads) const {
        require(gradients.shape(0) == points->n && gradients.shape(2) == points->dim,
                "gradients must be (points, outputs, dimensions)");
        require(out.shape(0) == kept.size() && out.shape(1) == points->dim && out.shape(2) == points->dim,
                "out must be (centers, dimensions, dimensions)");
        without_gil([&] {
            return average_outer_products(*points, kept, gradients.data(), gradients.shape(1), out.data(),
                                          threads, signal_arrived);
        });
    }

    Out means(In<double, 2> values, int threads) const {
        require(values.shape(0) == points->n, "values must have one row per point");
        Fresh out({kept.size(), values.shape(1)});
        without_gil([&] {
            return average(kept, values.data(), values.shape(1), out.data, threads, signal_arrived);
        });
        return out.array();
    }

    Out scale() const { return of_each(&Neighbors::scale); }
    Out effective_size() const { return of_each(&Neighbors::effective_size); }

    Out of_each(double Neighbors::*number) const {
        Fresh out({kept.size()});
        for (std::size_t i = 0; i < kept.size(); ++i) out.data[i] = kept[i].*number;
        return out.array();
    }

    nb::tuple neighbors(std::size_t i) const {
        require(i < kept.size(), "no such center");
        const Neighbors& found = kept[i];
        auto* indices = new std::int32_t[found.indices.size() + 1];
        std::copy(found.indices.begin(), found.indices.end(), indices);
        nb::capsule owner(indices, [](void* p) noexcept { delete[] static_cast<std::int32_t*>(p); });
        Fresh weights({found.weights.size()});
        std::copy(found.weights.begin(), found.weights.end(), weights.data);
        return nb::make_tuple(nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>(
                                  indices, {found.indices.size()}, owner),
                              weights.array());
    }

    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const Neighbors& found : kept)
            sum += sizeof(found) + found.indices.capacity() * 4 + found.weights.capacity() * 8;
        return sum;
    }
};

// What all batches have in common.
Batch make_batch(const Points& points, In<double, 2> centers, In<double, 3> metrics,
                 const std::optional<In<std::int64_t, 1>>& start,
                 const std::optional<In<std::int32_t, 1>>& indices,
                 const std::optional<In<std::int64_t, 1>>& left_out) {
    const std::size_t count = centers.shape(0), dim = points.dim;
    require(centers.shape(1) == dim, "centers differ from the points in width");
    require(metrics.shape(0) == count && metrics.shape(1) == dim && metrics.shape(2) == dim,
            "there must be one metric a center");
    require(!start || (indices && start->shape(0) == count + 1), "candidate lists must match the centers");
    require(!left_out || left_out->shape(0) == count, "left_out must match the centers");
    Batch batch;
    batch.count = count;
    batch.centers = centers.data();
    batch.metrics = metrics.data();
    if (start) batch.candidates = {start->data(), indices->data()};
    if (left_out) batch.left_out = left_out->data();
    return batch;
}

nb::tuple localize_batch(std::shared_ptr<Points> points, const KernelSpec& kernel, In<double, 2> centers,
                         In<double, 3> metrics, std::optional<In<std::int64_t, 1>> start,
                         std::optional<In<std::int32_t, 1>> indices,
                         std::optional<In<std::int64_t, 1>> left_out,
                         std::optional<In<double, 2>> targets, std::optional<In<double, 2>> scales,
                         bool keep, std::optional<In<double, 1>> kept_targets, int degree,
                         std::vector<std::size_t> quadratic_directions, std::vector<double> ridges,
                         bool gradients, bool variances, int threads, bool logistic, double slope_weight) {
    const std::size_t count = centers.shape(0), dim = points->dim, outputs = points->outputs;
    Batch batch = make_batch(*points, centers, metrics, start, indices, left_out);
    require(!logistic || outputs > 1, "logistic fits need one-hot labels of two classes or more");
    require(targets || scales, "either targets or scales must be given");
    require(!targets || targets->shape(0) == count, "targets must match the centers");
    require(!scales || scales->shape(0) == count, "scales must match the centers");
    require(!targets || !scales || targets->shape(1) == scales->shape(1), "targets and scales differ");
    require(kernel.id != KernelId::custom || threads == 1, "custom kernels run on one thread");
    for (std::size_t n : quadratic_directions)
        require(n <= dim, "there cannot be more quadratic directions than dimensions");
    const std::size_t sizes = targets ? targets->shape(1) : scales->shape(1);
    batch.sizes = sizes;
    if (targets) batch.targets = targets->data();
    if (scales) batch.scales = scales->data();
    require(!kept_targets || kept_targets->shape(0) == count, "kept_targets must match the centers");
    batch.keep = keep;
    if (keep && kept_targets) batch.kept_targets = kept_targets->data();
    batch.degree = degree;
    batch.logistic = logistic;
    batch.quadratic_directions = quadratic_directions;
    batch.ridges = ridges;
    batch.slope_weight = slope_weight;

    const std::size_t bases = degree < 0 ? 0 : quadratic_directions.size();
    Fresh out_scales({count, sizes}), effective({count, sizes}),
        values({count, sizes, bases, ridges.size(), outputs}),
        slopes({gradients ? count : 0, sizes, bases, ridges.size(), outputs, dim}),
        factors({variances ? count : 0, sizes, bases, ridges.size()});
    auto hoods = std::make_unique<Neighborhoods>();
    hoods->points = points;
    const BatchResult result{out_scales.data, effective.data, values.data,
                             gradients ? slopes.data : nullptr, variances ? factors.data : nullptr};
    without_gil([&] {
        return localize(*points, kernel, batch, result, hoods->kept, threads, signal_arrived);
    });
    return nb::make_tuple(nb::cast(hoods.release(), nb::rv_policy::take_ownership), out_scales.array(),
                          effective.array(), values.array(), slopes.array(), factors.array());
}

nb::tuple krige_batch(std::shared_ptr<Points> points, const KernelSpec& kernel, In<double, 2> centers,
                      In<double, 3> metrics, std::optional<In<std::int64_t, 1>> start,
                      std::optional<In<std::int32_t, 1>> indices,
                      std::optional<In<std::int64_t, 1>> left_out, In<double, 1> targets,
                      std::size_t most, std::vector<double> lengths, std::vector<double> ridges,
                      std::vector<bool> trends, std::vector<bool> rough, bool gradients,
                      bool variances, int threads) {
    const std::size_t count = centers.shape(0), dim = points->dim, outputs = points->outputs;
    Batch batch = make_batch(*points, centers, metrics, start, indices, left_out);
    require(targets.shape(0) == count, "targets must match the centers");
    require(most > 0, "there must be at least one point at each center");
    require(lengths.size() == ridges.size() && lengths.size() == trends.size() &&
                lengths.size() == rough.size(),
            "there must be as many ridges, trends and kinds as lengths");
    require(kernel.id != KernelId::custom || threads == 1, "custom kernels run on one thread");
    batch.targets = targets.data();
    const std::size_t fits = lengths.size();
    Fresh scales({count}), effective({count}), values({count, fits, outputs}),
        slopes({gradients ? count : 0, fits, outputs, dim}), factors({variances ? count : 0, fits});
    const BatchResult result{scales.data, effective.data, values.data, gradients ? slopes.data : nullptr,
                             variances ? factors.data : nullptr};
    const KrigingPlan plan{most, lengths, ridges, trends, rough};
    without_gil([&] { return krige(*points, kernel, batch, plan, result, threads, signal_arrived); });
    return nb::make_tuple(scales.array(), effective.array(), values.array(), slopes.array(),
                          factors.array());
}

// One width a center, by effective sizes or scales.
void set_widths(Batch& batch, const std::optional<In<double, 1>>& targets,
                const std::optional<In<double, 1>>& scales) {
    require(targets || scales, "either targets or scales must be given");
    require(!targets || targets->shape(0) == batch.count, "targets must match the centers");
    require(!scales || scales->shape(0) == batch.count, "scales must match the centers");
    if (targets) batch.targets = targets->data();
    if (scales) batch.scales = scales->data();
}

KeptFits kept_polynomials(std::shared_ptr<Points> points, const KernelSpec& kernel, In<double, 2> centers,
                          In<double, 3> metrics, std::optional<In<std::int64_t, 1>> start,
                          std::optional<In<std::int32_t, 1>> indices,
                          std::optional<In<double, 1>> targets, std::optional<In<double, 1>> scales,
                          int degree, std::size_t quadratic_directions, double ridge, int threads,
                          double slope_weight) {
    Batch batch = make_batch(*points, centers, metrics, start, indices, std::nullopt);
    set_widths(batch, targets, scales);
    require(kernel.id != KernelId::custom || threads == 1, "custom kernels run on one thread");
    require(degree == 0 || degree == 1, "degree must be 0 or 1");
    require(quadratic_directions <= (degree == 0 ? 0 : points->dim),
            "there cannot be more quadratic directions than dimensions, and none for degree 0");
    batch.degree = degree;
    batch.slope_weight = slope_weight;
    KeptFits fits;
    without_gil([&] {
        return keep_polynomials(*points, kernel, batch, quadratic_directions, ridge, fits, threads,
                                signal_arrived);
    });
    return fits;
}

KeptFits kept_kriging(std::shared_ptr<Points> points, const KernelSpec& kernel, In<double, 2> centers,
                      In<double, 3> metrics, std::optional<In<std::int64_t, 1>> start,
                      std::optional<In<std::int32_t, 1>> indices, std::optional<In<double, 1>> targets,
                      std::optional<In<double, 1>> scales, std::size_t most, double length, double ridge,
                      bool trend, bool rough, int threads) {
    Batch batch = make_batch(*points, centers, metrics, start, indices, std::nullopt);
    set_widths(batch, targets, scales);
    require(kernel.id != KernelId::custom || threads == 1, "custom kernels run on one thread");
    require(most > 0, "there must be at least one point at each center");
    const KrigingPlan plan{most, {length}, {ridge}, {trend}, {rough}};
    KeptFits fits;
    without_gil([&] { return keep_kriging(*points, kernel, batch, plan, fits, threads, signal_arrived); });
    return fits;
}

// Values (queries x outputs), the squared distance (queries) of the nearest center in its own metric, and, if
// asked for, gradients (queries x outputs x dim) of the values.
nb::tuple blended(const KeptFits& fits, In<double, 2> queries, In<std::int32_t, 2> lists,
                  std::size_t active, int threads, bool gradients) {
    const std::size_t count = queries.shape(0);
    require(queries.shape(1) == fits.dim(), "queries differ from the centers in width");
    require(lists.shape(0) == count && lists.shape(1) > 0, "there must be one list of centers a query");
    require(active > 0, "there must be at least one active center");
    for (std::size_t k = 0; k < count * lists.shape(1); ++k)
        require(lists.data()[k] >= 0 && static_cast<std::size_t>(lists.data()[k]) < fits.centers.n,
                "lists name centers that there are not");
    Fresh values({count, fits.outputs}), distances({count}),
        slopes({gradients ? count : 0, fits.outputs, fits.dim()});
    const Sharing sharing{lists.shape(1) - 1, active};
    without_gil([&] {
        return blend(fits, sharing, queries.data(), count, lists.data(), values.data, distances.data,
                     gradients ? slopes.data : nullptr, threads, signal_arrived);
    });
    return nb::make_tuple(values.array(), distances.array(), slopes.array());
}

Weighting weighting_named(const std::string& name) {
    if (name == "unbiased") return Weighting::unbiased;
    if (name == "uniform") return Weighting::uniform;
    if (name == "renormalized") return Weighting::renormalized;
    throw nb::value_error(("there is no weighting named '" + name + "'").c_str());
}

nb::tuple sampled_steps(std::shared_ptr<Points> points, const KernelSpec& kernel, In<double, 2> queries,
                        In<double, 3> metrics, std::optional<In<std::int64_t, 1>> start,
                        std::optional<In<std::int32_t, 1>> indices,
                        std::optional<In<double, 1>> targets, std::optional<In<double, 1>> scales,
                        In<std::uint64_t, 1> seeds, std::uint64_t t, std::size_t subsamples,
                        double ridge, const std::string& weighting, int threads) {
    const std::size_t count = queries.shape(0), dim = points->dim, outputs = points->outputs;
    require(queries.shape(1) == dim, "queries differ from the points in width");
    require(metrics.shape(0) == count && metrics.shape(1) == dim && metrics.shape(2) == dim,
            "there must be one metric a query");
    require(!start || (indices && start->shape(0) == count + 1), "candidate lists must match the queries");
    require(targets || scales, "either targets or scales must be given");
    require(!targets || targets->shape(0) == count, "targets must match the queries");
    require(!scales || scales->shape(0) == count, "scales must match the queries");
    require(seeds.shape(0) == count, "seeds must match the queries");
    require(kernel.id != KernelId::custom || threads == 1, "custom kernels run on one thread");
    const SampledStep step{subsamples, ridge, weighting_named(weighting)};
    Fresh out_scales({count}), sizes({count}), errors({count}), drawn({count}), values({count, outputs}),
        gradients({count, outputs, dim}), agops({count, dim, dim});
    without_gil([&] {
        const auto make = [&] {
            return [&, worker = SampledQuery(*points, kernel, step)](std::size_t i) mutable {
                const std::int32_t* list = start ? indices->data() + start->data()[i] : nullptr;
                const std::size_t size =
                    start ? start->data()[i + 1] - start->data()[i] : points->n;
                worker.run(queries.data() + i * dim, metrics.data() + i * dim * dim, list, size,
                           targets ? targets->data()[i] : 0.0, scales ? scales->data()[i] : 0.0,
                           seeds.data()[i], t, values.data + i * outputs,
                           gradients.data + i * outputs * dim, agops.data + i * dim * dim);
                out_scales.data[i] = worker.scale;
                sizes.data[i] = worker.size;
                errors.data[i] = worker.loo_error;
                drawn.data[i] = worker.drawn;
            };
        };
        return parallel_for(count, threads, make, signal_arrived);
    });
    return nb::make_tuple(agops.array(), errors.array(), values.array(), gradients.array(),
                          out_scales.array(), sizes.array(), drawn.array());
}

// Names of those that this processor can run, slowest first.
nb::tuple instruction_sets() {
    nb::list names;
    for (const HotLoops* loops : runnable_hot_loops()) names.append(loops->name);
    return nb::tuple(names);
}

// Fills out (centers x wanted) with numbers of the nearest points, in rising order.
void nearest_points(const Points& points, In<double, 2> centers, Filled<std::int32_t, 2> out,
                    int threads) {
    require(centers.shape(1) == points.dim, "centers must have as many features as points");
    require(out.shape(0) == centers.shape(0), "out must have one row per center");
    require(out.shape(1) > 0 && out.shape(1) <= points.n, "out must have 1 .. n columns");
    without_gil([&] {
        return nearest(points, centers.data(), centers.shape(0), out.shape(1), out.data(), threads,
                       signal_arrived);
    });
}

// Rows (n x dim) as columns (dim x padded(n)).
std::vector<double> columns_of(const double* rows, std::size_t n, std::size_t dim) {
    std::vector<double> columns(dim * padded(n), 0.0);
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t r = 0; r < dim; ++r) columns[r * padded(n) + k] = rows[k * dim + r];
    return columns;
}

// Covariances between centers and all rows, each (centers x rows) where asked for; see covariances.hpp.
void process_covariances(In<double, 2> rows, In<double, 2> centers, const std::string& kernel, double scale,
                         double constant, double slope, std::optional<Filled<double, 2>> squared,
                         std::optional<Filled<double, 2>> kernels,
                         std::optional<Filled<double, 2>> covariances, bool lower, int threads) {
    const std::size_t n = rows.shape(0), dim = rows.shape(1), count = centers.shape(0);
    require(centers.shape(1) == dim, "centers must have as many features as rows");
    require(!lower || count == n, "a lower triangle takes all rows as centers");
    const auto place = [&](std::optional<Filled<double, 2>>& out) -> double* {
        if (!out) return nullptr;
        require(out->shape(0) == count && out->shape(1) == n, "outputs must be (centers, rows)");
        return out->data();
    };
    const CovarianceOutput out{place(squared), place(kernels), place(covariances)};
    const Covariance process{kernel_named(kernel), scale, constant, slope};
    without_gil([&] {
        const std::vector<double> columns = columns_of(rows.data(), n, dim);
        const CovarianceInput in{columns.data(), padded(n), n, dim, centers.data(), count, lower};
        return fill_covariances(in, process, out, threads, signal_arrived);
    });
}

// Covariances (centers x rows) of a jagged process; see city_block.hpp.
void city_block(In<double, 2> rows, In<double, 2> centers, Filled<double, 2> out, bool lower, int threads) {
    const std::size_t n = rows.shape(0), dim = rows.shape(1), count = centers.shape(0);
    require(centers.shape(1) == dim, "centers must have as many features as rows");
    require(!lower || count == n, "a lower triangle takes all rows as centers");
    require(out.shape(0) == count && out.shape(1) == n, "out must be (centers, rows)");
    without_gil([&] {
        const std::vector<double> columns = columns_of(rows.data(), n, dim);
        const CovarianceInput in{columns.data(), padded(n), n, dim, centers.data(), count, lower};
        return fill_city_block(in, out.data(), threads, signal_arrived);
    });
}

// Sums (dim,) of the distances along each feature between all rows, weighted by a symmetric matrix.
void weighted_distances(In<double, 2> rows, In<double, 2> matrix, Filled<double, 1> out) {
    const std::size_t n = rows.shape(0), dim = rows.shape(1);
    require(matrix.shape(0) == n && matrix.shape(1) == n, "matrix must be (rows, rows)");
    require(out.shape(0) == dim, "out must have one entry per feature");
    without_gil([&] {
        const std::vector<double> columns = columns_of(rows.data(), n, dim);
        city_block_sums(columns.data(), padded(n), n, dim, matrix.data(), out.data());
        return true;
    });
}

}  // namespace
}  // namespace localegop

NB_MODULE(_core, m) {
    using namespace localegop;
    nb::set_leak_warnings(false);  // globals alive at exit are no leak
    m.doc() = "Compiled core of localegop.";
    m.attr("instruction_set") = hot_loops().name;
    m.attr("instruction_sets") = instruction_sets();
    m.attr("threading") = kThreading;
    nb::class_<Points>(m, "Points", "Training points, labels and sample weights.")
        .def(nb::new_([](In<double, 2> rows, In<double, 2> labels, In<double, 1> sample_weights,
                         std::optional<In<double, 3>> slopes) {
                 return std::make_shared<Points>(make_points(rows, labels, sample_weights, slopes));
             }),
             "rows"_a, "labels"_a, "sample_weights"_a, "slopes"_a = nb::none());
    m.attr("kernels") = kernel_table();
    m.def("kernel_profile", &kernel_profile, "name"_a, "squared_distances"_a,
          "k(u) of a kernel of the table.");
    nb::class_<KernelSpec>(m, "KernelSpec", "Kernel and tolerances that cut neighborhoods out of the data.")
        .def_static("named", &named_kernel, "name"_a, "cutoff"_a, "tolerance"_a)
        .def_static("custom", &custom_kernel, "profile"_a, "support"_a, "shift_invariant"_a, "cutoff"_a,
                    "tolerance"_a);
    nb::class_<Neighborhoods>(m, "Neighborhoods", "Weights of the neighbors of a batch of centers.")
        .def("outer_products", &Neighborhoods::outer_products, "gradients"_a, "out"_a, "threads"_a)
        .def("means", &Neighborhoods::means, "values"_a, "threads"_a)
        .def("neighbors", &Neighborhoods::neighbors, "center"_a)
        .def_prop_ro("scale", &Neighborhoods::scale, nb::rv_policy::move)
        .def_prop_ro("effective_size", &Neighborhoods::effective_size, nb::rv_policy::move)
        .def_prop_ro("nbytes", &Neighborhoods::bytes);
    m.def("localize", &localize_batch, "points"_a, "kernel"_a, "centers"_a, "metrics"_a,
          "start"_a.none(), "indices"_a.none(), "left_out"_a.none(), "targets"_a.none(),
          "scales"_a.none(), "keep"_a, "kept_targets"_a.none(), "degree"_a,
          "quadratic_directions"_a, "ridges"_a, "gradients"_a, "variances"_a, "threads"_a,
          "logistic"_a = false, "slope_weight"_a = 0.0);
    m.def("krige", &krige_batch, "points"_a, "kernel"_a, "centers"_a, "metrics"_a, "start"_a.none(),
          "indices"_a.none(), "left_out"_a.none(), "targets"_a, "most"_a, "lengths"_a, "ridges"_a,
          "trends"_a, "rough"_a, "gradients"_a, "variances"_a, "threads"_a);
    nb::class_<KeptFits>(m, "KeptFits", "Final fits kept at centers, to be blended at queries.")
        .def_static("polynomials", &kept_polynomials, "points"_a, "kernel"_a, "centers"_a, "metrics"_a,
                    "start"_a.none(), "indices"_a.none(), "targets"_a.none(), "scales"_a.none(), "degree"_a,
                    "quadratic_directions"_a, "ridge"_a, "threads"_a, "slope_weight"_a = 0.0)
        .def_static("kriging", &kept_kriging, "points"_a, "kernel"_a, "centers"_a, "metrics"_a,
                    "start"_a.none(), "indices"_a.none(), "targets"_a.none(), "scales"_a.none(), "most"_a,
                    "length"_a, "ridge"_a, "trend"_a, "rough"_a, "threads"_a)
        .def("blend", &blended, "queries"_a, "lists"_a, "active"_a, "threads"_a, "gradients"_a = false)
        .def_prop_ro("nbytes", &KeptFits::bytes);
    m.def("sampled_steps", &sampled_steps, "points"_a, "kernel"_a, "queries"_a, "metrics"_a,
          "start"_a.none(), "indices"_a.none(), "targets"_a.none(), "scales"_a.none(), "seeds"_a,
          "t"_a, "subsamples"_a, "ridge"_a, "weighting"_a, "threads"_a);
    m.def("nearest", &nearest_points, "points"_a, "centers"_a, "out"_a, "threads"_a);
    m.def("city_block", &city_block, "rows"_a, "centers"_a, "out"_a, "lower"_a, "threads"_a);
    m.def("weighted_distances", &weighted_distances, "rows"_a, "matrix"_a, "out"_a);
    m.def("covariances", &process_covariances, "rows"_a, "centers"_a, "kernel"_a, "scale"_a, "constant"_a,
          "slope"_a, "squared"_a.none(), "kernels"_a.none(), "covariances"_a.none(), "lower"_a, "threads"_a);
    m.def("gram",
          [](In<double, 2> columns) {
              Fresh out({columns.shape(0), columns.shape(0)});
              require(columns.shape(1) % kLane == 0, "gram: the number of points must be padded");
              without_gil([&] {
                  std::fill_n(out.data, columns.shape(0) * columns.shape(0), 0.0);
                  hot_loops().gram(columns.data(), columns.shape(1), columns.shape(1),
                                   columns.shape(0), out.data);
                  return true;
              });
              return out.array();
          },
          "columns"_a, "Lower triangle of columns @ columns.T, for tests and benchmarks.");
}
