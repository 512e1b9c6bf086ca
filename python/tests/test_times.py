"""Logs that the real Snakemake writes now, as `cairn times` and `--times` read them."""

import json
import subprocess
import sys
from pathlib import Path

from snake import run

SNAKEFILE = """
rule all:
    input: "results/all.txt"
rule part:
    output: "results/{i}.txt"
    benchmark: "benchmarks/part-{i}.tsv"
    shell: "sleep 0.{wildcards.i}; echo {wildcards.i} > {output}"
rule join:
    input: expand("results/{i}.txt", i=[2, 6])
    output: "results/all.txt"
    shell: "sleep 0.3; cat {input} > {output}"
"""


def cairn(folder, *words):
    command = Path(sys.executable).with_name("cairn")
    done = subprocess.run([command, *words, "--json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_snakemake_logs(tmp_path):
    ran = run(tmp_path, SNAKEFILE, cores=2)
    assert ran.code == 0, ran.text
    times = cairn(tmp_path, "times", ".")
    assert times["files"][0]["format"] == "snakemake metadata", times
    kinds = {kind["kind"]: kind for kind in times["kinds"]}
    assert kinds["part"]["done"] == 2 and kinds["join"]["done"] == 1, times
    assert 0.6 <= kinds["part"]["longest"] < 30 and 0.3 <= kinds["join"]["median"] < 30, times
    times = cairn(tmp_path, "times", "benchmarks/part-6.tsv")
    assert times["files"][0]["format"] == "snakemake benchmark", times
    assert 0.5 <= times["kinds"][0]["median"] < 30, times
    # The jobs are known by what they make.
    flow = "".join(
        json.dumps(task) + "\n"
        for task in (
            {"name": "a", "outputs": ["results/2.txt"]},
            {"name": "b", "outputs": ["results/6.txt"]},
            {"name": "c", "outputs": ["results/all.txt"], "after": ["a", "b"]},
        )
    )
    (tmp_path / "flow.jsonl").write_text(flow)
    plan = cairn(tmp_path, "plan", "flow.jsonl", "--times", ".")
    assert plan["times"]["by_name"] == 3, plan["times"]
