#!/usr/bin/env python3
"""Loads a file of `cairn submit --engine airflow` with Airflow itself, and has it through Airflow's own serialization, which is what its
scheduler reads: arcs and the weights by which it sorts are those of the file's table. check_airflow.py FILE, in a venv with Airflow 3."""
import runpy
import sys
from types import SimpleNamespace

from airflow.serialization.serialized_objects import DagSerialization

made = runpy.run_path(sys.argv[1])
dag, rows = made["dag"], made["TASKS"]
read = DagSerialization.from_dict(DagSerialization.to_dict(dag))
assert len(dag.tasks) == len(read.task_dict) == len(rows) > 0
for place, (task_id, name, script, after, retries) in enumerate(rows):
    task = dag.get_task(task_id)
    assert (task.op_kwargs, task.retries, task.task_display_name) == ({"script": script}, retries, name)
    task = read.task_dict[task_id]
    weight = task.weight_rule.get_weight(SimpleNamespace(task=task))
    assert weight == len(rows) - place, (task_id, weight)
    assert set(task.upstream_task_ids) == {rows[p][0] for p in after}
print(f"ok: Airflow's scheduler sorts {len(rows)} tasks by the plan's weights")
