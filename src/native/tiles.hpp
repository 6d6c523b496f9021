// Rows of any form, made ready a tile at a time: which states each row shows, and the runs of rows that share a prefix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "estep.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

using namespace tensorpmf;

constexpr int most_tile_rows = 128;

struct Tile {
    std::int64_t row = 0;  // the first
    int n = 0, n_runs = 0;
    std::uint32_t* states = nullptr;              // states the rows show after the prefix, row after row
    std::uint32_t* first = nullptr;               // (n + 1) where the states of each row begin
    std::uint32_t* run_first = nullptr;           // (n_runs + 1) where each run begins
    const std::uint32_t* prefix_states = nullptr; // (n_runs, n_prefix_groups)
    const double* weights = nullptr;              // (n), or null
};

template <class F>
inline void with_integer(int bytes, F&& f) {
    switch (bytes) {
        case 1: return f(std::int8_t{});
        case 2: return f(std::int16_t{});
        case 4: return f(std::int32_t{});
        default: return f(std::int64_t{});
    }
}

// Fills one tile after the other; the caller lends the memory.
class Tiles {
   public:
    Tiles(const Packing& packing, const Rows& rows)
        : n_prefix(rows.form == Rows::grouped ? rows.n_prefix_groups : 0), packing_(packing), rows_(rows),
          n_suffix_(packing.n_groups - n_prefix) {}

    std::size_t most_states(int tile_rows) const {
        return std::size_t(packing_.listed ? packing_.n_columns : n_suffix_) * std::size_t(tile_rows) + 16;
    }

    bool next(Tile& tile, int tile_rows) {
        tile.row += tile.n;
        tile.n = int(std::min<std::int64_t>(tile_rows, rows_.n_rows - tile.row));
        if (tile.n <= 0) return false;
        tile.weights = rows_.weights ? rows_.weights + tile.row : nullptr;
        if (rows_.form == Rows::grouped) return grouped(tile), true;
        tile.n_runs = 1, tile.run_first[0] = 0, tile.run_first[1] = std::uint32_t(tile.n);
        if (rows_.form == Rows::compressed) compressed(tile);
        else if (packing_.listed) listed(tile);
        else dense(tile);
        return true;
    }

    const int n_prefix;

   private:
    void grouped(Tile& tile) {
        while (std::int64_t(rows_.prefix_start[prefix_ix_ + 1]) <= tile.row) ++prefix_ix_;
        tile.prefix_states = rows_.prefix_states + prefix_ix_ * n_prefix;
        tile.n_runs = 0;
        std::int64_t ix = prefix_ix_;
        for (std::int64_t at = tile.row; at < tile.row + tile.n; at = rows_.prefix_start[++ix])
            tile.run_first[tile.n_runs++] = std::uint32_t(at - tile.row);
        tile.run_first[tile.n_runs] = std::uint32_t(tile.n);
        with_integer(rows_.code_bytes, [&](auto code) {
            const auto* codes = static_cast<const std::make_unsigned_t<decltype(code)>*>(rows_.codes) + tile.row * n_suffix_;
            std::uint32_t* const states = tile.states;
            const auto base = std::uint32_t(packing_.base[n_prefix]);
            for (int c = 0, n = tile.n * n_suffix_; c < n; ++c) states[c] = base + std::uint32_t(codes[c]);
        });
        evenly(tile, n_suffix_);
    }

    void dense(Tile& tile) {
        with_integer(rows_.code_bytes, [&](auto code) {
            const auto* codes = static_cast<const decltype(code)*>(rows_.codes) + tile.row * rows_.row_stride;
            const int n_rows = tile.n, n_groups = packing_.n_groups;
            const std::int64_t row_stride = rows_.row_stride;
            for (int g = 0; g < n_groups; ++g) {
                std::uint32_t* const states = tile.states + g;
                for (int t = 0; t < n_rows; ++t) states[t * n_groups] = std::uint32_t(packing_.base[g]);
                std::uint32_t step = 1;
                for (int j = packing_.group_start[g]; j < packing_.group_start[g + 1]; ++j) {
                    const int n = packing_.columns[j];
                    const std::uint32_t missing = packing_.has_missing[n];
                    const auto* from = codes + n * rows_.column_stride;
                    for (int t = 0; t < n_rows; ++t)
                        states[t * n_groups] += step * (std::uint32_t(from[t * row_stride]) + missing);
                    step *= packing_.offsets32[n + 1] - packing_.offsets32[n] + missing;
                }
            }
            evenly(tile, n_groups);
        });
    }

    void evenly(Tile& tile, int each) {
        for (; even_ <= tile.n; ++even_) tile.first[even_] = std::uint32_t(even_ * each);
    }

    void listed(Tile& tile) {
        with_integer(rows_.code_bytes, [&](auto code) {
            std::uint32_t k = 0;
            for (int t = 0; t < tile.n; ++t) {
                tile.first[t] = k;
                k += std::uint32_t(list_row(static_cast<const decltype(code)*>(rows_.codes) + (tile.row + t) * rows_.row_stride, tile.states + k));
            }
            tile.first[tile.n] = k;
        });
    }

    // Writes the stacked levels a row shows, and returns how many; writes up to 16 more beyond them.
    template <class Code>
    std::int64_t list_row(const Code* codes, std::uint32_t* states) const {
        std::int64_t n = 0, k = 0;
#if defined(__AVX512F__)
        if (sizeof(Code) == 1 && rows_.column_stride == 1) {
            for (; n + 16 <= packing_.n_columns; n += 16) {
                const __m512i levels = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + n)));
                const __m512i all = _mm512_add_epi32(levels, _mm512_loadu_si512(packing_.offsets32 + n));
                const __mmask16 seen = _mm512_cmpge_epi32_mask(levels, _mm512_setzero_si512());
                _mm512_storeu_si512(states + k, _mm512_maskz_compress_epi32(seen, all));
                k += __builtin_popcount(seen);
            }
        }
#endif
        for (; n < packing_.n_columns; ++n) {
            const std::int64_t level = codes[n * rows_.column_stride];
            states[k] = packing_.offsets32[n] + std::uint32_t(level);
            k += level >= 0;
        }
        return k;
    }

    void compressed(Tile& tile) {
        const std::int64_t begin = rows_.indptr[tile.row];
        for (int t = 0; t <= tile.n; ++t) tile.first[t] = std::uint32_t(rows_.indptr[tile.row + t] - begin);
        with_integer(rows_.column_bytes, [&](auto column) {
            with_integer(rows_.code_bytes, [&](auto code) {
                const auto* columns = static_cast<const decltype(column)*>(rows_.columns) + begin;
                const auto* codes = static_cast<const decltype(code)*>(rows_.codes) + begin;
                const std::uint32_t *offsets = packing_.offsets32, n_cells = tile.first[tile.n];
                std::uint32_t* const states = tile.states;
                for (std::uint32_t k = 0; k < n_cells; ++k) states[k] = offsets[columns[k]] + std::uint32_t(codes[k]);
            });
        });
    }

    const Packing& packing_;
    const Rows& rows_;
    const int n_suffix_;
    std::int64_t prefix_ix_ = 0;
    int even_ = 0;  // how much of tile.first is filled, when all rows show as many states
};

}  // namespace
