// What bounds the pass over the rows on this machine: how long a vector takes to be loaded and added from tables of several
// sizes (gather), to be added to such tables (scatter), to be exponentiated, and to be read from memory. Prints JSON.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "../../src/native/simd.hpp"

namespace {

constexpr int width = Lanes<double>::width;
volatile double sink;

double* doubles(std::size_t count) {
    const std::size_t bytes = (count * sizeof(double) + 4095) / 4096 * 4096;
    void* memory = std::aligned_alloc(4096, bytes);
    std::memset(memory, 0, bytes);
    return static_cast<double*>(memory);
}

// The shortest of many short runs: what the machine can do when nobody else is at it.
template <class F>
double seconds(F&& f) {
    double best = 1e9;
    for (int i = 0; i < 60; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

// Rows of K vectors at random places: loaded and multiplied into registers, or added to in place.
template <int K>
void tables(bool& first) {
    for (std::size_t kilobytes = 4; kilobytes <= 16384; kilobytes *= 2) {
        const std::size_t rows = std::max<std::size_t>(2, kilobytes * 1024 / (K * VECTOR_BYTES)), count = 4096;
        double* table = doubles(rows * K * width);
        std::vector<std::uint32_t> at(count);
        std::mt19937 random(1);
        for (auto& row : at) row = std::uint32_t(random() % rows);
        const double gather = seconds([&] {
            F64 sum[K] = {};
            for (std::uint32_t row : at)
                for (int i = 0; i < K; ++i) sum[i] += load(table + (std::size_t(row) * K + std::size_t(i)) * width);
            for (int i = 0; i < K; ++i) sink = sum[i][0];
        });
        const double scatter = seconds([&] {
            F64 more[K];
            for (int i = 0; i < K; ++i) more[i] = all(sink * i);
            for (std::uint32_t row : at)
                for (int i = 0; i < K; ++i) {
                    double* to = table + (std::size_t(row) * K + std::size_t(i)) * width;
                    store(to, load(to) + more[i]);
                }
        });
        std::printf("%s\n  {\"vectors\": %d, \"kilobytes\": %zu, \"gather_ns\": %.4f, \"scatter_ns\": %.4f}", first ? "" : ",", K,
                    kilobytes, gather * 1e9 / double(count * K), scatter * 1e9 / double(count * K));
        first = false;
        std::free(table);
    }
}

}  // namespace

int main() {
    std::printf("{\"vector_bytes\": %d, \"tables\": [", VECTOR_BYTES);
    bool first = true;
    tables<1>(first), tables<2>(first), tables<3>(first), tables<4>(first), tables<6>(first), tables<8>(first);
    double* x = doubles(4096);
    for (int i = 0; i < 4096; ++i) x[i] = -0.01 * i;
    const double exps = seconds([&] {
        F64 sum{};
        for (int i = 0; i < 4096; i += width) sum += exp_of(load(x + i));
        sink = sum[0];
    });
    const double logs = seconds([&] {
        F64 sum{};
        for (int i = 0; i < 4096; i += width) sum += log_of(1.0 - load(x + i));
        sink = sum[0];
    });
    const std::size_t many = std::size_t(1) << 24;
    double* memory = doubles(many);
    const double read = seconds([&] {
        F64 sum{};
        for (std::size_t i = 0; i < many; i += width) sum += load(memory + i);
        sink = sum[0];
    });
    std::printf("],\n \"exp_ns\": %.4f, \"log_ns\": %.4f, \"memory_gb_per_s\": %.2f}\n", exps * 1e9 / (4096 / width),
                logs * 1e9 / (4096 / width), double(many) * 8 / read / 1e9);
}
