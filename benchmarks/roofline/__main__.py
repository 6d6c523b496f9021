"""Print what bounds the kernels on this machine."""

from __future__ import annotations

from benchmarks.roofline import machine


def main() -> None:
    here = machine()
    print(f"vectors of {here.vector_bytes} bytes; nanoseconds a vector:")
    print(f"{'table':>10s}  {'1':^15s}  {'3':^15s}  {'8 vectors a row':^15s}   gather, scatter")
    for kilobytes in (16, 64, 256, 1024, 4096, 16384):
        rates = [
            [here.rate(kind, kilobytes * 1024, n_vectors) for kind in ("gather", "scatter")] for n_vectors in (1, 3, 8)
        ]
        print(f"{kilobytes:7d} kB  " + "  ".join(f"{gather:7.2f} {scatter:7.2f}" for gather, scatter in rates))
    print(f"exp {here.exp_ns:.2f}, log {here.log_ns:.2f}; memory is read at {here.memory_gb_per_s:.1f} GB/s")


if __name__ == "__main__":
    main()
