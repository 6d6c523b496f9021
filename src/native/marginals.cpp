// Counting the empirical marginals of many small subsets of columns; the legible twin is count_marginals in reference.py.
//
// Subsets that share all columns but the last (their lead) come one after another. The rows that observe the whole lead
// are listed once; each follower then walks that list alone, so that what it adds to stays in the nearest cache.

#include "bind.hpp"
#include "isa.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nanobind/ndarray.h>

#include "marginal_pass.hpp"

namespace nb = nanobind;

namespace {

template <typename T, int N>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

struct Codes {
    const int32_t* first;
    std::size_t n_rows;
    const int32_t* column(int64_t ix) const { return first + ix * n_rows; }
};

// Rows that observe some columns, the cell they fall in, and what they weigh.
struct Seen {
    std::vector<int32_t> row;
    std::vector<int32_t> cell;
    std::vector<double> weight;
    std::size_t size = 0;

    explicit Seen(std::size_t most) : row(most), cell(most), weight(most) {}

    // Writes each entry where the next one goes, and moves on only if it was observed: no branch to mispredict.
    void put(int32_t at, int32_t where, double much, bool observed) {
        row[size] = at;
        cell[size] = where;
        weight[size] = much;
        size += observed;
    }
};

void observe(Seen& seen, const int32_t* codes, const double* weights, std::size_t n_rows) {
    seen.size = 0;
    for (std::size_t at = 0; at < n_rows; ++at) seen.put(int32_t(at), codes[at], weights[at], codes[at] >= 0);
}

void refine(Seen& seen, const Seen& before, const int32_t* codes, int64_t n_levels) {
    seen.size = 0;
    for (std::size_t k = 0; k < before.size; ++k) {
        const int32_t code = codes[before.row[k]];
        seen.put(before.row[k], int32_t(before.cell[k] * n_levels) + code, before.weight[k], code >= 0);
    }
}

// Adds to `counts`, cells of the lead by `stride`, in the `n_levels` places of one follower.
void count_follower(const Seen& seen, const int32_t* codes, int64_t n_levels, int64_t n_lead_cells, int64_t stride,
                    double* counts, std::vector<double>& scratch) {
    const int64_t width = n_levels + 1;  // place 0 takes the rows in which the follower is missing
    if (int64_t(seen.size) < n_lead_cells * width / 4) {
        for (std::size_t k = 0; k < seen.size; ++k) {
            const int32_t code = codes[seen.row[k]];
            if (code >= 0) counts[seen.cell[k] * stride + code] += seen.weight[k];
        }
        return;
    }
    scratch.assign(std::size_t(n_lead_cells * width), 0.0);
    for (std::size_t k = 0; k < seen.size; ++k)
        scratch[std::size_t(seen.cell[k] * width + codes[seen.row[k]] + 1)] += seen.weight[k];
    for (int64_t cell = 0; cell < n_lead_cells; ++cell)
        for (int64_t level = 0; level < n_levels; ++level)
            counts[cell * stride + level] += scratch[std::size_t(cell * width + level + 1)];
}

void count_marginals(Array<const int32_t, 2> codes_by_column, Array<const double, 1> weights,
                     Array<const int64_t, 1> n_levels, Array<const int64_t, 2> subsets,
                     Array<const int64_t, 1> group_starts, Array<double, 1> counts) {
    const Codes codes{codes_by_column.data(), codes_by_column.shape(1)};
    const int64_t *levels = n_levels.data(), *starts = group_starts.data();
    const std::size_t order = subsets.shape(1), n_groups = group_starts.shape(0) - 1;
    const double* row_weights = weights.data();
    double* group_counts = counts.data();

    nb::gil_scoped_release release;
    Seen first(codes.n_rows + 1), lead(codes.n_rows + 1), spare(codes.n_rows + 1);
    std::vector<double> scratch;
    int64_t first_column = -1;
    for (std::size_t group = 0; group < n_groups; ++group) {
        const int64_t* columns = subsets.data() + starts[group] * order;
        if (columns[0] != first_column) {
            first_column = columns[0];
            observe(first, codes.column(first_column), row_weights, codes.n_rows);
        }
        int64_t n_lead_cells = levels[first_column], stride = 0;
        const Seen* seen = &first;
        for (std::size_t k = 1; k + 1 < order; ++k) {
            Seen& finer = seen == &lead ? spare : lead;
            refine(finer, *seen, codes.column(columns[k]), levels[columns[k]]);
            n_lead_cells *= levels[columns[k]];
            seen = &finer;
        }
        for (int64_t m = starts[group]; m < starts[group + 1]; ++m) stride += levels[subsets.data()[m * order + order - 1]];
        int64_t place = 0;
        for (int64_t m = starts[group]; m < starts[group + 1]; ++m) {
            const int64_t follower = subsets.data()[m * order + order - 1];
            count_follower(*seen, codes.column(follower), levels[follower], n_lead_cells, stride, group_counts + place,
                     scratch);
            place += levels[follower];
        }
        group_counts += n_lead_cells * stride;
    }
}

double accumulate_marginals(Array<const double, 1> cells, Array<const int64_t, 1> offsets,
                            Array<const int64_t, 2> subsets, Array<const int64_t, 1> group_starts,
                            Array<const double, 1> weights, Array<const double, 2> factors,
                            Array<double, 1> into_weights, Array<double, 2> into_factors) {
    double log_norm = 0;
    const tensorpmf::MarginalPass pass{
        .n_groups = int64_t(group_starts.shape(0)) - 1, .order = int64_t(subsets.shape(1)),
        .n_columns = int64_t(offsets.shape(0)) - 1, .rank = int64_t(weights.shape(0)),
        .group_starts = group_starts.data(), .subsets = subsets.data(), .offsets = offsets.data(),
        .cells = cells.data(), .weights = weights.data(), .factors = factors.data(),
        .into_weights = into_weights.data(), .into_factors = into_factors.data(), .into_log_norm = &log_norm};
    nb::gil_scoped_release release;
    tensorpmf::kernels<tensorpmf::MarginalKernels>().pass(pass);
    return log_norm;
}

}  // namespace

void tensorpmf::bind_marginals(nb::module_& m) {
    m.def("count_marginals", &count_marginals, nb::arg("codes_by_column").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("n_levels").noconvert(), nb::arg("subsets").noconvert(), nb::arg("group_starts").noconvert(),
          nb::arg("counts").noconvert(),
          "Add what some rows show of each subset to its counts, where all its columns are observed.");
    m.def("accumulate_marginals", &accumulate_marginals, nb::arg("cells").noconvert(), nb::arg("offsets").noconvert(),
          nb::arg("subsets").noconvert(), nb::arg("group_starts").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("factors").noconvert(), nb::arg("into_weights").noconvert(), nb::arg("into_factors").noconvert(),
          "Add the statistics of one EM pass over the cells of some groups; returns their log-likelihood.");
}
