// The functions around log Gamma, for numbers above zero, of one instruction set.
#pragma once

#include <cstdint>

namespace tensorpmf {

struct StackedDirichlet {
    std::int64_t n_columns, rank;
    const std::int64_t* offsets;  // (n_columns + 1) first stacked level of each column
    const double* alpha;          // (n_stacked_levels, rank)
    const double* prior;          // (n_stacked_levels)
};

struct GammaKernels {
    void (*digamma)(const double* x, std::int64_t n, double* out);
    void (*trigamma)(const double* x, std::int64_t n, double* out);
    void (*log_gamma)(const double* x, std::int64_t n, double* out);
    // Fills out (n_stacked_levels, rank) with E[log a]; returns the divergence from the prior, summed over everything.
    double (*expected_log)(const StackedDirichlet&, double* out);
};

}  // namespace tensorpmf
