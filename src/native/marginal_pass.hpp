// What the EM pass over the cells of marginals is handed.
#pragma once

#include <cstdint>

namespace tensorpmf {

struct MarginalPass {
    std::int64_t n_groups, order, n_columns, rank;
    const std::int64_t* group_starts;  // (n_groups + 1) subsets at which each group begins
    const std::int64_t* subsets;       // (n_subsets, order) columns: the lead, then the follower
    const std::int64_t* offsets;       // (n_columns + 1) first stacked level of each column
    const double* cells;               // of these groups, one after the other
    const double* weights;             // (rank)
    const double* factors;             // (n_stacked_levels, rank)
    double* into_weights;              // (rank), added to
    double* into_factors;              // (n_stacked_levels, rank), added to
    double* into_log_norm;             // added to
};

struct MarginalKernels {
    void (*pass)(const MarginalPass&);
};

}  // namespace tensorpmf
