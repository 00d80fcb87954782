// SPDX-License-Identifier: GPL-2.0-only
/* Measurement points as lines of the protocol, and as a table like drvPerfMeasure's. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proc/points_output.h"

static void put_buckets(struct json *json, const char *key, const struct point_reading *reading,
			uint64_t (*value)(unsigned int index))
{
	json_array_begin(json, key);
	for (unsigned int i = 0; i < RTSCOPE_BUCKETS; i++) {
		if (reading->bucket[i])
			json_u64(json, NULL, value ? value(i) : reading->bucket[i]);
	}
	json_array_end(json);
}

/* @base: how many points come before those of this page. */
static void put_point(struct json *json, const struct point_reading *reading, unsigned int base,
		      bool histogram)
{
	bool some = reading->count, budget = reading->budget_ns != RTSCOPE_NO_BUDGET;

	json_object_begin(json, NULL);
	json_string(json, "name", reading->name);
	json_string(json, "text", reading->text);
	json_u64_if(json, reading->parent >= 0, "parent", base + (unsigned int)reading->parent);
	json_bool(json, "enabled", reading->enabled);
	json_u64_if(json, budget, "budget_ns", reading->budget_ns);
	json_u64_if(json, budget, "over_budget", reading->over_budget);
	json_u64(json, "count", reading->count);
	json_u64_if(json, some, "last_ns", reading->last_ns);
	json_u64_if(json, some, "min_ns", reading->min_ns);
	json_double_if(json, some, "mean_ns", reading->mean_ns);
	json_u64_if(json, some, "p999_ns",
		    some ? point_tail_ns(reading, reading->count / 1000) : 0);
	json_u64_if(json, some, "max_ns", reading->max_ns);
	if (histogram) {
		json_object_begin(json, "histogram");
		put_buckets(json, "lower_ns", reading, point_bucket_lower_ns);
		put_buckets(json, "width_ns", reading, point_bucket_width_ns);
		put_buckets(json, "count", reading, NULL);
		json_object_end(json);
	}
	json_object_end(json);
}

/* @text in @width columns, with nothing in it that steers a terminal. */
static void print_text(const char *text, unsigned int indent, unsigned int width)
{
	unsigned int column = (unsigned int)printf("%*s", (int)indent, "");

	for (; *text; text++, column++)
		putchar(*text < ' ' || *text > '~' ? '?' : *text);
	printf("%*s", column < width ? (int)(width - column) : 0, "");
}

static void print_us(double ns, bool known)
{
	if (known)
		printf(" %13.3f", ns / (double)NSEC_PER_USEC);
	else
		printf(" %13s", "-");
}

static void print_head(const struct points_target *target, bool paused)
{
	printf("%s%s\n", target->name, paused ? ", paused" : "");
	printf("%-20s %3s %10s %13s %13s %13s %13s %13s %13s %8s  %s\n", "Node name", "Enb",
	       "Counter", "Last(usec)", "Mean", "Minimum", "p99.9", "Maximum", "Budget", "Over",
	       "Description");
}

static void print_point(const struct point_reading *reading, unsigned int depth)
{
	bool some = reading->count, budget = reading->budget_ns != RTSCOPE_NO_BUDGET;

	print_text(reading->name, 2 * depth, 20);
	printf(" %3d %10llu", reading->enabled, (unsigned long long)reading->count);
	print_us((double)reading->last_ns, some);
	print_us(reading->mean_ns, some);
	print_us((double)reading->min_ns, some);
	print_us(some ? (double)point_tail_ns(reading, reading->count / 1000) : 0, some);
	print_us((double)reading->max_ns, some);
	print_us((double)reading->budget_ns, budget);
	if (budget)
		printf(" %8llu  ", (unsigned long long)reading->over_budget);
	else
		printf(" %8s  ", "-");
	print_text(reading->text, 0, 0);
	putchar('\n');
}

/* Why values of a point were left out, by its number in all pages. */
static struct {
	const char *why;
	bool warned;
} impossible[POINTS_PAGES_MAX * RTSCOPE_POINTS_MAX];

static void warn_of_impossible(const struct points_target *target,
			       const struct rtscope_point *point, unsigned int number,
			       warn_fn *warn)
{
	char text[512], name[RTSCOPE_NAME_SIZE];

	if (!impossible[number].why || impossible[number].warned)
		return;
	impossible[number].warned = true;
	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, point->name);
	for (char *c = name; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	snprintf(text, sizeof(text), "%s: the values of point '%s' are impossible and left out: %s",
		 target->name, name, impossible[number].why);
	warn("points-impossible", text);
}

static void warn_of_refused(const struct points_target *target, warn_fn *warn)
{
	static bool warned;
	uint64_t refused = 0;
	char text[256];

	for (unsigned int i = 0; i < target->count; i++)
		refused += __atomic_load_n(&target->page[i].memory->refused, __ATOMIC_RELAXED);
	if (!refused || warned)
		return;
	warned = true;
	snprintf(text, sizeof(text),
		 "%s was refused %llu of the points that it asked for; its rtscope_points_error() returns the reason",
		 target->name, (unsigned long long)refused);
	warn("points-refused", text);
}

/* All points of @page, which come after @base others; returns how many. */
static unsigned int show_page(const struct points_page *page, unsigned int base, struct json *json,
			      bool histograms)
{
	unsigned int count = points_count(page), depth[RTSCOPE_POINTS_MAX];
	static struct point_reading reading;

	for (unsigned int i = 0; i < count; i++) {
		impossible[base + i].why = points_read(page, i, &reading);
		depth[i] = reading.parent < 0 ? 0 : depth[reading.parent] + 1;
		if (json)
			put_point(json, &reading, base, histograms);
		else
			print_point(&reading, depth[i]);
	}
	return count;
}

static bool all_paused(const struct points_target *target)
{
	bool paused = true;

	for (unsigned int i = 0; i < target->count; i++)
		paused &= __atomic_load_n(&target->page[i].memory->paused, __ATOMIC_RELAXED) != 0;
	return paused;
}

void points_show(const struct points_target *target, struct json *json, bool histograms,
		 uint64_t time_ns, warn_fn *warn)
{
	unsigned int base[POINTS_PAGES_MAX], shown[POINTS_PAGES_MAX], total = 0;

	if (json) {
		json_begin(json, "points");
		json_u64(json, "time_ns", time_ns);
		json_string(json, "process", target->name);
		json_bool(json, "paused", all_paused(target));
		json_array_begin(json, "points");
	} else {
		print_head(target, all_paused(target));
	}
	for (unsigned int p = 0; p < target->count; p++) {
		base[p] = total;
		shown[p] = show_page(&target->page[p], total, json, histograms);
		total += shown[p];
	}
	if (json) {
		json_array_end(json);
		json_end(json);
	} else {
		fflush(stdout);
	}
	for (unsigned int p = 0; p < target->count; p++) {
		for (unsigned int i = 0; i < shown[p]; i++)
			warn_of_impossible(target, &target->page[p].memory->point[i], base[p] + i,
					   warn);
	}
	warn_of_refused(target, warn);
}
