"""Plans and batches, with tasks and arrays. Knows no algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from cairn import _cairn
from cairn._dag import Dag, Durations, Task

Effort = Literal["quick", "usual", "thorough"]


@dataclass(frozen=True, eq=False)
class Plan:
    """An order of all tasks, and what is known of how good it is."""

    dag: Dag = field(repr=False)
    order: list[Task] = field(repr=False)
    """Every task once, each after its parents."""
    profile: npt.NDArray[np.int64] = field(repr=False)
    """Eligible tasks after t = 0, 1, … n executed ones, along this order."""
    bound: npt.NDArray[np.int64] = field(repr=False)
    """No order has more eligible tasks after t."""
    verdict: str
    """"optimal": no order has more eligible tasks at any step. "none-exists": every order falls short at some step.
    "suboptimal": another order is optimal, this one is not. "open": not decided."""
    proof: str
    """What proves the verdict on the plan: "linearization", "merge", "bound", "exhaustive"; "" where nothing does."""
    policy: str
    """Whose order it is; with "auto", the policy that was chosen."""

    @cached_property
    def priority(self) -> dict[Task, int]:
        """A number for each task, the highest for the first: what engines with priorities want."""
        return {task: len(self.order) - i for i, task in enumerate(self.order)}

    @property
    def area(self) -> int:
        """The sum of the profile."""
        return int(self.profile.sum())

    @property
    def area_ratio(self) -> float:
        """The sum of the profile over that of the bound: 1 is best."""
        bound = int(self.bound.sum())
        return self.area / bound if bound else 1.0


def plan(
    dag: Dag,
    *,
    policy: str = "ic",
    durations: Durations = None,
    effort: Effort = "usual",
    time_limit: float | None = 60.0,
) -> Plan:
    """Plans a dag: an order, what no order can beat, and a verdict.

    policy: "ic" for the plan's own order; "auto" for the one that is fastest in simulations; or one of fifo, lifo,
    critical-path, outdegree, memory, path+, critical-path-ic, ic-critical-path, path-hull, descendants, blend, share.
    durations: seconds by task, for policies that use them; by default those of the file.
    time_limit: seconds; past it the best so far is returned, and what it claims holds. None: no limit.
    """
    seconds = dag._durations(durations)
    made = _cairn.plan(dag._native, policy, seconds, effort, time_limit)
    order, profile, bound, verdict, proof, name = made
    tasks = dag._tasks
    return Plan(
        dag=dag,
        order=[tasks[i] for i in np.frombuffer(order, dtype="<u4").tolist()],
        profile=np.frombuffer(profile, dtype="<u4").astype(np.int64),
        bound=np.frombuffer(bound, dtype="<u4").astype(np.int64),
        verdict=verdict,
        proof=proof,
        policy=name,
    )


@dataclass(frozen=True)
class Batch:
    """The tasks to hand out now, and how good the choice is."""

    chosen: list[Task]
    eligible_before: int
    eligible_after: int
    """Eligible tasks once the chosen ones are executed."""
    bound: int
    """No choice leaves more."""
    quality: str
    """"exact": eligible_after is the bound. "factor": at least half of the best gain. "gap": the bound says how far."""


def batch(
    dag: Dag,
    requests: int,
    executed: Iterable[Task] = (),
    *,
    effort: Effort = "usual",
    time_limit: float | None = 60.0,
) -> Batch:
    """The best `requests` eligible tasks to hand out, when these tasks are executed."""
    if requests < 0:
        raise _cairn.CairnError(f"requests={requests}; give a number from 0 on")
    done = [dag._index(task) for task in executed]
    chosen, before, after, bound, quality = _cairn.batch(dag._native, done, requests, effort, time_limit)
    return Batch([dag._tasks[i] for i in chosen], before, after, bound, quality)
