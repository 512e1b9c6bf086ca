"""Files and a cap on what they take: orders of small peak, a lower bound, and the keeper of a run. Knows no file system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Literal

from cairn import _cairn
from cairn._dag import Dag, Task

Size = int | str

# So many tasks are tried by preference before the safe order decides.
TRIES = 64


def size(given: Size) -> int:
    """Bytes: a number, or a text such as "500GB" (powers of 1000) or "20GiB" (of 1024)."""
    if isinstance(given, str):
        parsed = _cairn.parse_size(given.strip())
        if parsed is None:
            raise _cairn.CairnError(f"{given!r} is no size; give one with its unit, such as 500GB or 20GiB")
        return parsed
    if isinstance(given, bool) or given < 0 or given != int(given):
        raise _cairn.CairnError(f"{given!r} is no size; give a whole number of bytes, or a text such as 500GB")
    return int(given)


@dataclass(frozen=True)
class File:
    """One file: reserved when its producer starts, freed when its last consumer has finished.

    A file that is kept is never freed. One without a producer lies there from the beginning, and counts. One that nobody
    reads and nobody keeps is freed when its own task finishes.
    """

    producer: Task | None
    bytes: Size
    consumers: Sequence[Task] = ()
    keep: bool = False


Sizes = Mapping[Task, Size] | Callable[[Task], Size] | Sequence[File]


@dataclass(frozen=True)
class StoragePlan:
    """An order of small peak, and what no order can do without."""

    order: list[Task] = field(repr=False)
    peak: int
    """The most bytes in use when tasks go one by one along the order."""
    lower_bound: int
    """No order has a smaller peak."""
    reason: str
    """Why no order needs less."""

    @property
    def proved_least(self) -> bool:
        """Whether no order has a smaller peak than this one."""
        return self.peak == self.lower_bound


class Storage:
    """What the files of a dag take while its tasks are executed.

    sizes: bytes by task (a mapping or a function): each task writes one file, which its children read; or a list of File.
    Sizes are numbers of bytes or texts such as "2GB". scratch: bytes by task, needed while it runs.
    finals: with sizes by task, whether results that nobody reads stand "outside" or are "kept", and count.
    """

    def __init__(
        self,
        dag: Dag,
        sizes: Sizes,
        *,
        scratch: Mapping[Task, Size] | None = None,
        finals: Literal["outside", "kept"] = "outside",
    ) -> None:
        if finals not in ("outside", "kept"):
            raise _cairn.CairnError(f'finals={finals!r}; give "outside" or "kept"')
        self.dag = dag
        if isinstance(sizes, Mapping) or callable(sizes):
            self.files = _by_task(dag, sizes, finals)
        else:
            self.files = list(sizes)
        given = []
        for file in self.files:
            producer = None if file.producer is None else dag._index(file.producer)
            consumers = [dag._index(task) for task in file.consumers]
            given.append((producer, size(file.bytes), bool(file.keep), consumers))
        space = [0] * len(dag) if scratch else []
        for task, needed in (scratch or {}).items():
            space[dag._index(task)] = size(needed)
        self._native = _cairn.Storage(dag._native, given, space)

    def __repr__(self) -> str:
        return f"<cairn.Storage of {len(self.files)} files, {_cairn.size_words(self.total)}>"

    @property
    def total(self) -> int:
        """All bytes together, scratch included."""
        return self._native.total()

    def peak(self, order: Iterable[Task]) -> int:
        """The most bytes in use when tasks go one by one along an order."""
        return self._native.peak([self.dag._index(task) for task in order])

    def plan(self, order: Iterable[Task] | None = None, *, time_limit: float | None = 60.0) -> StoragePlan:
        """Plans for a small peak. `order`, if given, breaks ties and is one of the candidates."""
        first = None if order is None else [self.dag._index(task) for task in order]
        found, peak, bound, why, shown = self._native.lean(first, time_limit)
        tasks = self.dag._tasks
        return StoragePlan(
            order=[tasks[i] for i in found],
            peak=peak,
            lower_bound=bound,
            reason=_reason(why, [tasks[i] for i in shown], bound),
        )


def _by_task(dag: Dag, sizes: Mapping[Task, Size] | Callable[[Task], Size], finals: str) -> list[File]:
    children: list[list[Task]] = [[] for _ in dag._tasks]
    for parent, child in dag._native.arcs():
        children[parent].append(dag._tasks[child])
    files = []
    for task, readers in zip(dag._tasks, children):
        is_final = not readers
        if is_final and finals == "outside":
            continue
        if isinstance(sizes, Mapping):
            if task not in sizes:
                raise _cairn.CairnError(f"no size for the task {task!r}; give 0 if it writes nothing that counts")
            bytes_ = sizes[task]
        else:
            bytes_ = sizes(task)
        files.append(File(task, bytes_, readers, keep=is_final))
    return files


def _reason(why: str, shown: list[Task], bound: int) -> str:
    amount = _cairn.size_words(bound)
    if why == "nothing":
        return "nothing is needed"
    if why == "kept":
        return f"what is kept takes {amount} in the end"
    if why == "task":
        return f"{shown[0]!r} cannot run with less than {amount} in use, whatever the order"
    place = "first" if why == "first" else "last"
    return f"of some tasks one goes {place}; even {shown[0]!r}, which needs least then, needs {amount}"


class Keeper:
    """Keeps what files take under a cap while tasks run: never over, never stuck, whatever runs beside what.

    Ask may(task) before a task starts; say start(task) and finish(task). Of all tasks whose parents are done, at least one
    may start whenever nothing runs. Reserve before writing, delete before finish().

    Raises DoesNotFit where no order within the cap is known: its `peak` and `lower_bound` say how far, its `proved` whether
    there is none.

    >>> d = Dag.from_edges([("a", "b"), ("c", "d")])
    >>> keeper = Keeper(d, {"a": 5, "c": 5}, cap=5)
    >>> keeper.start("a")
    >>> keeper.may("c"), keeper.may("b")
    (False, True)
    """

    def __init__(
        self,
        dag: Dag,
        sizes: Sizes | Storage,
        cap: Size,
        *,
        order: Iterable[Task] | None = None,
        scratch: Mapping[Task, Size] | None = None,
        finals: Literal["outside", "kept"] = "outside",
        time_limit: float | None = 60.0,
    ) -> None:
        self.dag = dag
        self.storage = sizes if isinstance(sizes, Storage) else Storage(dag, sizes, scratch=scratch, finals=finals)
        given = None if order is None else list(order)
        cap = size(cap)
        if given is not None and self.storage.peak(given) <= cap:
            self.plan = StoragePlan(given, self.storage.peak(given), 0, "not asked: the given order fits")
        else:
            self.plan = self.storage.plan(given, time_limit=time_limit)
        if self.plan.peak > cap:
            raise _does_not_fit(self.plan, cap)
        self._native = _cairn.Keeper(self.storage._native, [dag._index(task) for task in self.plan.order], cap)

    def __repr__(self) -> str:
        return f"<cairn.Keeper: {_cairn.size_words(self.used)} of {_cairn.size_words(self.cap)} in use>"

    @property
    def cap(self) -> int:
        """The most bytes ever in use."""
        return self._native.cap

    @property
    def used(self) -> int:
        """Bytes reserved now."""
        return self._native.used

    @property
    def peak(self) -> int:
        """The most that is in use when tasks go one by one along the safe order."""
        return self.plan.peak

    @property
    def lower_bound(self) -> int:
        """No order has a smaller peak; 0 where it was not asked for."""
        return self.plan.lower_bound

    @property
    def missing(self) -> int:
        """Bytes missing when nothing runs and the next task does not fit; else 0. Only after resize, give_up or set_cap."""
        return self._native.missing

    @property
    def safe(self) -> bool:
        """Whether the rest fits one by one. Always, unless sizes grew, tasks were given up or the cap was lowered."""
        return self._native.is_safe

    @property
    def waiting(self) -> list[Task]:
        """The tasks that have not started, by the safe order."""
        return [self.dag._tasks[i] for i in self._native.waiting()]

    def may(self, task: Task) -> bool:
        """Whether a task whose parents are done may start now."""
        return self._native.may(self.dag._index(task))

    def start(self, task: Task) -> None:
        """A task starts: what it writes is reserved."""
        self._native.start(self.dag._index(task))

    def finish(self, task: Task) -> None:
        """A task has ended, and what nobody wants any more is deleted."""
        self._native.finish(self.dag._index(task))

    def release(self, task: Task) -> None:
        """A task that was started comes back undone, and what it wrote is deleted: it waits again."""
        self._native.release(self.dag._index(task))

    def give_up(self, tasks: Iterable[Task], *, delete_inputs: bool = False) -> None:
        """Tasks that will never be executed. What they would have read stays, and counts, unless it is deleted."""
        self._native.give_up([self.dag._index(task) for task in tasks], delete_inputs)

    def resize(self, file: int, bytes: Size) -> None:
        """A file, by its place in storage.files, turns out to have another size."""
        self._native.resize(file, size(bytes))

    def set_cap(self, cap: Size) -> None:
        """The cap from now on. A smaller one can make it unsafe."""
        self._native.set_cap(size(cap))

    def is_free(self, file: int) -> bool:
        """Whether a file, by its place in storage.files, is made and wanted no more: it may be deleted."""
        return self._native.is_free(file)

    def next_by_order(self) -> list[Task]:
        """The first few waiting tasks by the safe order."""
        return [self.dag._tasks[i] for i in self._native.next_by_order()]

    def first_of(self, ready: Collection[Task], key: Callable[[Task], float] | None = None) -> Task | None:
        """The ready task that may start and goes first by `key` (the smallest first): one of the first few, else the first by
        the safe order; None if none may start now."""
        first = list(islice(ready, TRIES)) if key is None else nsmallest(TRIES, ready, key=key)
        for task in first:
            if self.may(task):
                return task
        for task in self.next_by_order():
            if task in ready and self.may(task):
                return task
        return None


def _does_not_fit(plan: StoragePlan, cap: int) -> _cairn.DoesNotFit:
    words = _cairn.size_words
    if plan.lower_bound > cap:
        said = (
            f"the cap of {words(cap)} is {words(plan.lower_bound - cap)} too small, and that is proved: {plan.reason}"
        )
    else:
        said = (
            f"no order within the cap of {words(cap)} was found: the best needs {words(plan.peak)}, "
            f"{words(plan.peak - cap)} more; this is no proof (none needs less than {words(plan.lower_bound)})"
        )
    raised = _cairn.DoesNotFit(said)
    raised.cap = cap
    raised.peak = plan.peak
    raised.lower_bound = plan.lower_bound
    raised.proved = plan.lower_bound > cap
    return raised
