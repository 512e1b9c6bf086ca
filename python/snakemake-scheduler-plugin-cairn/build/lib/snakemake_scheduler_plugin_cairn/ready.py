"""The ready units by rank, and which of them fit the resources that are free. Knows no disk and no Snakemake.

Units that need the same are kept together: where one does not fit, none of them does. So a selection looks at the units it
takes, and at one of each class that does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any


class Ready:
    def __init__(self, rank: list[int], by_rank: list[int]) -> None:
        self._rank = rank
        self._by_rank = by_rank
        self._fresh: list[int] = []
        """Ranks of units whose needs were not looked at yet: a heap."""
        self._alike: dict[tuple[float, ...], list[int]] = {}
        """By needs: ranks, a heap."""
        self._names: tuple[str, ...] = ()
        """Of the resources in needs."""

    def add(self, units: list[int]) -> None:
        """Units that are ready now and were not."""
        rank = self._rank
        if len(units) > len(self._fresh) // 8:
            self._fresh += [rank[unit] for unit in units]
            heapify(self._fresh)
        else:
            for unit in units:
                heappush(self._fresh, rank[unit])

    def choose(
        self,
        available: Mapping[str, Any],
        is_there: Callable[[int], bool],
        needs_of: Callable[[int], Mapping[str, Any]],
        accept: Callable[[int], bool | None],
    ) -> tuple[list[int], list[int]]:
        """By rank, the units that fit and are accepted, which are ready no more; and those that are there no more.

        `accept` is asked of units that fit; where it says no, the unit stays ready. None says that no more units that need
        the last of the resources will be accepted.
        """
        names = tuple(available)
        if names != self._names:
            self._names = names
            self._fresh += [rank for heap in self._alike.values() for rank in heap]
            heapify(self._fresh)
            self._alike.clear()
        left = [available[name] for name in names]
        cores = names.index("_cores") if "_cores" in names else None
        heads = [(heap[0], needs) for needs, heap in self._alike.items() if heap and _fits(needs, left)]
        heapify(heads)
        chosen: list[int] = []
        gone: list[int] = []
        refused: list[tuple[tuple[float, ...], int]] = []
        fresh = self._fresh
        while (fresh or heads) and (cores is None or left[cores] > 0):
            if heads and (not fresh or heads[0][0] < fresh[0]):
                _, needs = heappop(heads)
                if not _fits(needs, left):
                    continue
                heap = self._alike[needs]
                rank = heappop(heap)
                if heap:
                    heappush(heads, (heap[0], needs))
                unit = self._by_rank[rank]
                if not is_there(unit):
                    gone.append(unit)
                    continue
            else:
                rank = heappop(fresh)
                unit = self._by_rank[rank]
                if not is_there(unit):
                    gone.append(unit)
                    continue
                given = needs_of(unit)
                needs = tuple([_amount(given.get(name, 0)) for name in names])
                if not _fits(needs, left):
                    heappush(self._alike.setdefault(needs, []), rank)
                    continue
            answer = accept(unit)
            if answer:
                chosen.append(unit)
                for i, need in enumerate(needs):
                    if need:
                        left[i] -= need
            else:
                refused.append((needs, rank))
                if answer is None:
                    left[-1] = 0
        for needs, rank in refused:
            heappush(self._alike.setdefault(needs, []), rank)
        return chosen, gone


def _amount(value: Any) -> float:
    """What counts of a resource: words name a kind of thing, not how much of it."""
    return value if isinstance(value, (int, float)) else 0


def _fits(needs: tuple[float, ...], left: list[Any]) -> bool:
    return all(need <= there for need, there in zip(needs, left) if need)
