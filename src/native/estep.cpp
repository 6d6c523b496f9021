// The pass over the rows, compiled once per instruction set. Its legible twin is kernels/reference.py.
//
// A row is a product of gathered rows of exponentiated tables (product form), or a sum of gathered rows of log-tables and
// one exponential (log form). Tables are scaled so that the largest component of every level is 1; what was taken out is
// added back to the log-normaliser. A row whose sum is too small to be trusted is done again in logs, by `careful`.
#include "estep.hpp"

#include <algorithm>
#include <cmath>

#include "isa.hpp"
#include "simd.hpp"
#include "strips.hpp"
#include "tables.hpp"
#include "tiles.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

thread_local Scratch scratch;

template <class T>
constexpr T least_sum = T(1e-200);
template <>
constexpr float least_sum<float> = 1e-20f;

// Numbers too small to be normal count as zero while this lives: they are slow, and never decide anything.
class FlushTiny {
#if defined(__SSE2__)
   public:
    FlushTiny() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~FlushTiny() { _mm_setcsr(before_); }

   private:
    unsigned before_;
#endif
};

template <class T>
class Pass {
    static constexpr int width = Lanes<T>::width;
    using V = Vec<T>;

   public:
    Pass(const Packing& packing, const Tables& tables, const Rows& rows, bool counting)
        : packing_(packing), tables_(tables), rows_(rows), tiles_(packing, rows),
          padded_(std::int64_t(tables.n_vectors) * width), start_(static_cast<const T*>(tables.start)),
          states_(static_cast<const T*>(tables.states)), n_prefix_(tiles_.n_prefix),
          paired_(counting && tables.product && n_prefix_ > 0 && packing.n_groups == n_prefix_ + 1),
          indexed_(counting && !paired_ && rows.index) {
        const std::int64_t fit = (paired_ ? 65536 : 24576) / (padded_ * std::int64_t(sizeof(T)));
        for (tile_rows_ = width; tile_rows_ * 2 <= std::min<std::int64_t>(fit, most_tile_rows);) tile_rows_ *= 2;
        const auto lay = [&](auto&& piece) {
            const std::size_t n = std::size_t(tile_rows_), wide = n * std::size_t(padded_);
            piece(counts_, counting ? std::size_t(tables.n_states * padded_) : 0);
            piece(weight_counts_, counting ? std::size_t(padded_) : 0);
            piece(tile_.states, tiles_.most_states(tile_rows_));
            piece(tile_.first, n + 1);
            piece(tile_.run_first, n + 1);
            piece(prefix_, wide);
            piece(prefix_sum_, wide);
            piece(gammas_, indexed_ ? std::size_t(RowIndex::span_rows * padded_) : wide);
            piece(partial_, n * width);
            piece(share_, n);
            piece(careful_rho_, std::size_t(tables.rank));
        };
        lay([&](auto*& piece, std::size_t count) { scratch.plan<std::remove_reference_t<decltype(*piece)>>(count); });
        scratch.begin();
        lay([&](auto*& piece, std::size_t count) { piece = scratch.take<std::remove_reference_t<decltype(*piece)>>(count); });
    }

    void accumulate(Counts& counts) {
        std::fill(counts_, counts_ + tables_.n_states * padded_, T(0));
        std::fill(weight_counts_, weight_counts_ + padded_, T(0));
        const std::int64_t flush_after = std::max<std::int64_t>(8192, 16 * tables_.n_states);
        std::int64_t since = 0;
        while (tiles_.next(tile_, tile_rows_)) {
            const std::int64_t in_span = indexed_ ? tile_.row % RowIndex::span_rows : 0;
            gamma_ = gammas_ + in_span * padded_;
            prefixes();
            if (paired_) dots();
            else gammas();
            counts.log_norm += normalise(tile_.weights);
            if (paired_) updates();
            else if (indexed_) settle<false>();
            else settle<true>();
            prefix_counts();
            for (int t = 0; hard_ && t < tile_.n; ++t) careful_counts(t, counts);
            const std::int64_t done = tile_.row + tile_.n;
            if (indexed_ && (in_span + tile_.n == RowIndex::span_rows || done == rows_.n_rows)) collect(tile_.row / RowIndex::span_rows);
            if (sizeof(T) == 4 && (since += tile_.n) > flush_after && !(indexed_ && done % RowIndex::span_rows)) flush(counts), since = 0;
        }
        flush(counts);
    }

    void score(Scores& scores) {
        gamma_ = gammas_;
        while (tiles_.next(tile_, tile_rows_)) {
            prefixes();
            gammas();
            normalise(nullptr);
            for (int s = 0; s < tile_.n_runs; ++s) {
                double scale = tables_.log_scale;
                for (int g = 0; g < n_prefix_; ++g) scale += tables_.state_scales[tile_.prefix_states[s * n_prefix_ + g]];
                for (int t = int(tile_.run_first[s]); t < int(tile_.run_first[s + 1]); ++t) score_row(t, scale, scores);
            }
        }
    }

   private:
    // What the inner loops need of a tile and of a strip of components; a copy of it can stay in registers.
    struct Hot {
        int n_runs;
        const std::uint32_t *run_first, *first, *state;
        std::int64_t padded;
        const T *states, *prefix, *share;
        T *counts, *prefix_sum, *gamma, *partial;
    };

    Hot hot_at(int v) const {
        const std::int64_t at = v * width;
        return {tile_.n_runs, tile_.run_first, tile_.first, tile_.states, padded_, states_ + at, prefix_ + at, share_,
                counts_ + at, prefix_sum_ + at, gamma_ + at, partial_};
    }

    // ---- gamma: one row is a product of gathered rows --------------------------------------------------------------

    void prefixes() {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            constexpr int K = decltype(k)::value;
            for (int s = 0; s < tile_.n_runs; ++s) {
                V p[K];
                for (int i = 0; i < K; ++i) p[i] = load(start_ + (v + i) * width);
                for (int g = 0; g < n_prefix_; ++g) {
                    const T* from = states_ + tile_.prefix_states[s * n_prefix_ + g] * padded_ + v * width;
                    for (int i = 0; i < K; ++i) p[i] = tables_.product ? p[i] * load(from + i * width) : p[i] + load(from + i * width);
                }
                for (int i = 0; i < K; ++i) store(prefix_ + s * padded_ + (v + i) * width, p[i]);
            }
        });
    }

    void gammas() {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            if (tables_.product) this->template gather<decltype(k)::value, true>(v);
            else this->template gather<decltype(k)::value, false>(v);
        });
        if (!tables_.product) exponentiate();
    }

    template <int K, bool product>
    void gather(int v) {
        const Hot hot = hot_at(v);
        for (int s = 0; s < hot.n_runs; ++s) {
            for (std::uint32_t t = hot.run_first[s]; t < hot.run_first[s + 1]; ++t) {
                V p[K];
                for (int i = 0; i < K; ++i) p[i] = load(hot.prefix + s * hot.padded + i * width);
                for (std::uint32_t c = hot.first[t]; c < hot.first[t + 1]; ++c) {
                    const T* from = hot.states + hot.state[c] * hot.padded;
                    for (int i = 0; i < K; ++i) p[i] = product ? p[i] * load(from + i * width) : p[i] + load(from + i * width);
                }
                for (int i = 0; i < K; ++i) store(hot.gamma + t * hot.padded + i * width, p[i]);
                if constexpr (product) {
                    V sum = v ? load(hot.partial + t * width) : V{};
                    for (int i = 0; i < K; ++i) sum += p[i];
                    store(hot.partial + t * width, sum);
                }
            }
        }
    }

    void exponentiate() {
        for (int t = 0; t < tile_.n; ++t) {
            T* gamma = gamma_ + t * padded_;
            const T peak = largest_of<T>(largest_lanes(gamma, tables_.n_vectors));
            const bool possible = peak > T(minus_infinity);
            V sum{};
            for (int v = 0; v < tables_.n_vectors; ++v) {
                const V e = possible ? exp_of(load(gamma + v * width) - peak) : V{};
                store(gamma + v * width, e);
                sum += e;
            }
            store(partial_ + t * width, sum);
            log_sum_[t] = possible ? double(peak) : 0.0;
        }
    }

    // With one state B left after the prefix P, gamma = P * B: its sum first, and then what both gain, without storing it.
    void dots() {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            constexpr int K = decltype(k)::value;
            const Hot hot = hot_at(v);
            for (int s = 0; s < hot.n_runs; ++s) {
                V p[K];
                for (int i = 0; i < K; ++i) p[i] = load(hot.prefix + s * hot.padded + i * width);
                for (std::uint32_t t = hot.run_first[s]; t < hot.run_first[s + 1]; ++t) {
                    const T* from = hot.states + hot.state[t] * hot.padded;
                    V sum = v ? load(hot.partial + t * width) : V{};
                    for (int i = 0; i < K; ++i) sum += p[i] * load(from + i * width);
                    store(hot.partial + t * width, sum);
                }
            }
        });
    }

    // ---- rho: the sums of the rows, their logs, and what each row's gamma is to be multiplied with -----------------

    double normalise(const double* weights) {
        constexpr int lanes = Lanes<double>::width;
        alignas(64) double sums[most_tile_rows], weight[most_tile_rows], share[most_tile_rows];
        for (int t = 0; t < tile_.n; t += width) store(share_ + t, sums_of<T>(partial_ + t * width));
        for (int t = 0; t < tile_.n; ++t) sums[t] = double(share_[t]), weight[t] = weights ? weights[t] : 1.0;
        for (int t = tile_.n; t % lanes; ++t) sums[t] = 1.0, weight[t] = 0.0, log_sum_[t] = 0.0;
        F64 total{};
        I64 all_sound = ~I64{};
        for (int t = 0; t < tile_.n; t += lanes) {
            const F64 sum = load(sums + t), w = load(weight + t);
            const I64 sound = sum > double(least_sum<T>);
            all_sound &= sound;
            const F64 safe = choose(sound, sum, all(1.0));
            F64 log_sum = log_of(safe);
            if (!tables_.product) log_sum += load(log_sum_ + t);
            store(log_sum_ + t, log_sum);
            total += choose(sound, w * log_sum, F64{});
            store(share + t, choose(sound, w / safe, F64{}));
        }
        for (int t = 0; t < tile_.n; ++t) share_[t] = T(share[t]);
        hard_ = false;
        for (int i = 0; i < lanes; ++i) hard_ |= all_sound[i] == 0;
        double sum = 0;
        for (int i = 0; i < lanes; ++i) sum += total[i];
        return sum;
    }

    // ---- counts ----------------------------------------------------------------------------------------------------

    void updates() {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            constexpr int K = decltype(k)::value;
            const Hot hot = hot_at(v);
            for (int s = 0; s < hot.n_runs; ++s) {
                V p[K], sum[K] = {};
                for (int i = 0; i < K; ++i) p[i] = load(hot.prefix + s * hot.padded + i * width);
                for (std::uint32_t t = hot.run_first[s]; t < hot.run_first[s + 1]; ++t) {
                    const std::int64_t at = hot.state[t] * hot.padded;
                    const V share = all(hot.share[t]);
                    for (int i = 0; i < K; ++i) {
                        sum[i] += share * load(hot.states + at + i * width);
                        store(hot.counts + at + i * width, load(hot.counts + at + i * width) + share * p[i]);
                    }
                }
                for (int i = 0; i < K; ++i) store(hot.prefix_sum + s * hot.padded + i * width, sum[i] * p[i]);
            }
        });
    }

    // Turns gamma into rho, and adds it to the states of the row unless they will `collect` it.
    template <bool scatter>
    void settle() {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            constexpr int K = decltype(k)::value;
            const Hot hot = hot_at(v);
            for (int s = 0; s < hot.n_runs; ++s) {
                V sum[K] = {};
                for (std::uint32_t t = hot.run_first[s]; t < hot.run_first[s + 1]; ++t) {
                    const V share = all(hot.share[t]);
                    T* gamma = hot.gamma + t * hot.padded;
                    V rho[K];
                    for (int i = 0; i < K; ++i) sum[i] += rho[i] = share * load(gamma + i * width);
                    if constexpr (scatter) {
                        for (std::uint32_t c = hot.first[t]; c < hot.first[t + 1]; ++c) {
                            T* to = hot.counts + hot.state[c] * hot.padded;
                            for (int i = 0; i < K; ++i) store(to + i * width, load(to + i * width) + rho[i]);
                        }
                    } else {
                        for (int i = 0; i < K; ++i) store(gamma + i * width, rho[i]);
                    }
                }
                for (int i = 0; i < K; ++i) store(hot.prefix_sum + s * hot.padded + i * width, sum[i]);
            }
        });
    }

    // Sums, for each state, the rho of the rows of a span that show it: nothing is stored in between.
    void collect(std::int64_t span) {
        for_strips(tables_.n_vectors, [&](auto k, int v) {
            constexpr int K = decltype(k)::value;
            const std::int64_t padded = padded_;
            const T* const rhos = gammas_ + v * width;
            T* const counts = counts_ + v * width;
            const RowIndex& index = *rows_.index;
            const std::uint16_t *state = index.state.data(), *count = index.count.data();
            const std::uint16_t* row = index.rows.data() + index.span_cells[std::size_t(span)];
            const std::uint32_t begin = index.span_lists[std::size_t(span)], end = index.span_lists[std::size_t(span) + 1];
            for (std::uint32_t l = begin; l < end; ++l) {
                T* to = counts + state[l] * padded;
                V sum[K];
                for (int i = 0; i < K; ++i) sum[i] = load(to + i * width);
                for (const std::uint16_t* last = row + count[l]; row < last; ++row)
                    for (int i = 0; i < K; ++i) sum[i] += load(rhos + *row * padded + i * width);
                for (int i = 0; i < K; ++i) store(to + i * width, sum[i]);
            }
        });
    }

    void prefix_counts() {
        for (int s = 0; s < tile_.n_runs; ++s) {
            const T* rho = prefix_sum_ + s * padded_;
            for (int g = -1; g < n_prefix_; ++g) {
                T* to = g < 0 ? weight_counts_ : counts_ + tile_.prefix_states[s * n_prefix_ + g] * padded_;
                for (std::int64_t i = 0; i < padded_; i += width) store(to + i, load(to + i) + load(rho + i));
            }
        }
    }

    // From states back to levels, in double precision; what was taken out of states goes back into the log-normaliser.
    void flush(Counts& counts) {
        for (int r = 0; r < tables_.rank; ++r) counts.weights[r] += double(weight_counts_[r]);
        counts.log_norm += tables_.log_scale * total_of(weight_counts_);
        std::fill(weight_counts_, weight_counts_ + padded_, T(0));
        for (int g = 0; g < packing_.n_groups; ++g) {
            const std::int64_t begin = packing_.base[g] * padded_, end = packing_.base[g + 1] * padded_;
            if (paired_ && g == n_prefix_)
                for (std::int64_t i = begin; i < end; i += width) store(counts_ + i, load(counts_ + i) * load(states_ + i));
            for (std::int64_t s = packing_.base[g]; s < packing_.base[g + 1]; ++s)
                counts.log_norm += tables_.state_scales[s] * total_of(counts_ + s * padded_);
            unpack_group(packing_, g, counts_ + begin, tables_.rank, tables_.n_vectors, counts.factors);
            if (sizeof(T) == 4) std::fill(counts_ + begin, counts_ + end, T(0));
        }
    }

    double total_of(const T* row) const {
        V sum = load(row);
        for (int v = 1; v < tables_.n_vectors; ++v) sum += load(row + v * width);
        return double(sum_of<T>(sum));
    }

    // ---- one row in logs, in double precision, from the tables as they came ----------------------------------------

    template <class F>
    void each_level_of_row(int t, F&& f) const {
        if (packing_.listed) {
            for (std::uint32_t c = tile_.first[t]; c < tile_.first[t + 1]; ++c) f(std::int64_t(tile_.states[c]));
            return;
        }
        const int run = int(std::upper_bound(tile_.run_first, tile_.run_first + tile_.n_runs, std::uint32_t(t)) - tile_.run_first) - 1;
        for (int g = 0; g < n_prefix_; ++g) each_level(packing_, g, tile_.prefix_states[run * n_prefix_ + g], f);
        for (int g = n_prefix_; g < packing_.n_groups; ++g) each_level(packing_, g, tile_.states[tile_.first[t] + std::uint32_t(g - n_prefix_)], f);
    }

    // Fills careful_rho_ and returns log sum gamma; an impossible row gives zeros and minus infinity.
    double careful(int t) {
        double* rho = careful_rho_;
        std::copy(tables_.log_weights, tables_.log_weights + tables_.rank, rho);
        each_level_of_row(t, [&](std::int64_t level) {
            for (int r = 0; r < tables_.rank; ++r) rho[r] += tables_.log_factors[level * tables_.rank + r];
        });
        const double top = *std::max_element(rho, rho + tables_.rank);
        double sum = 0;
        for (int r = 0; r < tables_.rank; ++r) sum += rho[r] = top > minus_infinity ? std::exp(rho[r] - top) : 0.0;
        for (int r = 0; r < tables_.rank && sum > 0; ++r) rho[r] /= sum;
        return sum > 0 ? top + std::log(sum) : minus_infinity;
    }

    bool sound(int t) const { return share_[t] != T(0) || (tile_.weights && tile_.weights[t] == 0.0); }

    void careful_counts(int t, Counts& counts) {
        if (sound(t)) return;
        const double weight = tile_.weights ? tile_.weights[t] : 1.0;
        counts.log_norm += weight * careful(t);
        for (int r = 0; r < tables_.rank; ++r) counts.weights[r] += weight * careful_rho_[r];
        each_level_of_row(t, [&](std::int64_t level) {
            for (int r = 0; r < tables_.rank; ++r) counts.factors[level * tables_.rank + r] += weight * careful_rho_[r];
        });
    }

    void score_row(int t, double scale, Scores& scores) {
        const std::int64_t row = tile_.row + t;
        const bool hard = hard_ && !(share_[t] != T(0));
        const double log_sum = hard ? careful(t) : log_sum_[t];
        if (scores.log_normaliser) {
            for (std::uint32_t c = tile_.first[t]; c < tile_.first[t + 1]; ++c) scale += tables_.state_scales[tile_.states[c]];
            scores.log_normaliser[row] = hard ? log_sum : log_sum + scale;
        }
        if (!scores.resp) return;
        double* to = scores.resp + row * tables_.rank;
        const T* gamma = gamma_ + t * padded_;
        for (int r = 0; r < tables_.rank; ++r) to[r] = hard ? careful_rho_[r] : double(share_[t]) * double(gamma[r]);
    }

    const Packing& packing_;
    const Tables& tables_;
    const Rows& rows_;
    Tiles tiles_;
    Tile tile_;
    const std::int64_t padded_;
    const T* const start_;
    const T* const states_;
    const int n_prefix_;
    const bool paired_, indexed_;
    bool hard_ = false;  // some row of the tile must be done with care
    int tile_rows_;
    T *counts_, *weight_counts_;  // of states, and of no state at all
    T *prefix_, *prefix_sum_;     // (n_runs, padded) product of the prefix's states, and sum of its rows' rho
    T *gammas_, *gamma_;          // (n, padded), of a span or of the tile
    T *partial_;                  // (n, width) pieces of the sum of gamma
    T *share_;                    // (n) weight / sum
    double* careful_rho_;
    alignas(64) double log_sum_[most_tile_rows];
};

void prepare(const Packing& packing, Tables& tables) {
    tables.single ? prepare_tables<float>(packing, tables) : prepare_tables<double>(packing, tables);
}

void accumulate(const Packing& packing, const Tables& tables, const Rows& rows, Counts& counts) {
    FlushTiny flush_tiny;
    if (tables.single) Pass<float>(packing, tables, rows, true).accumulate(counts);
    else Pass<double>(packing, tables, rows, true).accumulate(counts);
}

void score(const Packing& packing, const Tables& tables, const Rows& rows, Scores& scores) {
    FlushTiny flush_tiny;
    if (tables.single) Pass<float>(packing, tables, rows, false).score(scores);
    else Pass<double>(packing, tables, rows, false).score(scores);
}

}  // namespace

template <>
const tensorpmf::EstepKernels& tensorpmf::kernels_for<tensorpmf::EstepKernels, tensorpmf::Isa::TENSORPMF_ISA>() {
    static constexpr EstepKernels kernels = {VECTOR_BYTES, prepare, accumulate, score};
    return kernels;
}
