// The functions around log Gamma, and what Dirichlet distributions need of them, compiled once per instruction set.
//
// Each number is moved up by eight (psi(x) = psi(x + 1) - 1/x and so on), where the asymptotic series are exact to the
// last digits: Abramowitz and Stegun 6.1.40, 6.3.18, 6.4.12.
#include "gamma.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "isa.hpp"
#include "simd.hpp"
#include "strips.hpp"

namespace {

using namespace tensorpmf;

constexpr int lanes = Lanes<double>::width;
constexpr int shift = 8;

struct Values {
    F64 digamma, trigamma, log_gamma;
};

template <bool first, bool second, bool third>
inline Values values_at(F64 x) {
    // product = z0 z1 ..., sum = (1/z0 + 1/z1 + ...) product, squares = (1/z0^2 + 1/z1^2 + ...) product^2
    F64 product = x, sum = all(1.0), product2 = x * x, squares = all(1.0);
    for (int k = 1; k < shift; ++k) {
        const F64 z = x + double(k);
        sum = sum * z + product;
        product *= z;
        if constexpr (second) {
            squares = squares * (z * z) + product2;
            product2 *= z * z;
        }
    }
    const I64 large = x > 1e15;  // where moving would do nothing but overflow the product
    const F64 y = choose(large, x, x + double(shift)), inverse = 1.0 / y, w = inverse * inverse;
    sum = choose(large, F64{}, sum / product);
    if constexpr (second) squares = choose(large, F64{}, squares / product2);
    if constexpr (third) product = choose(large, all(1.0), product);
    Values out{};
    const F64 log_y = first || third ? log_of(y) : F64{};
    if constexpr (first) {
        F64 p = all(3617.0 / 8160);
        p = p * w - 1.0 / 12;
        p = p * w + 691.0 / 32760;
        p = p * w - 1.0 / 132;
        p = p * w + 1.0 / 240;
        p = p * w - 1.0 / 252;
        p = p * w + 1.0 / 120;
        p = p * w - 1.0 / 12;
        out.digamma = log_y - 0.5 * inverse + p * w - sum;
    }
    if constexpr (second) {
        F64 p = all(-3617.0 / 510);
        p = p * w + 7.0 / 6;
        p = p * w - 691.0 / 2730;
        p = p * w + 5.0 / 66;
        p = p * w - 1.0 / 30;
        p = p * w + 1.0 / 42;
        p = p * w - 1.0 / 30;
        p = p * w + 1.0 / 6;
        out.trigamma = inverse + 0.5 * w + p * w * inverse + squares;
    }
    if constexpr (third) {
        F64 p = all(-3617.0 / 122400);
        p = p * w + 1.0 / 156;
        p = p * w - 691.0 / 360360;
        p = p * w + 1.0 / 1188;
        p = p * w - 1.0 / 1680;
        p = p * w + 1.0 / 1260;
        p = p * w - 1.0 / 360;
        p = p * w + 1.0 / 12;
        out.log_gamma = (y - 0.5) * log_y - y + 0.91893853320467274178 + p * inverse - log_of(product);
    }
    return out;
}

template <bool first, bool second, bool third>
void each(const double* x, std::int64_t n, double* digamma, double* trigamma, double* log_gamma) {
    const auto some = [=](std::int64_t i, auto count) {
        F64 v = all(1.0);
        std::memcpy(&v, x + i, std::size_t(count) * sizeof(double));
        const Values values = values_at<first, second, third>(v);
        if constexpr (first) std::memcpy(digamma + i, &values.digamma, std::size_t(count) * sizeof(double));
        if constexpr (second) std::memcpy(trigamma + i, &values.trigamma, std::size_t(count) * sizeof(double));
        if constexpr (third) std::memcpy(log_gamma + i, &values.log_gamma, std::size_t(count) * sizeof(double));
    };
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) some(i, std::integral_constant<std::int64_t, lanes>{});
    if (i < n) some(i, n - i);
}

void digamma(const double* x, std::int64_t n, double* out) { each<true, false, false>(x, n, out, nullptr, nullptr); }
void trigamma(const double* x, std::int64_t n, double* out) { each<false, true, false>(x, n, nullptr, out, nullptr); }
void log_gamma(const double* x, std::int64_t n, double* out) { each<false, false, true>(x, n, nullptr, nullptr, out); }

double total(const double* x, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

// One Dirichlet distribution for each component and column: its levels are rows of `alpha`.
double expected_log(const StackedDirichlet& d, double* out) {
    static thread_local Scratch scratch;
    const std::int64_t rank = d.rank, n_levels = d.offsets[d.n_columns], n = n_levels * rank, n_totals = d.n_columns * rank;
    double *log_gammas, *totals, *of_totals, *log_gamma_totals, *of_prior, *prior_totals, *of_prior_totals;
    const auto lay = [&](auto&& piece) {
        piece(log_gammas, n), piece(totals, n_totals), piece(of_totals, n_totals), piece(log_gamma_totals, n_totals);
        piece(of_prior, n_levels), piece(prior_totals, d.n_columns), piece(of_prior_totals, d.n_columns);
    };
    lay([&](double*&, std::int64_t count) { scratch.plan<double>(std::size_t(count)); });
    scratch.begin();
    lay([&](double*& piece, std::int64_t count) { piece = scratch.take<double>(std::size_t(count)); });
    for (std::int64_t c = 0; c < d.n_columns; ++c) {
        double* to = totals + c * rank;
        std::fill(to, to + rank, 0.0);
        for (std::int64_t i = d.offsets[c]; i < d.offsets[c + 1]; ++i)
            for (std::int64_t r = 0; r < rank; ++r) to[r] += d.alpha[i * rank + r];
        prior_totals[c] = total(d.prior + d.offsets[c], d.offsets[c + 1] - d.offsets[c]);
    }
    each<true, false, true>(d.alpha, n, out, nullptr, log_gammas);
    each<true, false, true>(totals, n_totals, of_totals, nullptr, log_gamma_totals);
    log_gamma(d.prior, n_levels, of_prior);
    log_gamma(prior_totals, d.n_columns, of_prior_totals);
    double divergence = 0;
    for (std::int64_t c = 0; c < d.n_columns; ++c) {
        const std::int64_t begin = d.offsets[c], end = d.offsets[c + 1];
        double drift = 0;
        for (std::int64_t i = begin; i < end; ++i)
            for (std::int64_t r = 0; r < rank; ++r) {
                double& x = out[i * rank + r];
                x -= of_totals[c * rank + r];
                drift += (d.alpha[i * rank + r] - d.prior[i]) * x;
            }
        const double log_beta_prior = total(of_prior + begin, end - begin) - of_prior_totals[c];
        const double log_betas = total(log_gammas + begin * rank, (end - begin) * rank) - total(log_gamma_totals + c * rank, rank);
        divergence += double(rank) * log_beta_prior - log_betas + drift;
    }
    return divergence;
}

}  // namespace

template <>
const tensorpmf::GammaKernels& tensorpmf::kernels_for<tensorpmf::GammaKernels, tensorpmf::Isa::TENSORPMF_ISA>() {
    static constexpr GammaKernels kernels = {digamma, trigamma, log_gamma, expected_log};
    return kernels;
}
