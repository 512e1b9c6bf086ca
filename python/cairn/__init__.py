"""Schedule dags so that as many tasks as possible stay ready, prove how good the order is, and never fill the disk.

>>> import cairn
>>> d = cairn.Dag.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
>>> p = cairn.plan(d)
>>> p.order, p.verdict, p.profile.tolist()
(['a', 'b', 'c', 'd'], 'optimal', [1, 2, 1, 1, 0])
"""

from cairn._cairn import CairnError, CycleError, DoesNotFit, __version__
from cairn._dag import Dag
from cairn._plan import Batch, Plan, batch, plan
from cairn._simulate import simulate
from cairn._storage import File, Keeper, Storage, StoragePlan, size

__all__ = [
    "Batch",
    "CairnError",
    "CycleError",
    "Dag",
    "DoesNotFit",
    "File",
    "Keeper",
    "Plan",
    "Storage",
    "StoragePlan",
    "__version__",
    "batch",
    "plan",
    "simulate",
    "size",
]
