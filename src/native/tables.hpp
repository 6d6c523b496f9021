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

template <class T>
Vec<T> largest_lanes(const T* row, int n_vectors) {
    Vec<T> top = load(row);
    for (int v = 1; v < n_vectors; ++v) top = larger(top, load(row + v * Lanes<T>::width));
    return top;
}

// One row of logs, its largest taken out, padded, and exponentiated if wanted; returns what was taken out.
template <class T>
double prepare_row(const double* logs, int rank, int n_vectors, bool product, double padding, T* to) {
    constexpr int width = Lanes<T>::width;
    for (int r = 0; r < rank; ++r) to[r] = T(logs[r]);
    for (int r = rank; r < n_vectors * width; ++r) to[r] = T(minus_infinity);
    const T largest = largest_of<T>(largest_lanes(to, n_vectors)), top = largest > T(minus_infinity) ? largest : T(0);
    for (int v = 0; v < n_vectors; ++v) {
        const Vec<T> x = load(to + v * width) - top;
        store(to + v * width, product ? exp_of(x) : x);
    }
    for (int r = rank; r < n_vectors * width; ++r) to[r] = T(padding);
    return double(top);
}

// Takes the largest component out of each of some states, once more: the columns of a group seldom agree on it.
template <class T>
void rescale(T* states, std::int64_t n_states, int n_vectors, bool product, double* scales) {
    constexpr int width = Lanes<T>::width;
    for (std::int64_t s = 0; s < n_states; ++s) {
        T* row = states + s * n_vectors * width;
        const T top = largest_of<T>(largest_lanes(row, n_vectors));
        if (!(product ? top > T(0) : top > T(minus_infinity))) continue;
        scales[s] += product ? std::log(double(top)) : double(top);
        for (int v = 0; v < n_vectors; ++v)
            store(row + v * width, product ? load(row + v * width) * (T(1) / top) : load(row + v * width) - top);
    }
}

template <class T>
void prepare_tables(const Packing& packing, Tables& tables) {
    constexpr int width = Lanes<T>::width;
    const int n_vectors = tables.n_vectors;
    const std::int64_t padded = std::int64_t(n_vectors) * width;
    static thread_local Scratch scratch;
    scratch.plan<T>(std::size_t(padded));
    scratch.begin();
    T* level = scratch.take<T>(std::size_t(padded));
    tables.log_scale = prepare_row(tables.log_weights, tables.rank, n_vectors, tables.product, tables.product ? 0.0 : minus_infinity,
                                   static_cast<T*>(tables.start));
    for (int g = 0; g < packing.n_groups; ++g) {
        T* group = static_cast<T*>(tables.states) + packing.base[g] * padded;
        double* scales = tables.state_scales + packing.base[g];
        std::int64_t size = 1;
        for (int j = packing.group_start[g]; j < packing.group_start[g + 1]; ++j) {
            const int n = packing.columns[j], missing = packing.has_missing[n];
            const bool first = j == packing.group_start[g];
            if (first && missing) std::fill(group, group + padded, T(tables.product)), scales[0] = 0;
            for (std::int64_t code = n_codes(packing, n) - 1; code >= missing; --code) {
                const double* logs = tables.log_factors + (packing.offsets[n] + code - missing) * tables.rank;
                T* const to = first ? group + code * padded : level;
                const double scale = prepare_row(logs, tables.rank, n_vectors, tables.product, 0.0, to);
                if (first) {
                    scales[code] = scale;
                    continue;
                }
                for (std::int64_t s = 0; s < size; ++s) {
                    scales[code * size + s] = scales[s] + scale;
                    T* state = group + (code * size + s) * padded;
                    const T* from = group + s * padded;
                    for (std::int64_t i = 0; i < padded; i += width)
                        store(state + i, tables.product ? load(from + i) * load(level + i) : load(from + i) + load(level + i));
                }
            }
            size *= n_codes(packing, n);
        }
        if (packing.group_start[g + 1] - packing.group_start[g] > 1) rescale(group, size, n_vectors, tables.product, scales);
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
