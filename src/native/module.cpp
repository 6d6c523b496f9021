// The Python module: which instruction set is in use, and the kernels, each bound in a file of its own.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bind.hpp"
#include "isa.hpp"

namespace nb = nanobind;

namespace tensorpmf {
namespace {

constexpr const char* name_of[] = {"baseline", "avx2", "avx512"};

// The best first.
std::vector<Isa> available() {
    std::vector<Isa> found;
#if defined(TENSORPMF_X86)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        found.push_back(Isa::avx512);
    if (avx2) found.push_back(Isa::avx2);
#endif
    found.push_back(Isa::baseline);
    return found;
}

Isa chosen = available().front();

void use(const std::string& name) {
    for (Isa isa : available())
        if (name == name_of[int(isa)]) return void(chosen = isa);
    throw std::invalid_argument("this machine cannot run " + name);
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (Isa isa : available()) all.emplace_back(name_of[int(isa)]);
    return all;
}

}  // namespace

Isa chosen_isa() { return chosen; }

}  // namespace tensorpmf

NB_MODULE(_native, m) {
    using namespace tensorpmf;
    nb::set_leak_warnings(false);  // packings live in caches until the interpreter ends
    m.doc() = "Compiled kernels; their legible twins are in tensorpmf.kernels.reference.";
    m.def("available", &names, "Instruction sets this machine can run, the best first.");
    m.def("current", [] { return name_of[int(chosen)]; }, "The instruction set in use.");
    m.def("use", &use, nb::arg("name"), "Choose an instruction set for what is made from now on.");
    bind_estep(m);
    bind_gamma(m);
    bind_marginals(m);
    bind_recursion(m);
}
