// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>
#include "proc/points_page.h"
#include "unit.h"

#define THREADS 4
#define SAMPLES 100000

/* This process's own points, as another would see them. */
static struct points_target self;

static struct point_reading read_point(const char *name)
{
	struct point_reading reading = { .count = UINT64_MAX };

	for (unsigned int i = 0; i < points_count(&self.page[0]); i++) {
		assert_null(points_read(&self.page[0], i, &reading));
		if (!strcmp(reading.name, name))
			return reading;
	}
	fail_msg("no point '%s' was read", name);
	return reading;
}

static int open_self(void **state)
{
	char error[256];

	(void)state;
	rtscope_point_add(NULL, "FIRST", 0, NULL);
	assert_int_equal(points_open(&self, getpid(), true, error, sizeof(error)), 0);
	assert_string_equal(error, "");
	assert_int_equal(self.count, 1);
	return 0;
}

static struct rtscope_point *add_point(const char *name)
{
	return rtscope_point_add(NULL, name, 0, NULL);
}

TEST(buckets_are_exact_below_64_ns_within_a_32nd_above_and_have_no_gap)
{
	uint64_t expected = 0;

	for (unsigned int i = 0; i < RTSCOPE_BUCKETS; i++) {
		uint64_t lower = point_bucket_lower_ns(i), width = point_bucket_width_ns(i);

		assert_true(lower == expected);
		assert_true(lower < 64 ? width == 1 : width * 32 <= lower);
		expected = lower + width;
		assert_int_equal(rtscope_bucket(lower), i);
		assert_int_equal(rtscope_bucket(lower + width / 2), i);
		assert_int_equal(rtscope_bucket(expected - 1), i);
	}
	assert_int_equal(rtscope_bucket(INT64_MAX), RTSCOPE_BUCKETS - 1);
}

TEST(metrics_are_those_of_the_samples)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "FIGURES", 900, "text");
	struct point_reading reading;

	for (uint64_t ns = 1; ns <= 1000; ns++)
		rtscope_sample(point, ns);
	reading = read_point("FIGURES");
	assert_printed("1000, 1000 1 1000 500.5, 100 over 900, text, tail 1000 1",
		       "%lu, %lu %lu %lu %g, %lu over %lu, %s, tail %lu %lu", reading.count,
		       reading.last_ns, reading.min_ns, reading.max_ns, reading.mean_ns,
		       reading.over_budget, reading.budget_ns, reading.text,
		       point_tail_ns(&reading, 0), point_tail_ns(&reading, 999));
	assert_in_range(point_tail_ns(&reading, 500), 500, 516);
	rtscope_sample(point, (uint64_t)-5); /* of a clock that went back */
	reading = read_point("FIGURES");
	assert_int_equal(reading.min_ns, 0);
	assert_int_equal(reading.max_ns, 1000);
}

static void *sample_much(void *point)
{
	for (uint64_t i = 0; i < SAMPLES; i++)
		rtscope_sample(point, 20 + i % 2);
	return NULL;
}

TEST(threads_in_one_point_lose_no_sample)
{
	struct rtscope_point *point = add_point("SHARED");
	struct point_reading reading;
	pthread_t threads[THREADS];

	foreach (thread, threads)
		assert_int_equal(pthread_create(thread, NULL, sample_much, point), 0);
	foreach (thread, threads)
		pthread_join(*thread, NULL);
	reading = read_point("SHARED");
	assert_int_equal(reading.count, THREADS * SAMPLES);
	assert_printed("20 21 20.5", "%lu %lu %g", reading.min_ns, reading.max_ns, reading.mean_ns);
}

TEST(a_reset_meanwhile_halves_no_sample)
{
	struct rtscope_point *point = add_point("RESET");
	unsigned int meanwhile = 0;

	/* On a busy CPU, few resets happen while the thread samples. */
	for (int i = 0; i < 50 || (!meanwhile && i < 5000); i++) {
		uint64_t before, after;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, sample_much, point), 0);
		while (!read_point("RESET").count)
			;
		rtscope_point_reset(point);
		before = read_point("RESET").count; /* which asserts that the figures fit */
		pthread_join(thread, NULL);
		after = read_point("RESET").count;
		assert_in_range(after, before, SAMPLES);
		meanwhile += after > before && after < SAMPLES;
		rtscope_point_reset(point);
		assert_int_equal(read_point("RESET").count, 0);
	}
	assert_int_not_equal(meanwhile, 0);
	rtscope_sample(point, 7);
	assert_int_equal(read_point("RESET").min_ns, 7);
	assert_int_equal(read_point("RESET").max_ns, 7);
}

TEST(a_point_counts_only_while_it_is_on_and_nothing_is_paused)
{
	struct rtscope_point *on = add_point("ON"), *off = add_point("OFF"), *later;
	uint64_t begun_ns;

	rtscope_point_enable(off, 0);
	begun_ns = rtscope_begin(off);
	assert_int_equal(begun_ns, 0);
	rtscope_point_enable(off, 1);
	rtscope_end(off, begun_ns);
	assert_int_equal(read_point("OFF").count, 0);
	begun_ns = rtscope_begin(off);
	rtscope_point_enable(off, 0);
	rtscope_end(off, begun_ns);
	assert_int_equal(read_point("OFF").count, 1);
	assert_false(read_point("OFF").enabled);
	rtscope_points_pause(1);
	later = add_point("LATER");
	assert_int_equal(rtscope_begin(on), 0);
	assert_int_equal(rtscope_begin(later), 0);
	assert_true(read_point("ON").enabled);
	rtscope_points_pause(0);
	assert_int_not_equal(rtscope_begin(on), 0);
	assert_int_not_equal(rtscope_begin(later), 0);
	assert_int_equal(rtscope_begin(off), 0);
}

TEST(one_name_is_one_point_and_a_bad_one_is_refused_while_the_program_goes_on)
{
	const char *const names[] = { "", "123456789012345678901234567890123456789012345678" };
	struct rtscope_point *outer = add_point("OUTER");
	struct rtscope_point *inner = rtscope_point_add(outer, "INNER", 0, NULL);

	assert_ptr_equal(rtscope_point_add(outer, "INNER", 0, NULL), inner);
	assert_int_equal(read_point("INNER").parent, outer - rtscope_points_v1.page->point);
	assert_int_equal(read_point("OUTER").parent, -1);
	foreach (name, names) {
		unsigned int before = self.page[0].memory->refused;
		struct rtscope_point *point = add_point(*name);

		assert_non_null(strstr(rtscope_points_error(), "1 to 47 bytes"));
		assert_int_equal(self.page[0].memory->refused, before + 1);
		rtscope_point_enable(point, 1);
		assert_int_equal(rtscope_begin(point), 0);
		rtscope_end(point, rtscope_begin(point));
	}
}

static int parents_fd;

/* Returns 0, or the number of what is wrong. */
static int use_as_child(void)
{
	char text[256];

	if (fcntl(parents_fd, F_GETFD) >= 0)
		return 1;
	rtscope_sample(add_point("FORKED"), 99);
	if (points_open(&self, getpid(), false, text, sizeof(text)) || self.count != 1)
		return 2;
	if (read_point("FORKED").count != 1 || read_point("FORKED").max_ns != 99)
		return 3;
	for (unsigned int i = rtscope_points_v1.page->count; i < RTSCOPE_POINTS_MAX; i++) {
		snprintf(text, sizeof(text), "FILL %u", i);
		if (add_point(text) == &rtscope_point_off_v1)
			return 4;
	}
	if (add_point("ONE MORE") != &rtscope_point_off_v1)
		return 5;
	return strstr(rtscope_points_error(), "room for 128") ? 0 : 6;
}

TEST(a_child_has_the_points_its_own_metrics_and_room_for_128)
{
	struct rtscope_point *point = add_point("FORKED");
	unsigned int points = points_count(&self.page[0]);
	int status;
	pid_t child;

	parents_fd = rtscope_points_v1.fd;
	rtscope_sample(point, 5);
	child = fork();
	if (!child)
		_exit(use_as_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read_point("FORKED").count, 1);
	assert_int_equal(read_point("FORKED").max_ns, 5);
	assert_int_equal(points_count(&self.page[0]), points);
}

/* A page as another process could leave it. */
static struct points_page page_of(unsigned int count, unsigned int points_in_file)
{
	struct points_page page = { .fd = rtscope_points_file(points_in_file) };

	assert_true(page.fd >= 0);
	page.memory = rtscope_points_map(NULL, page.fd);
	assert_ptr_not_equal(page.memory, MAP_FAILED);
	page.memory->count = count;
	return page;
}

static void page_end(struct points_page *page)
{
	munmap(page->memory, sizeof(*page->memory));
	close(page->fd);
}

TEST(a_sample_that_is_not_counted_yet_is_not_over_budget_and_names_end)
{
	struct points_page page = page_of(1, 1);
	struct rtscope_point *point = &page.memory->point[0];
	struct point_reading reading;

	point->parent = RTSCOPE_NO_PARENT;
	rtscope_sample(point, 70);
	point->figures[0].over_budget = 2;
	assert_null(points_read(&page, 0, &reading));
	assert_int_equal(reading.over_budget, 1);
	memset(point, 0xff, offsetof(struct rtscope_point, figures));
	assert_null(points_read(&page, 0, &reading));
	assert_int_equal(strlen(reading.name), RTSCOPE_NAME_SIZE - 1);
	assert_int_equal(strlen(reading.text), RTSCOPE_TEXT_SIZE - 1);
	page_end(&page);
}

#define AT(member) offsetof(struct rtscope_point, member)

TEST(metrics_that_cannot_be_are_left_out_with_a_reason)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		const char *why;
	} cases[] = {
		{ AT(parent), sizeof(((struct rtscope_point *)0)->parent), 1, "part of" },
		{ AT(budget_ns), 8, 1ULL << 63, "292 years" },
		{ AT(figures[0].max_ns), 8, 3, "contradict" },
		{ AT(figures[0].max_ns), 8, UINT64_MAX, "contradict" },
		{ AT(figures[0].bucket[100]), 16, INT64_MAX, "beyond 2^63" },
		{ AT(figures[0].over_budget), 8, UINT64_MAX, "beyond 2^63" },
		{ AT(figures[0].bucket[1000]), 8, 1, "histogram" },
	};

	foreach (each, cases) {
		struct points_page page = page_of(2, 2);
		struct rtscope_point *point = &page.memory->point[1];
		const uint64_t values[] = { each->value, each->value };
		struct point_reading reading;
		const char *why;

		point->budget_ns = RTSCOPE_NO_BUDGET;
		rtscope_sample(point, 70);
		assert_null(points_read(&page, 1, &reading));
		assert_int_equal(reading.parent, 0);
		memcpy((char *)point + each->at, values, each->size);
		why = points_read(&page, 1, &reading);
		assert_non_null(why);
		assert_non_null(strstr(why, each->why));
		assert_int_equal(reading.count, 0);
		assert_int_equal(reading.parent, -1);
		page_end(&page);
	}
}

UNIT_TESTS(open_self, NULL)
