"""The same numbers on every CPU: instruction set and number of threads, fixed before numpy and torch are loaded.

Importing `compaug` imports this module first. It sets the environment whatever the caller's says, because the order in
which a vectorised sum adds its terms, and so its last digits, depends on the width of the vectors and on the number of
threads; training turns last digits into other models. AVX2 is what every x86-64 CPU of the last ten years has, and for
models of this size it is as fast as AVX-512.

With COMPAUG_CPU=native the widest instructions of this CPU count instead, and bfloat16 where it has that
(`loop.reduced`): for pretrained models, which it makes three to four times as fast where the CPU has AMX, in digits
that are those of this kind of CPU.

What is left: MKL chooses kernels by the CPU's maker. docs/machines.md says whose the committed digits are.
COMPAUG_MKL=COMPATIBLE makes all makers equal, in digits of its own, and is about 1.7 times slower.
"""

import os
import platform
import sys
from collections.abc import Mapping

THREADS = 1  # of one process; a second core is worth more to a second stage than to these small matrices
MKL = ("AVX2", "COMPATIBLE")  # MKL_CBWR: the fast way, and the one that is the same for all makers of CPUs
CPU = ("PORTABLE", "NATIVE")  # COMPAUG_CPU: the same digits everywhere, or as fast as this CPU can
LIBRARIES = ("numpy", "torch")  # they read the environment once, when they are loaded


def threads() -> dict[str, str]:
    """The environment variables that fix the number of threads."""
    libraries = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")
    numbers = {f"{library}_NUM_THREADS": str(THREADS) for library in libraries}
    return numbers | {"OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}


def instructions(mkl: str = MKL[0]) -> dict[str, str]:
    """Those that fix the arithmetic of torch (ATen, oneDNN, MKL) and of numpy (its loops, OpenBLAS)."""
    return {
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
        environment["OMP_NUM_THREADS"] = str(THREADS)  # the other names are those of x86-64
        return
    for name, choices in (("COMPAUG_MKL", MKL), ("COMPAUG_CPU", CPU)):
        if (choice := environment.get(name, choices[0]).upper()) not in choices:
            print(f"error: {name}={choice}: it can be {' or '.join(choices)}; unset it", file=sys.stderr)
            sys.exit(2)
    if late := [name for name in LIBRARIES if name in sys.modules and not is_fixed(environment)]:
        print(
            f"note: {late[0]} was loaded before compaug, so its last digits may differ here; import compaug first",
            file=sys.stderr,
        )
    for name in (*UNSET, *instructions()):
        environment.pop(name, None)
    environment.update(settings(environment))


def native(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether COMPAUG_CPU asks for this CPU's own instructions."""
    return environment.get("COMPAUG_CPU", CPU[0]).upper() == CPU[1]


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What `fix` sets in that environment."""
    if native(environment):
        return threads()
    return threads() | instructions(environment.get("COMPAUG_MKL", MKL[0]).upper())


def is_fixed(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a library that is loaded now reads what this module sets."""
    fixed = settings(environment)
    return all(environment.get(name) == fixed.get(name) for name in (*threads(), *instructions()))
