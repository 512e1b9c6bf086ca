#!/usr/bin/env python3
"""Priorities as Pegasus itself reads them: check_pegasus.py FILE COUNT, in a venv with pegasus-wms.api and pegasus-wms.dax.
check_pegasus.py FILE make: a DAX by its API of that time.

A YAML file is read with Pegasus' own module, rebuilt through its API, written by it and read again: jobs, arcs and priorities are
the same. A DAX file is read by its API of that time. The priorities are 1 to COUNT, each once."""
import io
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
import Pegasus.DAX3
import Pegasus.yaml
from Pegasus.api import Job, Namespace, SubWorkflow, Transformation, Workflow


def facts(data):
    jobs = {j["id"]: (j.get("arguments") or [], j["profiles"]["dagman"]["PRIORITY"]) for j in data["jobs"]}
    arcs = {(d["id"], c) for d in data.get("jobDependencies") or [] for c in d["children"]}
    return jobs, arcs


def from_yaml(path):
    with open(path, encoding="utf-8") as file:
        data = Pegasus.yaml.load(file)
    workflow = Workflow(data["name"], infer_dependencies=False)
    jobs = {}
    for row in data["jobs"]:
        if row["type"] == "job":
            job = Job(Transformation(row["name"]), _id=row["id"], node_label=row.get("nodeLabel"))
        else:
            job = SubWorkflow(row["file"], is_planned=False, _id=row["id"], node_label=row.get("nodeLabel"))
        job.add_args(*(row.get("arguments") or []))
        for space, pairs in row["profiles"].items():
            for key, value in pairs.items():
                job.add_profiles(Namespace(space), key=key, value=value)
        jobs[row["id"]] = job
        workflow.add_jobs(job)
    for row in data.get("jobDependencies") or []:
        workflow.add_dependency(jobs[row["id"]], children=[jobs[c] for c in row["children"]])
    written = io.StringIO()
    workflow.write(written)
    assert facts(Pegasus.yaml.load(io.StringIO(written.getvalue()))) == facts(data)
    return [priority for _, priority in facts(data)[0].values()]


def from_dax(path):
    adag = Pegasus.DAX3.parse(path)
    found = []
    for job in adag.jobs.values():
        found += [int(p.value) for p in job.profiles if (p.namespace, p.key.upper()) == ("dagman", "PRIORITY")]
    assert len(found) == len(adag.jobs)
    return found


def make_dax(path):
    from Pegasus.DAX3 import ADAG, Job as Task

    adag = ADAG("diamond")
    jobs = []
    for number in range(9):
        job = Task(name="step", id=f"ID{number:06}")
        job.addArguments("-n", str(number))
        adag.addJob(job)
        for parent in {(number - 1) // 2, number - 3} & set(range(number)):
            adag.depends(parent=jobs[parent], child=job)
        jobs.append(job)
    written = io.StringIO()
    adag.writeXML(written)
    # Its reader refuses the metadata that its writer adds.
    lines = [line for line in written.getvalue().splitlines(True) if "<metadata" not in line]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


path, what = sys.argv[1:3]
if what == "make":
    make_dax(path)
else:
    found = (from_dax if path.endswith(".dax") else from_yaml)(path)
    assert sorted(map(int, found)) == list(range(1, int(what) + 1)), found
    print(f"ok: Pegasus reads {len(found)} priorities")
