// New arrays for Python, in memory that is used again and again.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "memory.hpp"

namespace tensorpmf {

template <int ndim>
using Fresh = nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<ndim>, nanobind::c_contig>;

inline double* fresh(std::size_t count) { return static_cast<double*>(pool().take(count * sizeof(double))); }

inline nanobind::capsule owner_of(double* memory) {
    return nanobind::capsule(memory, [](void* memory) noexcept { pool().give_back(memory); });
}

}  // namespace tensorpmf
