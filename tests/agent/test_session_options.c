// SPDX-License-Identifier: GPL-2.0-only
/*
 * The option parser, by example and by a bounded fuzz: command lines put together
 * from words it knows, words near to those, and noise. Built with the address and
 * undefined-behaviour sanitizers.
 */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "unit.h"

#define COMMAND_LINES 100000
#define WORDS_MAX     8
#define WORD_SIZE     48

static struct session_options options;
static char error[512];
static uint64_t own_value;

static const struct option_spec own[] = { { "own", .letter = 'o', .kind = OPTION_NUMBER,
					    .max = 9999, .preset = "7", .value = &own_value },
					  { 0 } };

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

static int parse(const struct probe *of, char **argv, int argc)
{
	error[0] = '\0';
	return session_parse(of, argc, argv, &options, error, sizeof(error));
}

/* Up to @most words, which blanks separate. */
static int split(char *line, char **words, int most)
{
	int count = 0;

	for (char *word = strtok(line, " "); word && count < most; word = strtok(NULL, " "))
		words[count++] = word;
	return count;
}

static int parse_line(const struct probe *of, const char *text)
{
	static char line[128]; /* texts among the options are parts of it */
	char *argv[WORDS_MAX * 2] = { "test" };

	snprintf(line, sizeof(line), "%s", text);
	return parse(of, argv, 1 + split(line, argv + 1, WORDS_MAX * 2 - 2));
}

TEST(each_bad_option_gets_a_sentence)
{
	char bad[] = "-p0 -p100 -i9us -i2h --policy=rr -D0 -l0 --worst=65 --progress=1ms "
		     "--watchdog=1ms --seed=-1 -b0 --own=12345 --none word --idle-states= "
		     "--idle-states=limit: --idle-states=limit:1ns --idle-states=limit:2000s "
		     "--idle-states=offx --quiet=yes --s=1 --interval";
	char *words[32];
	int count = split(bad, words, 32);

	for (int i = 0; i < count; i++) {
		assert_int_equal(parse_line(&probe, words[i]), -1);
		assert_true(strlen(error) > 10);
	}
}

static uint64_t draw(uint64_t below)
{
	static uint64_t random_state = 1;

	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static void make_word(char word[WORD_SIZE])
{
	static char text[] = "-a -b -D -h -i -l -N -p -q -o --cpus --break --duration --interval "
			     "--samples --priority --policy --load --seed --json --progress "
			     "--watchdog --samples-file --worst --own --help -- - --i --po=fifo "
			     "-p80 -i200us fifo deadline other all 0-3 100 10us 1.5ms "
			     "18446744073709551615 1e9 0 mixed:2 = --interval= --worst=64";
	static char *known[64] = { "" };
	static int count;

	if (!count)
		count = 1 + split(text, known + 1, 63);
	memset(word, 0, WORD_SIZE);
	strncpy(word, known[draw((uint64_t)count)], WORD_SIZE - 1);
	for (uint64_t changes = draw(3); changes && draw(2); changes--)
		word[draw(strlen(word) + 1)] = (char)draw(256);
	word[WORD_SIZE - 1] = '\0';
}

TEST(any_command_line_is_taken_whole_or_refused_in_words)
{
	char words[WORDS_MAX][WORD_SIZE], *argv[WORDS_MAX + 2] = { "test" };
	unsigned int taken = 0;

	for (unsigned int line = 0; line < COMMAND_LINES; line++) {
		int argc = 1 + (int)draw(WORDS_MAX);

		for (int i = 1; i < argc; i++) {
			make_word(words[i]);
			argv[i] = words[i];
		}
		argv[argc] = NULL;
		if (parse(&probe, argv, argc)) {
			assert_true(strlen(error) > 5);
			continue;
		}
		assert_in_range(options.priority, 1, 99);
		assert_true(options.interval_ns >= INTERVAL_MIN_NS);
		assert_true(options.watchdog_ns >= 100000000);
		assert_true(options.load_count <= LOADS_MAX);
		assert_true(options.worst <= WORST_MAX);
		assert_in_range(options.policy, POLICY_FIFO, POLICY_OTHER);
		taken++;
	}
	assert_true(taken > COMMAND_LINES / 100);
}

TEST(a_probes_own_end_gives_way_to_the_users)
{
	static const struct {
		uint64_t own_samples;
		const char *line;
		uint64_t samples, duration_s;
	} ends[] = {
		{ 0, "--default-duration=60s", 0, 60 },
		{ 0, "--default-duration=60s -D 5s", 0, 5 },
		{ 1000, "--default-duration=60s", 1000, 0 },
		{ 1000, "--default-duration=60s -D 5s", 0, 5 },
		{ 1000, "--default-duration=60s -l 7", 7, 0 },
	};

	foreach (end, ends) {
		struct probe ending = probe;

		ending.samples = end->own_samples;
		assert_int_equal(parse_line(&ending, end->line), 0);
		assert_int_equal(options.samples, end->samples);
		assert_int_equal(options.duration_ns, end->duration_s * NSEC_PER_SEC);
	}
}

UNIT_TESTS(NULL, NULL)
