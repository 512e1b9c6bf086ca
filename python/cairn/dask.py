"""Runs Dask graphs in the order of a plan; with a cap on memory, submits under the storage rule. Knows no algorithm.

    from dask.distributed import Client
    import cairn.dask

    client = Client()
    total = cairn.dask.compute(client, collection)
    total = cairn.dask.compute(client, collection, memory="8GB", sizes=chunk_bytes)

What is exact: with `memory`, no more than that is ever held by results that were submitted here, as far as `sizes` are true.
What is only likely: Dask starts tasks by priority, but one late now and then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from uuid import uuid4

from cairn._cairn import CairnError
from cairn._dag import Dag, Durations
from cairn._plan import plan
from cairn._storage import File, Keeper, Size, Storage, size

Sizes = Mapping[Any, Size] | Callable[[Any], Size] | Size


def priorities(graph: Any, *, policy: str = "auto", durations: Durations = None) -> dict[Any, int]:
    """A priority for each key of a Dask graph, the highest for the first in the order of the plan."""
    return plan(Dag.from_dask(graph), policy=policy, durations=durations).priority


def annotate(graph: Any, *, policy: str = "auto", durations: Durations = None) -> Any:
    """The same graph with the plan's priorities, as a HighLevelGraph of one layer, for `client.get`."""
    import dask
    from dask.highlevelgraph import HighLevelGraph

    nodes = _nodes(graph)
    rank = priorities(nodes, policy=policy, durations=durations)
    with dask.annotate(priority=lambda key: rank.get(key, 0)):
        return HighLevelGraph.from_collections(f"cairn-{uuid4().hex}", nodes)


def get(
    client: Any,
    graph: Any,
    keys: Any,
    *,
    policy: str = "auto",
    durations: Durations = None,
    memory: Size | None = None,
    sizes: Sizes | None = None,
) -> Any:
    """The values of these keys (one, or lists of them, nested as you like), computed in a planned order: by default that
    of the policy that is fastest in simulations ("auto").

    memory: the most that results may take at any time, such as "8GB". Then `sizes` says what each result takes: by key (a
    mapping or a function), or one size for all. Tasks are handed to the cluster only while all that is handed out, and
    all that is still needed, fits; results that you ask for count until they are fetched. Raises DoesNotFit where no order
    is known that fits.
    """
    if memory is None:
        return client.get(annotate(graph, policy=policy, durations=durations), keys)
    if sizes is None:
        raise CairnError("a cap on memory needs sizes: what each result takes, by key, or one size for all")
    return _under_cap(client, _nodes(graph), keys, policy, durations, size(memory), sizes)


def compute(
    client: Any,
    collection: Any,
    *,
    policy: str = "auto",
    durations: Durations = None,
    memory: Size | None = None,
    sizes: Sizes | None = None,
) -> Any:
    """The value of a Dask collection (delayed, bag, array, dataframe); the arguments are those of `get`."""
    if not hasattr(collection, "__dask_graph__"):
        raise CairnError(f"{type(collection).__name__} is no Dask collection")
    finish, extra = collection.__dask_postcompute__()
    values = get(
        client,
        collection.__dask_graph__(),
        collection.__dask_keys__(),
        policy=policy,
        durations=durations,
        memory=memory,
        sizes=sizes,
    )
    return finish(values, *extra)


def _nodes(graph: Any) -> dict[Any, Any]:
    """All tasks of a graph by key, as callables that know what they depend on."""
    from dask._task_spec import convert_legacy_graph

    if hasattr(graph, "__dask_graph__"):
        graph = graph.__dask_graph__()
    if not isinstance(graph, Mapping):
        raise CairnError(f"{type(graph).__name__} is no Dask graph or collection")
    return convert_legacy_graph(dict(graph))


def _flat(keys: Any) -> list[Any]:
    return list(itertools.chain.from_iterable(map(_flat, keys))) if isinstance(keys, list) else [keys]


def _filled(keys: Any, values: Mapping[Any, Any]) -> Any:
    return [_filled(key, values) for key in keys] if isinstance(keys, list) else values[keys]


def _needed(dag: Dag, wanted: set[Any]) -> set[Any]:
    met = set(wanted)
    todo = list(wanted)
    while todo:
        for parent in dag.parents(todo.pop()):
            if parent not in met:
                met.add(parent)
                todo.append(parent)
    return met


class _Call:
    """One task on a worker; the futures in `values` are results there. Dask would execute a bare node among arguments."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def __call__(self, values: dict[Any, Any]) -> Any:
        return self._node(values)


def _size_of(sizes: Sizes, key: Hashable) -> int:
    if isinstance(sizes, Mapping):
        if key not in sizes:
            raise CairnError(f"no size for the key {key!r}; give 0 if its result takes nothing that counts")
        return size(sizes[key])
    return size(sizes(key) if callable(sizes) else sizes)


def _under_cap(
    client: Any, nodes: dict[Any, Any], keys: Any, policy: str, durations: Durations, cap: int, sizes: Sizes
) -> Any:
    whole = Dag.from_dask(nodes)
    wanted = set(_flat(keys))
    missing = next((key for key in wanted if key not in whole), None)
    if missing is not None:
        raise CairnError(f"{missing!r} is no key of this graph")
    needed = _needed(whole, wanted)
    tasks = [task for task in whole.tasks if task in needed]
    dag = Dag.from_edges(((a, b) for a, b in whole.edges if b in needed), tasks)
    if isinstance(durations, Mapping):
        durations = {task: durations[task] for task in tasks}
    rank = plan(dag, policy=policy, durations=durations).priority
    files = [File(task, _size_of(sizes, task), dag.children(task), keep=task in wanted) for task in tasks]
    run = _Run(client, dag, nodes, wanted, rank, Keeper(dag, Storage(dag, files), cap))
    return _filled(keys, run.values())


class _Run:
    """One run under a cap: what is ready, what is handed to the cluster, what of it is still needed."""

    def __init__(
        self, client: Any, dag: Dag, nodes: dict[Any, Any], wanted: set[Any], rank: dict[Any, int], keeper: Keeper
    ) -> None:
        from dask.distributed import as_completed

        self._client = client
        self._dag = dag
        self._nodes = nodes
        self._wanted = wanted
        self._rank = rank
        self._keeper = keeper
        self._name = f"cairn-{uuid4().hex}"
        self._parents_left = {task: len(dag.parents(task)) for task in dag.tasks}
        self._readers_left = {task: len(dag.children(task)) for task in dag.tasks}
        self._ready = {task for task in dag.tasks if not self._parents_left[task]}
        self._futures: dict[Any, Any] = {}
        self._task_of: dict[str, Any] = {}
        self._running = 0
        self._done = as_completed()

    def values(self) -> dict[Any, Any]:
        """Executes all, and fetches what is wanted."""
        try:
            self._submit()
            while self._running:
                future = next(self._done)
                self._running -= 1
                if future.status != "finished":
                    future.result()  # Raises what the task has raised, or that it was cancelled.
                self._finish(self._task_of.pop(future.key))
                del future
                self._submit()
            return {key: self._futures[key].result() for key in self._wanted}
        finally:
            left = list(self._futures.values())
            self._futures.clear()
            self._client.cancel(left)

    def _submit(self) -> None:
        # More than the workers run at once is of no use, and would leave the order among them to Dask.
        most = max(sum(self._client.nthreads().values()), 1) + 1
        while self._ready and self._running < most:
            task = self._keeper.first_of(self._ready, key=lambda t: -self._rank[t])
            if task is None:
                return
            self._keeper.start(task)
            self._ready.discard(task)
            inputs = {parent: self._futures[parent] for parent in self._dag.parents(task)}
            key = f"{self._name}-{len(self._nodes)}-{self._rank[task]}"
            call = _Call(self._nodes[task])
            future = self._client.submit(call, inputs, key=key, priority=self._rank[task], pure=False)
            self._futures[task] = future
            self._task_of[future.key] = task
            self._running += 1
            self._done.add(future)

    def _finish(self, task: Any) -> None:
        for parent in self._dag.parents(task):
            self._readers_left[parent] -= 1
            self._drop(parent)
        self._drop(task)
        self._keeper.finish(task)
        for child in self._dag.children(task):
            self._parents_left[child] -= 1
            if not self._parents_left[child]:
                self._ready.add(child)

    def _drop(self, task: Any) -> None:
        """Lets the cluster forget a result that nobody needs any more."""
        if not self._readers_left[task] and task not in self._wanted:
            self._futures.pop(task).release()
