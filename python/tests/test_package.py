"""The package `cairn`: every answer against an obvious twin, errors as exceptions, arrays, threads, the command."""

import doctest
import itertools
import random
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import cairn
import networkx
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def random_edges(rng, tasks, chance):
    return [(a, b) for a, b in itertools.combinations(range(tasks), 2) if rng.random() < chance]


def obvious_profile(tasks, edges, order):
    done = set()

    def eligible():
        return sum(t not in done and all(a in done for a, b in edges if b == t) for t in tasks)

    profile = [eligible()]
    for task in order:
        assert all(a in done for a, b in edges if b == task)
        done.add(task)
        profile.append(eligible())
    return profile


def all_orders(tasks, edges):
    def grow(prefix, done):
        if len(prefix) == len(tasks):
            yield list(prefix)
        for task in tasks:
            if task not in done and all(a in done for a, b in edges if b == task):
                yield from grow([*prefix, task], done | {task})

    return grow([], frozenset())


def test_plans_agree_with_brute_force():
    rng = random.Random(1)
    verdicts = set()
    for _ in range(300):
        n = rng.randint(1, 6)
        edges = random_edges(rng, n, rng.choice([0.2, 0.5]))
        dag = cairn.Dag.from_edges(edges, range(n))
        plan = cairn.plan(dag)
        assert plan.profile.tolist() == obvious_profile(range(n), edges, plan.order)
        best = np.max([obvious_profile(range(n), edges, order) for order in all_orders(range(n), edges)], axis=0)
        assert (plan.bound >= best).all()
        assert (plan.verdict == "optimal") == (plan.profile == best).all()
        verdicts.add(plan.verdict)
    assert "optimal" in verdicts


def test_a_plan_has_arrays_words_and_priorities():
    plan = cairn.plan(cairn.Dag.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]))
    assert isinstance(plan.verdict, str) and plan.verdict == "optimal" and plan.proof
    assert isinstance(plan.profile, np.ndarray) and plan.profile.dtype == np.int64
    assert plan.priority == {task: 4 - i for i, task in enumerate(plan.order)}
    assert plan.area == plan.profile.sum() and plan.area_ratio == 1.0
    assert (plan.profile - plan.bound).max() <= 0


def test_policies_give_orders_of_the_dag():
    rng = random.Random(2)
    edges = random_edges(rng, 40, 0.1)
    dag = cairn.Dag.from_edges(edges, range(40))
    policies = ["ic", "fifo", "lifo", "critical-path", "outdegree", "memory", "path+", "descendants", "blend", "auto"]
    for policy in policies:
        plan = cairn.plan(dag, policy=policy, durations=[1.0 + t % 3 for t in range(40)])
        assert plan.profile.tolist() == obvious_profile(range(40), edges, plan.order), policy
        assert plan.policy != "auto"


def test_batches_agree_with_brute_force():
    rng = random.Random(3)
    for _ in range(200):
        n = rng.randint(1, 8)
        edges = random_edges(rng, n, 0.3)
        dag = cairn.Dag.from_edges(edges, range(n))
        order = cairn.plan(dag).order
        done = order[: rng.randint(0, n)]
        found = cairn.batch(dag, rng.randint(1, 3), done)
        left = [t for t in range(n) if t not in done and all(a in done for a, b in edges if b == t)]
        assert found.eligible_before == len(left)
        after = [
            obvious_profile(range(n), edges, [*done, *chosen])[-1]
            for chosen in itertools.combinations(left, len(found.chosen))
        ]
        assert found.eligible_after in after and found.eligible_after <= max(after) <= found.bound
        if found.quality == "exact":
            assert found.eligible_after == max(after)


def test_networkx_and_dask_graphs():
    graph = networkx.MultiDiGraph([(1, 2), (1, 2), ((3, "x"), 2)])
    graph.add_node("alone")
    dag = cairn.Dag.from_networkx(graph)
    assert set(dag.edges) == {(1, 2), ((3, "x"), 2)} and "alone" in dag and len(dag) == 4
    assert dag.parents(2) == [1, (3, "x")] and dag.children(1) == [2]
    with pytest.raises(cairn.CairnError, match="DiGraph"):
        cairn.Dag.from_networkx(networkx.Graph([(1, 2)]))
    dask = pytest.importorskip("dask")
    inc = dask.delayed(lambda x: x + 1)
    total = dask.delayed(sum)([inc(1), inc(2)])
    assert len(cairn.plan(cairn.Dag.from_dask(total)).order) >= 3
    legacy = {("x", 0): 1, "y": (abs, ("x", 0)), "z": (sum, ["y", ("x", 0)])}
    assert set(cairn.Dag.from_dask(legacy).edges) == {(("x", 0), "y"), ("y", "z"), (("x", 0), "z")}


def test_files():
    dag = cairn.Dag.from_file(EXAMPLES / "variant-calling.json")
    assert len(dag) > 10 and cairn.plan(dag).verdict in ("optimal", "none-exists", "open")
    with pytest.raises(cairn.CairnError, match="there is no such file"):
        cairn.Dag.from_file("no/such.dag")
    with pytest.raises(cairn.CairnError, match="there is no format"):
        cairn.Dag.from_file(EXAMPLES / "variant-calling.json", format="nonsense")


def test_what_is_wrong_is_an_exception(tmp_path):
    with pytest.raises(cairn.CycleError, match="'a' -> 'b' -> 'a'|'b' -> 'a' -> 'b'") as caught:
        cairn.Dag.from_edges([("a", "b"), ("b", "a")])
    assert set(caught.value.cycle) == {"a", "b"} and isinstance(caught.value, ValueError)
    with pytest.raises(cairn.CycleError, match="depends on itself: 'a'"):
        cairn.Dag.from_edges([("a", "a")])
    dag = cairn.Dag.from_edges([("a", "b")])
    wrong = [
        ("is no edge", lambda: cairn.Dag.from_edges([("a", "b", "c")])),
        ("is no edge", lambda: cairn.Dag.from_edges([7])),
        ("is no task of this dag", lambda: dag.parents("zz")),
        ('there is no policy "nonsense"; policies: ', lambda: cairn.plan(dag, policy="nonsense")),
        ('there is no effort "nonsense"; give quick, usual or thorough', lambda: cairn.plan(dag, effort="nonsense")),
        ("time_limit=-1 is no number of seconds; give a number", lambda: cairn.plan(dag, time_limit=-1)),
        ("is no number of seconds; give a number from 0 on", lambda: cairn.plan(dag, time_limit=float("nan"))),
        ("1 durations for 2 tasks", lambda: cairn.plan(dag, durations=[1])),
        ("no duration for the task 'b'", lambda: cairn.plan(dag, durations={"a": 1})),
        ("durations are finite numbers from 0 on", lambda: cairn.plan(dag, durations=[1, float("inf")])),
        ("these tasks cannot be executed alone", lambda: cairn.batch(dag, 1, ["b"])),
        ("give a number from 0 on", lambda: cairn.batch(dag, -1)),
        ("there is no policy to simulate", lambda: cairn.simulate(dag, [])),
        ("there is no world", lambda: cairn.simulate(dag, world="nonsense")),
        ("the mean gap", lambda: cairn.simulate(dag, gap=-1)),
        ("give 1 to 1000000", lambda: cairn.simulate(dag, world="pool", workers=0)),
        ("this is no order of the dag", lambda: cairn.simulate(dag, {"bad": ["b", "a"]})),
        ("zero runs", lambda: cairn.simulate(dag, runs=0)),
        ("no size for the task 'a'", lambda: cairn.Storage(dag, {})),
        ("give a whole number of bytes", lambda: cairn.Storage(dag, {"a": -1})),
        ("give one with its unit", lambda: cairn.Storage(dag, {"a": "12"})),
        ("all sizes together are more than", lambda: cairn.Storage(dag, {"a": 2**62})),
        (
            "task number 0 reads what task number 1 writes, but does not come after it",
            lambda: cairn.Storage(dag, [cairn.File("b", 1, ["a"])]),
        ),
        ("too small", lambda: cairn.Keeper(dag, {"a": 2}, 1)),
        ("it must be one that", lambda: cairn.Keeper(dag, {"a": 2}, 2).finish("a")),
        ("it must be one that", lambda: cairn.Keeper(dag, {"a": 2}, 2).release("a")),
        ("there is no file number 9", lambda: cairn.Keeper(dag, {"a": 2}, 2).resize(9, 1)),
    ]
    for words, act in wrong:
        with pytest.raises(cairn.CairnError, match=re.escape(words)):
            act()
            print("accepted, and not refused with:", words)
    with pytest.raises(TypeError):
        cairn.Dag()
    empty = cairn.plan(cairn.Dag.from_edges([]))
    assert empty.order == [] and empty.profile.tolist() == [0]


def test_simulations_are_paired_and_repeatable():
    dag = cairn.Dag.from_edges([(10, child) for child in range(11, 21)], range(10))
    told = cairn.simulate(dag, ["ic", "fifo"], size=8, runs=50)
    assert told == cairn.simulate(dag, ["ic", "fifo"], size=8, runs=50) and told["runs"] == 50
    ratio = told["ratios"]["ic/fifo"]["makespan"]
    assert ratio["lo"] <= ratio["mean"] <= ratio["hi"] < 1
    mine = {"first": cairn.plan(dag), "late": [*range(10), 10, *range(11, 21)]}
    assert set(cairn.simulate(dag, mine, world="pool", workers=3, runs=5)["policies"]) == {"first", "late"}
    assert cairn.simulate(dag, ["fifo"], world="throttled", runs=5)["policies"]["fifo"]["makespan"]["mean"] > 0


def obvious_need(files, done, running):
    """What is in use while these run after those."""
    total = 0
    for file in files:
        if file.producer in running or (file.producer in done and any(c not in done for c in file.consumers)):
            total += file.bytes
    return total


def test_the_keeper_is_never_over_and_never_stuck():
    rng = random.Random(4)
    refused = starts = 0
    for _ in range(300):
        n = rng.randint(1, 9)
        edges = random_edges(rng, n, 0.3)
        dag = cairn.Dag.from_edges(edges, range(n))
        storage = cairn.Storage(dag, {t: rng.randint(0, 5) for t in range(n)})
        least = min(
            max(obvious_need(storage.files, set(order[:i]), {order[i]}) for i in range(n))
            for order in itertools.islice(all_orders(range(n), edges), 3000)
        )
        plan = storage.plan()
        assert plan.lower_bound <= least and plan.peak == storage.peak(plan.order) >= plan.lower_bound
        cap = rng.choice([plan.peak, plan.peak + rng.randint(0, 4)])
        if plan.peak:
            with pytest.raises(cairn.DoesNotFit) as caught:
                cairn.Keeper(dag, storage, plan.peak - 1)
            assert caught.value.proved == (plan.peak - 1 < plan.lower_bound)
            refused += 1
        keeper = cairn.Keeper(dag, storage, cap)
        done, running = set(), set()
        while len(done) < n:
            ready = [
                t for t in range(n) if t not in done | running and all(a in done for a, b in edges if b == t)
            ]
            may = [t for t in ready if keeper.may(t)]
            assert may or running, "stuck"
            if may and (not running or rng.random() < 0.6):
                task = rng.choice(may)
                keeper.start(task)
                running.add(task)
                starts += 1
            else:
                task = rng.choice(sorted(running))
                running.discard(task)
                if rng.random() < 0.1:
                    keeper.release(task)
                else:
                    keeper.finish(task)
                    done.add(task)
            assert keeper.used == obvious_need(storage.files, done, running) <= cap
    assert refused > 100 and starts > 1000


def test_a_keeper_says_what_is_missing():
    dag = cairn.Dag.from_edges([("a", "b"), ("c", "d")])
    keeper = cairn.Keeper(dag, {"a": "5kB", "c": 5000}, "5kB")
    assert (keeper.peak, keeper.lower_bound, keeper.used) == (5000, 5000, 0)
    keeper.start("a")
    keeper.finish("a")
    assert keeper.first_of(["c", "b"]) == "b" and not keeper.may("c")
    keeper.give_up(["b"])
    assert keeper.missing == 5000 and not keeper.safe and keeper.first_of(["c"]) is None
    keeper.give_up([], delete_inputs=True)
    assert keeper.missing == 0 and keeper.may("c")
    with pytest.raises(cairn.DoesNotFit, match="1 kB too small, and that is proved: 'a' cannot run"):
        cairn.Keeper(dag, {"a": 5000, "c": 1}, 4000)
    assert cairn.size("1.5GiB") == 3 << 29 and cairn.size("20GB") == 20 * 10**9


def layered(levels, width, seed=1):
    rng = random.Random(seed)
    return cairn.Dag.from_edges(
        ((level - 1, rng.randrange(width)), (level, i)) for level in range(1, levels) for i in range(width) for _ in range(3)
    )


def test_other_threads_go_on_and_interrupts_are_heard():
    dag = layered(60, 60)
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    ticking = threading.Thread(target=tick)
    ticking.start()
    begun = time.monotonic()
    cairn.plan(dag, effort="thorough", time_limit=0.6)
    took = time.monotonic() - begun
    over.set()
    ticking.join()
    # Over a hundred on a quiet machine, none but at the ends where the lock is held.
    assert sum(begun <= t <= begun + took for t in ticks) >= 5, "the lock was held"
    # Ctrl-C in the middle of a long plan. A shell lets what it starts in the background ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() - begun < 30:
                cairn.plan(dag, effort="thorough", time_limit=None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 30


def test_the_wheel_has_the_command_and_types():
    command = Path(sysconfig.get_path("scripts")) / "cairn"
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert told.strip() == f"cairn {cairn.__version__}"
    assert open(command, "rb").read(4) == b"\x7fELF" or sys.platform != "linux", "the real command, no script"
    package = Path(cairn.__file__).parent
    assert (package / "py.typed").exists() and (package / "_cairn.pyi").exists()


def test_stubs_name_what_is_there():
    import ast

    import cairn._cairn as native

    tree = ast.parse((Path(cairn.__file__).parent / "_cairn.pyi").read_text())
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert hasattr(native, node.name), node.name
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    assert hasattr(getattr(native, node.name), inner.name), (node.name, inner.name)
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert {name for name in dir(native) if not name.startswith("_")} == named


def test_examples_in_docs():
    import cairn._storage

    for module in (cairn, cairn._storage):
        assert doctest.testmod(module).failed == 0
