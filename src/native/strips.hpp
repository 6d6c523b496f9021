// Components are taken a few vectors at a time, so that what is summed stays in registers; and memory for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace {

constexpr int strip = 8;  // vectors

// Calls f(std::integral_constant<int, K>, first) for strips of K <= `strip` vectors that cover all of them.
template <class F>
inline void for_strips(int n_vectors, F&& f) {
    int first = 0;
    for (; n_vectors - first > strip; first += strip) f(std::integral_constant<int, strip>{}, first);
    switch (n_vectors - first) {
        case 1: return f(std::integral_constant<int, 1>{}, first);
        case 2: return f(std::integral_constant<int, 2>{}, first);
        case 3: return f(std::integral_constant<int, 3>{}, first);
        case 4: return f(std::integral_constant<int, 4>{}, first);
        case 5: return f(std::integral_constant<int, 5>{}, first);
        case 6: return f(std::integral_constant<int, 6>{}, first);
        case 7: return f(std::integral_constant<int, 7>{}, first);
        default: return f(std::integral_constant<int, 8>{}, first);
    }
}

// Memory a thread keeps between passes, handed out in pieces aligned to cache lines.
class Scratch {
   public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    ~Scratch() { std::free(memory_); }

    // First ask for all pieces with `plan`, then `begin`, then ask for them again, in the same order, with `take`.
    template <class X>
    void plan(std::size_t count) {
        planned_ += rounded(count * sizeof(X));
    }
    void begin() {
        if (planned_ > size_) {
            std::free(memory_);
            size_ = planned_ + planned_ / 4;
            size_ += 4096 - size_ % 4096;
            memory_ = static_cast<char*>(std::aligned_alloc(4096, size_));
            if (!memory_) std::abort();
        }
        planned_ = used_ = 0;
    }
    template <class X>
    X* take(std::size_t count) {
        X* piece = reinterpret_cast<X*>(memory_ + used_);
        used_ += rounded(count * sizeof(X));
        return piece;
    }

   private:
    static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    char* memory_ = nullptr;
    std::size_t size_ = 0, planned_ = 0, used_ = 0;
};

}  // namespace
