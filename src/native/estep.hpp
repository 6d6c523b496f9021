// What the kernels of one instruction set are handed, and the table of their entry points.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorpmf {

// Columns packed into groups. A state of a group is one combination of levels (and of "missing", where that occurs) of
// its columns, the first column running fastest. States of all groups are numbered through.
struct Packing {
    int n_groups, n_columns;
    bool listed;                      // a group for each column, and missing cells are left out of the row instead
    const std::int32_t* group_start;  // (n_groups + 1) into `columns`
    const std::int32_t* columns;      // the columns of each group
    const std::int64_t* offsets;      // (n_columns + 1) first stacked level of each column of the table
    const std::uint32_t* offsets32;   // the same
    const std::uint8_t* has_missing;  // (n_columns) whether "missing" is a level, the first, of the packed column
    const std::int64_t* base;         // (n_groups + 1) first state of each group
};

// Log-weights and log-factors, made ready: padded, packed, and in product form (exponentials) or in logs.
struct Tables {
    int rank, n_vectors;
    bool product, single;
    std::int64_t n_states;
    void* start;                // (padded rank)
    void* states;               // (n_states, padded rank)
    double log_scale;           // what was taken out of the log-weights
    double* state_scales;       // (n_states) what was taken out of each state
    const double* log_weights;  // as they came, for rows that need care
    const double* log_factors;
};

// Which rows show each state, for spans of so many rows.
struct RowIndex {
    static constexpr int span_rows = 2048;
    std::vector<std::uint32_t> span_lists;  // (n_spans + 1) where the lists of each span begin
    std::vector<std::int64_t> span_cells;   // (n_spans + 1) where its cells begin
    std::vector<std::uint16_t> state;       // (n_lists)
    std::vector<std::uint16_t> count;       // (n_lists) how many rows of the span show it
    std::vector<std::uint16_t> rows;        // (n_cells) which: positions within the span
};

// Rows in one of three forms.
struct Rows {
    enum Form { grouped, dense, compressed } form;
    std::int64_t n_rows;
    const double* weights;  // or null: all one
    // dense, or the values of compressed rows
    const void* codes;
    int code_bytes;
    std::int64_t row_stride, column_stride;  // in elements
    // compressed
    const std::int64_t* indptr;
    const void* columns;
    int column_bytes;
    // grouped: rows sorted by their first groups, the prefix, which is kept once for each run of rows that share it
    std::int64_t n_prefixes;
    int n_prefix_groups;
    const std::uint32_t* prefix_states;  // (n_prefixes, n_prefix_groups)
    const std::uint32_t* prefix_start;   // (n_prefixes + 1)
    const RowIndex* index;  // or null
};

struct Counts {
    double* weights;  // (rank)
    double* factors;  // (n_stacked_levels, rank)
    double log_norm;
};

struct Scores {
    double* log_normaliser;  // (n_rows), or null
    double* resp;            // (n_rows, rank), or null
};

// Fills an index; returns whether its lists are long enough to be worth it.
bool index_rows(const Packing&, const Rows&, RowIndex&);

struct EstepKernels {
    int bytes;  // of a vector
    void (*prepare)(const Packing&, Tables&);
    void (*accumulate)(const Packing&, const Tables&, const Rows&, Counts&);
    void (*score)(const Packing&, const Tables&, const Rows&, Scores&);
};

}  // namespace tensorpmf
