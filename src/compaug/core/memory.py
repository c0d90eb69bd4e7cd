"""Freed memory is kept for the next step (glibc).

A model takes and frees the same tens of MB at every step. glibc hands such blocks back to the system, which has to
fault every page of them in again: on a virtual machine a third to a half of a decoding step. The peak is the same.
"""

from __future__ import annotations

import contextlib
import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers of these options
LARGEST = 2**30


def keep_freed() -> None:
    """For this process. Nothing where the C library has no such options (musl, macOS, Windows)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, LARGEST)
