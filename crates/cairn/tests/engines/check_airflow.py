#!/usr/bin/env python3
"""Loads a file of `cairn submit --engine airflow` with Airflow itself: arcs and effective weights are those of its table.
check_airflow.py FILE, in a venv with apache-airflow 3."""
import runpy
import sys

made = runpy.run_path(sys.argv[1])
dag, rows = made["dag"], made["TASKS"]
assert len(dag.tasks) == len(rows) > 0
for place, (task_id, name, script, after, retries) in enumerate(rows):
    task = dag.get_task(task_id)
    assert task.priority_weight == len(rows) - place
    rule = task.weight_rule
    assert getattr(rule, "value", rule) == "absolute" or "Absolute" in type(rule).__name__, rule
    assert set(task.upstream_task_ids) == {rows[p][0] for p in after}
    assert (task.op_kwargs, task.retries, task.task_display_name) == ({"script": script}, retries, name)
print(f"ok: Airflow takes {len(rows)} tasks with absolute weights")
