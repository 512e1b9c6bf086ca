"""How large temporary files will be: by resources, by what a rule wrote before, by patterns. Knows no plans."""

from __future__ import annotations

import fnmatch
import json
import logging
import os
from typing import Any

import cairn
from snakemake_interface_common.exceptions import WorkflowError

# Resources that tell what a job writes, the first that is there counts. A KB too large is on the safe side: 1024 bytes.
RESOURCES = (("temp_kb", 1 << 10), ("disk_kb", 1 << 10), ("disk_mb", 1 << 20))

# What is learnt is taken this much larger: the next file may be larger than all before it.
MARGIN = 1.3

# What was learnt is kept here, for the next run.
STORE = os.path.join(".snakemake", "cairn-sizes.json")


def shown(size: int) -> str:
    """A number of bytes for people."""
    for unit, bytes_ in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}" if size < 1000 * bytes_ else f"{size / bytes_:.0f} {unit}"
    return f"{size} B"


def parsed_size(option: str, text: str) -> int:
    """The bytes of an option, or an error that says what to write instead."""
    try:
        return cairn.size(str(text))
    except cairn.CairnError:
        raise WorkflowError(
            f"{option} {text}: this is no size. Give a number with its unit, such as 500GB (powers of 1000) or 20GiB "
            "(powers of 1024)."
        ) from None


def on_disk(path: str) -> int | None:
    """Bytes of a file, or of all in a folder; None where there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not os.path.isdir(path) or os.path.islink(path):
        return found.st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                pass  # Gone meanwhile.
    return total


def rule_of(job: Any) -> str | None:
    """The name of a job's rule, where there is one."""
    return getattr(getattr(job, "rule", None), "name", None)


def is_default(job: Any, resource: str) -> bool:
    """Whether a resource has the value that all rules have, and not one of the job's rule.

    Beside any `--default-resources` Snakemake gives every rule `disk_mb`: 50 GB where a job has no inputs."""
    try:
        rule = job.rule
        defaults = rule.workflow.resource_settings._parsed_default_resources
        return resource in defaults and bool(rule.resources[resource] == defaults[resource])
    except (AttributeError, KeyError, TypeError):
        return False  # Not the Snakemake that we know: what is there counts.


class Sizes:
    """What is known of sizes."""

    def __init__(self, size_of: list[str], log: logging.Logger) -> None:
        self._log = log
        self._patterns = []
        for text in size_of:
            pattern, equals, size = text.rpartition("=")
            if not equals or not pattern:
                raise WorkflowError(
                    f"--scheduler-cairn-size-of {text}: this is no pattern with a size. Write it like '*.bam=2GB', in quotes."
                )
            self._patterns.append((pattern, parsed_size("--scheduler-cairn-size-of", size)))
        self._learnt: dict[str, dict[str, int]] = _stored()

    def of_job(self, job: Any) -> int | None:
        """What the resources of a job say that all its temporary files take together."""
        # Not scheduler_resources: Snakemake keeps those from when they are first asked for, and inputs may be missing yet.
        resources = getattr(job, "resources", None)
        if resources is None:
            resources = getattr(job, "scheduler_resources", {})
        try:
            given = dict(resources.items())
        except Exception:
            return None  # A function of inputs that are not there yet.
        for name, unit in RESOURCES:
            value = given.get(name)
            if name == "disk_mb" and is_default(job, name):
                continue
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
                return int(value * unit)
        return None

    def of_file(self, job: Any, number: int, path: str) -> int | None:
        """What one temporary file takes: as learnt, else as given."""
        rule = rule_of(job)
        learnt = self._learnt.get(rule, {}).get(str(number)) if rule is not None else None
        if learnt is not None:
            return int(learnt * MARGIN)
        for pattern, size in reversed(self._patterns):
            if fnmatch.fnmatchcase(path, pattern):
                return size
        return None

    def learn(self, job: Any, number: int, size: int) -> None:
        """A job has written this."""
        rule = rule_of(job)
        if rule is None:
            return
        known = self._learnt.setdefault(rule, {})
        if size > known.get(str(number), -1):
            known[str(number)] = size
            self._store()

    def _store(self) -> None:
        """For the next run; whether it works does not matter to this one."""
        if not os.path.isdir(os.path.dirname(STORE)):
            return
        try:
            with open(STORE + ".new", "w", encoding="utf-8") as file:
                json.dump(self._learnt, file, indent=1, sort_keys=True)
            os.replace(STORE + ".new", STORE)
        except OSError as error:
            self._log.debug(f"cairn could not write {STORE}: {error}")


def _stored() -> dict[str, dict[str, int]]:
    try:
        with open(STORE, encoding="utf-8") as file:
            found = json.load(file)
        return {
            str(rule): {str(n): int(size) for n, size in files.items() if int(size) >= 0} for rule, files in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
