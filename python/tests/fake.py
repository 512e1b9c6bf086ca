"""Snakemake's objects as its scheduler interface names them, and nothing more: for large workflows, groups and random runs."""

import logging


class File(str):
    def __new__(cls, path, *flags):
        file = super().__new__(cls, path)
        file.flags = set(flags)
        return file

    def is_flagged(self, flag):
        return flag in self.flags


class Job:
    def __init__(self, name, inputs=(), outputs=(), cores=1, priority=0, resources=None):
        self.name = name
        self.input = list(inputs)
        self.output = list(outputs)
        self.priority = priority
        self.scheduler_resources = {"_cores": cores, "_nodes": 1, "_job_count": 1, **(resources or {})}

    def __repr__(self):
        return self.name


class Group:
    """Jobs that run as one."""

    def __init__(self, jobs):
        self.members = frozenset(jobs)
        self.priority = max(job.priority for job in jobs)
        self.scheduler_resources = {"_cores": 1, "_nodes": 1, "_job_count": 1}

    def jobs(self):
        return self.members

    def __hash__(self):
        return hash(self.members)

    def __eq__(self, other):
        return isinstance(other, Group) and other.members == self.members


class Dag:
    def __init__(self, jobs, parents, groups=()):
        self.jobs = list(jobs)
        self.parents = parents
        self.done = set()
        self.group = {job: group for group in groups for job in group.jobs()}

    def needrun_jobs(self):
        return (job for job in self.jobs if job not in self.done)

    def job_dependencies(self, job):
        return self.parents.get(job, ())

    def finished(self, job):
        return job in self.done

    def get_job_group(self, job):
        return self.group.get(job)

    def ready(self, started):
        """Single jobs and groups whose parents are finished, and which were not started."""
        found = set()
        for job in self.needrun_jobs():
            whole = self.group.get(job, job)
            inside = whole.jobs() if isinstance(whole, Group) else {job}
            parents = {p for j in inside for p in self.parents.get(j, ()) if p not in inside}
            if whole not in started and parents <= self.done:
                found.add(whole)
        return found


LOG = logging.getLogger("fake snakemake")
