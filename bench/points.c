// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a point costs, printed by bench/points.py: nanoseconds a pass of loops that hold an empty
 * pair of clock reads, a point, and a point that is off. A line is one round of all three; rounds
 * alternate in their order, so that what changes with time meets each alike.
 *
 *	points ROUNDS PASSES THREADS
 */
#include <stdio.h>
#include <stdlib.h>

#include <rtscope/points.h>

struct worker {
	struct rtscope_point *on, *off;
	long rounds, passes;
	double *ns; /* three a round */
	pthread_barrier_t *together;
};

volatile uint64_t sink; /* so that the loops are not optimised away */

static uint64_t empty_pairs(long passes)
{
	uint64_t sum_ns = 0, begun_ns;

	for (long i = 0; i < passes; i++) {
		begun_ns = rtscope_now_ns();
		sum_ns += rtscope_now_ns() - begun_ns;
	}
	return sum_ns;
}

static uint64_t points(struct rtscope_point *point, long passes)
{
	uint64_t begun_ns = 0;

	for (long i = 0; i < passes; i++) {
		begun_ns = rtscope_begin(point);
		rtscope_end(point, begun_ns);
	}
	return begun_ns;
}

static double pass_ns(struct worker *worker, int which)
{
	uint64_t begun_ns;

	pthread_barrier_wait(worker->together);
	begun_ns = rtscope_now_ns();
	if (which == 0)
		sink = empty_pairs(worker->passes);
	else
		sink = points(which == 1 ? worker->on : worker->off, worker->passes);
	return (double)(rtscope_now_ns() - begun_ns) / (double)worker->passes;
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (long round = 0; round < worker->rounds; round++) {
		for (int i = 0; i < 3; i++) {
			int which = round % 2 ? 2 - i : i;

			worker->ns[3 * round + which] = pass_ns(worker, which);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 4 ? atol(argv[3]) : 0;
	pthread_barrier_t together;
	struct worker shared = { .together = &together }, workers[64];
	pthread_t thread[64];

	if (threads < 1 || threads > 64) {
		fputs("usage: points ROUNDS PASSES THREADS (1 to 64)\n", stderr);
		return 2;
	}
	shared.rounds = atol(argv[1]);
	shared.passes = atol(argv[2]);
	shared.on = rtscope_point_add(NULL, "ON", 0, "a point in use");
	shared.off = rtscope_point_add(NULL, "OFF", 0, "a point that is off");
	rtscope_point_enable(shared.off, 0);
	pthread_barrier_init(&together, NULL, (unsigned int)threads);
	for (long i = 0; i < threads; i++) {
		workers[i] = shared;
		workers[i].ns = calloc((size_t)shared.rounds * 3, sizeof(double));
		if (!workers[i].ns || pthread_create(&thread[i], NULL, work, &workers[i]))
			return 1;
	}
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (rtscope_points_error()) {
		fprintf(stderr, "%s\n", rtscope_points_error());
		return 1;
	}
	for (long round = 0; round < shared.rounds; round++)
		printf("%.2f %.2f %.2f\n", workers[0].ns[3 * round], workers[0].ns[3 * round + 1],
		       workers[0].ns[3 * round + 2]);
	return 0;
}
