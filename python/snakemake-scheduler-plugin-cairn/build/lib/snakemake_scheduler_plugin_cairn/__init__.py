"""`snakemake --scheduler cairn`: settings, and what to do when something goes wrong. Knows not how jobs are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from snakemake_scheduler_plugin_cairn.chooser import Chooser
from snakemake_scheduler_plugin_cairn.sizes import Sizes, parsed_size, shown

__all__ = ["Scheduler", "SchedulerSettings"]


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    disk: Optional[str] = field(
        default=None,
        metadata={
            "help": "The most that all temporary files (outputs marked with temp()) may take together at any time, "
            "such as 500GB or 20GiB. Jobs that would take more wait; a cap that no order of the jobs can keep is "
            "refused before any job starts. Sizes come from the resources temp_kb, disk_kb or disk_mb of the job that "
            "writes them, else from what jobs of the same rule wrote, else from --scheduler-cairn-size-of.",
            "metavar": "SIZE",
        },
    )
    policy: Optional[str] = field(
        default="auto",
        metadata={
            "help": "Which ready job goes first, among jobs of equal priority: auto (the policy that is fastest in "
            "simulations of this workflow), ic (keeps most jobs ready), critical-path, path+, fifo, memory and others.",
            "metavar": "NAME",
        },
    )
    # One word or several: Snakemake makes a list of them, and takes the type for that of each.
    size_of: Optional[str] = field(
        default=None,
        metadata={
            "help": "Sizes of temporary files that no resource gives and no finished job of the rule shows: pairs of a "
            "pattern of paths and a size, such as '*.bam=2GB'. Where several match, the last counts.",
            "nargs": "+",
            "metavar": "PATTERN=SIZE",
        },
    )


class Scheduler(SchedulerBase):
    """Chooses jobs by a plan made once, and within the cap. On an error of its own, Snakemake's greedy scheduler goes on."""

    def __post_init__(self) -> None:
        settings = self.settings if isinstance(self.settings, SchedulerSettings) else SchedulerSettings()
        self._cap = None if settings.disk is None else parsed_size("--scheduler-cairn-disk", settings.disk)
        given: Any = settings.size_of or []
        sizes = Sizes([given] if isinstance(given, str) else list(given), self.logger)
        self._chooser: Optional[Chooser] = None
        try:
            self._chooser = Chooser(self.dag, settings.policy or "auto", self._cap, sizes, self.logger)
        except WorkflowError as refusal:
            raise WorkflowError(str(refusal)) from None  # Snakemake prints a line for each call it came through.
        except Exception as error:
            self._fall_back(error)

    def select_jobs(
        self,
        selectable_jobs: Sequence[Any],
        remaining_jobs: Sequence[Any],
        available_resources: Mapping[str, Any],
        input_sizes: Mapping[Any, int],
    ) -> Optional[Sequence[Any]]:
        if self._chooser is None:
            return None
        try:
            return self._chooser.select(selectable_jobs, remaining_jobs, available_resources)
        except WorkflowError as refusal:
            raise WorkflowError(str(refusal)) from None  # Snakemake prints a line for each call it came through.
        except Exception as error:
            self._fall_back(error)
            return None

    def _fall_back(self, error: Exception) -> None:
        self._chooser = None
        cap = ""
        if self._cap is not None:
            cap = (
                f" The cap of {shown(self._cap)} on temporary files is NOT kept from now on: "
                "stop the run with Ctrl-C if the disk may fill up."
            )
        self.logger.warning(
            f"The scheduler cairn has failed ({type(error).__name__}: {error}). "
            f"Snakemake's greedy scheduler chooses the jobs from now on.{cap} "
            "Please report this, with your Snakefile if you can."
        )
        self.logger.debug("what failed in the scheduler cairn:", exc_info=error)
