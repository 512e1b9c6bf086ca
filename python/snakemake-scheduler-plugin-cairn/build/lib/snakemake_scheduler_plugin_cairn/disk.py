"""Keeps temporary files under a cap: which units may start, what is really deleted, and what to say when it cannot be done.
Knows no resources but bytes.

Only outputs marked with temp() count. They are reserved when the job that writes them starts, and credited when they are gone
from the disk: while a checkpoint is pending Snakemake deletes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cairn
from snakemake_interface_common.exceptions import WorkflowError

from snakemake_scheduler_plugin_cairn.sizes import Sizes, on_disk, rule_of, shown
from snakemake_scheduler_plugin_cairn.units import Units

# Seconds for a plan of small peak, when the run begins and when it must be made anew.
FIRST_PLAN = 20.0
NEXT_PLAN = 5.0


@dataclass
class Made:
    """Temporary files that come and go together: one, or all of a job where only their sum is known."""

    unit: int | None
    """Who writes them; None where they lie there already."""
    paths: list[str]
    bytes: int
    job: Any = None
    numbers: list[int] = field(default_factory=list)
    """By path: its place among the outputs of the job."""
    is_kept: bool = False
    readers: list[int] = field(default_factory=list)


def is_temporary(file: Any) -> bool:
    """Whether Snakemake deletes it once nobody needs it."""
    flagged = getattr(file, "is_flagged", None)
    return flagged is not None and flagged("temp") and not flagged("pipe") and not flagged("service")


class Disk:
    """The temporary files of a run, under a cap."""

    def __init__(self, dag: Any, cap: int, sizes: Sizes, log: logging.Logger) -> None:
        self._dag = dag
        self._cap = cap
        self._sizes = sizes
        self._log = log
        self._lingering: dict[str, int] = {}
        """Files that are on the disk though nobody will read them, and what they take."""
        self._warned: set[str | None] = set()
        self._is_first = True
        self._keeper: cairn.Keeper | None = None
        """None where what is known of sizes does not fit: then only what frees may start."""
        self._trouble = ""

    # --- from Snakemake's jobs to files

    def learn(self, units: Units, running: set[int]) -> None:
        """Learns the units anew; those in `running` have started. Refuses a cap that one job alone exceeds."""
        self._units = units
        self._keeper = None
        self._running = set(running)
        self._files, self._writes, self._reads = self._gather()
        self._unknown = {f.unit for f in self._files if f.bytes < 0 and f.unit is not None}
        self._probing: set[int] = set()
        for file in self._files:
            file.bytes = max(file.bytes, 0)
        self._reserve = [sum(self._files[i].bytes for i in mine) for mine in self._writes]
        pending = [u for u in range(len(units)) if any(getattr(j, "is_checkpoint", False) for j in units.members[u])]
        self._first = units.above(pending) if pending else set()
        """Units that a pending checkpoint waits for, and the checkpoints."""
        self._owed = sum(self._reserve[u] for u in self._first if u not in running)
        self._tell_unknown()
        self._look_at_lingering()
        if self._is_first:
            self._check_single(self._free())

    def plan(self, order: list[int]) -> list[int]:
        """An order of the units that needs no more than the cap; `order` is the policy's."""
        try:
            found, self._keeper = self._planned(order, self._running, self._free())
        except WorkflowError as trouble:
            if self._is_first:
                raise
            self._trouble = str(trouble)
            return order
        finally:
            self._is_first = False
        for unit in sorted(self._running):
            self._keeper.start(unit)
        return found

    def _free(self) -> int:
        """The cap without what lies there for nobody."""
        return max(self._cap - sum(self._lingering.values()), 0)

    def _gather(self) -> tuple[list[Made], list[list[int]], list[list[int]]]:
        """All temporary files that are there or will be, by unit those it writes, and those it reads."""
        units = self._units
        files: list[Made] = []
        owner: dict[str, int] = {}
        writes: list[list[int]] = [[] for _ in units.jobs]
        reads: list[list[int]] = [[] for _ in units.jobs]
        workflow = getattr(self._dag, "workflow", None)
        keeps_all = bool(getattr(getattr(workflow, "storage_settings", None), "notemp", False))
        targets = getattr(self._dag, "derived_targetfiles", None) or ()

        def add(file: Made) -> None:
            for path in file.paths:
                owner[path] = len(files)
            if file.unit is not None:
                writes[file.unit].append(len(files))
            files.append(file)

        for unit, members in enumerate(units.members):
            for job in members:
                for file in self._written(unit, job):
                    file.is_kept = keeps_all or any(path in targets for path in file.paths)
                    add(file)
        for before in units.before:
            for job in before:
                for output in job.output:
                    if is_temporary(output) and str(output) not in owner:
                        there = on_disk(str(output))
                        if there is not None:
                            add(Made(None, [str(output)], there, is_kept=keeps_all))
                            self._lingering.pop(str(output), None)
        for unit, members in enumerate(units.members):
            met: set[int] = set()
            for job in members:
                met.update(owner[str(f)] for f in job.input if str(f) in owner)
            for number in met:
                if files[number].unit != unit:
                    files[number].readers.append(unit)
                    reads[unit].append(number)
        return files, writes, reads

    def _written(self, unit: int, job: Any) -> list[Made]:
        """What one job writes; sizes that nobody knows are -1."""
        mine = [(number, str(f)) for number, f in enumerate(job.output) if is_temporary(f)]
        if not mine:
            return []
        total = self._sizes.of_job(job)
        if total is not None:
            return [Made(unit, [path for _, path in mine], total, job, [number for number, _ in mine])]
        sizes = [self._sizes.of_file(job, number, path) for number, path in mine]
        return [
            Made(unit, [path], -1 if size is None else size, job, [number])
            for (number, path), size in zip(mine, sizes)
        ]

    def _tell_unknown(self) -> None:
        rules = {rule_of(self._files[i].job) for unit in self._unknown for i in self._writes[unit]}
        for rule in sorted(rules - self._warned, key=str):
            self._log.warning(
                f"Nothing tells how large the temporary files of rule {rule} are. One job of it runs first, to learn that; "
                "until then the cap may be exceeded by what it writes. To be sure from the beginning, add to the rule "
                "'resources: temp_kb=…' (what its temporary files take), or give --scheduler-cairn-size-of 'PATTERN=SIZE'."
            )
        self._warned |= rules

    # --- an order that fits

    def _planned(self, order: list[int], running: set[int], room: int) -> tuple[list[int], cairn.Keeper]:
        """An order that fits, and its keeper, with nothing started."""
        self._check_single(room)
        given = [cairn.File(f.unit, f.bytes, f.readers, f.is_kept) for f in self._files]
        storage = cairn.Storage(self._units.dag, given)
        bound = 0
        found = self._early(order, running)
        if storage.total > room and storage.peak(found) > room:
            lean = storage.plan(found, time_limit=FIRST_PLAN if self._is_first else NEXT_PLAN)
            bound = lean.lower_bound
            found = self._early(lean.order, running)
        peak = storage.peak(found)
        if peak > room:
            raise WorkflowError(self._refusal(peak, bound, room))
        keeper = cairn.Keeper(self._units.dag, storage, room, order=found)
        if self._is_first and self._files:
            self._log.info(
                f"cairn: at most {shown(self._cap)} of temporary files at any time; one job after the other needs {shown(peak)}."
            )
        return found, keeper

    def _early(self, order: list[int], running: set[int]) -> list[int]:
        """What runs comes first, then what a pending checkpoint waits for, and then the others: topological as before."""
        first = [u for u in order if u in running]
        second = [u for u in order if u in self._first and u not in running]
        rest = [u for u in order if u not in self._first and u not in running]
        return first + second + rest

    def _check_single(self, room: int) -> None:
        """What one unit reads and writes is needed in every order."""
        worst = max(range(len(self._units)), key=self._alone, default=None)
        if worst is None or self._alone(worst) <= room:
            return
        need = self._alone(worst)
        raise WorkflowError(
            f"The cap of {shown(self._cap)} on temporary files cannot be kept: {self._named(worst)} alone needs {shown(need)}"
            f"{self._beside_lingering()}, {shown(need - room)} ({need - room} bytes) more than there is. "
            f"Give at least --scheduler-cairn-disk {need + self._cap - room}B, or correct the sizes of the rule's temporary files "
            "(resources temp_kb, disk_kb, disk_mb; --scheduler-cairn-size-of)."
        )

    def _alone(self, unit: int) -> int:
        return self._reserve[unit] + sum(self._files[i].bytes for i in self._reads[unit])

    def _refusal(self, peak: int, bound: int, room: int) -> str:
        missing = peak - room
        said = f"The cap of {shown(self._cap)} on temporary files cannot be kept: "
        if self._first:
            said += (
                "a checkpoint is pending, and until it is executed Snakemake deletes no temporary files; the jobs before it "
                f"go first, and with them the workflow needs {shown(peak)}"
            )
        elif bound > room:
            said += f"no order of the jobs needs less than {shown(bound)}, which is proved"
            missing = bound - room
        else:
            said += f"the best order found needs {shown(peak)} (this is no proof that none needs less)"
        said += f"{self._beside_lingering()}: {shown(missing)} ({missing} bytes) are missing. "
        return said + f"Give at least --scheduler-cairn-disk {peak + self._cap - room}B, or mark fewer outputs with temp()."

    def _beside_lingering(self) -> str:
        there = sum(self._lingering.values())
        if not there:
            return ""
        return f" beside {shown(there)} of temporary files that are on the disk and not deleted yet"

    def _named(self, unit: int) -> str:
        job = self._units.members[unit][0]
        rule = rule_of(job)
        output = next((str(f) for f in job.output), "")
        what = f"a job of rule {rule}" if rule else "a job"
        return f"{what} ({output})" if output else what

    # --- what may start, and what happened

    @property
    def room(self) -> int:
        """Bytes that nobody has reserved."""
        if self._keeper is None:
            return 0
        return max(self._keeper.cap - self._keeper.used, 0)

    def reserve(self, unit: int) -> int:
        """What a unit reserves when it starts."""
        # At least one byte, so that what writes temporary files of unknown size is told from what writes none.
        return max(self._reserve[unit], 1) if self._writes[unit] else 0

    def frees_more(self, unit: int) -> bool:
        """Whether less is in use when it has ended than before, its share of what it reads with others counted."""
        if not self._reads[unit]:
            return False
        frees = sum(self._files[i].bytes / max(len(self._files[i].readers), 1) for i in self._reads[unit])
        return frees >= self._reserve[unit]

    def may(self, unit: int) -> bool:
        """Whether a ready unit may start now."""
        if self._keeper is None:
            return not self._writes[unit]
        if unit in self._unknown and self._is_probed(unit):
            return False
        if self._first and unit not in self._first and self._writes[unit]:
            # What the checkpoint waits for must fit, and nothing is deleted before.
            if self._keeper.used + self._reserve[unit] + self._owed > self._keeper.cap:
                return False
        return self._keeper.may(unit)

    def _is_probed(self, unit: int) -> bool:
        """Whether another unit is running to learn the size of the same rule's files."""
        rules = {rule_of(job) for job in self._units.members[unit]}
        return any(rules & {rule_of(job) for job in self._units.members[other]} for other in self._probing)

    def start(self, unit: int) -> None:
        """A unit starts."""
        if unit in self._unknown:
            self._probing.add(unit)
        if unit in self._first:
            self._owed -= self._reserve[unit]
        for number in self._writes[unit]:
            for path in self._files[number].paths:
                self._lingering.pop(path, None)  # Snakemake deletes what is there of it first.
        if self._keeper is not None:
            self._keeper.start(unit)

    def next_by_order(self) -> list[int]:
        """The units that go next by the safe order, ready or not."""
        return [] if self._keeper is None else self._keeper.next_by_order()

    def finish(self, units: Iterable[int]) -> bool:
        """Units have ended, and Snakemake has deleted what it deletes. Says whether a new plan is needed."""
        is_stale = self._keeper is None
        for unit in units:
            is_stale |= self._measure(unit)
            is_stale |= any(getattr(job, "is_checkpoint", False) for job in self._units.members[unit])
            self._probing.discard(unit)
            if self._keeper is None:
                continue
            self._keeper.finish(unit)
            for number in [*self._reads[unit], *self._writes[unit]]:
                if self._keeper.is_free(number):
                    for path in self._files[number].paths:
                        self._lingering[path] = 0  # Until it is looked at.
        self._look_at_lingering()
        return is_stale

    def _measure(self, unit: int) -> bool:
        """What a unit has really written; says whether that changes what is expected of others."""
        changes = unit in self._unknown
        for number in self._writes[unit]:
            file = self._files[number]
            found = [(n, on_disk(path)) for n, path in zip(file.numbers, file.paths)]
            there = [(n, size) for n, size in found if size is not None]
            if not there:
                continue  # Deleted already: nobody reads it.
            for n, size in there:
                self._sizes.learn(file.job, n, size)
            total = sum(size for _, size in there)
            if total > file.bytes and unit not in self._unknown:
                changes |= self._sizes.of_job(file.job) is None
                self._tell_larger(file, total)
            file.bytes = total
            if self._keeper is not None:
                self._keeper.resize(number, total)
        return changes

    def _tell_larger(self, file: Made, total: int) -> None:
        rule = f"larger {rule_of(file.job)}"
        if rule not in self._warned:
            self._warned.add(rule)
            self._log.warning(
                f"Rule {rule_of(file.job)} has written {shown(total)} of temporary files ({', '.join(file.paths)}), more than the "
                f"{shown(file.bytes)} that were expected. The cap is kept only as well as sizes are known: "
                "raise temp_kb (disk_kb, disk_mb) of the rule."
            )

    def _look_at_lingering(self) -> None:
        if self._is_first:
            # What earlier runs left of files that are written again: it takes room until then.
            for file in self._files:
                if file.unit is not None:
                    self._lingering.update((path, 0) for path in file.paths)
        for path in list(self._lingering):
            there = on_disk(path)
            if there is None:
                del self._lingering[path]
            else:
                self._lingering[path] = there
        if self._keeper is not None:
            self._keeper.set_cap(self._free())

    def release(self, unit: int) -> None:
        """A unit that had started is to be tried again; Snakemake has deleted what it wrote."""
        self._probing.discard(unit)
        if unit in self._first:
            self._owed += self._reserve[unit]
        if self._keeper is not None:
            self._keeper.release(unit)

    def give_up(self, failed: Iterable[int]) -> None:
        """Units have failed for good: they and what waits for them will not be executed; what they would read stays."""
        lost = self._units.below(failed)
        self._probing -= lost
        self._owed = sum(self._reserve[u] for u in self._first - lost) if self._first - lost else 0
        if self._keeper is not None:
            self._keeper.give_up(lost)

    def stuck(self) -> str:
        """Why nothing may start though nothing runs."""
        if self._keeper is None:
            return self._trouble
        if self._lingering and self._first:
            why = (
                "a checkpoint is pending, and until it is executed Snakemake deletes no temporary files"
                f"{self._beside_lingering()}"
            )
        else:
            why = f"{shown(self._keeper.used)} are in use by files that are kept for jobs which failed or are still to come"
            why += self._beside_lingering()
        missing = self._keeper.missing or 1
        return (
            f"The cap of {shown(self._cap)} on temporary files cannot be kept any longer: {why}; the next job needs "
            f"{shown(missing)} ({missing} bytes) more than there is. Nothing runs any more and what is finished stays: "
            f"run again with at least --scheduler-cairn-disk {self._cap + missing}B, or mend what failed first."
        )
