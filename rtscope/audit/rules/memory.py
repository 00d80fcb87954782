# SPDX-License-Identifier: GPL-2.0-only
"""Rules about memory management that delays a running program."""

from typing import Final

from rtscope.audit.rule import ADMIN, SYSCTL_KERNEL, SYSCTL_VM, Rule, file_line
from rtscope.audit.state import NotSeen, State

_HUGE: Final = "/sys/kernel/mm/transparent_hugepage/"
_HUGE_PAGE: Final = ADMIN + "mm/transhuge.html"
_KSM: Final = "/sys/kernel/mm/ksm/run"
_VM: Final = "/proc/sys/vm/"
_NUMA: Final = "/proc/sys/kernel/numa_balancing"


def _chosen(state: State, path: str) -> str:
    """The chosen word, which is in brackets."""
    words = [word[1:-1] for word in state.line(path).split() if word.startswith("[")]
    if not words:
        raise NotSeen(f"{path} shows no choice")
    return words[0]


def _huge_pages(state: State) -> str | None:
    if not state.offers(_HUGE + "enabled", "CONFIG_TRANSPARENT_HUGEPAGE"):
        return None
    return (
        "transparent huge pages always" if _chosen(state, _HUGE + "enabled") == "always" else None
    )


def _huge_defrag(state: State) -> str | None:
    if not state.offers(_HUGE + "defrag", "CONFIG_TRANSPARENT_HUGEPAGE"):
        return None
    return (
        "a page fault builds a huge page at any cost"
        if _chosen(state, _HUGE + "defrag") == "always"
        else None
    )


def _swap(state: State) -> str | None:
    if not state.offers("/proc/swaps", "CONFIG_SWAP"):
        return None
    places = [
        line.split()[0] for line in state.text("/proc/swaps").splitlines()[1:] if line.split()
    ]
    return f"swap on {', '.join(place[:60] for place in places[:4])}" if places else None


def _numa_balancing(state: State) -> str | None:
    if not state.offers(_NUMA, "CONFIG_NUMA_BALANCING"):
        return None
    return f"NUMA balancing is on ({state.number(_NUMA)})" if state.number(_NUMA) else None


def _same_pages(state: State) -> str | None:
    if not state.offers(_KSM, "CONFIG_KSM"):
        return None
    return "ksmd merges equal pages" if state.number(_KSM) == 1 else None


def _compacts_locked(state: State) -> str | None:
    path = _VM + "compact_unevictable_allowed"
    if not state.offers(path, "CONFIG_COMPACTION"):
        return None
    return "locked pages may be moved" if state.number(path) == 1 else None


def _compacts_ahead(state: State) -> str | None:
    path = _VM + "compaction_proactiveness"
    if not state.offers(path, "CONFIG_COMPACTION"):
        return None
    return (
        f"memory is compacted in advance: {state.number(path)} %"
        if state.number(path) > 0
        else None
    )


def _counts_often(state: State) -> str | None:
    path = _VM + "stat_interval"
    if not state.offers(path, "CONFIG_SMP"):
        return None
    seconds = state.number(path)
    return f"memory counters are added up every {seconds} s" if seconds < 10 else None


RULES: Final = [
    Rule(
        id="memory-huge-pages",
        severity="medium",
        wanted="huge pages only if a program requests them: madvise, or never",
        why="khugepaged merges a running program's pages in the background. A thread that "
        "touches one waits until 2 MB are copied, 100 us or more; this includes locked "
        "memory.",
        how=f"echo madvise > {_HUGE}enabled, or boot with transparent_hugepage=madvise",
        link=_HUGE_PAGE,
        check=_huge_pages,
        profile=file_line(_HUGE + "enabled", "madvise"),
    ),
    Rule(
        id="memory-huge-defrag",
        severity="medium",
        wanted="huge pages at a fault only if a program requests them: madvise, defer or never",
        why="Otherwise a page fault waits until memory is freed and moved to build a huge "
        "page: milliseconds.",
        how=f"echo madvise > {_HUGE}defrag",
        link=_HUGE_PAGE,
        check=_huge_defrag,
        profile=file_line(_HUGE + "defrag", "madvise"),
    ),
    Rule(
        id="memory-swap",
        severity="medium",
        wanted="no swap, or mlockall() in every real-time program",
        why="Access to a swapped-out page waits for the disk: 100 us to 10 ms.",
        how="swapoff -a, and remove it from /etc/fstab; mlockall(MCL_CURRENT | MCL_FUTURE) in "
        "programs",
        link=ADMIN + "mm/index.html",
        check=_swap,
    ),
    Rule(
        id="memory-numa-balancing",
        severity="medium",
        wanted="NUMA balancing off",
        why="The kernel periodically unmaps pages to see which thread touches them, and moves "
        "them. That thread takes a page fault, 1 us to 100 us.",
        how=f"echo 0 > {_NUMA} (sysctl kernel.numa_balancing=0), or boot with "
        "numa_balancing=disable",
        link=SYSCTL_KERNEL + "#numa-balancing",
        check=_numa_balancing,
        profile=file_line(_NUMA, "0"),
    ),
    Rule(
        id="memory-ksm",
        severity="medium",
        wanted="ksmd off",
        why="A write to a merged page is a page fault and a copy, some microseconds, and ksmd "
        "uses CPU and cache.",
        how=f"echo 2 > {_KSM}, which also unmerges all pages",
        link=ADMIN + "mm/ksm.html",
        check=_same_pages,
        profile=file_line(_KSM, "2"),
    ),
    Rule(
        id="memory-compacts-locked",
        severity="medium",
        wanted="locked pages are not moved, the default of kernels with PREEMPT_RT",
        why="Compaction moves locked pages too: despite mlockall() a program takes a page "
        "fault, which waits until the page is moved.",
        how=f"echo 0 > {_VM}compact_unevictable_allowed (sysctl vm.compact_unevictable_allowed=0)",
        link=SYSCTL_VM + "#compact-unevictable-allowed",
        check=_compacts_locked,
        profile=file_line(_VM + "compact_unevictable_allowed", "0"),
    ),
    Rule(
        id="memory-compacts-ahead",
        severity="info",
        wanted="compaction only on demand: 0 %",
        why="kcompactd moves pages in advance, and interrupts flush every CPU's TLB.",
        how=f"echo 0 > {_VM}compaction_proactiveness (sysctl vm.compaction_proactiveness=0)",
        link=SYSCTL_VM + "#compaction-proactiveness",
        check=_compacts_ahead,
        profile=file_line(_VM + "compaction_proactiveness", "0"),
    ),
    Rule(
        id="memory-statistics",
        severity="info",
        wanted="an interval of 10 s or more",
        why="At this interval a worker of each CPU with changed memory counters adds them up: "
        "some microseconds of that CPU.",
        how=f"echo 10 > {_VM}stat_interval (sysctl vm.stat_interval=10)",
        link=SYSCTL_VM + "#stat-interval",
        check=_counts_often,
        profile=file_line(_VM + "stat_interval", "10"),
    ),
]
