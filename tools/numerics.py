"""Run the numerical tests as other processors would compute them.

OpenBLAS, NumPy and our own core each choose their loops by processor. For every kind of processor that this
one can imitate, all three are told to take that one's, so that a pass here means a pass there. Run with
``python tools/numerics.py [pytest arguments]``; ``--list`` shows the kinds and runs nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localegop import _core

ROOT = Path(__file__).parents[1]
NUMERICAL = [
    "tests/data",
    "tests/datasets",
    "tests/engine",
    "tests/fit",
    "tests/predict",
    "tests/research/theory",
    "tests/selection",
    "tests/test_kernels.py",
    "tests/test_reference.py",
    "tests/test_regressor.py",
    "tests/test_results.py",
    "tests/test_schedules.py",
]
# Loops that NumPy has beside the plain ones, by how their names begin: all, and those that AVX2 lacks.
ALL = ("X86_V", "AVX", "FMA", "XOP", "F16C")
AVX512 = ("X86_V4", "AVX512")


@dataclass(frozen=True)
class Processor:
    """A kind of processor: the names of its instruction set in our core and of its loops in OpenBLAS."""

    instruction_set: str
    blas: str
    without: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make this processor compute like it."""
        chosen = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
        off = [name for name in chosen if name.startswith(self.without)]
        found = {"LOCALEGOP_ISA": self.instruction_set, "OPENBLAS_CORETYPE": self.blas}
        return found | ({"NPY_DISABLE_CPU_FEATURES": " ".join(off)} if off else {})


PROCESSORS = (
    Processor("baseline", "Prescott", ALL),
    Processor("avx2", "Haswell", AVX512),
    Processor("avx512", "SkylakeX"),
)


def told(processor: Processor) -> str:
    """Environment as one would type it."""
    return " ".join(f"{name}={value!r}" for name, value in processor.environment.items())


def run(processor: Processor, arguments: list[str]) -> int:
    """Run the numerical tests and return pytest's code."""
    print(f"== numerics: {told(processor)}", flush=True)
    begin = time.monotonic()
    command = [sys.executable, "-m", "pytest", *NUMERICAL, *arguments]
    code = subprocess.run(command, cwd=ROOT, env=os.environ | processor.environment, check=False).returncode
    print(f"== numerics: {processor.instruction_set} took {time.monotonic() - begin:.0f} s", flush=True)
    return code


def main(arguments: list[str]) -> int:
    """Run all kinds that this processor can imitate, and return the worst code."""
    able = [kind for kind in PROCESSORS if kind.instruction_set in _core.instruction_sets]
    if "--list" in arguments:
        print("\n".join(map(told, able)))
        return 0
    return max(run(kind, arguments) for kind in able)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
