// SPDX-License-Identifier: GPL-2.0-only
/* Output through a queue: the caller never waits, and lines are whole and in order. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/outlet.h"
#include "unit.h"

#define LINES 40000 /* of 8 bytes: much more than a pipe takes */
#define SIZE  64
#define LONG  (10 * NSEC_PER_SEC)

static int reader, writer;
static struct outlet outlet;

static int open_outlet(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ends))
		return -1;
	reader = ends[0];
	writer = ends[1];
	return outlet_open(&outlet, writer, SIZE);
}

static int close_outlet(void **state)
{
	(void)state;
	outlet_close(&outlet);
	close(reader);
	return close(writer);
}

static bool put_line(const char *text)
{
	outlet_put(&outlet, text, strlen(text));
	return outlet_end_line(&outlet);
}

static void assert_read(const char *expected)
{
	char text[SIZE] = "";

	assert_true(outlet_wait(&outlet, clock_now_ns() + LONG));
	assert_int_equal(read(reader, text, sizeof(text) - 1), strlen(expected));
	assert_string_equal(text, expected);
}

TEST(nothing_is_lost_while_nobody_reads, open_outlet, close_outlet)
{
	FILE *lines = fdopen(dup(reader), "r");
	char text[16], got[16];

	for (unsigned int i = 0; i < LINES; i++) {
		snprintf(text, sizeof(text), "%07u\n", i);
		assert_true(put_line(text));
	}
	assert_false(outlet_is_idle(&outlet));
	for (unsigned int i = 0; i < LINES; i++) {
		snprintf(text, sizeof(text), "%07u\n", i);
		assert_string_equal(fgets(got, sizeof(got), lines), text);
	}
	assert_true(outlet_wait(&outlet, clock_now_ns() + LONG));
	assert_true(outlet_is_idle(&outlet));
	fclose(lines);
}

TEST(a_line_leaves_when_it_is_whole_and_one_beyond_the_limit_never, open_outlet, close_outlet)
{
	FILE *stream = outlet_stream(&outlet);

	fprintf(stream, "%d line, ", 1);
	fflush(stream);
	assert_false(outlet_wait(&outlet, clock_now_ns() + 20 * NSEC_PER_MSEC));
	assert_true(put_line("whole\n"));
	assert_read("1 line, whole\n");
	fclose(stream);
	outlet_set_limit(&outlet, 16);
	outlet_put(&outlet, "begun, ", 7);
	assert_false(put_line("and too long\n"));
	assert_true(put_line("kept\n"));
	assert_read("kept\n");
}

UNIT_TESTS(NULL, NULL)
