// Instruction sets: some sources are compiled once for each, with TENSORPMF_ISA set, and one is picked at run time.
//
// Such a source keeps everything in an unnamed namespace, so that the linker cannot mix instruction sets, and hands out its
// entry points as `kernels_for<Entry points, Isa::TENSORPMF_ISA>`.
#pragma once

namespace tensorpmf {

enum class Isa { baseline, avx2, avx512 };

template <class Kernels, Isa isa>
const Kernels& kernels_for();

// The instruction set in use.
Isa chosen_isa();

template <class Kernels>
const Kernels& kernels() {
#if defined(TENSORPMF_X86)
    if (chosen_isa() == Isa::avx512) return kernels_for<Kernels, Isa::avx512>();
    if (chosen_isa() == Isa::avx2) return kernels_for<Kernels, Isa::avx2>();
#endif
    return kernels_for<Kernels, Isa::baseline>();
}

}  // namespace tensorpmf
