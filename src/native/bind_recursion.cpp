// The two loops of a limited-memory quasi-Newton direction, for Python: lists of vectors in, vectors out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bind.hpp"
#include "fresh.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tensorpmf {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vectors = std::vector<Vector>;
using Numbers = std::vector<double>;

// Summed in eight strands, so that the compiler can keep them in vector registers.
double inner(const double* a, const double* b, std::size_t n) {
    double strands[8] = {}, rest = 0.0;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t k = 0; k < 8; ++k) strands[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) rest += a[i] * b[i];
    for (double strand : strands) rest += strand;
    return rest;
}

void add(double share, const double* from, std::size_t n, double* to) {
    for (std::size_t i = 0; i < n; ++i) to[i] += share * from[i];
}

double* copy(const Vectors& moves, const Vectors& falls, const Numbers& numbers, const Vector& vector) {
    const auto fits = [&](const Vector& each) { return each.size() == vector.size(); };
    if (moves.size() != falls.size() || moves.size() != numbers.size() || !std::all_of(moves.begin(), moves.end(), fits) ||
        !std::all_of(falls.begin(), falls.end(), fits))
        throw nb::value_error("moves and falls must come in pairs as long as the vector");
    double* out = fresh(vector.size());
    std::copy_n(vector.data(), vector.size(), out);
    return out;
}

nb::tuple descend(const Vectors& moves, const Vectors& falls, const Numbers& curvatures, const Vector& gradient) {
    const std::size_t n = gradient.size();
    double* out = copy(moves, falls, curvatures, gradient);
    Numbers shares(moves.size());
    for (std::size_t i = moves.size(); i-- > 0;) {
        shares[i] = inner(moves[i].data(), out, n) / curvatures[i];
        add(-shares[i], falls[i].data(), n, out);
    }
    return nb::make_tuple(Fresh<1>(out, {n}, owner_of(out)), shares);
}

Fresh<1> ascend(const Vectors& moves, const Vectors& falls, const Numbers& curvatures, const Numbers& shares, const Vector& ahead) {
    const std::size_t n = ahead.size();
    double* out = copy(moves, falls, curvatures, ahead);
    for (std::size_t i = 0; i < moves.size(); ++i)
        add(shares.at(i) - inner(falls[i].data(), out, n) / curvatures[i], moves[i].data(), n, out);
    return Fresh<1>(out, {n}, owner_of(out));
}

}  // namespace

void bind_recursion(nb::module_& m) {
    m.def("descend", &descend, "moves"_a, "falls"_a, "curvatures"_a, "gradient"_a);
    m.def("ascend", &ascend, "moves"_a, "falls"_a, "curvatures"_a, "shares"_a, "ahead"_a);
}

}  // namespace tensorpmf
