"""What Snakemake is to execute, as a dag of units: single jobs, and groups, which run as one. Knows no order and no sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cairn


class Units:
    """The jobs that are needed and not finished, now."""

    def __init__(self, dag: Any) -> None:
        self.jobs: list[Any] = []
        """By unit: the job or the group, as Snakemake offers it."""
        self.members: list[list[Any]] = []
        """By unit: its single jobs."""
        self.number: dict[Any, int] = {}
        """The unit of a job, of a group, and of a job in a group."""
        group_of = getattr(dag, "get_job_group", None)
        for job in dag.needrun_jobs():
            group = None if group_of is None else group_of(job)
            whole = job if group is None else group
            unit = self.number.setdefault(whole, len(self.jobs))
            if unit == len(self.jobs):
                self.jobs.append(whole)
                self.members.append([])
            self.members[unit].append(job)
            self.number[job] = unit
        self.before: list[list[Any]] = [[] for _ in self.jobs]
        """By unit: jobs that it depends on and that are no units: they are finished, or were not needed."""
        edges = []
        number = self.number
        for unit, members in enumerate(self.members):
            for job in members:
                for parent in dag.job_dependencies(job):
                    other = number.get(parent)
                    if other is None:
                        self.before[unit].append(parent)
                    elif other != unit:
                        edges.append((other, unit))
        self.dag = cairn.Dag.from_edges(edges, range(len(self.jobs)))

    def __len__(self) -> int:
        return len(self.jobs)

    def is_finished(self, unit: int, dag: Any) -> bool:
        """Whether all of it is executed."""
        return all(dag.finished(job) for job in self.members[unit])

    def above(self, units: Iterable[int]) -> set[int]:
        """These units and all that they wait for."""
        return _reached(units, self.dag.parents)

    def below(self, units: Iterable[int]) -> set[int]:
        """These units and all that wait for them."""
        return _reached(units, self.dag.children)


def _reached(units: Iterable[int], step: Any) -> set[int]:
    met = set(units)
    todo = list(met)
    while todo:
        for unit in step(todo.pop()):
            if unit not in met:
                met.add(unit)
                todo.append(unit)
    return met
