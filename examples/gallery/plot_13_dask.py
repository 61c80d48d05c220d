"""
Large data with Dask
====================

The same estimator on a cluster: rows and queries are dask arrays that no single process needs to hold,
and the results are those of one process, to the last bit. Here the cluster is two threads of this
process; ``examples/dask_cluster.py`` takes the address of a real one.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

from localegop import LocalEGOPRegressor
from localegop.datasets import make_helix
from localegop.distributed import DaskLocalEGOPRegressor, plan

# %%
# What would it take?
# -------------------
# Memory and time are estimated before anything is moved.
estimate = plan(100_000_000, 10, workers=100, memory="8GB")

# %%
# Fit and predict
# ---------------
X, y = make_helix(4000, 4, noise=0.1, random_state=0)
lazy_X, lazy_y = da.from_array(X[:3000], chunks=(1000, 4)), da.from_array(y[:3000], chunks=1000)
parameters = {
    "final": "polynomial",
    "degree": 1,
    "max_neighbors": 500,
}  # less to choose, for a quick example

cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
with cluster, Client(cluster) as client:
    model = DaskLocalEGOPRegressor(**parameters, client=client).fit(lazy_X, lazy_y)
    answer = model.predict(da.from_array(X[3000:], chunks=(500, 4)))
    print("lazy:", answer)
    value = answer.compute()

# %%
# The same as in one process
# --------------------------
alone = LocalEGOPRegressor(**parameters, n_jobs=2).fit(X[:3000], y[:3000]).predict(X[3000:], exact=True)
print("the same bits:", np.array_equal(value, alone))
print(f"R2 {1 - np.mean((value - y[3000:]) ** 2) / y[3000:].var():.4f}")

plt.figure(figsize=(4.6, 4.2), layout="constrained")
plt.plot(y[3000:], value, ".", ms=3)
plt.axline((0, 0), slope=1, color="gray", lw=1)
plt.xlabel("label")
plt.ylabel("prediction of the cluster")
plt.show()
