SUMMARY = "Measure the latency of real-time Linux"
DESCRIPTION = "The agent of rtscope: measures latency, applies load, reads and changes settings that cost latency. One static executable."
HOMEPAGE = "https://example.org/rtscope"
BUGTRACKER = "https://example.org/rtscope/issues"
SECTION = "devel"
LICENSE = "GPL-2.0-only"
LIC_FILES_CHKSUM = "file://LICENSE;md5=b234ee4d69f5fce4486a80fdaf4a4263"
CVE_PRODUCT = "rtscope"

SRC_URI = "\
    https://example.org/rtscope/rtscope-${PV}.tar.gz;name=rtscope \
    file://run-ptest \
"
SRC_URI[rtscope.sha256sum] = "0000000000000000000000000000000000000000000000000000000000000000"

S = "${UNPACKDIR}/rtscope-${PV}"

inherit meson pkgconfig ptest

# With debug the build leaves stripping to the image.
EXTRA_OEMESON += "-Dwerror=false -Ddebug=true"

do_install() {
    install -d ${D}${bindir}
    install -m 0755 ${B}/rtscope-agent ${D}${bindir}/rtscope-agent
}

BBCLASSEXTEND = "native"
