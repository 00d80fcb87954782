// SPDX-License-Identifier: GPL-2.0-only
/* What the JSON writer puts on the wire, byte for byte. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "unit.h"

static int reader;
static struct json json;

static int open_pipe(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	/* O_DIRECT: one read() returns what one write() wrote. */
	if (pipe2(ends, O_DIRECT | O_CLOEXEC))
		return -1;
	reader = ends[0];
	json = (struct json){ .fd = ends[1] };
	return 0;
}

static int close_pipe(void **state)
{
	(void)state;
	close(reader);
	return close(json.fd);
}

static void assert_line(const char *expected)
{
	char line[4096] = "";
	ssize_t size = read(reader, line, sizeof(line) - 1);

	assert_true(size > 0);
	assert_false(json.failed);
	assert_string_equal(line, expected);
}

TEST(a_line_without_values_is_its_type, open_pipe, close_pipe)
{
	json_begin(&json, "end");
	json_end(&json);
	assert_line("{\"type\":\"end\"}\n");
}

TEST(values_nest_with_commas_only_between, open_pipe, close_pipe)
{
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
	json_end(&json);
	assert_line("{\"type\":\"x\",\"empty\":[],\"list\":[1,{},{\"yes\":true,\"no\":false}],"
		    "\"null\":null,\"bracket\":\"[\",\"brace\":\"{\"}\n");
}

TEST(what_is_not_known_is_null, open_pipe, close_pipe)
{
	json_begin(&json, "x");
	json_u64_if(&json, true, "min_ns", 0);
	json_u64_if(&json, false, "max_ns", 7);
	json_double_if(&json, true, "mean_ns", 1.5);
	json_double_if(&json, false, "stddev_ns", 1.5);
	json_cpu(&json, 0);
	json_cpu(&json, -1);
	json_end(&json);
	assert_line("{\"type\":\"x\",\"min_ns\":0,\"max_ns\":null,\"mean_ns\":1.5,"
		    "\"stddev_ns\":null,\"cpu\":0,\"cpu\":null}\n");
}

TEST(a_warning_is_a_line_of_its_own, open_pipe, close_pipe)
{
	json_warning(&json, "no-memlock", "memory is not locked");
	assert_line("{\"type\":\"warning\",\"code\":\"no-memlock\","
		    "\"text\":\"memory is not locked\"}\n");
}

TEST(a_line_is_one_write_and_the_next_starts_anew, open_pipe, close_pipe)
{
	for (uint64_t i = 0; i < 2; i++) {
		json_begin(&json, "x");
		json_u64(&json, "i", i);
		json_end(&json);
	}
	assert_line("{\"type\":\"x\",\"i\":0}\n");
	assert_line("{\"type\":\"x\",\"i\":1}\n");
}

TEST(a_reader_that_left_is_noticed, open_pipe, close_pipe)
{
	close(reader);
	reader = open("/dev/null", O_RDONLY | O_CLOEXEC);
	json_begin(&json, "x");
	assert_false(json.failed);
	json_end(&json);
	assert_true(json.failed);

	json_begin(&json, "y");
	json_end(&json);
	assert_int_equal(json.used, 0);
}

TEST(a_full_disk_is_noticed)
{
	struct json full = { .fd = open("/dev/full", O_WRONLY | O_CLOEXEC) };

	assert_true(full.fd >= 0);
	json_begin(&full, "x");
	json_end(&full);
	assert_true(full.failed);
	close(full.fd);
}

UNIT_TESTS(NULL, NULL)
