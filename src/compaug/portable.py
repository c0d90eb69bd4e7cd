"""The same numbers on every CPU: the instruction set and the number of threads, fixed before numpy and torch are loaded.

Importing `compaug` imports this module first. It sets the environment whatever the caller's says, because the order in which a
vectorised sum adds its terms, and so its last digits, depends on the width of the vectors and on the number of threads; training turns
last digits into other models. AVX2 is what every x86-64 CPU of the last ten years has, and for models of this size it is as fast as AVX-512.

What is left: on Intel, MKL chooses kernels by vendor. `python -m stages.as_amd COMMAND` makes it choose AMD's; COMPAUG_MKL=COMPATIBLE makes all vendors
equal where that cannot be done, in digits of its own, and is about 1.7 times slower.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping

THREADS = (
    1  # of one process; a second core is worth more to a second stage (README, "Grids") than to these small matrices
)
MKL = ("AVX2", "COMPATIBLE")  # MKL_CBWR: the fast way, and the one that is the same for all makers of CPUs
LIBRARIES = ("numpy", "torch")  # they read the environment once, when they are loaded


def settings(mkl: str = MKL[0]) -> dict[str, str]:
    """The environment variables that fix the arithmetic of torch (ATen, oneDNN, MKL) and of numpy (its loops, OpenBLAS)."""
    threads = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")
    return {f"{library}_NUM_THREADS": str(THREADS) for library in threads} | {
        "OMP_DYNAMIC": "FALSE",
        "MKL_DYNAMIC": "FALSE",
        "MKL_CBWR": mkl,
        "ATEN_CPU_CAPABILITY": "avx2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",  # the newer name of the same
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy 2.4's names; it ignores others in silence
    }


# What else could change a sum, or would be reported by numpy as an error next to the one above.
UNSET = ("NPY_ENABLE_CPU_FEATURES", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "GOTO_NUM_THREADS", "KMP_AFFINITY")


def fix(environment=os.environ) -> None:
    """Set all of it; for this process, which must not have loaded numpy or torch yet, and for those that it starts."""
    if platform.machine() not in ("x86_64", "AMD64"):
        environment["OMP_NUM_THREADS"] = str(
            THREADS
        )  # the other names are those of x86-64; README says where the digits hold
        return
    mkl = environment.get("COMPAUG_MKL", MKL[0]).upper()
    if mkl not in MKL:
        print(f"error: COMPAUG_MKL={mkl}: it can be {' or '.join(MKL)}; unset it", file=sys.stderr)
        sys.exit(2)
    wanted = settings(mkl)
    if late := [name for name in LIBRARIES if name in sys.modules and not is_fixed(environment)]:
        print(
            f"note: {late[0]} was loaded before compaug, so its last digits may differ here; import compaug first",
            file=sys.stderr,
        )
    environment.update(wanted)
    for name in UNSET:
        environment.pop(name, None)


def is_fixed(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a library that is loaded now reads what this module sets."""
    mkl = environment.get("COMPAUG_MKL", MKL[0]).upper()
    return all(environment.get(name) == value for name, value in settings(mkl).items())
