"""What orders are worth on workers, by simulation. Knows no algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from cairn import _cairn
from cairn._dag import Dag, Durations, Task
from cairn._plan import Effort, Plan


def simulate(
    dag: Dag,
    policies: Iterable[str] | Mapping[str, str | Plan | Iterable[Task]] = ("ic", "critical-path", "fifo"),
    *,
    world: Literal["batches", "pool", "throttled"] = "batches",
    gap: float = 1.0,
    size: float = 16.0,
    workers: int = 16,
    submitted: int = 100,
    durations: Durations = None,
    runs: int = 200,
    seed: int = 1,
    effort: Effort = "usual",
    time_limit: float | None = 60.0,
) -> dict[str, Any]:
    """Plays policies against each other, with the same luck for all, and says how long each takes.

    policies: names, or names with what they stand for: a policy, a Plan, or an order of the tasks.
    world: "batches", where requests come in batches (every `gap` on the mean, of `size` on the mean; those not served
    leave); "pool" of `workers`; "throttled": at most `submitted` tasks queued before `workers` workers.
    durations: seconds by task; by default those of the file, else drawn from Normal(1, 0.1).

    Returns {"runs": n, "policies": {name: {"makespan": {"mean", "lo", "hi"}, "stall": …, "utilisation": …}},
    "ratios": {"first/other": {"makespan": {"mean", "lo", "hi"}}}}; lo and hi are the ends of 95 % intervals.
    """
    wanted: dict[str, Any] = dict(policies) if isinstance(policies, Mapping) else {name: name for name in policies}
    if not wanted:
        raise _cairn.CairnError("there is no policy to simulate; name at least one")
    seconds = dag._durations(durations)
    orders: dict[str, list[int]] = {}
    words = [(name, what) for name, what in wanted.items() if isinstance(what, str)]
    made = _cairn.orders(dag._native, [what for _, what in words], seconds, effort, time_limit) if words else []
    for (name, _), (_, order) in zip(words, made):
        orders[name] = order
    for name, what in wanted.items():
        if not isinstance(what, str):
            given = what.order if isinstance(what, Plan) else what
            orders[name] = [dag._index(task) for task in given]
    names = list(wanted)
    numbers = {
        "batches": (float(gap), float(size)),
        "pool": (float(workers), 0.0),
        "throttled": (float(submitted), float(workers)),
    }.get(world, (0.0, 0.0))
    played = [(name, orders[name]) for name in names]
    means, ratios, made_runs = _cairn.simulate(dag._native, played, world, numbers, seconds, runs, seed, time_limit)
    measures = ("makespan", "stall", "utilisation")
    return {
        "runs": made_runs,
        "policies": {
            name: {measure: _mean(mean) for measure, mean in zip(measures, mine)} for name, mine in zip(names, means)
        },
        "ratios": {
            f"{names[0]}/{name}": {"makespan": _mean(ratio)}
            for name, ratio in list(zip(names, ratios))[1:]
            if ratio is not None
        },
    }


def _mean(mean: tuple[float, float | None, float | None]) -> dict[str, float | None]:
    return {"mean": mean[0], "lo": mean[1], "hi": mean[2]}
