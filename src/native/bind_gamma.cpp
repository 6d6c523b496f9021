// The functions around log Gamma, for Python: arrays of any shape in, arrays of that shape out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "bind.hpp"
#include "fresh.hpp"
#include "gamma.hpp"
#include "isa.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tensorpmf {
namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <void (*GammaKernels::*function)(const double*, std::int64_t, double*)>
nb::ndarray<nb::numpy, double> elementwise(Doubles x) {
    double* out = fresh(x.size());
    (kernels<GammaKernels>().*function)(x.data(), std::int64_t(x.size()), out);
    std::size_t shape[8];
    for (std::size_t i = 0; i < x.ndim(); ++i) shape[i] = x.shape(i);
    return nb::ndarray<nb::numpy, double>(out, x.ndim(), shape, owner_of(out));
}

nb::tuple expected_log_stacked(Matrix alpha, Offsets offsets, Vector prior) {
    const StackedDirichlet stacked{std::int64_t(offsets.size()) - 1, std::int64_t(alpha.shape(1)), offsets.data(), alpha.data(), prior.data()};
    if (std::int64_t(alpha.shape(0)) != offsets.data()[stacked.n_columns] || prior.size() != alpha.shape(0))
        throw nb::value_error("alpha and prior must have an entry for each stacked level");
    double* out = fresh(alpha.size());
    const double divergence = kernels<GammaKernels>().expected_log(stacked, out);
    return nb::make_tuple(Fresh<2>(out, {alpha.shape(0), alpha.shape(1)}, owner_of(out)), divergence);
}

}  // namespace

void bind_gamma(nb::module_& m) {
    m.def("digamma", &elementwise<&GammaKernels::digamma>, "x"_a);
    m.def("trigamma", &elementwise<&GammaKernels::trigamma>, "x"_a);
    m.def("log_gamma", &elementwise<&GammaKernels::log_gamma>, "x"_a);
    m.def("expected_log_stacked", &expected_log_stacked, "alpha"_a, "offsets"_a, "prior"_a);
}

}  // namespace tensorpmf
