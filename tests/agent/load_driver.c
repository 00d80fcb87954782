// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives the agent's loads for the tests.
 *
 *	run SPEC SECONDS START	start within START seconds, run, read, stop; a line for each step
 *	steps LOAD SEED WORKER DIRECTORY COUNT
 *				that many steps of one worker in this process, and what came of them
 *	parse			specs on standard input, each ended by a zero byte
 *	words			the same, split into words
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/arguments.h"
#include "load/worker.h"

static const struct load *const all[] = {
	&load_cpu,     &load_memory,  &load_cache, &load_files, &load_disk,
	&load_network, &load_process, &load_ipc,   &load_video, &load_timers,
};

static void print_warning(const char *code, const char *text)
{
	printf("warning %s %s\n", code, text);
}

static void print_work(const struct load_set *set)
{
	struct load_work work;

	for (unsigned int i = 0; i < load_set_size(set); i++) {
		load_set_read(set, i, &work);
		printf("load %u %llu %s\n", work.strength, (unsigned long long)work.seed,
		       work.name);
		for (unsigned int unit = 0; unit < work.units; unit++)
			printf("work %s %llu\n", work.unit[unit],
			       (unsigned long long)work.total[unit]);
	}
}

/* Not ru_maxrss, which remembers the program that executed this one. */
static void print_memory(void)
{
	char line[128];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "VmHWM:", 6))
			printf("rss_kib %ld\n", strtol(line + 6, NULL, 10));
	}
	if (status)
		fclose(status);
}

static int run(const char *spec, double seconds, double start_seconds)
{
	struct load_set *set = load_set_new(42);
	struct timespec pause = ns_to_timespec((uint64_t)(seconds * 1e9));
	char text[512] = "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (load_set_parse(set, spec, text, sizeof(text)) < 0) {
		printf("refused %s\n", text);
		return 2;
	}
	if (load_set_start(set, (uint64_t)(start_seconds * 1e9), print_warning, text,
			   sizeof(text)) < 0) {
		printf("failed %s\n", text);
		return 1;
	}
	mlockall(MCL_CURRENT | MCL_FUTURE);
	printf("ready %.3f\n", (double)clock_read_ns(CLOCK_REALTIME) / 1e9);
	nanosleep(&pause, NULL);
	print_work(set);
	if (load_set_alive(set, text, sizeof(text)))
		puts("alive");
	else
		printf("ended %s\n", text);
	load_set_stop(set);
	print_memory();
	puts("stopped");
	load_set_free(set);
	return 0;
}

static int steps(char **argument)
{
	struct worker_line line = { 0 };
	struct load_status status = { 0 };
	struct worker worker = { .strength = 1, .line = &line, .status = &status };
	long count = strtol(argument[4], NULL, 10);

	worker.seed = strtoull(argument[1], NULL, 10);
	worker.directory = argument[3];
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!strcmp(all[i]->name, argument[0]))
			worker.load = all[i];
	}
	worker_seed(&worker);
	if (worker.load->prepare && worker.load->prepare(&worker) < 0)
		goto fail;
	worker.index = (unsigned int)strtoul(argument[2], NULL, 10);
	worker_seed(&worker);
	if (worker.load->setup && worker.load->setup(&worker) < 0)
		goto fail;
	for (; count > 0; count--) {
		if (worker.load->step(&worker) < 0)
			goto fail;
	}
	printf("check %016llx\nrandom %016llx\nwork %llu\n", (unsigned long long)worker.check,
	       (unsigned long long)worker.random, (unsigned long long)line.work[0]);
	return 0;
fail:
	printf("failed %s\n", message_text(&status.failure));
	return 1;
}

static void parse_one(const char *spec)
{
	struct load_set *set = load_set_new(1);
	struct load_work work;
	/* Small on purpose, and of its own so that a sanitizer or the guard sees an overrun. */
	char *error = malloc(400);

	memset(error, 'x', 400);
	if (load_set_parse(set, spec, error, 400) < 0) {
		printf("refused %u %s\n", load_set_size(set), error);
	} else {
		printf("parsed %u", load_set_size(set));
		for (unsigned int i = 0; i < load_set_size(set); i++) {
			load_set_read(set, i, &work);
			printf(" %.*s:%u", (int)strcspn(work.name, ":"), work.name, work.strength);
		}
		putchar('\n');
	}
	free(error);
	load_set_free(set);
}

static void split_one(const char *spec)
{
	char *copy = strdup(spec);
	char *word[9];
	int count = arguments_split(copy, word, 8);

	printf("%d", count);
	for (int i = 0; i < count; i++) {
		putchar(' ');
		for (const char *c = word[i]; *c; c++)
			printf("%02x", (unsigned char)*c);
		putchar('.');
	}
	putchar('\n');
	free(copy);
}

static int each_input(void (*use)(const char *))
{
	char *text = NULL;
	size_t size = 0;

	while (getdelim(&text, &size, '\0', stdin) >= 0)
		use(text);
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "run"))
		return run(argv[2], strtod(argv[3], NULL), strtod(argv[4], NULL));
	if (argc == 7 && !strcmp(argv[1], "steps"))
		return steps(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "parse"))
		return each_input(parse_one);
	if (argc == 2 && !strcmp(argv[1], "words"))
		return each_input(split_one);
	return 2;
}
