SUMMARY = "The agent of rtscope, and its test"
DESCRIPTION = "What a board needs so that rtscope can measure it without copying its agent, and test itself."
HOMEPAGE = "https://example.org/rtscope"
BUGTRACKER = "https://example.org/rtscope/issues"
SECTION = "devel"
LICENSE = "GPL-2.0-only"

inherit packagegroup

RDEPENDS:${PN} = "\
    rtscope-agent \
    ${@bb.utils.contains('DISTRO_FEATURES', 'ptest', 'rtscope-agent-ptest', '', d)} \
"
