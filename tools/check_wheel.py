"""Install the built wheel in an empty environment and try what a user would try first.

Run with ``python tools/check_wheel.py FOLDER``. It catches what an editable install hides: data files,
type marker or compiled core missing from the wheel, or libraries that only this machine has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TRIAL = """
from importlib.resources import files
import numpy as np
import localegop
from localegop import LocalEGOPRegressor, _core
from localegop.datasets import load_malonaldehyde, make_helix
from localegop.reference import local_egop

assert files(localegop).joinpath("py.typed").is_file()
assert "site-packages" in localegop.__file__
X, y = make_helix(700, 3, random_state=0)
local_egop(X[:200], y[:200], X[0], n_iter=3, n_subsamples=20, random_state=0)
model = LocalEGOPRegressor(n_jobs=2).fit(X[:600], y[:600])
error = np.mean((model.predict(X[600:]) - y[600:]) ** 2) / np.var(y)
assert error < 0.01, error
interval = model.predict_interval(X[600:])
assert interval.shape == (100, 2) and np.all(interval[:, 0] <= interval[:, 1])
fits = model.localize(X[600:610])
assert fits.gradient.shape[-1] == 3
assert "startFile();" in model.explore(X[600:602]).to_html()
model.save("model.npz")
again = LocalEGOPRegressor.load("model.npz")
assert np.array_equal(again.predict(X[600:]), model.predict(X[600:]))
print(f"localegop {localegop.__version__} ({_core.instruction_set}, {_core.threading}):",
      f"relative error {error:.1e};", len(load_malonaldehyde().positions), "frames of malonaldehyde")
"""


def only_wheel(folder: str) -> Path:
    """Return the wheel of the folder, which must hold one."""
    wheels = sorted(Path(folder).resolve().glob("localegop-*.whl"))
    if len(wheels) != 1:
        found = ", ".join(wheel.name for wheel in wheels) or "none"
        raise SystemExit(
            f"{folder} must hold one wheel of localegop, but holds {found}: run `make package`"
        )
    return wheels[0]


def main(folder: str) -> None:
    """Install the only wheel of the folder in a temporary environment and run the trial there."""
    wheel = only_wheel(folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        scripts = Path(place) / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        subprocess.run([scripts / "python", "-W", "error", "-c", TRIAL], check=True, cwd=place)
        subprocess.run([scripts / "localegop", "--help"], check=True, cwd=place, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1])
