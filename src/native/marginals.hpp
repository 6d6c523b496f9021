#pragma once

#include <nanobind/nanobind.h>

void bind_marginals(nanobind::module_& m);
