// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "base/options.h"
#include "proc/cpus.h"
#include "unit.h"

static uint64_t read_time(const char *text)
{
	uint64_t ns;

	return option_time(text, 1000, &ns) ? ns : UINT64_MAX;
}

TEST(times_take_units_and_fractions)
{
	assert_true(read_time("200") == 200000);
	assert_true(read_time("200ns") == 200);
	assert_true(read_time("1.5ms") == 1500000);
	assert_true(read_time("0.0000000019s") == 1);
	assert_true(read_time("30s") == 30000000000);
	assert_true(read_time("5m") == 300000000000);
	assert_true(read_time("2h") == 7200000000000);
	assert_true(read_time("9223372036854775807ns") == INT64_MAX);
}

TEST(what_is_no_time_is_refused)
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

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_time(bad[i]) == UINT64_MAX);
}

TEST(numbers_are_whole_and_bounded)
{
	uint64_t number;

	assert_true(option_number("99", 99, &number) && number == 99);
	assert_false(option_number("100", 99, &number));
	assert_false(option_number("-1", 99, &number));
	assert_false(option_number("1x", 99, &number));
	assert_false(option_number("", 99, &number));
	assert_false(option_number("99999999999999999999999", UINT64_MAX, &number));
}

static const struct cpus usable = { .count = 4, .number = { 0, 1, 2, 5 } };

TEST(cpu_lists_are_taken_within_what_is_usable)
{
	struct cpus cpus;
	char error[256];

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

TEST(what_is_no_cpu_list_is_refused)
{
	static const char *const bad[] = { "",	   ",",	    "0,",  "-1",   "1-0",
					   "0-",   "a",	    "0 1", "1024", "0-99999999999999999999",
					   "0,,1", "0-1-2", "\n",  "0\n" };
	struct cpus cpus;
	char error[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse(bad[i], &usable, &cpus, error, sizeof(error)), -1);
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
	{ .name = "flag", .letter = 'f', .kind = OPTION_FLAG, .help = "A flag", .value = &set.flag },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_IGNORED, .help = "Nothing" },
	{ .name = "number",
	  .alias = "count",
	  .letter = 'n',
	  .kind = OPTION_NUMBER,
	  .min = 2,
	  .max = 8,
	  .step = 2,
	  .zero = true,
	  .preset = "4",
	  .help = "A number",
	  .value = &set.number,
	  .given = &set.given },
	{ .name = "time",
	  .kind = OPTION_TIME,
	  .min = 1000,
	  .preset = "1ms",
	  .help = "A time",
	  .value = &set.time_ns },
	{ .name = "colour",
	  .kind = OPTION_CHOICE,
	  .choices = colours,
	  .preset = "green",
	  .help = "A colour",
	  .value = &set.choice },
	{ .name = "rest",
	  .kind = OPTION_EITHER,
	  .choices = rests,
	  .preset = "yes",
	  .help = "Rest",
	  .value = &set.rest },
	{ .name = "text", .letter = 't', .kind = OPTION_TEXT, .help = "A text", .value = &set.text },
	{ .name = "word",
	  .kind = OPTION_WORDS,
	  .max = 2,
	  .help = "Words",
	  .value = set.word,
	  .count = &set.count },
	{ 0 },
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
	assert_true(set.flag && !set.given && !set.rest);
	assert_int_equal(set.number, 4);
	assert_int_equal(set.time_ns, 1000000);
	assert_int_equal(set.choice, 1);
	assert_int_equal(PARSE("--count=8", "--ti", "20", "--colour", "blue", "--rest=no"), 0);
	assert_true(set.given && set.rest);
	assert_int_equal(set.number, 8);
	assert_int_equal(set.time_ns, 20000);
	assert_int_equal(set.choice, 2);
}

TEST(letters_stand_together_and_words_keep_their_order)
{
	char *argv[] = { "test", "one", "-fqn0", "two", "-t", "-x", "--", "--flag", NULL };

	assert_int_equal(parse(8, argv), 3);
	assert_true(set.flag);
	assert_int_equal(set.number, 0);
	assert_string_equal(set.text, "-x");
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "two");
	assert_string_equal(argv[3], "--flag");
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
		{ "--none", "no option '--none'; rtscope-agent test --help lists them" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(PARSE(bad[i][0]), -1);
		assert_string_equal(error, bad[i][1]);
	}
	assert_int_equal(PARSE("--word", "1", "--word", "2"), 0);
	assert_int_equal(PARSE("--word", "1", "--word", "2", "--word", "3"), -1);
	assert_string_equal(error, "at most 2 --word options are supported");
}

UNIT_TESTS(NULL, NULL)
