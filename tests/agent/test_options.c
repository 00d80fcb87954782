// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/options.h"
#include "proc/cpus.h"

static uint64_t read_time(const char *text)
{
	uint64_t ns;

	return option_time(text, 1000, &ns) ? ns : UINT64_MAX;
}

static void times_take_units_and_fractions(void **state)
{
	(void)state;
	assert_true(read_time("200") == 200000);
	assert_true(read_time("200ns") == 200);
	assert_true(read_time("1.5ms") == 1500000);
	assert_true(read_time("0.0000000019s") == 1);
	assert_true(read_time("30s") == 30000000000);
	assert_true(read_time("5m") == 300000000000);
	assert_true(read_time("2h") == 7200000000000);
	assert_true(read_time("9223372036854775807ns") == INT64_MAX);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "s",
					   "-1s",
					   "+1s",
					   " 1s",
					   "1 s",
					   "1.s.",
					   "1..5s",
					   "1e3s",
					   "0x10",
					   "9223372036854775808ns",
					   "300y",
					   "99999999999d",
					   "18446744073709551616",
					   "1s ",
					   "1,5s" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_time(bad[i]) == UINT64_MAX);
}

static void numbers_are_whole_and_bounded(void **state)
{
	uint64_t number;

	(void)state;
	assert_true(option_number("99", 99, &number) && number == 99);
	assert_false(option_number("100", 99, &number));
	assert_false(option_number("-1", 99, &number));
	assert_false(option_number("1x", 99, &number));
	assert_false(option_number("", 99, &number));
	assert_false(option_number("99999999999999999999999", UINT64_MAX, &number));
}

static const struct cpus usable = { .count = 4, .number = { 0, 1, 2, 5 } };

static void cpu_lists_are_taken_within_what_is_usable(void **state)
{
	struct cpus cpus;
	char error[256];

	(void)state;
	assert_int_equal(cpus_parse("all", &usable, &cpus, error, sizeof(error)), 0);
	assert_int_equal(cpus.count, 4);
	assert_int_equal(cpus_parse("first", &usable, &cpus, error, sizeof(error)), 0);
	assert_int_equal(cpus.count, 1);
	assert_int_equal(cpus.number[0], 0);
	assert_int_equal(cpus_parse("5,0-1,1", &usable, &cpus, error, sizeof(error)), 0);
	assert_int_equal(cpus.count, 3);
	assert_int_equal(cpus.number[2], 5);
	assert_int_equal(cpus_parse("2-5", &usable, &cpus, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "CPU 3 cannot be measured"));
}

static void what_is_no_cpu_list_is_refused(void **state)
{
	static const char *const bad[] = { "",	   ",",	    "0,",  "-1",   "1-0",
					   "0-",   "a",	    "0 1", "1024", "0-99999999999999999999",
					   "0,,1", "0-1-2", "\n",  "0\n" };
	struct cpus cpus;
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse(bad[i], &usable, &cpus, error, sizeof(error)), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_take_units_and_fractions),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(numbers_are_whole_and_bounded),
		cmocka_unit_test(cpu_lists_are_taken_within_what_is_usable),
		cmocka_unit_test(what_is_no_cpu_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
