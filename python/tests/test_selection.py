"""The plugin without Snakemake: random runs under a cap, groups, and how long a selection takes for many jobs."""

import os
import random
import resource
import time

import cairn
import pytest
from fake import LOG, Dag, File, Group, Job
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_scheduler_plugin_cairn import Scheduler, SchedulerSettings
from snakemake_scheduler_plugin_cairn.units import Units


def random_workflow(rng, folder, groups=False):
    """Jobs with temporary files that others read, in a folder of their own."""
    n = rng.randint(2, 12)
    jobs, parents = [], {}
    for i in range(n):
        before = [jobs[a] for a in range(i) if rng.random() < 0.25]
        size = rng.randint(0, 4)
        output = File(f"{folder}/{i}", *(["temp"] if rng.random() < 0.7 else []))
        inputs = [File(str(p.output[0])) for p in before]
        resources = {"temp_kb": size}
        job = Job(str(i), inputs, [output], rng.choice([1, 1, 2]), rng.choice([0, 0, 5]), resources)
        job.size = size * 1024 if output.flags else 0
        jobs.append(job)
        parents[job] = set(before)
    whole = []
    if groups:
        free = list(jobs)
        while len(free) > 1 and rng.random() < 0.7:
            job = free.pop(rng.randrange(len(free)))
            mates = {job} | {p for p in parents[job] if p in free and len(parents[p]) == 0}
            if len(mates) > 1:
                free = [j for j in free if j not in mates]
                whole.append(Group(mates))
    dag = Dag(jobs, parents, whole)
    try:
        Units(dag)
    except cairn.CycleError:
        return Dag(jobs, parents)  # Snakemake makes no groups that wait for each other.
    return dag


def with_checkpoint(rng, folder, dag):
    """One of the jobs becomes a checkpoint, after which more jobs are known, which read what others made too."""
    split = rng.choice(dag.jobs)
    split.is_checkpoint = True
    dag.later = []
    for i in range(rng.randint(1, 4)):
        size = rng.randint(0, 4)
        job = Job(f"late{i}", [], [File(f"{folder}/late{i}", "temp")], resources={"temp_kb": size})
        job.size = size * 1024
        reader = Job(f"reader{i}", [File(str(job.output[0]))], [File(f"{folder}/reader{i}")])
        reader.size = 0
        dag.later += [(job, {split}), (reader, {job})]
    return dag


def inside(unit):
    return unit.jobs() if isinstance(unit, Group) else {unit}


def play(rng, dag, cap, cores=3, chance_to_fail=0.0, chance_of_retry=0.0):
    """Plays Snakemake: jobs write their files, files that nobody needs are deleted. The peak, and whether all was executed."""
    scheduler = Scheduler(dag, SchedulerSettings(disk=None if cap is None else f"{cap}B", policy="ic"), LOG)
    running, failed = set(), set()
    free = {"_cores": cores, "_nodes": 100, "_job_count": 100}
    peak = 0
    readers = {}
    for job in dag.jobs:
        for file in job.input:
            readers.setdefault(str(file), set()).add(job)
    def clean():
        """Deletes what nobody needs any more; nothing while a checkpoint is pending."""
        if any(getattr(job, "is_checkpoint", False) for job in dag.needrun_jobs()):
            return
        for job in dag.done:
            needed = any(r not in dag.done for r in readers.get(str(job.output[0]), ()))
            if "temp" in job.output[0].flags and not needed and os.path.exists(job.output[0]):
                os.remove(job.output[0])

    most = {u: u.scheduler_resources["_cores"] for u in [*dag.jobs, *dag.group.values()]}
    assert max(most.values()) <= cores
    for _ in range(1000):
        remaining = [j for j in dag.needrun_jobs() if not any(j in inside(u) for u in running | failed)]
        ready = dag.ready(running | failed)
        if not ready and not running:
            return peak, not failed
        if ready and free["_cores"] > 0:
            chosen = scheduler.select_jobs(ready, remaining, dict(free), {})
            assert chosen is not None and len(set(chosen)) == len(chosen) and set(chosen) <= ready
            assert chosen or running, "stuck without a word"
            for unit in chosen:
                for name in free:
                    free[name] -= unit.scheduler_resources[name]
                    assert free[name] >= 0
                running.add(unit)
        # What is in use: all that runs has written, and what lies there.
        in_use = sum(j.size for u in running for j in inside(u))
        in_use += sum(j.size for j in dag.done if os.path.exists(j.output[0]))
        peak = max(peak, in_use)
        if running:
            unit = rng.choice(sorted(running, key=repr))
            running.discard(unit)
            for name in free:
                free[name] += unit.scheduler_resources[name]
            luck = rng.random()
            if luck < chance_to_fail:
                failed.add(unit)
            elif luck >= chance_to_fail + chance_of_retry:
                dag.done |= inside(unit)
                for job in inside(unit):
                    with open(job.output[0], "wb") as file:
                        file.write(b"x" * job.size)
                    if getattr(job, "is_checkpoint", False):
                        for new, parents in dag.later:
                            dag.jobs.append(new)
                            dag.parents[new] = parents
                            for file in new.input:
                                readers.setdefault(str(file), set()).add(new)
                clean()
    raise AssertionError("does not end")


@pytest.mark.parametrize("groups", [False, True])
def test_random_runs_stay_under_the_cap_and_end(tmp_path, groups):
    rng = random.Random(5)
    refused = 0
    for round_ in range(250):
        folder = tmp_path / str(round_)
        folder.mkdir()
        dag = random_workflow(rng, folder, groups)
        cap = 1024 * rng.randint(1, 14)
        try:
            peak, complete = play(rng, dag, cap, chance_of_retry=rng.choice([0, 0.2]))
        except WorkflowError as error:
            assert "bytes) " in str(error)
            assert not dag.done, "refused before anything starts"
            refused += 1
            continue
        assert complete and peak <= cap
    assert 10 < refused < 200


def test_random_runs_with_failures_end_or_say_why(tmp_path):
    rng = random.Random(6)
    stopped = ended = 0
    for round_ in range(250):
        folder = tmp_path / str(round_)
        folder.mkdir()
        dag = random_workflow(rng, folder)
        cap = 1024 * rng.randint(3, 9)
        try:
            peak, _ = play(rng, dag, cap, chance_to_fail=0.2)
        except WorkflowError as error:
            stopped += "any longer" in str(error)
            continue
        assert peak <= cap
        ended += 1
    assert stopped > 0 and ended > 80


def test_random_runs_with_a_checkpoint_stay_under_the_cap_or_say_why(tmp_path):
    rng = random.Random(8)
    told = complete = 0
    for round_ in range(250):
        folder = tmp_path / str(round_)
        folder.mkdir()
        dag = with_checkpoint(rng, folder, random_workflow(rng, folder))
        cap = 1024 * rng.randint(4, 20)
        begun = len(dag.jobs)
        try:
            peak, is_complete = play(rng, dag, cap, chance_of_retry=rng.choice([0, 0.1]))
        except WorkflowError as error:
            assert "bytes) " in str(error), error
            told += 1
            continue
        assert peak <= cap and is_complete and len(dag.jobs) > begun
        complete += 1
    assert told > 10 and complete > 100


def test_random_runs_that_resume_count_what_is_there(tmp_path):
    rng = random.Random(9)
    told = complete = 0
    for round_ in range(250):
        folder = tmp_path / str(round_)
        folder.mkdir()
        dag = random_workflow(rng, folder)
        for job in dag.jobs[: rng.randint(1, len(dag.jobs))]:  # Parents come first.
            dag.done.add(job)
        for job in dag.done:
            readers = [j for j in dag.jobs if job in dag.parents[j] and j not in dag.done]
            if readers or "temp" not in job.output[0].flags:
                with open(job.output[0], "wb") as file:
                    file.write(b"x" * job.size)
        there = sum(job.size for job in dag.done if os.path.exists(job.output[0]))
        cap = 1024 * rng.randint(1, 14)
        before = set(dag.done)
        try:
            peak, is_complete = play(rng, dag, cap)
        except WorkflowError as error:
            assert "bytes) " in str(error) and dag.done == before, "refused before anything starts"
            told += 1
            continue
        assert there <= peak <= cap or not any(j not in before for j in dag.jobs)
        assert is_complete
        complete += 1
    assert told > 10 and complete > 100


def test_without_a_cap_all_is_executed(tmp_path):
    rng = random.Random(7)
    for round_ in range(100):
        folder = tmp_path / str(round_)
        folder.mkdir()
        assert play(rng, random_workflow(rng, folder, round_ % 2 == 0), None, chance_of_retry=0.1)[1]


def large(jobs=100_000, resource=0):
    """So many jobs, half of them ready: a temporary file each, read by one other."""
    half = jobs // 2
    first = [Job(f"a{i}", [], [File(f"t/{i}", "temp")], 1, 0, {"temp_kb": 256}) for i in range(half)]
    second = [Job(f"b{i}", [File(f"t/{i}")], [File(f"o/{i}")]) for i in range(half)]
    return Dag(first + second, {b: {a} for a, b in zip(first, second)}), set(first)


FREE = {"_cores": 16, "_nodes": 10**9, "_job_count": 10**9, "mem_mb": 10**9}


def spent():
    """Seconds of processor time, with that of solvers that were started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(scheduler, dag, ready, free, times=5):
    """Seconds of processor time of selections one after the other, each with the jobs of the one before finished."""
    took = []
    for _ in range(times):
        remaining = list(dag.needrun_jobs())
        sizes = {f: 1000 for j in ready for f in j.input}
        begun = spent()
        chosen = scheduler.select_jobs(ready, remaining, dict(free), sizes)
        took.append(spent() - begun)
        assert chosen
        dag.done.update(chosen)
        ready = ready - set(chosen)
    return took


@pytest.mark.timing
@pytest.mark.parametrize("disk", [None, "100MB"])
def test_a_selection_among_fifty_thousand_is_quick(tmp_path, monkeypatch, disk):
    monkeypatch.chdir(tmp_path)
    dag, ready = large()
    begun = time.process_time()
    scheduler = Scheduler(dag, SchedulerSettings(disk=disk, policy="auto"), LOG)
    planned = time.process_time() - begun
    took = timed(scheduler, dag, ready, FREE)
    assert scheduler._chooser is not None
    unchanged = []
    full = {**FREE, "_cores": 0}
    ready -= dag.done
    remaining = list(dag.needrun_jobs())
    for _ in range(20):
        begun = time.process_time()
        assert scheduler.select_jobs(ready, remaining, full, {}) == []
        unchanged.append(time.process_time() - begun)
    print(f"disk {disk}: plan {planned:.1f} s; selections {[f'{1000 * t:.1f} ms' for t in took]}; unchanged {1000 * unchanged[-1]:.3f} ms")
    assert sorted(took)[2] <= 0.05 and max(took) <= 0.1
    assert sorted(unchanged)[10] <= 0.001


@pytest.mark.timing
def test_a_cap_below_one_job_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dag, _ = large(20_000)
    begun = time.process_time()
    with pytest.raises(WorkflowError, match="161120 bytes. more than there is"):
        Scheduler(dag, SchedulerSettings(disk="101024B"), LOG)
    took = time.process_time() - begun
    print(f"refused {took:.2f} s after Snakemake asked for a scheduler, 20,000 jobs")
    assert took <= 2


if __name__ == "__main__":
    # The same beside Snakemake's own schedulers.
    from snakemake.scheduling import greedy, milp

    for jobs in (2_000, 20_000, 100_000):
        for name, module in (("cairn", None), ("greedy", greedy), ("ilp", milp)):
            dag, ready = large(jobs)
            if module is None:
                scheduler = Scheduler(dag, SchedulerSettings(), LOG)
            else:
                scheduler = module.Scheduler(dag, module.SchedulerSettings(), LOG)
            took = timed(scheduler, dag, ready, FREE, 3 if module is None or jobs < 100_000 else 1)
            print(f"{jobs} jobs, {jobs // 2} ready: {name} {1000 * sorted(took)[len(took) // 2]:.1f} ms")
