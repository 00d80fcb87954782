// SPDX-License-Identifier: GPL-2.0-only
#include "proc/clock_sources.c" /* reading a clock in a child is its own */
#include "proc/vdso.c"
#include "unit.h"

static const char *const gettime_names[] = { "__vdso_clock_gettime", "__kernel_clock_gettime",
					     NULL };

TEST(the_vdso_has_the_clock_and_not_what_nobody_made)
{
	static const char *const nobodys[] = { "__vdso_nobody", NULL };
	int (*gettime)(clockid_t clock, struct timespec *now) = vdso_function(gettime_names);
	struct timespec before, now, after;

	assert_null(vdso_function(nobodys));
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_non_null(gettime);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(gettime(CLOCK_MONOTONIC, &now), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_in_range(timespec_to_ns(&now), timespec_to_ns(&before), timespec_to_ns(&after));
}

/* Symbols 3 to 7 in two chains, of which the second is longer. */
TEST(a_gnu_hash_table_tells_how_many_symbols_there_are)
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

TEST(who_answers_is_seen)
{
	struct clock_source source = { .clock = CLOCK_MONOTONIC, .unit_ns = 1 };

	source.read = read_syscall;
	assert_int_equal(find_answer(&source), ANSWER_KERNEL);
	source.read = read_as_the_kernel;
	if (find_answer(&source) == ANSWER_UNKNOWN)
		skip();
	assert_int_equal(find_answer(&source), ANSWER_KERNEL);
	source.read = read_nothing;
	assert_int_equal(find_answer(&source), ANSWER_USER);
}

TEST(a_source_that_crashes_or_stands_still_does_not_work)
{
	struct clock_source source = { .name = "" };

	source.read = read_forbidden;
	assert_false(works(&source));
	source.read = read_nothing;
	assert_false(works(&source));
	source.read = read_monotonic_ticks;
	assert_true(works(&source));
	source.unit_ns = 1;
	source.clock = 1000;
	assert_false(works(&source));
}

TEST(time_is_counted_in_the_sources_own_units)
{
	struct clock_source source = { .unit_ns = 1 };
	struct timespec from = { 5, 999999000 }, to = { 6, 1000 };

	assert_int_equal(clock_source_elapsed_ns(&source, &from, &to), 2000);
	assert_int_equal(clock_source_elapsed_ns(&source, &to, &from), -2000);
	source.unit_ns = 1000;
	from.tv_nsec = 999999;
	to.tv_nsec = 1;
	assert_int_equal(clock_source_elapsed_ns(&source, &from, &to), 2000);
	source = (struct clock_source){ .tick_ns = 2.5 };
	assert_int_equal(clock_source_elapsed_ns(&source, &from, &to), 3);
	assert_int_equal(clock_source_elapsed_ns(&source, &to, &from), -3);
}

TEST(a_counters_tick_is_measured)
{
	struct clock_source source = { .read = read_monotonic_ticks };

	clock_source_calibrate(&source);
	assert_true(source.tick_ns > 99.9 && source.tick_ns < 100.1);
	assert_true(source.resolution_ns == source.tick_ns);
}

UNIT_TESTS(NULL, NULL)
