"""Install the built wheel in an empty environment and try what a user would try first.

Run with ``python tools/check_wheel.py FOLDER``. It catches what an editable install hides: data files,
type marker or compiled core missing from the wheel.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TRIAL = """
from importlib.resources import files
import localegop
from localegop import _core
from localegop.datasets import load_malonaldehyde, make_helix
from localegop.reference import local_egop
X, y = make_helix(200, 3, random_state=0)
fit = local_egop(X, y, X[0], n_iter=3, n_subsamples=20, random_state=0)
molecule = load_malonaldehyde()
assert files(localegop).joinpath("py.typed").is_file()
print(f"localegop {localegop.__version__} ({_core.instruction_set}):", len(molecule.positions), "frames")
"""


def main(folder: str) -> None:
    """Install the only wheel of the folder in a temporary environment and run the trial there."""
    (wheel,) = Path(folder).resolve().glob("localegop-*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = Path(place) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        subprocess.run([python, "-W", "error", "-c", TRIAL], check=True, cwd=place)


if __name__ == "__main__":
    main(sys.argv[1])
