// From levels to states and back: tables of the states of packed columns, and counts of states summed to counts of levels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "estep.hpp"
#include "simd.hpp"
#include "strips.hpp"

namespace {

using namespace tensorpmf;

constexpr double minus_infinity = -__builtin_huge_val();

inline std::int64_t n_codes(const Packing& packing, int column) {
    return packing.offsets[column + 1] - packing.offsets[column] + packing.has_missing[column];
}

// Calls f(stacked level) for the observed levels a state stands for.
template <class F>
inline void each_level(const Packing& packing, int group, std::int64_t state, F&& f) {
    std::int64_t left = state - packing.base[group];
    for (int j = packing.group_start[group]; j < packing.group_start[group + 1]; ++j) {
        const int n = packing.columns[j];
        const std::int64_t code = left % n_codes(packing, n) - packing.has_missing[n];
        if (code >= 0) f(packing.offsets[n] + code);
        left /= n_codes(packing, n);
    }
}

// One row of logs, its largest taken out, padded, and exponentiated if wanted; returns what was taken out.
template <class T>
double prepare_row(const double* logs, int rank, int n_vectors, bool product, double padding, T* to) {
    constexpr int width = Lanes<T>::width;
    double top = minus_infinity;
    for (int r = 0; r < rank; ++r) top = std::max(top, logs[r]);
    if (!(top > minus_infinity)) top = 0;
    for (int r = 0; r < rank; ++r) to[r] = T(logs[r] - top);
    for (int r = rank; r < n_vectors * width; ++r) to[r] = T(padding);
    if (product)
        for (int v = 0; v < n_vectors; ++v) store(to + v * width, exp_of(load(to + v * width)));
    return top;
}

template <class T>
void prepare_tables(const Packing& packing, Tables& tables) {
    constexpr int width = Lanes<T>::width;
    const std::int64_t padded = std::int64_t(tables.n_vectors) * width;
    static thread_local Scratch scratch;
    scratch.plan<T>(std::size_t(padded));
    scratch.begin();
    T* level = scratch.take<T>(std::size_t(padded));
    tables.log_scale = prepare_row(tables.log_weights, tables.rank, tables.n_vectors, tables.product, minus_infinity,
                                   static_cast<T*>(tables.start));
    for (int g = 0; g < packing.n_groups; ++g) {
        T* group = static_cast<T*>(tables.states) + packing.base[g] * padded;
        double* scales = tables.state_scales + packing.base[g];
        std::fill(group, group + padded, T(tables.product));
        scales[0] = 0;
        std::int64_t size = 1;
        for (int j = packing.group_start[g]; j < packing.group_start[g + 1]; ++j) {
            const int n = packing.columns[j], missing = packing.has_missing[n];
            for (std::int64_t code = n_codes(packing, n) - 1; code >= missing; --code) {
                const std::int64_t ix = packing.offsets[n] + code - missing;
                const double scale = prepare_row(tables.log_factors + ix * tables.rank, tables.rank, tables.n_vectors,
                                                 tables.product, 0.0, level);
                tables.level_scales[ix] = scale;
                for (std::int64_t s = 0; s < size; ++s) {
                    scales[code * size + s] = scales[s] + scale;
                    T* to = group + (code * size + s) * padded;
                    const T* from = group + s * padded;
                    for (std::int64_t i = 0; i < padded; i += width)
                        store(to + i, tables.product ? load(from + i) * load(level + i) : load(from + i) + load(level + i));
                }
            }
            size *= n_codes(packing, n);
        }
    }
}

// Adds the counts of a group's states to the counts of its levels. The last column, which runs slowest, is summed out
// first and folded away, so each state is read a few times at most. The states are spoilt.
template <class T>
void unpack_group(const Packing& packing, int g, T* group, int rank, int n_vectors, double* factors) {
    constexpr int width = Lanes<T>::width;
    const std::int64_t padded = std::int64_t(n_vectors) * width;
    std::int64_t size = packing.base[g + 1] - packing.base[g];
    for (int j = packing.group_start[g + 1] - 1; j >= packing.group_start[g]; --j) {
        const int n = packing.columns[j], missing = packing.has_missing[n];
        const std::int64_t codes = n_codes(packing, n), inner = size / codes;
        for (std::int64_t code = missing; code < codes; ++code) {
            double* to = factors + (packing.offsets[n] + code - missing) * rank;
            const T* from = group + code * inner * padded;
            for_strips(n_vectors, [&](auto k, int v) {
                constexpr int K = decltype(k)::value;
                Vec<T> sum[K] = {};
                for (std::int64_t s = 0; s < inner; ++s)
                    for (int i = 0; i < K; ++i) sum[i] += load(from + s * padded + (v + i) * width);
                alignas(64) T lanes[K * width];
                for (int i = 0; i < K; ++i) store(lanes + i * width, sum[i]);
                const int count = std::min(rank - v * width, K * width);
                for (int r = 0; r < count; ++r) to[v * width + r] += double(lanes[r]);
            });
        }
        for (std::int64_t code = 1; code < codes && j > packing.group_start[g]; ++code)
            for (std::int64_t i = 0; i < inner * padded; i += width)
                store(group + i, load(group + i) + load(group + code * inner * padded + i));
        size = inner;
    }
}

}  // namespace
