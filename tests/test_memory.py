import platform
import resource

import pytest
import torch

from compaug.core import memory

PAGES = 48 * 2**20 // resource.getpagesize()


def faults_of(times: int) -> int:
    """Pages that had to be faulted in by taking 48 MB, using them and giving them back, so often."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.empty(48 * 2**20, dtype=torch.uint8).fill_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these options")
def test_a_block_that_was_freed_is_not_faulted_in_again():
    faults_of(30)  # the heap grows for a while: an aligned block needs a little more room than it leaves
    assert faults_of(10) < PAGES  # 10 times as many where it goes back to the system


def test_a_c_library_without_these_options_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    memory.keep_freed()
