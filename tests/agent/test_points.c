// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <sys/wait.h>
#include "proc/points_page.h"
#include "unit.h"

#define THREADS	       4
#define THREAD_SAMPLES 50000
#define SHARED_SAMPLES 400000

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
	rtscope_point_add(NULL, "FIRST", 0, "so that there is a page");
	assert_int_equal(points_open(&self, getpid(), true, error, sizeof(error)), 0);
	assert_string_equal(error, "");
	assert_int_equal(self.count, 1);
	return 0;
}

TEST(every_time_is_inside_its_bucket)
{
	uint64_t random = 88172645463325252ULL;

	for (int i = 0; i < 1000000; i++) {
		uint64_t ns;
		unsigned int index;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		ns = random >> (1 + random % 63);
		index = rtscope_bucket(ns);
		assert_true(index < RTSCOPE_BUCKETS);
		assert_true(point_bucket_lower_ns(index) <= ns);
		assert_true(ns - point_bucket_lower_ns(index) < point_bucket_width_ns(index));
	}
	assert_int_equal(rtscope_bucket(INT64_MAX), RTSCOPE_BUCKETS - 1);
}

TEST(buckets_are_exact_below_64_ns_and_within_a_32nd_above)
{
	for (unsigned int i = 0; i + 1 < RTSCOPE_BUCKETS; i++) {
		uint64_t lower = point_bucket_lower_ns(i), width = point_bucket_width_ns(i);

		assert_true(lower + width == point_bucket_lower_ns(i + 1));
		assert_true(lower < 64 ? width == 1 : width * 32 <= lower);
	}
}

TEST(figures_are_those_of_the_samples)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "FIGURES", 900, "text");
	struct point_reading reading;

	for (uint64_t ns = 1; ns <= 1000; ns++)
		rtscope_sample(point, ns);
	reading = read_point("FIGURES");
	assert_int_equal(reading.count, 1000);
	assert_int_equal(reading.last_ns, 1000);
	assert_int_equal(reading.min_ns, 1);
	assert_int_equal(reading.max_ns, 1000);
	assert_int_equal(reading.over_budget, 100);
	assert_true(reading.mean_ns == 500.5);
	assert_int_equal(reading.budget_ns, 900);
	assert_string_equal(reading.text, "text");
	assert_int_equal(point_tail_ns(&reading, 0), 1000);
	assert_in_range(point_tail_ns(&reading, 500), 500, 516);
	assert_int_equal(point_tail_ns(&reading, 999), 1);
}

TEST(a_clock_that_went_back_is_a_sample_of_nothing)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "BACK", 0, NULL);

	rtscope_sample(point, (uint64_t)-5);
	assert_int_equal(read_point("BACK").max_ns, 0);
	assert_int_equal(read_point("BACK").count, 1);
}

static void *sample_much(void *point)
{
	for (uint64_t i = 1; i <= THREAD_SAMPLES; i++)
		rtscope_sample(point, i);
	return NULL;
}

static pthread_barrier_t together;

static void *sample_alike(void *point)
{
	pthread_barrier_wait(&together);
	for (uint64_t i = 0; i < SHARED_SAMPLES; i++)
		rtscope_sample(point, 20 + i % 2);
	return NULL;
}

TEST(threads_in_one_point_lose_no_sample)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "SHARED", 0, NULL);
	struct point_reading reading;
	pthread_t thread[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sample_alike, point), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	reading = read_point("SHARED");
	assert_int_equal(reading.count, THREADS * SHARED_SAMPLES);
	assert_int_equal(reading.min_ns, 20);
	assert_int_equal(reading.max_ns, 21);
	assert_true(reading.mean_ns == 20.5);
}

TEST(a_reset_meanwhile_halves_no_sample)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "RESET", 0, NULL);
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
		assert_in_range(after, before, THREAD_SAMPLES);
		meanwhile += after > before && after < THREAD_SAMPLES;
		rtscope_point_reset(point);
		assert_int_equal(read_point("RESET").count, 0);
	}
	assert_int_not_equal(meanwhile, 0);
	rtscope_sample(point, 7);
	assert_int_equal(read_point("RESET").min_ns, 7);
	assert_int_equal(read_point("RESET").max_ns, 7);
}

TEST(a_point_counts_only_while_it_is_on)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "SWITCH", 0, NULL);
	uint64_t begun_ns;

	rtscope_point_enable(point, 0);
	begun_ns = rtscope_begin(point);
	assert_int_equal(begun_ns, 0);
	rtscope_point_enable(point, 1);
	rtscope_end(point, begun_ns);
	assert_int_equal(read_point("SWITCH").count, 0);
	begun_ns = rtscope_begin(point);
	rtscope_point_enable(point, 0);
	rtscope_end(point, begun_ns);
	assert_int_equal(read_point("SWITCH").count, 1);
	assert_false(read_point("SWITCH").enabled);
}

TEST(a_pause_holds_all_and_those_to_come_and_keeps_their_own_switches)
{
	struct rtscope_point *on = rtscope_point_add(NULL, "PAUSED ON", 0, NULL);
	struct rtscope_point *off = rtscope_point_add(NULL, "PAUSED OFF", 0, NULL), *later;

	rtscope_point_enable(off, 0);
	rtscope_points_pause(1);
	later = rtscope_point_add(NULL, "PAUSED LATER", 0, NULL);
	assert_int_equal(rtscope_begin(on), 0);
	assert_int_equal(rtscope_begin(later), 0);
	assert_true(read_point("PAUSED ON").enabled);
	rtscope_points_pause(0);
	assert_int_not_equal(rtscope_begin(on), 0);
	assert_int_not_equal(rtscope_begin(later), 0);
	assert_int_equal(rtscope_begin(off), 0);
}

TEST(one_name_is_one_point)
{
	struct rtscope_point *outer = rtscope_point_add(NULL, "OUTER", 0, NULL);
	struct rtscope_point *inner = rtscope_point_add(outer, "INNER", 0, NULL);

	assert_ptr_equal(rtscope_point_add(outer, "INNER", 0, NULL), inner);
	assert_int_equal(read_point("INNER").parent, outer - rtscope_points_v1.page->point);
	assert_int_equal(read_point("OUTER").parent, -1);
}

TEST(a_name_that_cannot_be_is_refused_and_the_program_goes_on)
{
	const char *const names[] = { "", "123456789012345678901234567890123456789012345678" };

	for (int i = 0; i < 2; i++) {
		unsigned int before = self.page[0].memory->refused;
		struct rtscope_point *point = rtscope_point_add(NULL, names[i], 0, NULL);

		assert_non_null(strstr(rtscope_points_error(), "1 to 47 bytes"));
		assert_int_equal(self.page[0].memory->refused, before + 1);
		rtscope_point_enable(point, 1);
		assert_int_equal(rtscope_begin(point), 0);
		rtscope_end(point, rtscope_begin(point));
	}
}

/* Exit status of a child that has done @body. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(body());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int parents_fd;

static int child_samples(void)
{
	struct rtscope_points_page *page = rtscope_points_v1.page;
	struct point_reading reading;
	struct points_target target;
	char error[256];

	if (fcntl(parents_fd, F_GETFD) >= 0)
		return 5;
	for (unsigned int i = 0; i < page->count; i++) {
		if (strcmp(page->point[i].name, "FORKED"))
			continue;
		rtscope_sample(&page->point[i], 99);
		if (points_open(&target, getpid(), false, error, sizeof(error)) ||
		    target.count != 1)
			return 1;
		if (points_read(&target.page[0], i, &reading) || reading.count != 1)
			return 2;
		return reading.max_ns == 99 && rtscope_point_add(NULL, "OF THE CHILD", 0, NULL) ?
			       0 :
			       3;
	}
	return 4;
}

TEST(a_child_has_the_points_and_its_own_figures)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "FORKED", 0, NULL);
	unsigned int points = points_count(&self.page[0]);

	parents_fd = rtscope_points_v1.fd;
	rtscope_sample(point, 5);
	assert_int_equal(in_child(child_samples), 0);
	assert_int_equal(read_point("FORKED").count, 1);
	assert_int_equal(read_point("FORKED").max_ns, 5);
	assert_int_equal(points_count(&self.page[0]), points);
}

static int child_fills_up(void)
{
	char name[16];

	for (unsigned int i = rtscope_points_v1.page->count; i < RTSCOPE_POINTS_MAX; i++) {
		snprintf(name, sizeof(name), "FILL %u", i);
		if (rtscope_point_add(NULL, name, 0, NULL) == &rtscope_point_off_v1)
			return 1;
	}
	if (rtscope_point_add(NULL, "ONE MORE", 0, NULL) != &rtscope_point_off_v1)
		return 2;
	return strstr(rtscope_points_error(), "room for 128") ? 0 : 3;
}

TEST(there_is_room_for_128_and_one_more_is_refused)
{
	assert_int_equal(in_child(child_fills_up), 0);
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

TEST(a_count_beyond_the_file_is_held_to_the_file)
{
	const unsigned int counts[] = { 3, 128, 129, UINT32_MAX };

	for (int i = 0; i < 4; i++) {
		struct points_page page = page_of(counts[i], 2);

		assert_int_equal(points_count(&page), 2);
		page_end(&page);
	}
}

TEST(a_sample_that_is_not_counted_yet_is_not_over_budget_either)
{
	struct points_page page = page_of(1, 1);
	struct point_reading reading;

	page.memory->point[0].parent = RTSCOPE_NO_PARENT;
	rtscope_sample(&page.memory->point[0], 70);
	page.memory->point[0].figures[0].over_budget = 2;
	assert_null(points_read(&page, 0, &reading));
	assert_int_equal(reading.over_budget, 1);
	page_end(&page);
}

TEST(names_end_whatever_the_memory_holds)
{
	struct points_page page = page_of(1, 1);
	struct point_reading reading;

	memset(&page.memory->point[0], 0xff, offsetof(struct rtscope_point, figures));
	assert_null(points_read(&page, 0, &reading));
	assert_int_equal(strlen(reading.name), RTSCOPE_NAME_SIZE - 1);
	assert_int_equal(strlen(reading.text), RTSCOPE_TEXT_SIZE - 1);
	page_end(&page);
}

static void spoil_parent(struct rtscope_point *point)
{
	point->parent = 1;
}

static void spoil_budget(struct rtscope_point *point)
{
	point->budget_ns = 1ULL << 63;
}

static void spoil_order(struct rtscope_point *point)
{
	point->figures[0].max_ns = 3;
}

static void spoil_longest(struct rtscope_point *point)
{
	point->figures[0].max_ns = UINT64_MAX;
}

static void spoil_counts(struct rtscope_point *point)
{
	point->figures[0].bucket[100] = point->figures[0].bucket[101] = INT64_MAX;
}

static void spoil_histogram(struct rtscope_point *point)
{
	point->figures[0].bucket[1000]++;
}

static void spoil_over(struct rtscope_point *point)
{
	point->figures[0].over_budget = UINT64_MAX;
}

TEST(figures_that_cannot_be_are_left_out_with_a_reason)
{
	static const struct {
		void (*spoil)(struct rtscope_point *point);
		const char *why;
	} cases[] = {
		{ spoil_parent, "part of" },	  { spoil_budget, "292 years" },
		{ spoil_order, "contradict" },	  { spoil_longest, "contradict" },
		{ spoil_counts, "beyond 2^63" },  { spoil_over, "beyond 2^63" },
		{ spoil_histogram, "histogram" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct points_page page = page_of(2, 2);
		struct rtscope_point *point = &page.memory->point[1];
		struct point_reading reading;
		const char *why;

		point->budget_ns = RTSCOPE_NO_BUDGET;
		rtscope_sample(point, 70);
		assert_null(points_read(&page, 1, &reading));
		assert_int_equal(reading.parent, 0);
		cases[i].spoil(point);
		why = points_read(&page, 1, &reading);
		assert_non_null(why);
		assert_non_null(strstr(why, cases[i].why));
		assert_int_equal(reading.count, 0);
		assert_int_equal(reading.parent, -1);
		page_end(&page);
	}
}

UNIT_TESTS(open_self, NULL)
