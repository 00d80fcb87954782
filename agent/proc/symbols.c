// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verb symbols: where the kernel's functions are, those of its modules included, by
 * /proc/kallsyms.
 *
 * An observer outside of the system, such as the emulator, knows only addresses. The kernel itself
 * is the best source of names: distributions store System.map in different places, and only a
 * running kernel knows where it put its modules. Data is left out, except for what shows which task
 * runs and whether it may be preempted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hello.h"
#include "base/json.h"
#include "base/options.h"
#include "proc/symbols.h"

#define KALLSYMS   "/proc/kallsyms"
#define CHUNK_SIZE (32 << 10)
#define LINE_SIZE  768 /* more than KSYM_NAME_LEN and a module's name */

struct symbol {
	uint64_t address;
	char type;
	const char *name;
	const char *module; /* NULL: the kernel's own */
};

static const char *const wanted_data[] = {
	"__per_cpu_offset", "pcpu_hot",	    "current_task",
	"__preempt_count",  "__entry_task", "init_task",
};

/* Padding before functions and mapping symbols are no functions. */
static bool is_function(const struct symbol *symbol)
{
	return strchr("tTwW", symbol->type) && strncmp(symbol->name, "__pfx_", 6) &&
	       strncmp(symbol->name, "__cfi_", 6) && *symbol->name != '$' && *symbol->name != '.';
}

static bool is_wanted(const struct symbol *symbol, bool modules_only)
{
	if (modules_only && !symbol->module)
		return false;
	for (size_t i = 0; i < sizeof(wanted_data) / sizeof(wanted_data[0]); i++) {
		if (!strcmp(symbol->name, wanted_data[i]))
			return true;
	}
	return is_function(symbol);
}

/* "ffffffff81000000 T _text" and perhaps a tab and "[module]". */
static bool parse_symbol(char *line, struct symbol *symbol)
{
	char *rest, *type;

	symbol->address = strtoull(line, &rest, 16);
	type = strtok(rest, " \t\n");
	symbol->name = strtok(NULL, " \t\n");
	symbol->module = strtok(NULL, " \t\n");
	if (!type || !symbol->name)
		return false;
	symbol->type = *type;
	return true;
}

static void send(struct json *json, const char *text, size_t size)
{
	json_begin(json, "symbols");
	json_text(json, "text", text, size);
	json_end(json);
}

/* Returns how many were sent with an address: without the right to see them all are 0. */
static unsigned int send_all(struct json *json, FILE *file, bool modules_only)
{
	static char chunk[CHUNK_SIZE];
	char line[LINE_SIZE];
	struct symbol symbol;
	unsigned int known = 0;
	size_t used = 0;

	while (!json->failed && fgets(line, sizeof(line), file)) {
		if (!parse_symbol(line, &symbol) || !is_wanted(&symbol, modules_only))
			continue;
		if (used + LINE_SIZE > sizeof(chunk)) {
			send(json, chunk, used);
			used = 0;
		}
		used += (size_t)snprintf(chunk + used, sizeof(chunk) - used, "%" PRIx64 " %s%s%s\n",
					 symbol.address, symbol.name, symbol.module ? " " : "",
					 symbol.module ? symbol.module : "");
		known += symbol.address != 0;
	}
	send(json, chunk, used);
	return known;
}

static int fail(int status, const char *text)
{
	fprintf(stderr, "rtscope-agent symbols: %s\n", text);
	return status;
}

static struct {
	bool help;
	bool json;
	bool modules_only;
} asked;

const struct option_spec symbols_options[] = {
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  .help = "Write JSON Lines, the agent's protocol: the only format there is",
	  .value = &asked.json },
	{ .name = "modules",
	  .kind = OPTION_FLAG,
	  .help = "Functions of modules only",
	  .value = &asked.modules_only },
	{ .name = "help",
	  .letter = 'h',
	  .kind = OPTION_FLAG,
	  .help = "Print this text",
	  .value = &asked.help },
	{ 0 },
};

int symbols_main(int argc, char **argv)
{
	const struct option_set set = { .command = "symbols", .own = symbols_options };
	struct json json = { .fd = STDOUT_FILENO };
	uint64_t start_ns = clock_now_ns();
	char error[512];
	int words = options_parse(&set, argc, argv, error, sizeof(error));
	unsigned int known;
	FILE *file;

	if (words < 0)
		return fail(2, error);
	if (asked.help) {
		puts("usage: rtscope-agent symbols --json [--modules]\n\n"
		     "Print the addresses of the kernel's functions, for rtscope --explain. Needs root.\n");
		options_help(symbols_options, NULL, stdout);
		return 0;
	}
	if (words || !asked.json)
		return fail(2, "give --json and no other words; see rtscope-agent symbols --help");
	file = fopen(KALLSYMS, "re");
	if (!file)
		return fail(1, "this kernel does not list its functions: it has no " KALLSYMS
			       " (CONFIG_KALLSYMS)");
	hello_write(&json);
	known = send_all(&json, file, asked.modules_only);
	fclose(file);
	json_begin(&json, "end");
	json_string(&json, "status", known ? "complete" : "failed");
	json_u64(&json, "time_ns", clock_now_ns() - start_ns);
	json_end(&json);
	if (!known)
		return fail(1, "the kernel hides its addresses: run as root, with "
			       "kernel.kptr_restrict below 2");
	return json.failed ? fail(1, "the output could not be written in full") : 0;
}
