"""A dag whose tasks are any hashable Python values. Knows no schedules."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from cairn import _cairn

Task = Any  # Hashable; tasks of one dag need not be of one type.
Durations = Mapping[Any, float] | Sequence[float] | None


class Dag:
    """A frozen dag. Make one with from_edges, from_networkx, from_dask or from_file.

    Tasks are known by the values they were given as: names, tuples, whatever can be a key of a dict.
    """

    __slots__ = ("_native", "_number", "_tasks")

    _native: _cairn.Dag
    _tasks: list[Task]
    _number: dict[Task, int]

    def __init__(self) -> None:
        raise TypeError("make a Dag with Dag.from_edges, .from_networkx, .from_dask or .from_file")

    @classmethod
    def _of(cls, native: _cairn.Dag, tasks: list[Task], number: dict[Task, int] | None = None) -> Dag:
        dag = object.__new__(cls)
        dag._native = native
        dag._tasks = tasks
        dag._number = number if number is not None else {task: i for i, task in enumerate(tasks)}
        return dag

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[Task, Task]], nodes: Iterable[Task] = ()) -> Dag:
        """The dag of these (parent, child) pairs; equal pairs count once. `nodes` are further tasks, without edges.

        Tasks are numbered as they are first named, `nodes` first. Raises CycleError, whose `cycle` has the tasks.
        """
        number: dict[Task, int] = {}
        for node in nodes:
            number.setdefault(node, len(number))
        arcs = []
        for edge in edges:
            try:
                parent, child = edge
            except (TypeError, ValueError):
                raise _cairn.CairnError(f"{edge!r} is no edge; an edge is a pair (parent, child)") from None
            arcs.append((number.setdefault(parent, len(number)), number.setdefault(child, len(number))))
        tasks = list(number)
        try:
            native = _cairn.Dag.from_arcs(len(tasks), arcs)
        except _cairn.CycleError as error:
            raise _cycle(error, tasks) from None
        return cls._of(native, tasks, number)

    @classmethod
    def from_networkx(cls, graph: Any) -> Dag:
        """The dag of a networkx DiGraph or MultiDiGraph."""
        if not getattr(graph, "is_directed", lambda: False)():
            raise _cairn.CairnError(f"{type(graph).__name__} is not a directed graph of networkx; give a DiGraph")
        return cls.from_edges(((edge[0], edge[1]) for edge in graph.edges()), graph.nodes())

    @classmethod
    def from_dask(cls, graph: Any) -> Dag:
        """The tasks of a Dask graph (a dict or a HighLevelGraph) or of a Dask collection; tasks are their keys."""
        if hasattr(graph, "__dask_graph__"):
            graph = graph.__dask_graph__()
        if graph is None or not isinstance(graph, Mapping):
            raise _cairn.CairnError(f"{type(graph).__name__} is no Dask graph or collection")
        from dask._task_spec import convert_legacy_graph

        nodes = convert_legacy_graph(dict(graph))
        edges = ((parent, key) for key, node in nodes.items() for parent in node.dependencies if parent in nodes)
        return cls.from_edges(edges, nodes)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], format: str | None = None) -> Dag:
        """The dag of a workflow file, in any format that `cairn plan` reads, `.gz` and `.zst` too.

        Tasks are the names in the file. What is odd about the file is warned of. Raises CairnError with file and line.
        """
        native, names, remarks = _cairn.Dag.from_file(os.fspath(path), format)
        for remark in remarks:
            warnings.warn(remark, stacklevel=2)
        return cls._of(native, names)

    @property
    def tasks(self) -> list[Task]:
        """All tasks, as numbered."""
        return list(self._tasks)

    @property
    def edges(self) -> list[tuple[Task, Task]]:
        """All (parent, child) pairs."""
        tasks = self._tasks
        return [(tasks[a], tasks[b]) for a, b in self._native.arcs()]

    @property
    def seconds(self) -> dict[Task, float]:
        """The durations that the file gives, if it is from one."""
        given = self._native.seconds() or []
        return {task: s for task, s in zip(self._tasks, given) if s is not None}

    @property
    def done(self) -> list[Task]:
        """The tasks that the file says are done."""
        return [self._tasks[i] for i in self._native.done()]

    def parents(self, task: Task) -> list[Task]:
        """The tasks that this one waits for."""
        return [self._tasks[i] for i in self._native.parents(self._index(task))]

    def children(self, task: Task) -> list[Task]:
        """The tasks that wait for this one."""
        return [self._tasks[i] for i in self._native.children(self._index(task))]

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task: object) -> bool:
        return isinstance(task, Hashable) and task in self._number

    def __repr__(self) -> str:
        return f"<cairn.Dag of {len(self)} tasks and {self._native.arc_count()} edges>"

    def _index(self, task: Task) -> int:
        try:
            return self._number[task]
        except (KeyError, TypeError):
            raise _cairn.CairnError(f"{task!r} is no task of this dag") from None

    def _durations(self, given: Durations) -> list[float] | None:
        """One duration a task, of those given, else of the file, else None."""
        if given is None:
            return self._native.imputed_seconds()
        if isinstance(given, Mapping):
            missing = next((task for task in self._tasks if task not in given), None)
            if missing is not None:
                raise _cairn.CairnError(f"no duration for the task {missing!r}; durations need one for every task")
            return [float(given[task]) for task in self._tasks]
        return [float(seconds) for seconds in given]


def _cycle(error: _cairn.CycleError, tasks: list[Task]) -> _cairn.CycleError:
    message, numbers = error.args
    cycle = [tasks[i] for i in numbers]
    shown = " -> ".join(repr(task) for task in [*cycle[:8], cycle[0]] if task is not None)
    if len(cycle) > 8:
        shown = " -> ".join(repr(task) for task in cycle[:8]) + f" -> … ({len(cycle)} tasks)"
    raised = _cairn.CycleError(f"{message}: {shown}")
    raised.cycle = cycle
    return raised
