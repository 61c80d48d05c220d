"""Simulate the malonaldehyde frames that ship with the package.

The diketo form OHC-CH2-CHO is built from standard bond lengths and angles, relaxed, and
run by Langevin dynamics with forces from GFN2-xTB. Six independent chains start from
different torsions, so that no single chain has to visit every conformation.

Needs ``ase`` (3.29 or later) and ``tblite``, which the package itself does not use. Make a separate
environment for them and run on one core, 25 to 30 minutes with the defaults::

    python -m venv simulation-env
    simulation-env/bin/pip install "ase>=3.29" tblite
    OMP_NUM_THREADS=1 simulation-env/bin/python tools/simulate_malonaldehyde.py

The defaults (seed 0, 6,000 frames, 500 K, steps of 0.5 fs) made the shipped file. Chain ``i``
draws from child ``i`` of the seed. A seed repeats its run with the same program versions on
the same machine; elsewhere the last bits differ and the chains part, as chaotic paths do.

A frame with a broken or a new bond stops the run at once. The script ends with checks over
all frames, prints them, and writes no file where one fails.
"""

from __future__ import annotations

import argparse
import time
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
from ase import Atoms, units
from ase.data import covalent_radii
from ase.md import thermalize_momenta
from ase.md.langevin import Langevin
from ase.optimize import BFGS
from numpy.typing import NDArray
from tblite.ase import TBLite

SYMBOLS = "CCCOOHHHH"
BONDS = np.array([[0, 1], [0, 4], [0, 5], [1, 2], [1, 6], [1, 7], [2, 3], [2, 8]])
TORSIONS = np.array([[4, 0, 1, 6], [6, 1, 2, 3]])
UNBONDED = np.array([p for p in combinations(range(9), 2) if list(p) not in BONDS.tolist()])
STARTS = ((30, 30), (150, 30), (30, 150), (150, 150), (90, -90), (-60, 120))  # degrees

TIME_STEP = 0.5  # fs
FRICTION = 0.01  # 1/fs: the thermostat forgets within 100 fs, 2.5 spacings of the frames
EQUILIBRATION = 2_000  # steps dropped at the start of every chain
BOND_TOLERANCE = 0.30  # a bond may leave its relaxed length by this share
CONTACT_FACTOR = 1.3  # unbonded atoms nearer than this times their covalent radii have bonded
DECIMALS = 4  # Angstrom: far below the thermal motion, and the file compresses better
N_BINS = 10  # of |torsion| over [0, pi]; each must be visited

OUTPUT = Path(__file__).parents[1] / "src/localegop/datasets/data/malonaldehyde.npz"

Array = NDArray[np.float64]


def unit(vector: Array) -> Array:
    """Scale a vector to length one."""
    return vector / np.linalg.norm(vector)


def place(chain: Array, length: float, angle: float, dihedral: float) -> Array:
    """Place an atom bonded to chain[0], with its angle to chain[1] and dihedral to chain[2]."""
    angle, dihedral = np.radians(angle), np.radians(dihedral)
    axis = unit(chain[1] - chain[0])
    normal = unit(np.cross(axis, chain[2] - chain[1]))
    toward = np.cross(normal, axis)
    sideways = np.cos(dihedral) * toward - np.sin(dihedral) * normal
    return chain[0] + length * (np.cos(angle) * axis + np.sin(angle) * sideways)


def build(tau1: float, tau2: float) -> Atoms:
    """Diketo malonaldehyde with the two torsions given in degrees."""
    p = np.zeros((9, 3))
    half = np.radians(111.0 / 2)
    # The middle carbon is at the origin, the carbons in a plane, its hydrogens above and below.
    p[0] = 1.52 * np.array([np.sin(half), np.cos(half), 0.0])
    p[2] = 1.52 * np.array([-np.sin(half), np.cos(half), 0.0])
    half = np.radians(108.0 / 2)
    p[6] = 1.09 * np.array([0.0, -np.cos(half), np.sin(half)])
    p[7] = 1.09 * np.array([0.0, -np.cos(half), -np.sin(half)])
    for carbon, oxygen, hydrogen, tau in ((0, 4, 5, tau1), (2, 3, 8, tau2)):
        chain = p[[carbon, 1, 6]]
        p[oxygen] = place(chain, 1.21, 124.0, tau)
        p[hydrogen] = place(chain, 1.10, 115.0, tau + 180.0)
    return Atoms(SYMBOLS, positions=p)


def lengths(positions: Array, pairs: NDArray[np.int_]) -> Array:
    """Distances of the atom pairs, (..., pairs)."""
    return np.linalg.norm(positions[..., pairs[:, 0], :] - positions[..., pairs[:, 1], :], axis=-1)


def worst_stretch(positions: Array, relaxed: Array) -> float:
    """Largest relative departure of a bond from its relaxed length."""
    return float(np.max(np.abs(lengths(positions, BONDS) / relaxed - 1.0)))


def nearest_contact(positions: Array) -> float:
    """Smallest distance of unbonded atoms, in sums of their covalent radii."""
    radii = covalent_radii[Atoms(SYMBOLS).numbers]
    return float(np.min(lengths(positions, UNBONDED) / radii[UNBONDED].sum(axis=1)))


def relax(tau1: float, tau2: float) -> Atoms:
    """Build the molecule and move it to the nearest minimum."""
    atoms = build(tau1, tau2)
    atoms.calc = TBLite(method="GFN2-xTB", verbosity=0)
    if not BFGS(atoms, logfile=None).run(fmax=0.01, steps=500):
        raise RuntimeError(f"the start ({tau1}, {tau2}) did not relax in 500 steps")
    return atoms


def run_chain(
    atoms: Atoms, n_frames: int, stride: int, temperature: float, seed: np.random.SeedSequence
) -> tuple[Array, Array, Array]:
    """Positions, energies (eV) and kinetic temperatures of one chain."""
    relaxed = lengths(atoms.positions, BONDS)
    rng = np.random.default_rng(seed)
    thermalize_momenta(atoms, temperature, rng=rng)
    dynamics = Langevin(
        atoms,
        TIME_STEP * units.fs,
        temperature_K=temperature,
        friction=FRICTION / units.fs,
        # Holding the center of mass would bias so small a molecule; it is subtracted below.
        fixcm=False,
        rng=rng,
    )
    dynamics.run(EQUILIBRATION)
    positions, energies, temperatures = [], [], []
    for k in range(n_frames):
        dynamics.run(stride)
        if worst_stretch(atoms.positions, relaxed) > BOND_TOLERANCE:
            raise RuntimeError(f"a bond broke in frame {k}")
        if nearest_contact(atoms.positions) < CONTACT_FACTOR:
            raise RuntimeError(f"a new bond formed in frame {k}")
        positions.append(atoms.positions - atoms.positions.mean(axis=0))
        energies.append(atoms.get_potential_energy())
        temperatures.append(atoms.get_temperature())
    return np.array(positions), np.array(energies), np.array(temperatures)


def absolute_torsions(positions: Array) -> Array:
    """|dihedral| in [0, pi] of every frame and torsion, (frames, 2)."""
    a, b, c, d = (positions[:, TORSIONS[:, k]] for k in range(4))
    left, right = np.cross(b - a, c - b), np.cross(c - b, d - c)
    sine = np.linalg.norm(np.cross(left, right), axis=-1)
    return np.arctan2(sine, np.sum(left * right, axis=-1))


def check(positions: Array, relaxed: Array) -> bool:
    """Print the physicality checks; true if all hold."""
    stretch, contact = worst_stretch(positions, relaxed), nearest_contact(positions)
    print(f"finite positions: {np.isfinite(positions).all()}")
    print(f"largest bond departure: {stretch:.1%} (allowed {BOND_TOLERANCE:.0%})")
    print(f"nearest unbonded contact: {contact:.2f} covalent radii (allowed {CONTACT_FACTOR})")
    good = bool(np.isfinite(positions).all())
    good &= stretch <= BOND_TOLERANCE and contact >= CONTACT_FACTOR
    for name, tau in zip(("tau1", "tau2"), absolute_torsions(positions).T, strict=True):
        counts = np.histogram(tau, bins=N_BINS, range=(0.0, np.pi))[0]
        print(f"|{name}| from {tau.min():.3f} to {tau.max():.3f}, by bin: {counts.tolist()}")
        good &= bool(counts.all())
    return good


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Simulate malonaldehyde, diketo form, with GFN2-xTB.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--frames", type=int, default=6000, help="frames over all chains")
    parser.add_argument("--stride", type=int, default=80, help="steps of 0.5 fs between frames")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=500.0, help="kelvin")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    if options.frames < len(STARTS) or options.stride < 1 or options.temperature <= 0:
        parser.error(f"need --frames >= {len(STARTS)}, --stride >= 1 and --temperature > 0")
    return options


def main() -> None:
    """Run all chains, check the frames and write them."""
    options = parse()
    print(f"ase {version('ase')}, tblite {version('tblite')}, numpy {np.__version__}")
    starts = [relax(*torsions) for torsions in STARTS]
    relaxed = lengths(starts[0].positions, BONDS)
    lowest = min(atoms.get_potential_energy() for atoms in starts)
    print(f"relaxed bond lengths: {np.round(relaxed, 3).tolist()}; minimum {lowest:.4f} eV")

    seeds = np.random.SeedSequence(options.seed).spawn(len(STARTS))
    shares = [len(part) for part in np.array_split(np.arange(options.frames), len(STARTS))]
    began = time.perf_counter()
    parts = []
    for i, (atoms, share, seed) in enumerate(zip(starts, shares, seeds, strict=True)):
        parts.append(run_chain(atoms, share, options.stride, options.temperature, seed))
        spent = time.perf_counter() - began
        print(f"chain {i + 1}/{len(STARTS)}: {share} frames, {spent:.0f} s so far", flush=True)
    positions, energies, temperatures = (np.concatenate([part[k] for part in parts]) for k in range(3))
    positions = np.round(positions, DECIMALS)
    print(f"mean kinetic temperature: {temperatures.mean():.0f} K")

    if not check(positions, relaxed):
        raise SystemExit("a check failed; nothing written")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        options.output,
        positions=positions.astype(np.float32),
        energies=((energies - lowest) * units.mol / units.kcal).astype(np.float32),
        chain=np.repeat(np.arange(len(STARTS), dtype=np.int8), shares),
        frame=np.concatenate([(np.arange(n) + 1) * options.stride for n in shares]).astype(np.int32),
        atomic_numbers=Atoms(SYMBOLS).numbers.astype(np.uint8),
        bonds=BONDS.astype(np.uint8),
        bond_lengths=relaxed.astype(np.float32),
        torsions=TORSIONS.astype(np.uint8),
    )
    print(f"wrote {options.output.name}: {options.output.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
