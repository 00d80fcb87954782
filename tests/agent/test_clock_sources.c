// SPDX-License-Identifier: GPL-2.0-only
#include "proc/clock_sources.c" /* reading a clock in a child is its own */
#include "proc/vdso.c"
#include "unit.h"

/* Symbols 3 to 7 in two chains, of which the second is longer. */
TEST(a_gnu_hash_table_reports_how_many_symbols_there_are)
{
	static const uint32_t table[] = { 2, 3, 1, 0, 0, 0, 3, 5, 10, 11, 20, 22, 25 };
	static const uint32_t empty[] = { 1, 4, 1, 0, 0, 0, 0 };

	assert_int_equal(gnu_hash_symbols(table), 8);
	assert_int_equal(gnu_hash_symbols(empty), 4);
}

static void read_nothing(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ 0 };
}

/* As a vDSO does that cannot read the hardware itself. */
static void read_as_the_kernel(clockid_t clock, struct timespec *now)
{
	syscall(SYS_clock_gettime, clock, now);
}

static void read_forbidden(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	raise(SIGILL);
}

/* A counter of 10 MHz. */
static void read_monotonic_ticks(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = (time_t)(clock_now_ns() / 100);
}

TEST(a_source_that_crashes_or_stands_still_does_not_work_and_who_answers_is_seen)
{
	struct clock_source source = { .name = "", .read = read_forbidden };

	assert_false(works(&source));
	source.read = read_nothing;
	assert_false(works(&source));
	source.read = read_monotonic_ticks;
	assert_true(works(&source));
	source.unit_ns = 1;
	source.clock = 1000;
	assert_false(works(&source));
	source.clock = CLOCK_MONOTONIC;
	source.read = read_syscall;
	assert_int_equal(find_answer(&source), ANSWER_KERNEL);
	source.read = read_as_the_kernel;
	if (find_answer(&source) == ANSWER_UNKNOWN)
		skip();
	assert_int_equal(find_answer(&source), ANSWER_KERNEL);
	source.read = read_nothing;
	assert_int_equal(find_answer(&source), ANSWER_USER);
}

TEST(time_is_counted_in_the_sources_own_units_or_measured_ticks)
{
	static const struct {
		struct clock_source source;
		struct timespec from, to;
		int64_t elapsed_ns;
	} cases[] = {
		{ { .unit_ns = 1 }, { 5, 999999000 }, { 6, 1000 }, 2000 },
		{ { .unit_ns = 1000 }, { 5, 999999 }, { 6, 1 }, 2000 },
		{ { .tick_ns = 2.5 }, { 5, 0 }, { 6, 0 }, 3 },
	};
	struct clock_source ticks = { .read = read_monotonic_ticks };

	foreach (each, cases) {
		assert_int_equal(clock_source_elapsed_ns(&each->source, &each->from, &each->to),
				 each->elapsed_ns);
		assert_int_equal(clock_source_elapsed_ns(&each->source, &each->to, &each->from),
				 -each->elapsed_ns);
	}
	clock_source_calibrate(&ticks);
	assert_true(ticks.tick_ns > 99.9 && ticks.tick_ns < 100.1);
	assert_true(ticks.resolution_ns == ticks.tick_ns);
}

UNIT_TESTS(NULL, NULL)
