# SPDX-License-Identifier: GPL-2.0-only
"""Other tools' files become runs with the figures that the tool printed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Thread
from rtscope.store.exporter import to_cyclictest_histogram, to_cyclictest_json
from rtscope.store.importer import import_bytes, import_file
from rtscope.store.runfile import decode_run, encode_run
from rtscope.store.sniff import FORMATS

FILES = Path(__file__).parent / "files"
GOLDEN = Path(__file__).parent / "golden"
WHEN = "2026-11-21T19:02:42Z"
GOOD = (FILES / "cyclictest-2.4.json").read_text()
TABLE = (FILES / "cyclictest-2.4-H.txt").read_text()
RTLA = (FILES / "rtla-6.1.txt").read_text()
OSLAT = (FILES / "oslat-2.4-bias.json").read_text()
JITTER = (FILES / "jitterdebugger-3.json").read_text()
LATMUS = (FILES / "latmus-user.txt").read_text()
RTEVAL = (FILES / "rteval-3.xml").read_text()


def one(data: bytes | str, format_name: str | None = None) -> Run:
    raw = data.encode() if isinstance(data, str) else data
    (run,) = import_bytes(raw, WHEN, format_name)
    assert decode_run(encode_run(run)) == run
    return run


def text_of(data: bytes | str, format_name: str | None = None) -> str:
    with pytest.raises(RtscopeError) as caught:
        import_bytes(data.encode() if isinstance(data, str) else data, WHEN, format_name)
    return str(caught.value)


def metrics(thread: Thread) -> tuple[int, int | None, int | None, float | None]:
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
            f"  {one.name}{one.thread} on {one.cpu}, {one.policy}:{one.priority}: {metrics(one)}, "
            f"missed {one.missed}, {len(held.count)} buckets {held.lower_ns[:3]} "
            f"{held.width_ns[:2]}, beyond {held.beyond_ns}: {held.beyond_count}"
        )


def imported() -> str:
    """All of tests/store/files as they are imported."""
    files = sorted(FILES.iterdir())
    found = ((file.name, import_bytes(file.read_bytes(), WHEN)) for file in files)
    told = [[name, *(line for run in runs for line in lines_of(run))] for name, runs in found]
    return "".join(f"{line}\n" for lines in told for line in lines)


def test_every_metric_of_real_files_is_kept() -> None:
    """golden/imported.txt; write it again with python -m tests.store.test_import."""
    assert imported() == (GOLDEN / "imported.txt").read_text()


def cyclictest(thread: str, head: str = "", resolution: int = 0) -> str:
    return (
        f'{{"file_version": 1, {head} "num_threads": 1, "resolution_in_ns": {resolution}, '
        f'"thread": {{"0": {{{thread}}}}}}}'
    )


def oslat(version: str, histogram: str, extremes: str, options: str = "") -> str:
    return (
        f'{{"file_version": 1, "cmdline": "oslat {options}", "rt_test_version": "{version}",'
        f'"thread": {{"0": {{"cpu": 1, "freq": 2500, "histogram": {{{histogram}}}, {extremes},'
        f'"avg": 1.0, "duration": 3.0}}}}}}'
    )


def rtla(unit: str, index: str, *lines: str) -> str:
    rows = "\n".join(lines)
    return f"1# RTLA timerlat histogram\n# Time unit is {unit}\nIndex   {index}\n{rows}\n"


NOTHING = '"histogram": {}, "cycles": 0, "min": 1000000, "max": 0,\n "avg": AVERAGE,\n "cpu": -1'
NO_HISTOGRAM = '"cycles": 9, "min": 3, "max": 1406, "avg": 7.7, "cpu": 1'
EXACT = '"1": 9, "32": 3'
NONE = (0, None, None, None)
LINE = "T: 0 ( 7742) P: 0 I:1000 C:{:7} Min:{:7} Act:   61 Avg:   62 Max: {:7}\n"
HEAD = "policy: other/other: loadavg: 0.03 0.07 0.07 2/90 7742          \n\n"


@pytest.mark.parametrize(
    ("text", "expected", "lower_ns", "beyond"),
    [
        # cyclictest: rt-tests 2.4 and those from 2.5 on write no histogram differently.
        (cyclictest('"histogram": {    },' + NO_HISTOGRAM), (9, 3000, 1_406_000, 7700), [],
         (9, 3000)),
        (cyclictest(NO_HISTOGRAM), (9, 3000, 1_406_000, 7700), [], (9, 3000)),
        (cyclictest('"histogram": {"51": 2}, "cycles": 2, "min": 51, "max": 51, "avg": 51.5',
                    resolution=1), (2, 51, 51, 51.5), [51], (0, 0)),
        (cyclictest(NOTHING.replace("AVERAGE", "-nan")), NONE, [], (0, 0)),
        (cyclictest(NOTHING.replace("AVERAGE", "0.00")), NONE, [], (0, 0)),
        # A live display: the last line counts.
        (HEAD + LINE.format(0, 1_000_000, 0) + "\x1b[3A" + HEAD + LINE.format(20, 58, 69),
         (20, 58_000, 69_000, 62_000), [], (20, 58_000)),
        (LINE.format(0, 1_000_000, 0), NONE, [], (0, 0)),
        # oslat: each version rounds in its own way, and narrow buckets come with nanoseconds.
        (oslat("2.40", EXACT, '"min": 1, "max": 32'), (12, 1000, 32_000, 1000), [0, 31_000],
         (0, 0)),
        (oslat("2.60", '"2": 9, "32": 3', '"min": 1, "max": 31'), (12, 1000, 31_000, 1000),
         [0, 30_000], (0, 0)),
        (oslat("2.80", EXACT, '"min": 0, "max": 31'), (12, 0, 31_000, 1000), [0, 31_000], (0, 0)),
        (oslat("2.80", EXACT, '"min": 0, "max": 32'), (12, 0, 32_000, 1000), [0], (3, 31_000)),
        (oslat("2.80", '"0.500": 9, "1.500": 3', '"min": 30, "max": 1200', "-W 500"),
         (12, 30, 1200, 1000), [0, 1000], (0, 0)),
        # jitterdebugger: version 1, with samples beyond its millisecond.
        ('{"version": 1, "cpu": {"0": {"histogram": {"3": 4}, "count": 6, "min": 3, "max": 7000,'
         ' "avg": 3.5}}}', (6, 3000, 7_000_000, 3500), [3000], (2, 1_000_000)),
    ],
)  # fmt: skip
def test_variants_of_a_format_are_read(
    text: str,
    expected: tuple[int, int | None, int | None, float | None],
    lower_ns: list[int],
    beyond: tuple[int, int],
) -> None:
    (thread,) = one(text).threads
    held = thread.histogram
    assert metrics(thread) == pytest.approx(expected)
    assert (held.lower_ns, (held.beyond_count, held.beyond_ns)) == (lower_ns, beyond)


def test_variants_of_rtla_are_read() -> None:
    coloured = rtla(
        "nanoseconds (ns)",
        "IRQ-000   Thr-000   Usr-000",
        "\x1b[1m600    5 4 0\x1b[0m\nover:  0 1 0 \ncount 5 5 0",
        "min:  610 650         - \navg:  620 700         - \nmax:  690 9000     -",
        "  rtla timerlat hit stop tracing",
    )
    irq, thread, user = import_bytes(coloured.encode(), WHEN)
    assert (irq.status, thread.status) == ("threshold", "threshold")
    assert (irq.threads[0].max_ns, irq.threads[0].histogram.lower_ns) == (690, [600])
    assert thread.threads[0].histogram.beyond_ns <= 9000
    assert metrics(user.threads[0]) == NONE
    # rtla 6.1 prints 2^64 - 1 as the minimum of no samples.
    none = "over: 0 0\ncount: 5 0\nmin: 0 18446744073709551615\navg: 0 -\nmax: 0 0"
    text = rtla("microseconds (us)", "IRQ-000 Thr-000", "0 5 0", none)
    irq, thread = import_bytes(text.encode(), WHEN)
    assert (metrics(thread.threads[0]), irq.threads[0].histogram.width_ns) == (NONE, [1000])


def test_what_latmus_says_against_its_numbers_is_a_warning() -> None:
    doubtful = LATMUS.replace("# C-state", "# IN-BAND SWITCHES: 2\n# OVERRUNS: 5\n# C-state")
    doubtful = doubtful.replace("CPU1", "CPU1-noisol").replace("min latency: 1", "min latency: -1")
    run = one(doubtful.replace("sample count: 10000", "sample count: 10001"))
    assert {warning.code for warning in run.warnings} == {
        *("samples-differ", "negative-latency", "in-band-switches", "not-isolated")
    }
    assert (run.threads[0].missed, run.threads[0].min_ns, run.threads[0].count) == (5, 1000, 10_000)


def test_cyclictest_json_samples_beyond_its_histogram_are_kept_as_beyond() -> None:
    thread = '"histogram": {"3": 40, "7": 50}, "cycles": 100, "min": 3, "max": 1406, "avg": 7.71'
    run = one(cyclictest(thread, '"cmdline:": "cyclictest -Sp99 -i200 -h400 -q",'))
    held = run.threads[0].histogram
    assert (held.total, held.beyond_count, held.beyond_ns) == (100, 10, 400_000)
    assert (run.threads[0].priority, run.asked.interval_ns) == (99, 200_000)


def test_quotes_line_ends_a_byte_order_mark_and_a_decimal_comma_are_understood() -> None:
    text = GOOD.replace("cyclictest -q", 'cyclictest -D "1m\\n" \\\\x\t-q', 1)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert "-q" in one(text).asked.command
    comma = text.replace('"avg": 30.70', '"avg": 30,70')
    data = b"\xef\xbb\xbf" + comma.replace("\n", "\r\n").encode()
    assert one(data).threads == one(text).threads == one(GOOD).threads


def test_cyclictest_histogram_of_newer_versions_without_zero_rows_and_total_is_read() -> None:
    newer = re.sub(r"^# Total:.*\n", "", TABLE, flags=re.M)
    newer = re.sub(r"^\d{6} 000000\t000000\t000000\n", "", newer, flags=re.M)
    assert len(newer) < len(TABLE) / 2
    new, old = one(newer).threads, one(TABLE).threads
    assert [metrics(thread) for thread in new] == [metrics(thread) for thread in old]
    assert new[0].histogram.lower_ns == old[0].histogram.lower_ns
    assert new[0].histogram.beyond_count == 4


def test_a_run_file_is_imported_as_it_is_and_other_files_get_an_id_by_their_bytes() -> None:
    run = one(GOOD)
    assert one(encode_run(run)) == run
    assert one(GOOD).id == run.id
    assert one(GOOD + "\n").id != run.id


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the format was not recognised"),
        (b"hello", "rtla timerlat hist"),
        (b"{}", "nothing was imported"),
        ("# RTLA osnoise histogram\nIndex CPU-000\n0 1\n", "nothing was imported"),
        (GOOD.replace('"cycles": 100,', "", 1), "no key 'cycles' in thread"),
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
        (TABLE.replace("# Total: 000000296", "# Total: 000000297"), "not its '# Total:'"),
        (TABLE.replace("# Max Latencies: 00348", "# Max Latencies:"), "2 values in '# Max Lat"),
        (TABLE.replace("000007 ", "000006 ", 1), "out of place"),
        ("T: 0 (  600) P:80 I:1000 C:   2000 Min:", "is it truncated?"),
        (RTLA.replace("Index", "index"), "no line 'Index IRQ-000 ...'"),
        (RTLA.replace("# Time unit", "# time unit"), "without --no-header"),
        (RTLA[: RTLA.index("over")], "no line 'over:'"),
        (RTLA[: RTLA.index("max")], "no line 'max:'"),
        (RTLA.replace("count:      120", "count:      121"), "column IRQ-000 holds 120 samples"),
        (RTLA.replace("200          60        48", "200          60"), "1 values for 2 columns"),
        (RTLA.replace("200          60", "200         -60"), "overflow at 2^31"),
        (RTLA.replace("Thr-000", "Foo-000"), "column 'Foo-000'"),
        (RTLA.replace("Thr-000", "IRQ-000"), "one twice"),
        (OSLAT.replace('"cpu": 0,', "", 1), "no key 'cpu' in thread"),
        (OSLAT.replace('"2":', '"two":', 1), "bucket 'two'"),
        (JITTER.replace('"version": 3', '"version": 4'), "version 4; rtscope reads 1 to 3"),
        (JITTER.replace('"count": 200', '"count": 20', 1), "count of 20, but 200 samples"),
        (JITTER.replace('ns": 1000', 'ns": 0'), "resolution of 0 ns"),
        (LATMUS.replace("# sample", "# Sample"), "no line '# sample count:'"),
        (LATMUS[: LATMUS.index("1 2210")], "no samples"),
        (LATMUS.replace("2 6480", "7 6480"), "line 21 of this latmus file is out of order"),
        (LATMUS + "200 1\n", "follows the last"),
        (LATMUS.replace("avg latency: 2.373", "avg latency: nan"), "no time in us"),
        (RTEVAL[: len(RTEVAL) // 2], "is it truncated?"),
        (RTEVAL.replace("<samples>200<", "<samples>20<"), "core 0 has 20 samples, but 200"),
        (RTEVAL.replace('index="41"', 'index="x"'), "bucket 'x'"),
        (RTEVAL.replace("cyclictest", "timerlat"), "output of rtla itself"),
        (re.sub("<core.*</core>", "", RTEVAL, flags=re.S), "more --cyclictest-buckets"),
        (RTEVAL.replace("<rteval ", '<!DOCTYPE a [<!ENTITY b "c">]><rteval ', 1), "document type"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(data: bytes | str, words: str) -> None:
    assert words in text_of(data)


def test_a_format_by_name_is_used_or_refused() -> None:
    assert "unknown format 'csv'" in text_of(GOOD, "csv")
    assert "no key 'version'" in text_of(GOOD, "jitterdebugger")
    assert one(GOOD, "cyclictest-json").source == "cyclictest"


def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    huge, bad = tmp_path / "huge.json", tmp_path / "bad.json"
    bad.write_text("{")
    with huge.open("wb") as file:
        file.truncate(513 * 1024 * 1024)
    for path, words in (
        (huge, r"huge\.json is larger than 512 MiB"),
        (tmp_path / "none.json", r"none\.json cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (bad, r"bad\.json: "),
    ):
        with pytest.raises(RtscopeError, match=words):
            import_file(path)


SAMPLES = [path.read_bytes() for path in sorted(FILES.iterdir())]
PIECES = st.sampled_from([
    *(b"0", b"-1", b"99999999999999999999", b"1e999", b"nan", b"-", b" ", b"\t", b"\n", b"\r\n"),
    *(b'"', b"{", b"}", b"[", b",", b":", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1b[1m", b"null"),
    *(b'"max": 1' + b"0" * 30, b"# Max Latencies: 1", b"Index IRQ-000", b"T: 0 (    1) P:"),
    b"\\ud800",
    *(b'"histogram": {}', b'"cycles": 0', b"ALL:", b"over:", b"count:", b"000001 000001\n"),
])  # fmt: skip
NAMES = st.none() | st.sampled_from(sorted(FORMATS))


def check(data: bytes, name: str | None) -> None:
    try:
        runs = import_bytes(data, WHEN, name)
    except RtscopeError:
        return
    assert runs
    for run in runs:
        assert decode_run(encode_run(run)) == run
        latencies = msgspec.structs.replace(run, probe="cyclic")
        to_cyclictest_json(latencies).encode()
        if run.threads:
            to_cyclictest_histogram(latencies, 10)


@given(st.binary(max_size=400), NAMES)
@example(b'{"a":' * 100_000, "oslat-json")
@example(b'{"thread": ' + b"9" * 10_000 + b"}", "cyclictest-json")
@example(b'"cmdline": "' * 20_000, "cyclictest-json")
@example(b"T: 0 (" + b" " * 100_000, "cyclictest-text")
@example(b"# Min Latencies:" + b" " * 100_000 + b"x", "cyclictest-histogram")
@example(b"over:" + b" -" * 50_000 + b"x", "rtla-timerlat")
def test_any_bytes(data: bytes, name: str | None) -> None:
    check(data, name)


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if b'"nodename"' in sample])
def test_a_host_name_with_half_of_a_character(sample: bytes) -> None:
    hostile = re.sub(rb'("nodename": ?")', rb"\1\\ud800", sample)
    assert hostile != sample
    check(hostile, None)


@given(st.sampled_from(SAMPLES), NAMES, st.data())
def test_real_files_with_damage(sample: bytes, name: str | None, data: st.DataObject) -> None:
    text = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 20))] = data.draw(PIECES | st.binary(max_size=3))
    check(bytes(text), name)


@given(st.sampled_from(SAMPLES), st.data())
def test_real_files_with_other_numbers(sample: bytes, data: st.DataObject) -> None:
    """Damage that stays in shape, so that it reaches beyond the syntax."""
    numbers = list(re.finditer(rb"\d+", sample))
    text = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(numbers))
        number = data.draw(st.integers(0, 300) | st.integers(-(2**65), 2**65))
        text[at.start() : at.end()] = str(number).encode().rjust(at.end() - at.start())
        numbers = list(re.finditer(rb"\d+", text))
    check(bytes(text), None)


if __name__ == "__main__":
    (GOLDEN / "imported.txt").write_text(imported())
