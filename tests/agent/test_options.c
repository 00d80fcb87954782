// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "base/options.h"
#include "proc/cpus.h"
#include "unit.h"

TEST(a_time_is_a_number_and_a_unit)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "200", 200000 },	 { "200ns", 200 },
		{ "1.5ms", 1500000 },	 { "0.0000000019s", 1 },
		{ "30s", 30000000000 },	 { "5m", 300000000000 },
		{ "2h", 7200000000000 }, { "9223372036854775807ns", INT64_MAX },
	};
	static const char *const bad[] = { "",	    "s",    "-1s",  "+1s",  " 1s", "1 s", "1.s.",
					   "1..5s", "1e3s", "0x10", "300y", "1s ", "1,5s" };
	static const char *const too_long[] = { "9223372036854775808ns", "99999999999d",
						"18446744073709551616" };
	uint64_t ns;

	foreach (time, times) {
		assert_true(option_time(time->text, 1000, &ns));
		assert_true(ns == time->ns);
	}
	foreach (text, bad)
		assert_false(option_time(*text, 1000, &ns));
	foreach (text, too_long)
		assert_false(option_time(*text, 1000, &ns));
}

TEST(numbers_are_whole_and_bounded)
{
	static const char *const bad[] = { "100", "-1", "1x", "", "99999999999999999999999" };
	uint64_t number;

	assert_true(option_number("99", 99, &number) && number == 99);
	foreach (text, bad)
		assert_false(option_number(*text, 99, &number));
	assert_false(option_number("99999999999999999999999", UINT64_MAX, &number));
}

TEST(a_list_of_cpus_names_those_that_can_be_used)
{
	static const struct cpus usable = { .count = 4, .number = { 0, 1, 2, 5 } };
	static const struct {
		const char *text;
		unsigned int count, last;
	} lists[] = { { "all", 4, 5 }, { "first", 1, 0 }, { "5,0-1,1", 3, 5 } };
	static const char *const bad[] = { "",	   ",",	    "0,",  "-1",   "1-0",
					   "0-",   "a",	    "0 1", "1024", "0-99999999999999999999",
					   "0,,1", "0-1-2", "\n",  "0\n",  "2-5" };
	struct cpus cpus;
	char error[256];

	foreach (list, lists) {
		assert_int_equal(cpus_parse(list->text, &usable, &cpus, error, sizeof(error)), 0);
		assert_int_equal(cpus.count, list->count);
		assert_int_equal(cpus.number[cpus.count - 1], list->last);
	}
	foreach (text, bad)
		assert_int_equal(cpus_parse(*text, &usable, &cpus, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "CPU 3 cannot be measured"));
}

static struct {
	bool flag, rest, given;
	uint64_t number, time_ns;
	unsigned int choice, count;
	const char *text, *word[2];
} set;

static const char *const colours[] = { "red", "green", "blue", NULL };
static const char *const rests[] = { "yes", "no", NULL };

static const struct option_spec table[] = {
	{ "flag", .letter = 'f', .kind = OPTION_FLAG, .value = &set.flag },
	{ "quiet", .letter = 'q', .kind = OPTION_IGNORED },
	{ "number", .alias = "count", .letter = 'n', .kind = OPTION_NUMBER, .min = 2, .max = 8,
	  .step = 2, .zero = true, .preset = "4", .value = &set.number, .given = &set.given },
	{ "time", .kind = OPTION_TIME, .min = 1000, .preset = "1ms", .value = &set.time_ns },
	{ "colour", .kind = OPTION_CHOICE, .choices = colours, .preset = "green",
	  .value = &set.choice },
	{ "rest", .kind = OPTION_EITHER, .choices = rests, .preset = "yes", .value = &set.rest },
	{ "text", .letter = 't', .kind = OPTION_TEXT, .value = &set.text },
	{ "word", .kind = OPTION_WORDS, .max = 2, .value = set.word, .count = &set.count },
	{ 0 }
};

static const struct option_preset presets[] = { { "time", "5us" }, { "text", NULL }, { 0 } };
static char error[512];

static int parse(int argc, char **argv)
{
	const struct option_set all = { .command = "test", .common = table };

	memset(&set, 0, sizeof(set));
	return options_parse(&all, argc, argv, error, sizeof(error));
}

#define PARSE(...)                                                        \
	parse(sizeof((char *[]){ "test", __VA_ARGS__ }) / sizeof(char *), \
	      (char *[]){ "test", __VA_ARGS__, NULL })

TEST(defaults_are_set_and_options_change_them)
{
	assert_int_equal(PARSE("--flag"), 0);
	assert_printed("1 0 0 4 1000000 1", "%d %d %d %lu %lu %u", set.flag, set.given, set.rest,
		       set.number, set.time_ns, set.choice);
	assert_int_equal(PARSE("--count=8", "--ti", "20", "--colour", "blue", "--rest=no"), 0);
	assert_printed("0 1 1 8 20000 2", "%d %d %d %lu %lu %u", set.flag, set.given, set.rest,
		       set.number, set.time_ns, set.choice);
}

TEST(letters_stand_together_and_words_keep_their_order)
{
	char *argv[] = { "test", "one", "-fqn0", "two", "-t", "-x", "--", "--flag", NULL };

	assert_int_equal(parse(8, argv), 3);
	assert_printed("1 0 -x one two --flag", "%d %lu %s %s %s %s", set.flag, set.number,
		       set.text, argv[1], argv[2], argv[3]);
	assert_null(argv[4]);
}

TEST(a_command_has_its_own_defaults_and_may_lack_an_option)
{
	const struct option_set all = { .command = "test", .common = table, .presets = presets };
	char *plain[] = { "test", NULL }, *text[] = { "test", "--text=a", NULL };

	assert_int_equal(options_parse(&all, 1, plain, error, sizeof(error)), 0);
	assert_int_equal(set.time_ns, 5000);
	assert_int_equal(options_parse(&all, 2, text, error, sizeof(error)), -1);
	assert_string_equal(error, "--text does not apply to test");
}

TEST(refusals_name_the_option_and_what_it_accepts)
{
	static char *const bad[][2] = {
		{ "--number=3", "--number '3' is not a number 0 or from 2 to 8, a multiple of 2" },
		{ "--time=x", "--time 'x' is not a time of at least 1us, such as 1ms" },
		{ "--colour=pink", "--colour 'pink' is not red, green or blue" },
		{ "--flag=1", "--flag takes no value" },
		{ "--t=1",
		  "'--t=1' is the beginning of several options; rtscope-agent test --help lists them" },
		{ "-n", "-n needs a value; see rtscope-agent test --help" },
		{ "-z", "no option '-z'; rtscope-agent test --help lists them" },
		{ "--none", "no option '--none'; rtscope-agent test --help lists them" }
	};

	foreach (pair, bad) {
		assert_int_equal(PARSE((*pair)[0]), -1);
		assert_string_equal(error, (*pair)[1]);
	}
	assert_int_equal(PARSE("--word", "1", "--word", "2"), 0);
	assert_int_equal(PARSE("--word", "1", "--word", "2", "--word", "3"), -1);
	assert_string_equal(error, "at most 2 --word options are supported");
}

UNIT_TESTS(NULL, NULL)
