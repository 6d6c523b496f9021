#include <nanobind/nanobind.h>

#include "marginals.hpp"

namespace nb = nanobind;

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels.";
  bind_marginals(m);
}
