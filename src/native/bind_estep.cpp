// The pass over the rows, for Python: packings, tables and rows as opaque values, and what is done with them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bind.hpp"
#include "estep.hpp"
#include "fresh.hpp"
#include "isa.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tensorpmf {

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<nb::ro, nb::device::cpu>;  // of any width
using Packed = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint32_t, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

struct PackingValue {
    PackingValue(const std::vector<std::vector<int>>& groups, const std::vector<std::int64_t>& n_levels,
                 const std::vector<bool>& missing, bool listed)
        : offsets{0}, start{0}, has_missing(missing.begin(), missing.end()), base{0} {
        for (std::int64_t n : n_levels) offsets.push_back(offsets.back() + n);
        for (const auto& group : groups) {
            std::int64_t states = 1;
            for (int n : group) {
                columns.push_back(n);
                states *= n_levels.at(std::size_t(n)) + has_missing.at(std::size_t(n));
            }
            start.push_back(int(columns.size()));
            base.push_back(base.back() + states);
        }
        require(base.back() < (std::int64_t(1) << 32), "too many states for one packing");
        offsets32.assign(offsets.begin(), offsets.end());
        view = {int(groups.size()), int(n_levels.size()), listed, start.data(), columns.data(), offsets.data(), offsets32.data(), has_missing.data(), base.data()};
    }
    PackingValue(const PackingValue&) = delete;

    std::vector<std::int64_t> offsets;
    std::vector<std::uint32_t> offsets32;
    std::vector<std::int32_t> start, columns;
    std::vector<std::uint8_t> has_missing;
    std::vector<std::int64_t> base;
    Packing view;
};

struct TablesValue {
    TablesValue(const PackingValue& packing, Doubles weights, Matrix factors, bool product, bool single)
        : kernels(tensorpmf::kernels<EstepKernels>()), log_weights(weights), log_factors(factors), states(std::size_t(packing.base.back())) {
        const std::int64_t rank = std::int64_t(weights.size());
        require(rank > 0, "there must be a component");
        require(std::int64_t(factors.shape(1)) == rank && std::int64_t(factors.shape(0)) == packing.offsets.back(),
                "log_factors must have a row for each stacked level and a column for each component");
        const int size = single ? 4 : 8, width = kernels.bytes / size;
        const std::int64_t n_vectors = (rank + width - 1) / width, padded = n_vectors * width;
        start = borrow(std::size_t(padded * size));
        table = borrow(std::size_t(packing.base.back() * padded * size));
        view = {int(rank), int(n_vectors), product, single, packing.base.back(), start.get(), table.get(), 0.0,
                states.data(), weights.data(), factors.data()};
        nb::gil_scoped_release release;
        kernels.prepare(packing.view, view);
    }
    TablesValue(const TablesValue&) = delete;

    const EstepKernels& kernels;
    Doubles log_weights;
    Matrix log_factors;
    std::vector<double> states;
    Memory start, table;
    Tables view;
};

struct RowsValue {
    std::vector<Integers> kept;
    std::optional<Doubles> weights;
    std::unique_ptr<RowIndex> row_index;
    Rows view{};

    void index(const PackingValue& packing) {
        nb::gil_scoped_release release;
        auto built = std::make_unique<RowIndex>();
        if (!index_rows(packing.view, view, *built)) return;
        row_index = std::move(built);
        view.index = row_index.get();
    }

    void weigh(std::optional<Doubles> given) {
        weights = given;
        view.weights = given ? given->data() : nullptr;
        require(!given || std::int64_t(given->size()) == view.n_rows, "a weight for each row");
    }
    template <class Array>
    const void* keep(const Array& array, int& bytes) {
        kept.emplace_back(array);
        bytes = int(array.itemsize());
        return array.data();
    }
};

RowsValue dense_rows(Integers codes, std::optional<Doubles> weights) {
    RowsValue rows;
    rows.view.form = Rows::dense;
    rows.view.codes = rows.keep(codes, rows.view.code_bytes);
    rows.view.n_rows = std::int64_t(codes.shape(0));
    rows.view.row_stride = codes.stride(0), rows.view.column_stride = codes.stride(1);
    rows.weigh(weights);
    return rows;
}

RowsValue compressed_rows(nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu> indptr, Packed columns, Packed values,
                          std::optional<Doubles> weights) {
    RowsValue rows;
    rows.view.form = Rows::compressed;
    rows.view.codes = rows.keep(values, rows.view.code_bytes);
    rows.view.columns = rows.keep(columns, rows.view.column_bytes);
    rows.kept.emplace_back(indptr);
    rows.view.indptr = indptr.data();
    rows.view.n_rows = std::int64_t(indptr.size()) - 1;
    rows.weigh(weights);
    return rows;
}

RowsValue grouped_rows(Packed codes, Words prefix_states, Words prefix_start, std::optional<Doubles> weights) {
    RowsValue rows;
    rows.view.form = Rows::grouped;
    rows.view.codes = rows.keep(codes, rows.view.code_bytes);
    rows.view.n_rows = std::int64_t(codes.shape(0));
    rows.kept.emplace_back(prefix_states), rows.kept.emplace_back(prefix_start);
    rows.view.prefix_states = prefix_states.data(), rows.view.prefix_start = prefix_start.data();
    rows.view.n_prefixes = std::int64_t(prefix_start.size()) - 1;
    rows.view.n_prefix_groups = int(prefix_states.shape(1));
    rows.weigh(weights);
    return rows;
}

nb::tuple accumulate(const PackingValue& packing, const TablesValue& tables, const RowsValue& rows) {
    const std::size_t rank = std::size_t(tables.view.rank), n_levels = std::size_t(packing.offsets.back());
    double *weights = fresh(rank), *factors = fresh(n_levels * rank);
    Counts counts{weights, factors, 0.0};
    {
        nb::gil_scoped_release release;
        std::fill(weights, weights + rank, 0.0);
        std::fill(factors, factors + n_levels * rank, 0.0);
        tables.kernels.accumulate(packing.view, tables.view, rows.view, counts);
    }
    return nb::make_tuple(Fresh<1>(weights, {rank}, owner_of(weights)), Fresh<2>(factors, {n_levels, rank}, owner_of(factors)),
                          counts.log_norm);
}

Fresh<1> log_normaliser(const PackingValue& packing, const TablesValue& tables, const RowsValue& rows) {
    const auto n_rows = std::size_t(rows.view.n_rows);
    Scores scores{fresh(n_rows), nullptr};
    {
        nb::gil_scoped_release release;
        tables.kernels.score(packing.view, tables.view, rows.view, scores);
    }
    return Fresh<1>(scores.log_normaliser, {n_rows}, owner_of(scores.log_normaliser));
}

Fresh<2> responsibilities(const PackingValue& packing, const TablesValue& tables, const RowsValue& rows) {
    const std::size_t n_rows = std::size_t(rows.view.n_rows), rank = std::size_t(tables.view.rank);
    Scores scores{nullptr, fresh(n_rows * rank)};
    {
        nb::gil_scoped_release release;
        tables.kernels.score(packing.view, tables.view, rows.view, scores);
    }
    return Fresh<2>(scores.resp, {n_rows, rank}, owner_of(scores.resp));
}

}  // namespace

void bind_estep(nb::module_& m) {
    nb::class_<PackingValue>(m, "Packing")
        .def(nb::init<const std::vector<std::vector<int>>&, const std::vector<std::int64_t>&, const std::vector<bool>&, bool>(),
             "groups"_a, "n_levels"_a, "missing"_a, "listed"_a);
    nb::class_<TablesValue>(m, "Tables")
        .def(nb::init<const PackingValue&, Doubles, Matrix, bool, bool>(), "packing"_a, "log_weights"_a, "log_factors"_a,
             "product"_a, "single"_a);
    nb::class_<RowsValue>(m, "Rows").def("index", &RowsValue::index, "packing"_a);
    m.def("dense_rows", &dense_rows, "codes"_a, "weights"_a.none());
    m.def("compressed_rows", &compressed_rows, "indptr"_a, "columns"_a, "values"_a, "weights"_a.none());
    m.def("grouped_rows", &grouped_rows, "codes"_a, "prefix_states"_a, "prefix_start"_a, "weights"_a.none());
    m.def("accumulate", &accumulate, "packing"_a, "tables"_a, "rows"_a);
    m.def("log_normaliser", &log_normaliser, "packing"_a, "tables"_a, "rows"_a);
    m.def("responsibilities", &responsibilities, "packing"_a, "tables"_a, "rows"_a);
}

}  // namespace tensorpmf
