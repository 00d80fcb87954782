include $(sort $(wildcard $(BR2_EXTERNAL_RTSCOPE_PATH)/package/*/*.mk))
