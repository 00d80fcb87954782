# SPDX-License-Identifier: GPL-2.0-only
"""Other tools' files become runs with the figures that the tool printed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Thread
from rtscope.store.importer import import_bytes, import_file
from rtscope.store.runfile import decode_run, encode_run

FILES = Path(__file__).parent / "files"
GOLDEN = Path(__file__).parent / "golden"
WHEN = "2026-11-21T19:02:42Z"


def one(data: bytes | str, format_name: str | None = None) -> Run:
    raw = data.encode() if isinstance(data, str) else data
    (run,) = import_bytes(raw, WHEN, format_name)
    assert decode_run(encode_run(run)) == run
    return run


def of_file(name: str) -> Run:
    return one((FILES / name).read_bytes())


def text_of(data: bytes | str, format_name: str | None = None) -> str:
    with pytest.raises(RtscopeError) as caught:
        import_bytes(data.encode() if isinstance(data, str) else data, WHEN, format_name)
    return str(caught.value)


def figures(thread: Thread) -> tuple[int, int | None, int | None, float | None]:
    return thread.count, thread.min_ns, thread.max_ns, thread.mean_ns


def lines_of(run: Run) -> Iterator[str]:
    """All that an import keeps, a line for the run and one for each thread."""
    machine, asked = run.machine, run.asked
    known = [run.source, run.probe, run.status, run.created, machine.hostname]
    known += [machine.kernel_release, machine.preemption, machine.preemption_evidence]
    known += [f"interval {asked.interval_ns}", f"samples {asked.samples}", *asked.command]
    yield ", ".join(map(str, [*known, *(warning.code for warning in run.warnings)]))
    for one in run.threads:
        held = one.histogram
        yield (
            f"  {one.name}{one.thread} on {one.cpu}, {one.policy}:{one.priority}: {figures(one)}, "
            f"missed {one.missed}, {len(held.count)} buckets {held.lower_ns[:3]} "
            f"{held.width_ns[:2]}, beyond {held.beyond_ns}: {held.beyond_count}"
        )


def imported() -> str:
    """All of tests/store/files as they are imported."""
    files = sorted(FILES.iterdir())
    found = ((file.name, import_bytes(file.read_bytes(), WHEN)) for file in files)
    told = [[name, *(line for run in runs for line in lines_of(run))] for name, runs in found]
    return "".join(f"{line}\n" for lines in told for line in lines)


def test_every_figure_of_real_files_is_kept() -> None:
    """golden/imported.txt; write it again with python -m tests.store.test_import."""
    assert imported() == (GOLDEN / "imported.txt").read_text()


def cyclictest(thread: str, head: str = "", resolution: int = 0) -> str:
    return (
        f'{{"file_version": 1, {head} "num_threads": 1, "resolution_in_ns": {resolution}, '
        f'"thread": {{"0": {{{thread}}}}}}}'
    )


def test_cyclictest_json_samples_beyond_its_histogram_are_kept_as_beyond() -> None:
    run = one(
        cyclictest(
            '"histogram": {"3": 40, "7": 50}, "cycles": 100, "min": 3, "max": 1406, "avg": 7.71',
            '"cmdline:": "cyclictest -Sp99 -i200 -h400 -q",',
        )
    )
    (thread,) = run.threads
    assert thread.histogram.total == thread.count == 100
    assert (thread.histogram.beyond_count, thread.histogram.beyond_ns) == (10, 400_000)
    assert (thread.priority, run.asked.interval_ns) == (99, 200_000)


def test_cyclictest_json_without_histogram_says_only_that_samples_are_beyond_the_minimum() -> None:
    for histogram in ('"histogram": {      },', ""):  # rt-tests 2.4, and 2.5 on
        run = one(
            cyclictest(histogram + '"cycles": 9, "min": 3, "max": 1406, "avg": 7.7, "cpu": 1')
        )
        held = run.threads[0].histogram
        assert (held.lower_ns, held.beyond_count, held.beyond_ns) == ([], 9, 3000)
        assert run.threads[0].max_ns == 1_406_000


def test_cyclictest_json_in_nanoseconds_is_read_as_nanoseconds() -> None:
    thread = '"histogram": {"5001": 2}, "cycles": 2, "min": 5001, "max": 5001, "avg": 5001.50'
    (read,) = one(cyclictest(thread, resolution=1)).threads
    assert figures(read) == (2, 5001, 5001, 5001.5)
    assert (read.histogram.lower_ns, read.histogram.width_ns) == ([5001], [1])


def test_cyclictest_json_with_quotes_in_its_command_line_is_read() -> None:
    text = (FILES / "cyclictest-2.4.json").read_text()
    weird = re.sub("cyclictest -q", r'cyclictest -D "1m\\n" \\\\x\t-q', text, count=1)
    assert weird != text
    with pytest.raises(json.JSONDecodeError):
        json.loads(weird)
    assert one(weird).threads == of_file("cyclictest-2.4.json").threads
    assert "-q" in one(weird).asked.command


def test_a_thread_without_samples_has_no_figures() -> None:
    for average in ("-nan", "nan", "0.00"):
        text = cyclictest(
            '"histogram": {},\n "cycles": 0,\n "min": 1000000,\n "max": 0,\n "avg": '
            + average
            + ",\n"
            ' "cpu": -1'
        )
        (thread,) = one(text).threads
        assert figures(thread) == (0, None, None, None)
        assert (thread.histogram.total, thread.cpu) == (0, None)


def test_line_ends_byte_order_mark_and_decimal_comma_are_understood() -> None:
    text = (FILES / "cyclictest-2.4.json").read_text().replace('"avg": 30.70', '"avg": 30,70')
    data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert one(data).threads == of_file("cyclictest-2.4.json").threads


def test_cyclictest_histogram_of_newer_versions_without_zero_rows_and_total_is_read() -> None:
    text = (FILES / "cyclictest-2.4-H.txt").read_text()
    newer = re.sub(r"^# Total:.*\n", "", text, flags=re.M)
    newer = re.sub(r"^\d{6} 000000\t000000\t000000\n", "", newer, flags=re.M)
    assert len(newer) < len(text) / 2
    new, old = one(newer).threads, one(text).threads
    assert [figures(thread) for thread in new] == [figures(thread) for thread in old]
    assert new[0].histogram.lower_ns == old[0].histogram.lower_ns
    assert new[0].histogram.beyond_count == 4


def test_the_last_line_of_a_live_display_counts() -> None:
    line = "T: 0 ( 7742) P: 0 I:1000 C:{:7} Min:{:7} Act:   61 Avg:   62 Max: {:7}\n"
    head = "policy: other/other: loadavg: 0.03 0.07 0.07 2/90 7742          \n\n"
    text = head + line.format(0, 1_000_000, 0) + "\x1b[3A" + head + line.format(20, 58, 69)
    (thread,) = one(text).threads
    assert figures(thread) == (20, 58_000, 69_000, 62_000)
    assert thread.policy == "other"
    (none,) = one(line.format(0, 1_000_000, 0)).threads
    assert figures(none) == (0, None, None, None)


def oslat(version: str, options: str, thread: str) -> Thread:
    run = one(
        f'{{"file_version": 1, "cmdline": "oslat {options}", "rt_test_version": "{version}",'
        f'"thread": {{"0": {{"cpu": 1, "freq": 2500, {thread}, "avg": 1.0, "duration": 3.0}}}}}}'
    )
    return run.threads[0]


def test_oslat_buckets_are_read_as_each_version_rounds() -> None:
    exact = '"histogram": {"1": 9, "32": 3}, "min": 1, "max": 32'
    old = oslat("2.40", "", exact).histogram
    assert (old.lower_ns, old.width_ns, old.beyond_count) == ([0, 31_000], [1000, 1000], 0)
    ceiled = oslat("2.60", "", '"histogram": {"2": 9, "32": 3}, "min": 1, "max": 31').histogram
    assert (ceiled.lower_ns, ceiled.beyond_count) == ([0, 30_000], 0)
    floored = oslat("2.80", "", '"histogram": {"1": 9, "32": 3}, "min": 0, "max": 31').histogram
    assert (floored.lower_ns, floored.beyond_count) == ([0, 31_000], 0)
    beyond = oslat("2.80", "", '"histogram": {"1": 9, "32": 3}, "min": 0, "max": 32').histogram
    assert (beyond.lower_ns, beyond.beyond_count, beyond.beyond_ns) == ([0], 3, 31_000)


def test_oslat_with_narrow_buckets_prints_min_and_max_in_nanoseconds() -> None:
    thread = oslat(
        "2.80", "-W 500", '"histogram": {"0.500": 9, "1.500": 3}, "min": 30, "max": 1200'
    )
    assert (thread.min_ns, thread.max_ns) == (30, 1200)
    assert (thread.histogram.lower_ns, thread.histogram.width_ns) == ([0, 1000], [500, 500])
    assert thread.histogram.beyond_count == 0


def test_rtla_with_colours_nanoseconds_and_a_column_without_samples_is_read() -> None:
    text = (
        "1# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\n# Duration:   0 00:00:01\n"
        "Index   IRQ-000   Thr-000   Usr-000\n\x1b[1m600    5 4 0\x1b[0m\nover:  0 1 0 \n"
        "count 5 5 0\nmin:  610 650         - \navg:  620 700         - \nmax:  690 9000     -\n"
        "  rtla timerlat hit stop tracing\n"
    )
    irq, thread, user = import_bytes(text.encode(), WHEN)
    assert irq.threads[0].max_ns == 690
    assert irq.status == thread.status == "threshold"
    assert irq.threads[0].histogram.lower_ns == [600]
    assert thread.threads[0].histogram.beyond_ns <= 9000
    assert figures(user.threads[0]) == (0, None, None, None)


def test_rtla_6_1_prints_two_to_the_64_as_minimum_of_no_samples() -> None:
    text = (
        "# RTLA timerlat histogram\n# Time unit is microseconds (us)\nIndex IRQ-000 Thr-000\n"
        "0 5 0\nover: 0 0\ncount: 5 0\nmin: 0 18446744073709551615\navg: 0 -\nmax: 0 0\n"
    )
    irq, thread = import_bytes(text.encode(), WHEN)
    assert figures(thread.threads[0]) == (0, None, None, None)
    assert irq.threads[0].histogram.width_ns == [1000]


def test_jitterdebugger_version_1_and_samples_beyond_its_millisecond_are_read() -> None:
    run = one(
        '{"version": 1, "cpu": {"0": {"histogram": {"3": 4}, "count": 6, "min": 3, "max": 7000,'
        ' "avg": 3.5}}}'
    )
    (thread,) = run.threads
    assert (thread.histogram.beyond_count, thread.histogram.beyond_ns) == (2, 1_000_000)
    assert (thread.cpu, [warning.code for warning in run.warnings]) == (None, ["cpu-unknown"])


def test_a_run_file_is_imported_as_it_is() -> None:
    run = of_file("cyclictest-2.4.json")
    assert one(encode_run(run)) == run


def test_the_same_file_gives_the_same_id_and_another_file_another() -> None:
    text = (FILES / "cyclictest-2.4.json").read_text()
    assert one(text).id == one(text).id
    assert one(text + "\n").id != one(text).id


GOOD = (FILES / "cyclictest-2.4.json").read_text()
TABLE = (FILES / "cyclictest-2.4-H.txt").read_text()
RTLA = (FILES / "rtla-6.1.txt").read_text()
OSLAT = (FILES / "oslat-2.4-bias.json").read_text()
JITTER = (FILES / "jitterdebugger-3.json").read_text()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the format was not recognised"),
        (b"hello", "rtla timerlat hist"),
        (b"{}", "nothing was imported"),
        ("# RTLA osnoise histogram\nIndex CPU-000\n0 1\n", "nothing was imported"),
        (GOOD.replace('"cycles": 100,', "", 1), "no key 'cycles' in thread"),
        (GOOD.replace('"min"', '"mim"'), "no key 'min' in thread"),
        (GOOD.replace('"cycles": 100', '"cycles": 10', 1), "10 cycles, but 100 samples"),
        (GOOD.replace('"cycles": 100', '"cycles": "100"', 1), "wrong value"),
        (GOOD.replace('"6": 1', '"6": -1', 1), "negative count in its bucket 6"),
        (GOOD.replace('"6": 1', '"six": 1', 1), "bucket 'six'"),
        (GOOD.replace('"max": 55', '"max": 1' + "0" * 30, 1), "beyond 2^63"),
        (GOOD.replace('"max": 55', '"max": 1' + "0" * 5000, 1), "beyond 2^63"),
        (GOOD.replace('"6": 1', '"9' + "0" * 17 + '": 1', 1), "contradicts itself: histogram goes"),
        (GOOD.replace('"max": 55', '"max": 5', 1), "above its maximum"),
        (GOOD[: len(GOOD) // 2], "truncated"),
        (GOOD.replace('"cycles": 100,', '"cycles": 100;', 1), "not JSON at line"),
        (GOOD.replace('"thread"', '"threat"'), "nothing was imported"),
        ('{"thread": ' + "[" * 100_000, "nothing was imported"),
        (cyclictest('"cycles": ' + "[" * 100_000), "nested too deeply"),
        (TABLE[: TABLE.index("# Min")], "no line '# Min Latencies:'"),
        (TABLE[: TABLE.index("# Histogram Over")], "no line '# Histogram Overflows:'"),
        (TABLE.replace("# Total: 000000296", "# Total: 000000297"), "not its '# Total:'"),
        (
            TABLE.replace("# Max Latencies: 00348", "# Max Latencies:"),
            "2 figures in '# Max Latencies:'",
        ),
        (TABLE.replace("000007 ", "000006 ", 1), "out of place"),
        ("T: 0 (  600) P:80 I:1000 C:   2000 Min:", "is it truncated?"),
        (RTLA.replace("Index", "index"), "no line 'Index IRQ-000 ...'"),
        (RTLA.replace("# Time unit", "# time unit"), "without --no-header"),
        (RTLA[: RTLA.index("over")], "no line 'over:'"),
        (RTLA[: RTLA.index("max")], "no line 'max:'"),
        (RTLA.replace("count:      120", "count:      121"), "column IRQ-000 holds 120 samples"),
        (RTLA.replace("200          60        48", "200          60"), "1 figures for 2 columns"),
        (RTLA.replace("200          60", "200         -60"), "overflow at 2^31"),
        (RTLA.replace("Thr-000", "Foo-000"), "column 'Foo-000'"),
        (RTLA.replace("Thr-000", "IRQ-000"), "one twice"),
        (OSLAT.replace('"cpu": 0,', "", 1), "no key 'cpu' in thread"),
        (OSLAT.replace('"2":', '"two":', 1), "bucket 'two'"),
        (JITTER.replace('"count": 200,', "", 1), "no key 'count' in cpu"),
        (JITTER.replace('"version": 3', '"version": 4'), "version 4; rtscope reads 1 to 3"),
        (JITTER.replace('"count": 200', '"count": 20', 1), "count of 20, but 200 samples"),
        (JITTER.replace('ns": 1000', 'ns": 0'), "resolution of 0 ns"),
    ],
)
def test_a_bad_file_gets_a_sentence(data: bytes | str, words: str) -> None:
    assert words in text_of(data)


def test_a_format_by_name_is_used_or_refused_by_name() -> None:
    assert "unknown format 'csv'" in text_of(GOOD, "csv")
    assert "no key 'version'" in text_of(GOOD, "jitterdebugger")
    assert one(GOOD, "cyclictest-json").source == "cyclictest"


def test_the_file_is_named_in_what_went_wrong(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(RtscopeError, match=r"x\.json: "):
        import_file(tmp_path / "x.json")
    with pytest.raises(RtscopeError, match="cannot be read: No such file"):
        import_file(tmp_path / "none")


if __name__ == "__main__":
    (GOLDEN / "imported.txt").write_text(imported())
