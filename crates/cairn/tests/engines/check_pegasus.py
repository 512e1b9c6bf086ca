#!/usr/bin/env python3
"""Reads a workflow of `cairn submit --engine pegasus` with Pegasus' own modules, rebuilds it through its API, has that write it, and
compares jobs, arcs and priorities. check_pegasus.py FILE, in a venv with pegasus-wms.api."""
import io
import sys

import Pegasus.yaml
from Pegasus.api import Job, Namespace, Transformation, TransformationCatalog, Workflow


def facts(data):
    jobs = {j["id"]: (j["arguments"], j["profiles"]["dagman"]["PRIORITY"]) for j in data["jobs"]}
    arcs = {(d["id"], c) for d in data.get("jobDependencies") or [] for c in d["children"]}
    return jobs, arcs


with open(sys.argv[1], encoding="utf-8") as file:
    data = Pegasus.yaml.load(file)
workflow = Workflow(data["name"])
sh = Transformation("sh", site="local", pfn="/bin/sh", is_stageable=False)
workflow.add_transformation_catalog(TransformationCatalog().add_transformations(sh))
jobs = {}
for row in data["jobs"]:
    job = Job(sh, _id=row["id"], node_label=row["nodeLabel"]).add_args(*row["arguments"])
    for key, value in row["profiles"]["dagman"].items():
        job.add_profiles(Namespace.DAGMAN, key=key, value=value)
    jobs[row["id"]] = job
    workflow.add_jobs(job)
for row in data.get("jobDependencies") or []:
    workflow.add_dependency(jobs[row["id"]], children=[jobs[c] for c in row["children"]])
written = io.StringIO()
workflow.write(written)
assert facts(Pegasus.yaml.load(io.StringIO(written.getvalue()))) == facts(data)
assert facts(data)[0], "it has jobs"
print(f"ok: Pegasus reads and writes {len(jobs)} jobs with their priorities")
