// Python bindings of the compiled core: plain arrays in, plain arrays out.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>

#include "distances.hpp"

namespace nb = nanobind;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

namespace {

OutVector squared_distances(Matrix points, Vector center, Matrix metric) {
    const std::size_t n = points.shape(0), dim = points.shape(1);
    if (center.shape(0) != dim || metric.shape(0) != dim || metric.shape(1) != dim)
        throw nb::value_error("squared_distances: points, center and metric differ in width");
    auto* out = new double[n];
    nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    {
        nb::gil_scoped_release release;
        localegop::squared_distances(points.data(), center.data(), metric.data(), n, dim, out);
    }
    return OutVector(out, {n}, owner);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of localegop.";
    m.def("squared_distances", &squared_distances, nb::arg("points"), nb::arg("center"),
          nb::arg("metric"),
          "Squared Mahalanobis distances (x - c)' M (x - c) of every row of `points` from `center`.");
}
