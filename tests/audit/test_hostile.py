# SPDX-License-Identifier: GPL-2.0-only
"""No content of a target's files, however garbled, ends an audit or gets out of its bounds."""

from typing import Final

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from rtscope.audit.audit import RULES, audit
from rtscope.audit.commandline import cpus_of, parameters_of
from rtscope.audit.state import State
from rtscope.model.audit import Audit
from rtscope.report.exchange.junit import audit_junit_report
from rtscope.report.exchange.sarif import sarif_report
from rtscope.report.terminal.audit import AuditView
from rtscope.report.terminal.console import output_console
from tests.audit.machines import FAULTS, SOUND

PATHS: Final = sorted({*SOUND, *(path for files, _ in FAULTS.values() for path in files)})
ABSURD: Final = st.sampled_from([
    "", "\n", "-1", "9" * 400, "٣", "0-8191", "0-99999999", "(" * 500, "=" * 500, "[" * 500,
    "[]", "[\x1b[31m\u202e]", "\ud800", "\0" * 99, '"' * 99, "isolcpus=" + "1," * 9000,
    "nohz_full=0-99999:9/9 isolcpus=N-1,all rcu_nocbs=1-2:0/0 idle", "f" * 4096, ",".join("f" * 99),
    "1 (a) b) R " + "9" * 19 + " 1" * 60, "1 (" + "x" * 9000 + ") R" + " -1" * 50,
    "Max locked memory   ٣\nMax realtime priority  -1\n", "CapEff:\tffffffffffffffff\n",
    "<script>alert(1)</script> " * 50, "CONFIG_PREEMPT=y\nCONFIG_RT_GROUP_SCHED=y\n",
    b"\x1f\x8b", b"\xff\xfe\x00",
])  # fmt: skip
CONTENT: Final = ABSURD | st.text(max_size=200) | st.binary(max_size=100)


def shown(found: Audit) -> str:
    console = output_console()
    with console.capture() as capture:
        console.print(AuditView(found, details=True))
    return capture.get()


@given(st.dictionaries(st.sampled_from(PATHS), CONTENT, max_size=12), st.booleans())
def test_garbled_files_are_audited(files: dict[str, str | bytes], beside_sound_ones: bool) -> None:
    found = audit(State((SOUND if beside_sound_ones else {}) | files), "local", [])
    reported = len(found.findings) + len(found.unseen) + len(found.sound)
    assert reported == len(RULES)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Audit) == found
    for one in found.findings:
        assert len(one.found) < 1500
        one.found.encode()
    text = shown(found)
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert msgspec.json.decode(sarif_report(found))["version"] == "2.1.0"
    assert b"<testsuite" in audit_junit_report(found, "medium")


@given(st.text(max_size=300))
@example('"')
@example("=1")
def test_any_command_line_is_read(text: str) -> None:
    for parameter in parameters_of(text):
        assert str(parameter)
        cpus = cpus_of(parameter.value or "", 63)
        assert cpus is None or cpus <= set(range(64))
