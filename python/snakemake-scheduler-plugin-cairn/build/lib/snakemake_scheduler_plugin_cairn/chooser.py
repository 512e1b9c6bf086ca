"""Chooses the jobs to start: a plan made once, the ready jobs by it, the resources that are free, and the disk. Knows no sizes.

Snakemake asks up to a hundred times a second, mostly in vain: a state that has not changed is answered at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Set
from typing import Any

import cairn
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_scheduler_plugin_cairn.disk import Disk
from snakemake_scheduler_plugin_cairn.ready import Ready
from snakemake_scheduler_plugin_cairn.sizes import Sizes
from snakemake_scheduler_plugin_cairn.units import Units

# Seconds for the plan; the best order found by then is taken.
PLAN = 20.0

# So many ready jobs are tried under the cap; if none of them may start, those that go next by the safe order are.
TRIES = 128

BYTES = " bytes of temporary files"  # No name that a user's resource can have.


class Chooser:
    def __init__(self, dag: Any, policy: str, cap: int | None, sizes: Sizes, log: logging.Logger) -> None:
        self._dag = dag
        self._policy = policy
        self._log = log
        self._disk = None if cap is None else Disk(dag, cap, sizes, log)
        self._units: Units
        self._running: set[int] = set()
        self._gave_up: set[Any] = set()
        """Jobs that have failed for good."""
        self._idle: Any = None
        """The state in which nothing could start."""
        self._most_cores: Any = None
        self._ignores_subsample()
        self._build()

    def _ignores_subsample(self) -> None:
        workflow = getattr(self._dag, "workflow", None)
        settings = getattr(workflow, "scheduling_settings", None)
        self._sampled = bool(getattr(settings, "subsample", None)) and hasattr(self._dag, "ready_jobs")
        if self._sampled:
            self._log.warning(
                "--scheduler-subsample is ignored by the scheduler cairn: it looks at all ready jobs, and is quick at that. "
                "A sample would hide the jobs that go next by its plan."
            )

    # --- the plan

    def _build(self) -> None:
        """Plans anew what is not finished."""
        running = {self._units.jobs[u] for u in self._running} if self._running else set()
        self._units = units = Units(self._dag)
        self._running = {units.number[job] for job in running if job in units.number}
        if self._disk is not None:
            self._disk.learn(units, self._running)
        order = self._order()
        priority = [job.priority for job in units.jobs]
        if self._disk is not None:
            order = self._disk.plan(order)
            lost = [units.number[job] for job in self._gave_up if job in units.number]
            if lost:
                self._disk.give_up(lost)
            frees = [self._disk.frees_more(u) for u in range(len(units))]
            by_rank = sorted(order, key=lambda u: (-priority[u], not frees[u]))
        else:
            by_rank = sorted(order, key=lambda u: -priority[u])
        rank = [0] * len(units)
        for place, unit in enumerate(by_rank):
            rank[unit] = place
        self._ready = Ready(rank, by_rank)
        self._waiting: set[Any] = set()
        """Jobs that are ready and known to be."""
        self._idle = None

    def _order(self) -> list[int]:
        units = self._units
        try:
            return cairn.plan(units.dag, policy=self._policy, time_limit=PLAN).order
        except cairn.CairnError as error:
            raise WorkflowError(f"--scheduler-cairn-policy {self._policy}: {error}") from None

    # --- a selection

    def select(self, selectable: Collection[Any], remaining: Collection[Any], available: Mapping[str, Any]) -> list[Any]:
        """The jobs to start now."""
        if self._sampled:
            selectable = self._all_ready(selectable)
        state = (len(selectable), len(remaining), tuple(available.values()))
        if state == self._idle:
            return []
        ready: Set[Any] = selectable if isinstance(selectable, Set) else set(selectable)
        self._take_news(ready, available)
        fresh = ready - self._waiting if self._waiting else set(ready)
        if not fresh <= self._units.number.keys():
            self._build()  # Snakemake has found out about new jobs: a checkpoint was executed.
            fresh = set(ready)
        self._waiting |= fresh
        self._ready.add(list(map(self._units.number.__getitem__, fresh)))
        chosen = self._choose(ready, available)
        jobs = [self._units.jobs[u] for u in chosen]
        if not jobs:
            if self._disk is not None and not self._running and ready and self._is_for_want_of_disk(available):
                raise WorkflowError(self._disk.stuck())
            self._idle = state
        return jobs

    def _all_ready(self, selectable: Collection[Any]) -> Set[Any]:
        ready = set(self._dag.ready_jobs)
        for job in ready.difference(selectable):
            # As Snakemake does for those of the sample.
            getattr(job, "reset_params_and_resources", lambda: None)()
        return ready

    def _choose(self, ready: Set[Any], available: Mapping[str, Any]) -> list[int]:
        jobs = self._units.jobs
        waiting = self._waiting
        disk = self._disk
        refusals = 0

        def is_there(unit: int) -> bool:
            return jobs[unit] in waiting and jobs[unit] in ready

        def needs(unit: int) -> Mapping[str, Any]:
            given = jobs[unit].scheduler_resources
            return given if disk is None else {**given, BYTES: disk.reserve(unit)}

        def accept(unit: int) -> bool | None:
            nonlocal refusals
            if disk is not None:
                if not disk.may(unit):
                    refusals += 1
                    return None if refusals >= TRIES else False
                disk.start(unit)
            self._running.add(unit)
            waiting.discard(jobs[unit])
            return True

        there = dict(available)
        if disk is not None:
            # A unit whose sizes are not known asks for one byte.
            there[BYTES] = max(disk.room, 1)
        chosen, gone = self._ready.choose(there, is_there, needs, accept)
        for unit in gone:
            if jobs[unit] not in ready:
                waiting.discard(jobs[unit])
        if disk is not None and refusals >= TRIES:
            left = {name: value - sum(_need(jobs[u], name) for u in chosen) for name, value in available.items()}
            for unit in disk.next_by_order():
                if is_there(unit) and all(_need(jobs[unit], name) <= value for name, value in left.items()):
                    if accept(unit):
                        chosen.append(unit)
                        left = {name: value - _need(jobs[unit], name) for name, value in left.items()}
        return chosen

    # --- what happened since the last selection

    def _take_news(self, ready: Set[Any], available: Mapping[str, Any]) -> None:
        if not self._running:
            self._most_cores = max(self._most_cores or 0, available.get("_cores", 0))
            return
        units = self._units
        finished = [u for u in self._running if units.is_finished(u, self._dag)]
        again = [u for u in self._running if units.jobs[u] in ready and u not in finished]
        self._running.difference_update(finished, again)
        failed = self._failed(available)
        self._running.difference_update(failed)
        self._gave_up.update(units.jobs[u] for u in failed)
        if self._disk is None:
            return
        for unit in again:
            self._disk.release(unit)
        if failed:
            self._disk.give_up(failed)
        if finished and self._disk.finish(finished):
            self._build()
        elif failed or again:
            self._disk.finish([])

    def _failed(self, available: Mapping[str, Any]) -> list[int]:
        """Units that were started, and are neither finished nor to be tried again, nor run."""
        if not self._running:
            return []
        scheduler = getattr(getattr(self._dag, "workflow", None), "scheduler", None)
        failed = getattr(scheduler, "failed", None)
        if failed is not None:
            return [u for u in self._running if self._units.jobs[u] in failed]
        # Without Snakemake's own book: if all cores are free, nothing runs.
        if available.get("_cores", 0) >= (self._most_cores or 0) > 0:
            return list(self._running)
        return []

    def _is_for_want_of_disk(self, available: Mapping[str, Any]) -> bool:
        """Whether some ready job fits all resources but the disk."""
        return any(
            all(_need(job, name) <= value for name, value in available.items() if isinstance(value, (int, float)))
            for job in self._waiting
        )


def _need(job: Any, name: str) -> Any:
    value = job.scheduler_resources.get(name, 0)
    return value if isinstance(value, (int, float)) else 0
