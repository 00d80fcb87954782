// SPDX-License-Identifier: GPL-2.0-only
/* What the JSON writer puts on the wire, byte for byte. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "unit.h"

TEST(values_nest_with_commas_only_between_and_unknown_ones_are_null)
{
	static const char *const lines =
		"{\"type\":\"x\",\"empty\":[],\"list\":[1,{},{\"yes\":true,\"no\":false}],"
		"\"null\":null,\"bracket\":\"[\",\"brace\":\"{\",\"min_ns\":0,\"max_ns\":null,"
		"\"mean_ns\":1.5,\"stddev_ns\":null,\"cpu\":0,\"cpu\":null}\n"
		"{\"type\":\"warning\",\"code\":\"no-memlock\",\"text\":\"memory is not locked\"}\n"
		"{\"type\":\"end\"}\n";
	struct json json = { .fd = memfd_create("lines", MFD_CLOEXEC) };
	char text[1024] = "";

	json_begin(&json, "x");
	json_array_begin(&json, "empty");
	json_array_end(&json);
	json_array_begin(&json, "list");
	json_u64(&json, NULL, 1);
	json_object_begin(&json, NULL);
	json_object_end(&json);
	json_object_begin(&json, NULL);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_object_end(&json);
	json_array_end(&json);
	json_null(&json, "null");
	json_string(&json, "bracket", "[");
	json_string(&json, "brace", "{");
	json_u64_if(&json, true, "min_ns", 0);
	json_u64_if(&json, false, "max_ns", 7);
	json_double_if(&json, true, "mean_ns", 1.5);
	json_double_if(&json, false, "stddev_ns", 1.5);
	json_cpu(&json, 0);
	json_cpu(&json, -1);
	json_end(&json);
	json_warning(&json, "no-memlock", "memory is not locked");
	json_begin(&json, "end");
	json_end(&json);
	assert_true(pread(json.fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, lines);
	assert_false(json.failed);
	close(json.fd);
}

TEST(a_full_disk_is_noticed_and_later_lines_are_dropped)
{
	struct json json = { .fd = open("/dev/full", O_WRONLY | O_CLOEXEC) };

	for (int i = 0; i < 2; i++) {
		json_begin(&json, "x");
		assert_int_equal(json.failed, i);
		json_end(&json);
		assert_true(json.failed);
	}
	assert_int_equal(json.used, 0);
	close(json.fd);
}

UNIT_TESTS(NULL, NULL)
