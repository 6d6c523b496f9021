// The EM pass over the cells of empirical marginals, compiled once per instruction set. Its legible twin is
// accumulate_marginals in kernels/reference.py.
//
// The cells of all subsets with one lead form a matrix, lead cells by follower levels. Three small matrix products do the
// work: the model of a strip of rows, what the ratio of cell to model gives the lead, and what it gives the followers.
#include "marginal_pass.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "isa.hpp"
#include "simd.hpp"

namespace {

using V = Vec<double>;
using std::int64_t;

constexpr int width = Lanes<double>::width;
constexpr int tall = VECTOR_BYTES == 64 ? 8 : 4;  // rows of a register tile; it is three vectors wide
constexpr int64_t strip_cells = 16384;            // ratios held at a time
constexpr double tiny = 1e-300;                   // stands for a model's probability of zero

int64_t round_up(int64_t n) { return (n + width - 1) / width * width; }

class Buffer {
   public:
    explicit Buffer(int64_t size) : data_(allocate(size)) { std::fill(data_, data_ + size, 0.0); }
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    operator double*() { return data_; }

   private:
    static double* allocate(int64_t size) {
        void* memory = std::aligned_alloc(64, (std::size_t(size) * sizeof(double) + 64) / 64 * 64);
        if (!memory) throw std::bad_alloc();
        return static_cast<double*>(memory);
    }
    double* data_;
};

// A matrix read with any strides.
struct Left {
    const double* data;
    int64_t row_stride, stride;
};

template <int rows, int vectors>
inline void tile(int64_t n_terms, Left a, const double* b, int64_t b_stride, double* c, int64_t c_stride) {
    V sum[rows][vectors];
    for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v) sum[i][v] = load(c + i * c_stride + v * width);
    for (int64_t k = 0; k < n_terms; ++k, a.data += a.stride, b += b_stride)
        for (int i = 0; i < rows; ++i) {
            const V x = all(a.data[i * a.row_stride]);
            for (int v = 0; v < vectors; ++v) sum[i][v] += x * load(b + v * width);
        }
    for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v) store(c + i * c_stride + v * width, sum[i][v]);
}

template <int vectors>
inline void column_of_tiles(int64_t n_rows, int64_t n_terms, Left a, const double* b, int64_t b_stride, double* c,
                            int64_t c_stride) {
    const auto skip = [&](int64_t n) { a.data += n * a.row_stride, c += n * c_stride, n_rows -= n; };
    for (; n_rows >= tall; skip(tall)) tile<tall, vectors>(n_terms, a, b, b_stride, c, c_stride);
    for (; n_rows >= 2; skip(2)) tile<2, vectors>(n_terms, a, b, b_stride, c, c_stride);
    if (n_rows) tile<1, vectors>(n_terms, a, b, b_stride, c, c_stride);
}

// c += a b; the rows of b and c are padded to whole vectors.
void add_product(int64_t n_rows, int64_t n_terms, int64_t n_padded, Left a, const double* b, int64_t b_stride, double* c,
                 int64_t c_stride) {
    int64_t left = n_padded / width;
    const auto skip = [&](int n) { b += n * width, c += n * width, left -= n; };
    for (; left >= 3; skip(3)) column_of_tiles<3>(n_rows, n_terms, a, b, b_stride, c, c_stride);
    if (left == 2) column_of_tiles<2>(n_rows, n_terms, a, b, b_stride, c, c_stride);
    if (left == 1) column_of_tiles<1>(n_rows, n_terms, a, b, b_stride, c, c_stride);
}

// Puts cell / model in the place of the model; returns the lanes of the sum of cell * log(model).
V ratios(int64_t n, const double* cells, double* model) {
    V sum{};
    const V least = all(tiny);
    const auto ratio = [&](V cell, double* at) {
        V m = load(at);
        m = choose<V, I64>(m > least, m, least);
        sum += cell * log_of(m);
        store(at, cell / m);
    };
    int64_t at = 0;
    for (V cell; at + width <= n; at += width) {
        std::memcpy(&cell, cells + at, sizeof cell);  // not aligned
        ratio(cell, model + at);
    }
    if (at < n) {
        V rest{};
        std::memcpy(&rest, cells + at, std::size_t(n - at) * sizeof(double));
        ratio(rest, model + at);
    }
    return sum;
}

class Pass {
   public:
    Pass(const tensorpmf::MarginalPass& in)
        : in(in), rank(in.rank), padded(round_up(in.rank)), n_stacked(in.offsets[in.n_columns]),
          weights(padded), factors(n_stacked * padded), counts(n_stacked * padded), totals(padded) {
        std::copy(in.weights, in.weights + rank, (double*)weights);
        for (int64_t level = 0; level < n_stacked; ++level)
            std::copy(in.factors + level * rank, in.factors + (level + 1) * rank, factors + level * padded);
    }

    void run() {
        const double* cells = in.cells;
        for (int64_t g = 0; g < in.n_groups; ++g) cells = group(in.group_starts[g], in.group_starts[g + 1], cells);
        for (int64_t r = 0; r < rank; ++r) in.into_weights[r] += totals[r];
        for (int64_t level = 0; level < n_stacked; ++level)
            for (int64_t r = 0; r < rank; ++r) in.into_factors[level * rank + r] += counts[level * padded + r];
        for (int i = 0; i < width; ++i) *in.into_log_norm += log_norm[i];
    }

   private:
    // All subsets that share a lead; returns where the next group's cells begin.
    const double* group(int64_t first, int64_t last, const double* cells) {
        const int64_t order = in.order, *lead = in.subsets + first * order;
        int64_t n_lead_cells = 1, n_levels = 0;
        for (int64_t k = 0; k + 1 < order; ++k) n_lead_cells *= in.offsets[lead[k] + 1] - in.offsets[lead[k]];
        levels.clear();
        for (int64_t m = first; m < last; ++m) {
            const int64_t column = in.subsets[m * order + order - 1];
            for (int64_t level = in.offsets[column]; level < in.offsets[column + 1]; ++level) levels.push_back(level);
        }
        n_levels = int64_t(levels.size());
        const int64_t wide = round_up(n_levels), most = std::clamp<int64_t>(strip_cells / wide, 1, n_lead_cells);
        Buffer followers(n_levels * padded), transposed(rank * wide), shares(n_levels * padded);
        Buffer joint(most * padded), ratio(most * wide), given(most * padded);
        for (int64_t s = 0; s < n_levels; ++s)
            for (int64_t r = 0; r < padded; ++r) followers[s * padded + r] = factors[levels[s] * padded + r];
        for (int64_t r = 0; r < rank; ++r)
            for (int64_t s = 0; s < n_levels; ++s) transposed[r * wide + s] = followers[s * padded + r];

        for (int64_t start = 0; start < n_lead_cells; start += most) {
            const int64_t n = std::min(most, n_lead_cells - start);
            for (int64_t l = 0; l < n; ++l) lead_cell(lead, start + l, joint + l * padded);
            std::fill(ratio + 0, ratio + n * wide, 0.0);
            add_product(n, rank, wide, {joint, padded, 1}, transposed, wide, ratio, wide);
            for (int64_t l = 0; l < n; ++l, cells += n_levels) log_norm += ratios(n_levels, cells, ratio + l * wide);
            std::fill(given + 0, given + n * padded, 0.0);
            add_product(n, n_levels, padded, {ratio, wide, 1}, followers, padded, given, padded);
            add_product(n_levels, n, padded, {ratio, 1, wide}, joint, padded, shares, padded);
            for (int64_t l = 0; l < n; ++l) count_lead(lead, start + l, joint + l * padded, given + l * padded);
        }
        for (int64_t s = 0; s < n_levels; ++s)
            for (int64_t r = 0; r < padded; r += width) {
                double* count = counts + levels[s] * padded + r;
                store(count, load(count) + load(followers + s * padded + r) * load(shares + s * padded + r));
            }
        return cells;
    }

    // The stacked levels that a cell of the lead stands for, its last column running fastest.
    template <class F>
    void each_level(const int64_t* lead, int64_t cell, F&& f) {
        for (int64_t k = in.order - 2; k >= 0; --k) {
            const int64_t start = in.offsets[lead[k]], n = in.offsets[lead[k] + 1] - start;
            f((start + cell % n) * padded);
            cell /= n;
        }
    }

    void lead_cell(const int64_t* lead, int64_t cell, double* joint) {
        std::copy(weights + 0, weights + padded, joint);
        each_level(lead, cell, [&](int64_t level) {
            for (int64_t r = 0; r < padded; r += width) store(joint + r, load(joint + r) * load(factors + level + r));
        });
    }

    void count_lead(const int64_t* lead, int64_t cell, const double* joint, double* given) {
        for (int64_t r = 0; r < padded; r += width) {
            store(given + r, load(given + r) * load(joint + r));
            store(totals + r, load(totals + r) + load(given + r));
        }
        each_level(lead, cell, [&](int64_t level) {
            for (int64_t r = 0; r < padded; r += width) store(counts + level + r, load(counts + level + r) + load(given + r));
        });
    }

    const tensorpmf::MarginalPass& in;
    const int64_t rank, padded, n_stacked;
    Buffer weights, factors, counts, totals;
    std::vector<int64_t> levels;
    V log_norm{};
};

void marginal_pass(const tensorpmf::MarginalPass& pass) { Pass(pass).run(); }

}  // namespace

template <>
const tensorpmf::MarginalKernels& tensorpmf::kernels_for<tensorpmf::MarginalKernels, tensorpmf::Isa::TENSORPMF_ISA>() {
    static constexpr MarginalKernels kernels = {marginal_pass};
    return kernels;
}
