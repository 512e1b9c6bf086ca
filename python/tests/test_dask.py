"""The Dask helper with a real cluster: the order, a cap on memory, errors."""

import threading
import time

import cairn
import cairn.dask
import dask
import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def one():
    """One worker with one thread."""
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def four():
    with LocalCluster(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield client


started = []


def noted(name, *_):
    started.append(name)
    time.sleep(0.1)  # Longer than the scheduler takes to answer, on a busy machine too.
    return name


@pytest.mark.timing
def test_the_order_is_that_of_the_plan_one_late_at_most(one):
    import random

    rng = random.Random(1)
    for _ in range(3):
        graph = {}
        for i in range(30):
            graph[f"x{i}"] = (noted, f"n{i}", *[f"x{a}" for a in range(i) if rng.random() < 0.1])
        graph["end"] = (noted, "the end", *[f"x{i}" for i in range(30)])
        rank = cairn.dask.priorities(graph)
        for options in ({}, {"memory": "1MB", "sizes": 1}):
            started.clear()
            assert cairn.dask.get(one, graph, "end", **options) == "the end"
            order = ["end" if name == "the end" else f"x{name[1:]}" for name in started]
            assert sorted(order) == sorted(graph)
            lag = max_lag(graph, rank, order)
            assert lag <= 1, (lag, options)


def max_lag(graph, rank, order):
    """How many tasks of lower priority a task saw start while it was ready."""
    parents = {key: {a for a in task[2:]} for key, task in graph.items()}
    place = {key: i for i, key in enumerate(order)}
    worst = 0
    for key in graph:
        since = max((place[p] for p in parents[key]), default=-1) + 1
        worst = max(worst, sum(rank[other] < rank[key] for other in order[since : place[key]]))
    return worst


class Big:
    """Something of 4 MB, as far as the count goes."""

    lock = threading.Lock()
    held = peak = 0

    def __init__(self):
        with Big.lock:
            Big.held += 1
            Big.peak = max(Big.peak, Big.held)

    def __del__(self):
        with Big.lock:
            Big.held -= 1

    def __reduce__(self):
        raise AssertionError("results stay where they are")


def load(i):
    time.sleep(0.003)
    return Big()


def slow():
    time.sleep(0.6)
    return 0


def use(big, _):
    time.sleep(0.003)
    return 1


def shared(loads):
    """Loads whose readers all wait for one slow task."""
    graph = {("load", i): (load, i) for i in range(loads)}
    graph["slow"] = (slow,)
    graph |= {("use", i): (use, ("load", i), "slow") for i in range(loads)}
    graph["total"] = (sum, [("use", i) for i in range(loads)])
    return graph


def sizes(key):
    return 4_000_000 if isinstance(key, tuple) and key[0] == "load" else 0


def test_a_cap_on_memory_is_kept(four):
    Big.peak = Big.held
    begun = time.monotonic()
    assert cairn.dask.get(four, shared(120), "total", memory="40MB", sizes=sizes) == 120
    took = time.monotonic() - begun
    print(f"120 loads of 4 MB at a cap of 40 MB: peak {4 * Big.peak} MB, {took:.1f} s")
    assert Big.peak * 4_000_000 <= 40_000_000
    assert cairn.dask.get(four, shared(60), "total") == 60


def test_a_cap_that_cannot_be_kept_is_refused(four):
    graph = {("load", i): (load, i) for i in range(5)}
    graph["end"] = (len, [("load", i) for i in range(5)])
    with pytest.raises(cairn.DoesNotFit, match="proved"):
        cairn.dask.get(four, graph, "end", memory="19MB", sizes=sizes)
    assert cairn.dask.get(four, graph, "end", memory="20MB", sizes=sizes) == 5
    with pytest.raises(cairn.CairnError, match="needs sizes"):
        cairn.dask.get(four, graph, "end", memory="20MB")
    with pytest.raises(cairn.CairnError, match="no size for the key"):
        cairn.dask.get(four, graph, "end", memory="20MB", sizes={"end": 0})
    with pytest.raises(cairn.CairnError, match="no key of this graph"):
        cairn.dask.get(four, graph, "nonsense", memory="20MB", sizes=1)


def test_errors_of_tasks_are_raised(four):
    def fails():
        raise ZeroDivisionError("a task's own")

    graph = {"a": (fails,), "b": (abs, "a")}
    for options in ({}, {"memory": "1MB", "sizes": 1}):
        with pytest.raises(ZeroDivisionError, match="a task's own"):
            cairn.dask.get(four, graph, "b", **options)


def test_collections_are_computed(four):
    double = dask.delayed(lambda x: 2 * x)
    total = dask.delayed(sum)([double(i) for i in range(10)])
    assert cairn.dask.compute(four, total) == 90
    assert cairn.dask.compute(four, total, memory="1kB", sizes=8) == 90
    bag = pytest.importorskip("dask.bag").from_sequence(range(10), npartitions=3).map(lambda x: x + 1)
    assert cairn.dask.compute(four, bag, memory="1MB", sizes="10kB") == list(range(1, 11))
    graph = {"a": (abs, -1), "b": (abs, -2)}
    assert cairn.dask.get(four, graph, [["a"], "b"], memory="1kB", sizes=8) == [[1], 2]
