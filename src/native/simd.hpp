// Vectors as wide as the instruction set, and the few functions of them the kernels need.
//
// Included by sources that are compiled once per instruction set. Everything lives in an unnamed namespace, so that the
// linker can never put code of one instruction set into another.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

namespace {

typedef double F64 __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef float F32 __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef std::int64_t I64 __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef std::int32_t I32 __attribute__((vector_size(VECTOR_BYTES), may_alias));

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
    using Vec = F64;
    using Int = I64;
    static constexpr int width = VECTOR_BYTES / 8;
};
template <>
struct Lanes<float> {
    using Vec = F32;
    using Int = I32;
    static constexpr int width = VECTOR_BYTES / 4;
};
template <class T>
using Vec = typename Lanes<T>::Vec;

template <class T>
inline Vec<T> load(const T* from) {
    return *reinterpret_cast<const Vec<T>*>(from);
}
template <class T>
inline void store(T* to, Vec<T> v) {
    *reinterpret_cast<Vec<T>*>(to) = v;
}
template <class T>
inline Vec<T> all(T x) {
    return x - Vec<T>{};  // a broadcast; x - 0 keeps the sign of zero
}

template <class To, class From>
inline To bits(From v) {
    static_assert(sizeof(To) == sizeof(From));
    To out;
    std::memcpy(&out, &v, sizeof out);
    return out;
}

template <class V, class I>
inline V choose(I mask, V yes, V no) {  // mask lanes are all ones or all zeros
    return bits<V>((bits<I>(yes) & mask) | (bits<I>(no) & ~mask));
}

// One step of a transposed sum: lane i of the answer is a[i] + a[i ^ step], or the same of b where i has the bit `step`.
template <int step, class V, class I>
inline V fold_pair(V a, V b) {
    constexpr int width = sizeof(V) / sizeof(a[0]);
    I straight, crossed;
    for (int i = 0; i < width; ++i) {
        const int source = (i & step) ? width : 0;
        straight[i] = source + i;
        crossed[i] = source + (i ^ step);
    }
#if defined(__clang__)
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        return __builtin_shufflevector(a, b, (((i & step) ? width : 0) + i)...) +
               __builtin_shufflevector(a, b, (((i & step) ? width : 0) + (i ^ step))...);
    }(std::make_integer_sequence<int, width>{});
#else
    return __builtin_shuffle(a, b, straight) + __builtin_shuffle(a, b, crossed);
#endif
}

// Lane i of the answer is the sum of the lanes of rows[i].
template <class T, int count = Lanes<T>::width>
inline Vec<T> sums_of(const T* rows) {
    constexpr int width = Lanes<T>::width;
    if constexpr (count == 1) {
        return load(rows);
    } else {
        const Vec<T> low = sums_of<T, count / 2>(rows);
        const Vec<T> high = sums_of<T, count / 2>(rows + (count / 2) * width);
        return fold_pair<count / 2, Vec<T>, typename Lanes<T>::Int>(low, high);
    }
}

template <class V>
inline V larger(V a, V b) {
    return choose(a > b, a, b);
}

// The lanes of v changed about: lane i of the answer is v[i ^ step].
template <int step, class V, class I>
inline V crossed(V v) {
    constexpr int width = sizeof(V) / sizeof(v[0]);
#if defined(__clang__)
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        return __builtin_shufflevector(v, v, (i ^ step)...);
    }(std::make_integer_sequence<int, width>{});
#else
    I source;
    for (int i = 0; i < width; ++i) source[i] = i ^ step;
    return __builtin_shuffle(v, source);
#endif
}

template <class T, int step = Lanes<T>::width / 2>
inline T largest_of(Vec<T> v) {
    if constexpr (step == 0) return v[0];
    else return largest_of<T, step / 2>(larger(v, crossed<step, Vec<T>, typename Lanes<T>::Int>(v)));
}

template <class T, int step = Lanes<T>::width / 2>
inline T sum_of(Vec<T> v) {
    if constexpr (step == 0) return v[0];
    else return sum_of<T, step / 2>(v + crossed<step, Vec<T>, typename Lanes<T>::Int>(v));
}

// e^x for x <= 0, within one unit of the last place or two; 0 where the answer would be subnormal, -inf included.
inline F64 exp_of(F64 x) {
    const F64 magic = all(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to whole numbers, kept in the low bits
    const I64 dead = x < -708.0;
    x = choose(dead, F64{}, x);
    const F64 shifted = x * 1.4426950408889634 + magic;
    const F64 n = shifted - magic;
    const F64 r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    F64 p = all(1.6059043836821613e-10);
    p = p * r + 2.08767569878681e-09;
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.7557319223985893e-06;
    p = p * r + 2.48015873015873e-05;
    p = p * r + 0.0001984126984126984;
    p = p * r + 0.001388888888888889;
    p = p * r + 0.008333333333333333;
    p = p * r + 0.041666666666666664;
    p = p * r + 0.16666666666666666;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const I64 power = (bits<I64>(shifted) + 1023) << 52;
    return choose(dead, F64{}, p * bits<F64>(power));
}

inline F32 exp_of(F32 x) {
    const F32 magic = all(12582912.0f);  // 1.5 * 2^23
    const I32 dead = x < -87.0f;
    x = choose(dead, F32{}, x);
    const F32 shifted = x * 1.44269504f + magic;
    const F32 n = shifted - magic;
    const F32 r = (x - n * 0.693145751953125f) - n * 1.42860682030941723212e-6f;
    F32 p = all(1.9841270e-4f);
    p = p * r + 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const I32 power = (bits<I32>(shifted) + 127) << 23;
    return choose(dead, F32{}, p * bits<F32>(power));
}

// log x for normal positive x, within one unit of the last place or two.
inline F64 log_of(F64 x) {
    typedef std::uint64_t U64 __attribute__((vector_size(VECTOR_BYTES), may_alias));
    const U64 root_half = U64{} + 0x3fe6a09e667f3bcdULL, one = U64{} + 0x3ff0000000000000ULL;
    const U64 moved = bits<U64>(x) + (one - root_half);
    const F64 k = bits<F64>((moved >> 52) | 0x4330000000000000ULL) - (4503599627370496.0 + 1023.0);
    const F64 m = bits<F64>((moved & 0x000fffffffffffffULL) + root_half);  // x = m 2^k, sqrt(1/2) <= m < sqrt(2)
    const F64 f = m - 1.0;
    const F64 s = f / (f + 2.0), z = s * s, half = 0.5 * f * f;
    F64 p = all(1.479819860511658591e-01);
    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    const F64 low = s * (half + p * z) + k * 1.90821492927058770002e-10;
    return k * 6.93147180369123816490e-01 - ((half - low) - f);
}

}  // namespace
