// SPDX-License-Identifier: GPL-2.0-only
#include "probe/async.c" /* its pairs are its own */
#include "no_session.h"
#include "unit.h"

#define ROUNDS	9
#define HELD_NS (50 * NSEC_PER_MSEC)

static struct control control = { .until_ns = UINT64_MAX };
static struct session_options session = { .seed = 1, .interval_ns = NSEC_PER_MSEC };

static struct measuring *receiver(void)
{
	static struct measuring measuring;

	measuring = (struct measuring){ .control = &control, .options = &session, .index = 1 };
	assert_int_equal(record_init(&measuring.record, 10, UINT64_MAX, false), 0);
	return &measuring;
}

static void *receive(void *measuring)
{
	receive_messages(measuring);
	return NULL;
}

static void sleep_ns(uint64_t ns)
{
	clock_sleep_until(clock_now_ns() + ns);
}

/* The mutex that the woken thread must have again is held: it runs only after that. */
TEST(a_held_lock_delays_the_signalled_thread_as_long_as_it_is_held)
{
	struct measuring *measuring = receiver();
	struct pair *pair = &pairs[0];
	unsigned int within_a_tenth = 0;
	pthread_t thread;

	*pair = (struct pair){ .way = &async_ways[0] };
	assert_int_equal(pair->way->open(pair), 0);
	pthread_create(&thread, NULL, receive, measuring);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t stamp_ns, held_ns;

		while (!pair->way->ready(pair))
			sleep_ns(NSEC_PER_MSEC);
		pthread_mutex_lock(&pair->mutex);
		stamp_ns = clock_now_ns();
		record_set(pair->stamp_ns, stamp_ns);
		pair->way->send(pair);
		sleep_ns(HELD_NS);
		held_ns = clock_now_ns() - stamp_ns;
		pthread_mutex_unlock(&pair->mutex);
		while (record_get(pair->recorded) <= i)
			sleep_ns(NSEC_PER_MSEC);
		assert_true(measuring->record.last_ns >= held_ns);
		within_a_tenth += measuring->record.last_ns <= held_ns * 11 / 10;
	}
	record_set(pair->ended, true);
	pair->way->end(pair);
	pthread_join(thread, NULL);
	assert_true(within_a_tenth > ROUNDS / 2);
	assert_true(fact(measuring, "not_waiting") == 0);
}

static unsigned int waits;

static void return_at_once(struct pair *pair)
{
	record_set(pair->stamp_ns, clock_now_ns());
	pair->ended = ++waits == ROUNDS;
}

static void sleep_and_return(struct pair *pair)
{
	sleep_ns(NSEC_PER_MSEC);
	return_at_once(pair);
}

static void rehearse_only(struct pair *pair)
{
	sleep_and_return(pair);
	record_set(pair->stamp_ns, REHEARSAL);
}

static struct measuring *received_by(void (*wait)(struct pair *))
{
	struct way way = { .wait = wait };
	struct measuring *measuring = receiver();

	waits = 0;
	pairs[0] = (struct pair){ .way = &way };
	receive_messages(measuring);
	return measuring;
}

TEST(a_message_to_a_thread_that_did_not_sleep_is_no_sample)
{
	struct measuring *measuring = received_by(return_at_once);

	assert_int_equal(measuring->record.count, 0);
	assert_int_equal(measuring->record.missed, ROUNDS);
	assert_true(fact(measuring, "not_waiting") == ROUNDS);
}

TEST(a_message_to_a_sleeping_thread_is_a_sample)
{
	struct measuring *measuring = received_by(sleep_and_return);

	assert_int_equal(measuring->record.count, ROUNDS);
	assert_int_equal(measuring->record.missed, 0);
	assert_true(fact(measuring, "not_waiting") == 0);
}

TEST(a_rehearsal_is_neither)
{
	struct measuring *measuring = received_by(rehearse_only);

	assert_int_equal(measuring->record.count, 0);
	assert_int_equal(measuring->record.missed, 0);
	assert_true(fact(measuring, "not_waiting") == 0);
}

static uint64_t asked_ns, stamp_at_send_ns;

static bool ready_now(struct pair *pair)
{
	(void)pair;
	asked_ns = clock_now_ns();
	return true;
}

static void note_stamp(struct pair *pair)
{
	stamp_at_send_ns = pair->stamp_ns;
}

TEST(the_clock_is_read_after_all_preparation_and_before_the_send)
{
	struct way way = { .ready = ready_now, .send = note_stamp };
	struct pair pair = { .way = &way };

	assert_true(send_one(&pair, 0));
	assert_true(stamp_at_send_ns >= asked_ns);
	assert_int_equal(pair.stamp_ns, stamp_at_send_ns);
}

/* Plan for CPUs 0 to @count - 1. */
static int planned(unsigned int via, unsigned int count, struct role *roles)
{
	struct cpus cpus = { .count = count };
	char error[256];

	for (unsigned int i = 0; i < count; i++)
		cpus.number[i] = (uint16_t)i;
	async.turns = 0;
	async.via = via;
	async.place = PLACE_BOTH;
	return plan(&session, &cpus, roles, error, sizeof(error));
}

static bool share_a_cpu(const struct role *a, const struct role *b)
{
	return a[0].cpu == b[0].cpu || a[0].cpu == b[1].cpu || a[1].cpu == b[0].cpu ||
	       a[1].cpu == b[1].cpu;
}

TEST(no_two_pairs_that_share_a_cpu_send_at_one_time)
{
	static struct role roles[ROLES_MAX];

	for (unsigned int cpus = 1; cpus <= 5; cpus++) {
		int count = planned(WAYS, cpus, roles);

		assert_int_equal(count, (cpus == 1 ? 2 : 4 * cpus) * WAYS);
		for (int a = 0; a < count; a += 2) {
			for (int b = 0; b < a; b += 2)
				assert_true(!share_a_cpu(&roles[a], &roles[b]) ||
					    pairs[a / 2].turn != pairs[b / 2].turn);
		}
	}
}

TEST(a_pair_sends_once_an_interval_with_random_pauses)
{
	static struct role roles[ROLES_MAX];
	uint64_t random = 1, shortest_ns = UINT64_MAX, longest_ns = 0, due_ns = 0;

	planned(0, 2, roles);
	for (unsigned int i = 0; i < 10000; i++) {
		uint64_t next_ns = next_turn_ns(due_ns, &random), pause_ns = next_ns - due_ns;

		shortest_ns = pause_ns < shortest_ns ? pause_ns : shortest_ns;
		longest_ns = pause_ns > longest_ns ? pause_ns : longest_ns;
		due_ns = next_ns;
	}
	assert_in_range(due_ns / 10000, NSEC_PER_MSEC * 99 / 100, NSEC_PER_MSEC * 101 / 100);
	assert_in_range(shortest_ns, NSEC_PER_MSEC / 2, NSEC_PER_MSEC * 65 / 100);
	assert_in_range(longest_ns, NSEC_PER_MSEC * 135 / 100, NSEC_PER_MSEC * 3 / 2);
}

TEST(pairs_of_one_seed_keep_their_order_for_ever)
{
	struct pair first = { .turn = 0 }, second = { .turn = 1 };
	uint64_t random_first = 5, random_second = 5, a_ns, b_ns, next_ns;
	static struct role roles[ROLES_MAX];

	planned(0, 2, roles);
	a_ns = first_turn_ns(&first, 1000, &random_first);
	b_ns = first_turn_ns(&second, 1000, &random_second);
	for (unsigned int i = 0; i < 100000; i++) {
		next_ns = next_turn_ns(a_ns, &random_first);
		assert_true(b_ns - a_ns >= async.pause_ns / 2 &&
			    next_ns - b_ns >= async.pause_ns / 2);
		a_ns = next_ns;
		b_ns = next_turn_ns(b_ns, &random_second);
	}
}

UNIT_TESTS(NULL, NULL)
