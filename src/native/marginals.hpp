#pragma once

#include <nanobind/nanobind.h>

// `isa` names the instruction set in use.
void bind_marginals(nanobind::module_& m, const char* (*isa)());
