"""
Energies and forces
===================

Whoever computes the energy of a molecule gets the forces on its atoms for next to nothing: many slopes for
one label. They are slopes as atoms move, and not as the features of a descriptor change. How much better
is a fit that knows them, and how good are the forces that it predicts? Five atoms hold each other by Morse
potentials.
"""

import matplotlib.pyplot as plt
import numpy as np

from localegop import LocalEGOPRegressor
from localegop.datasets import inverse_distances


def energies_and_forces(positions):
    """Sum of Morse potentials of all pairs of atoms, and minus its derivatives by their coordinates."""
    first, second = np.triu_indices(positions.shape[1], 1)
    offsets = positions[:, first] - positions[:, second]
    lengths = np.linalg.norm(offsets, axis=2)
    decay = np.exp(-1.2 * (lengths - 1.6))
    pulls = (-2.4 * decay * (1.0 - decay) / lengths)[:, :, None] * offsets
    forces = np.zeros_like(positions)
    for pair, (a, b) in enumerate(zip(first, second, strict=True)):
        forces[:, a] += pulls[:, pair]
        forces[:, b] -= pulls[:, pair]
    return np.sum((1.0 - decay) ** 2, axis=1), forces


rng = np.random.default_rng(0)
corners = np.array([[0, 0, 1.1], [0, 0, -1.1], [1, 0, 0], [-0.5, 0.9, 0], [-0.5, -0.9, 0]])
positions = corners + 0.12 * rng.normal(size=(1100, 5, 3))
energies, forces = energies_and_forces(positions)
train, test = slice(100), slice(100, None)

# %%
# Slopes along directions
# -----------------------
# The features are inverse distances. How they change as each coordinate of an atom does, is in their
# Jacobian: these are the directions along which slopes are known, 15 for each molecule, in the space of
# 10 features.
X, jacobian = inverse_distances(positions, return_jacobian=True)
directions = jacobian.swapaxes(1, 2)
slopes = -forces.reshape(len(forces), -1)
plain = LocalEGOPRegressor(n_jobs=2).fit(X[train], energies[train])
informed = LocalEGOPRegressor(n_jobs=2).fit(
    X[train], energies[train], gradients=slopes[train], directions=directions[train]
)

# %%
# Energies and forces predicted
# -----------------------------
# Forces follow from the predicted gradient by the same directions.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, (("without", plain), ("with", informed)), strict=True):
    energy_error = np.abs(model.predict(X[test]) - energies[test]).mean()
    found = -np.einsum("nd,nmd->nm", model.predict_gradient(X[test]), directions[test])
    force_error = np.abs(found + slopes[test]).mean()
    print(f"{name} forces: mean absolute error of energies {energy_error:.4f}, of forces {force_error:.4f}")
    axis.plot(-slopes[test].ravel(), found.ravel(), ".", ms=2)
    axis.set(title=f"{name} forces", xlabel="true force", ylabel="predicted force")
    axis.axline((0, 0), slope=1, color="0.5", lw=1, zorder=0)
plt.show()
print(f"spread of energies {energies.std():.3f}, of forces {forces.std():.3f}")
