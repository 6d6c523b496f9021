// Each adds its functions to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpmf {

void bind_estep(nanobind::module_& m);
void bind_gamma(nanobind::module_& m);
void bind_marginals(nanobind::module_& m);
void bind_recursion(nanobind::module_& m);

}  // namespace tensorpmf
