################################################################################
#
# rtscope-agent
#
################################################################################

RTSCOPE_AGENT_VERSION = 0.1.0
RTSCOPE_AGENT_SITE = $(BR2_EXTERNAL_RTSCOPE_PATH)/../..
RTSCOPE_AGENT_SITE_METHOD = local
RTSCOPE_AGENT_LICENSE = GPL-2.0
RTSCOPE_AGENT_LICENSE_FILES = LICENSE
RTSCOPE_AGENT_CONF_OPTS = -Dwerror=false

define RTSCOPE_AGENT_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/buildroot-build/rtscope-agent \
		$(TARGET_DIR)/usr/bin/rtscope-agent
endef

$(eval $(meson-package))
