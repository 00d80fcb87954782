/* SPDX-License-Identifier: GPL-2.0-only */
/* A program of unit tests: each TEST() is one, and UNIT_TESTS() is the program's main(). */
#ifndef TESTS_AGENT_UNIT_H
#define TESTS_AGENT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* @each points to each member of @array in turn. */
#define foreach(each, array) \
	for (__typeof__(&(array)[0]) each = (array); each < (array) + COUNT(array); each++)

/* The values, printed by @format, are @expected. */
__attribute__((format(printf, 2, 3), unused)) static void assert_printed(const char *expected,
									 const char *format, ...)
{
	char text[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	assert_string_equal(text, expected);
}

static struct CMUnitTest unit_tests[64];
static size_t unit_tests_count;

/* Optional after the name: the function that prepares the test, then the one that cleans up. */
#define TEST(unit, ...)                                                                         \
	static void unit(void **state);                                                         \
	__attribute__((constructor)) static void add_##unit(void)                               \
	{                                                                                       \
		unit_tests[unit_tests_count++] =                                                \
			(struct CMUnitTest){ .name = #unit, .test_func = unit, ##__VA_ARGS__ }; \
	}                                                                                       \
	static void unit(__attribute__((unused)) void **state)

/* The functions that prepare all tests and clean up after them, or NULL. */
#define UNIT_TESTS(prepare, clean_up)                                                           \
	int main(void)                                                                          \
	{                                                                                       \
		return _cmocka_run_group_tests(__FILE__, unit_tests, unit_tests_count, prepare, \
					       clean_up);                                       \
	}

#endif
