"""Runs the real Snakemake in a folder and watches what its temporary files take. Knows no scheduler."""

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

KIB = 1024


@dataclass
class Ran:
    code: int
    text: str
    seconds: float
    peak: int
    """The most bytes that all files in `t/` took together, as seen every few milliseconds."""
    log: list[tuple[float, str]]
    """What jobs wrote into `log`: moment and word."""

    @property
    def words(self):
        return [word for _, word in self.log]

    @property
    def span(self):
        """From the first word to the last."""
        return self.log[-1][0] - self.log[0][0]


def held(folder):
    total = 0
    try:
        for entry in os.scandir(folder):
            try:
                total += entry.stat().st_size
            except OSError:
                pass
    except OSError:
        pass
    return total


def run(folder, snakefile, *options, scheduler="cairn", cores=4, env=None, timeout=120):
    """Runs a Snakefile; jobs write temporary files into `t/` and words into `log`."""
    folder = Path(folder)
    (folder / "Snakefile").write_text(snakefile)
    (folder / "log").unlink(missing_ok=True)
    words = [sys.executable, "-m", "snakemake", "--scheduler", scheduler, "-j", str(cores), *options]
    begun = time.monotonic()
    with open(folder / "said", "w+b") as said:
        child = subprocess.Popen(words, cwd=folder, stdout=said, stderr=said, env={**os.environ, **(env or {})})
        peak = 0
        over = threading.Event()

        def watch():
            nonlocal peak
            while not over.is_set():
                peak = max(peak, held(folder / "t"))
                time.sleep(0.004)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            said.seek(0)
            raise AssertionError("Snakemake did not end:\n" + said.read().decode()[-4000:]) from None
        finally:
            over.set()
            watcher.join()
        took = time.monotonic() - begun
        said.seek(0)
        text = said.read().decode()
    log = []
    if (folder / "log").exists():
        for line in (folder / "log").read_text().splitlines():
            moment, word = line.split(" ", 1)
            log.append((float(moment), word))
    return Ran(code, text, took, peak, log)


def flat(text):
    """Without the folding of lines."""
    return re.sub(r"\s+", " ", text)


# A word into the log, and a file of so many KiB, whole at once as the watcher sees it.
LOG = "echo $(date +%s.%N) {word} >> log"
WRITE = "head -c $(({kib} * 1024)) /dev/zero > {{output}}.part; mv {{output}}.part {{output}}"
