// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option parser, by example and by a bounded fuzz: command lines put together
 * from words it knows, words near to those, and noise. Built with the address and
 * undefined-behaviour sanitizers.
 */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "unit.h"

#define COMMAND_LINES 300000
#define WORDS_MAX     8
#define WORD_SIZE     48

static uint64_t own_value;

static const struct option_spec own[] = {
	{ .name = "own",
	  .letter = 'o',
	  .kind = OPTION_NUMBER,
	  .max = 9999,
	  .preset = "7",
	  .help = "",
	  .value = &own_value },
	{ 0 },
};

static const struct probe probe = { .name = "test", .options = own };

const char *const *load_names(void)
{
	static const char *const none[] = { NULL };

	return none;
}

const char *load_help(const char *name)
{
	return name;
}

static int parse(struct session_options *options, char *error, int argc, char **argv)
{
	error[0] = '\0';
	return session_parse(&probe, argc, argv, options, error, 512);
}

#define PARSE(options, error, ...)                                                        \
	parse(options, error, sizeof((char *[]){ "test", __VA_ARGS__ }) / sizeof(char *), \
	      (char *[]){ "test", __VA_ARGS__, NULL })

TEST(options_of_cyclictest_mean_what_they_mean_there)
{
	struct session_options options;
	char error[512];

	assert_int_equal(PARSE(&options, error, "-a", "0-1", "-p95", "-i", "200", "-l", "1000",
			       "-D", "5m", "-b", "100", "-q", "-N"),
			 0);
	assert_string_equal(options.cpus, "0-1");
	assert_int_equal(options.priority, 95);
	assert_int_equal(options.interval_ns, 200000);
	assert_int_equal(options.samples, 1000);
	assert_true(options.duration_ns == 300000000000);
	assert_int_equal(options.threshold_ns, 100000);
	assert_true(options.quiet && options.nanoseconds && !options.json);
}

TEST(nothing_given_measures_every_cpu_each_millisecond_at_fifo_80)
{
	struct session_options options;
	char error[512];

	assert_int_equal(PARSE(&options, error, "--json"), 0);
	assert_string_equal(options.cpus, "all");
	assert_int_equal(options.policy, POLICY_FIFO);
	assert_int_equal(options.priority, 80);
	assert_int_equal(options.interval_ns, 1000000);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.idle.mode, IDLE_OFF);
	assert_false(options.idle.given);
}

TEST(idle_states_are_limited_to_whole_microseconds)
{
	struct session_options options;
	char error[512];

	assert_int_equal(PARSE(&options, error, "--idle-states", "limit:50"), 0);
	assert_int_equal(options.idle.mode, IDLE_LIMIT);
	assert_int_equal(options.idle.limit_ns, 50000);
	assert_int_equal(PARSE(&options, error, "--idle-states=default"), 0);
	assert_int_equal(options.idle.mode, IDLE_DEFAULT);
	assert_true(options.idle.given);
}

TEST(each_bad_option_gets_a_sentence_that_names_it)
{
	static char *const bad[][2] = {
		{ "-p", "0" },
		{ "-p", "100" },
		{ "-i", "9us" },
		{ "-i", "2h" },
		{ "--policy", "rr" },
		{ "-D", "0" },
		{ "-l", "0" },
		{ "--worst", "65" },
		{ "--progress", "1ms" },
		{ "--watchdog", "1ms" },
		{ "--seed", "-1" },
		{ "-b", "0" },
		{ "--own", "12345" },
		{ "--none", "1" },
		{ "-q", "word" },
		{ "--idle-states", "" },
		{ "--idle-states", "limit:" },
		{ "--idle-states", "limit:1ns" },
		{ "--idle-states", "limit:2000s" },
		{ "--idle-states", "offx" },
		{ "--quiet=yes", "-q" },
		{ "--s", "1" },
	};
	struct session_options options;
	char error[512];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(PARSE(&options, error, bad[i][0], bad[i][1]), -1);
		assert_true(strlen(error) > 10);
	}
	assert_int_equal(PARSE(&options, error, "--interval"), -1);
	assert_non_null(strstr(error, "--interval"));
}

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static void make_word(char word[WORD_SIZE])
{
	static const char *const known[] = {
		"-a",
		"-b",
		"-D",
		"-h",
		"-i",
		"-l",
		"-N",
		"-p",
		"-q",
		"-o",
		"--cpus",
		"--break",
		"--duration",
		"--interval",
		"--samples",
		"--priority",
		"--policy",
		"--load",
		"--seed",
		"--json",
		"--progress",
		"--watchdog",
		"--samples-file",
		"--worst",
		"--own",
		"--help",
		"--",
		"-",
		"--i",
		"--po=fifo",
		"-p80",
		"-i200us",
		"fifo",
		"deadline",
		"other",
		"all",
		"0-3",
		"100",
		"10us",
		"1.5ms",
		"18446744073709551615",
		"1e9",
		"0",
		"mixed:2",
		"=",
		"",
		"--interval=",
		"--worst=64",
	};

	memset(word, 0, WORD_SIZE);
	strncpy(word, known[draw(sizeof(known) / sizeof(known[0]))], WORD_SIZE - 1);
	for (uint64_t changes = draw(3); changes && draw(2); changes--)
		word[draw(strlen(word) + 1)] = (char)draw(256);
	word[WORD_SIZE - 1] = '\0';
}

static void assert_sane(const struct session_options *options)
{
	assert_in_range(options->priority, 1, 99);
	assert_true(options->interval_ns >= INTERVAL_MIN_NS);
	assert_true(options->watchdog_ns >= 100000000);
	assert_true(options->load_count <= LOADS_MAX);
	assert_true(options->worst <= WORST_MAX);
	assert_in_range(options->policy, POLICY_FIFO, POLICY_OTHER);
}

TEST(any_command_line_is_taken_whole_or_refused_in_words)
{
	char words[WORDS_MAX][WORD_SIZE], *argv[WORDS_MAX + 2], error[512];
	struct session_options options;
	unsigned int taken = 0;

	random_state = 1;
	for (unsigned int line = 0; line < COMMAND_LINES; line++) {
		int argc = 1 + (int)draw(WORDS_MAX);

		argv[0] = "test";
		for (int i = 1; i < argc; i++) {
			make_word(words[i]);
			argv[i] = words[i];
		}
		argv[argc] = NULL;
		if (parse(&options, error, argc, argv)) {
			assert_true(strlen(error) > 5);
			continue;
		}
		assert_sane(&options);
		taken++;
	}
	assert_true(taken > COMMAND_LINES / 100);
}

static void assert_end(const struct probe *ending, char *option, char *value, uint64_t samples,
		       uint64_t duration_ns)
{
	struct session_options options;
	char *argv[] = { "test", "--default-duration=60s", option, value, NULL };
	char error[512];

	assert_int_equal(session_parse(ending, option ? 4 : 2, argv, &options, error,
				       sizeof(error)),
			 0);
	assert_int_equal(options.samples, samples);
	assert_int_equal(options.duration_ns, duration_ns);
}

TEST(a_probes_own_end_gives_way_to_the_users)
{
	struct probe ending = probe;

	assert_end(&ending, NULL, NULL, 0, 60000000000);
	assert_end(&ending, "-D", "5s", 0, 5000000000);
	ending.samples = 1000;
	assert_end(&ending, NULL, NULL, 1000, 0);
	assert_end(&ending, "-D", "5s", 0, 5000000000);
	assert_end(&ending, "-l", "7", 7, 0);
}

UNIT_TESTS(NULL, NULL)
