// SPDX-License-Identifier: GPL-2.0-only
/*
 * video: plays 25 frames a second of 640 x 352 as a software decoder does. Each
 * 8 x 8 block is predicted from the last frame by a motion vector, its few
 * coefficients go through an inverse cosine transform, the frame is turned
 * from YUV 4:2:0 to RGB and blitted to a frame buffer: a periodic burst of
 * integer work and of copies, then sleep. There is no screen behind it, so that
 * what a board displays does not change.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "load/worker.h"

#define WIDTH	     640
#define HEIGHT	     352
#define BLOCK	     8
#define COEFFICIENTS 6 /* in each block, as in a common stream */
#define MOTION	     7
#define FRAME_NS     (NSEC_PER_SEC / 25)

struct frame {
	uint8_t y[WIDTH * HEIGHT], u[WIDTH * HEIGHT / 4], v[WIDTH * HEIGHT / 4];
};

struct video_state {
	struct frame frame[2];
	uint32_t back[WIDTH * HEIGHT], front[WIDTH * HEIGHT];
	int32_t basis[BLOCK][BLOCK]; /* [frequency][position], times 2^12 */
	uint64_t next_ns;
	unsigned int current;
};

/* cos(k pi / 16) for any k, times 2^12. */
static int32_t cosine(unsigned int k)
{
	static const int32_t quarter[] = { 4096, 4017, 3784, 3406, 2896, 2276, 1567, 799, 0 };

	k %= 32;
	if (k > 16)
		k = 32 - k;
	return k > 8 ? -quarter[16 - k] : quarter[k];
}

static int setup(struct worker *worker)
{
	struct video_state *state = worker_alloc(worker, sizeof(*state));

	if (!state)
		return -1;
	for (unsigned int frequency = 0; frequency < BLOCK; frequency++) {
		for (unsigned int at = 0; at < BLOCK; at++)
			state->basis[frequency][at] =
				(frequency ? cosine((2 * at + 1) * frequency) : cosine(4)) / 2;
	}
	memset(state->frame, 128, sizeof(state->frame));
	state->next_ns = clock_now_ns();
	worker->state = state;
	return 0;
}

static void transform(const struct video_state *state, int32_t in[BLOCK][BLOCK],
		      int32_t out[BLOCK][BLOCK])
{
	int32_t half[BLOCK][BLOCK];

	for (int row = 0; row < BLOCK; row++) {
		for (int x = 0; x < BLOCK; x++) {
			int32_t sum = 0;

			for (int k = 0; k < BLOCK; k++)
				sum += in[row][k] * state->basis[k][x];
			half[row][x] = sum >> 12;
		}
	}
	for (int y = 0; y < BLOCK; y++) {
		for (int x = 0; x < BLOCK; x++) {
			int32_t sum = 0;

			for (int k = 0; k < BLOCK; k++)
				sum += half[k][x] * state->basis[k][y];
			out[y][x] = sum >> 12;
		}
	}
}

static uint8_t clamp(int32_t value)
{
	return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* @at + a motion vector, inside [0, @limit - BLOCK]. */
static int moved(struct worker *worker, int at, int limit)
{
	at += (int)worker_random_below(worker, 2 * MOTION + 1) - MOTION;
	if (at < 0)
		return 0;
	return at > limit - BLOCK ? limit - BLOCK : at;
}

static void decode_plane(struct worker *worker, uint8_t *plane, const uint8_t *last, int width,
			 int height)
{
	int32_t in[BLOCK][BLOCK], out[BLOCK][BLOCK];

	for (int top = 0; top < height; top += BLOCK) {
		for (int left = 0; left < width; left += BLOCK) {
			const uint8_t *from = last + moved(worker, top, height) * width +
					      moved(worker, left, width);
			uint8_t *to = plane + top * width + left;

			memset(in, 0, sizeof(in));
			for (int i = 0; i < COEFFICIENTS; i++) {
				uint32_t random = worker_random_below(worker, 1 << 24);

				in[random >> 8 & 3][random >> 10 & 3] =
					(int32_t)(random & 255) - 128;
			}
			transform(worker->state, in, out);
			for (int y = 0; y < BLOCK; y++) {
				for (int x = 0; x < BLOCK; x++)
					to[y * width + x] = clamp(from[y * width + x] + out[y][x]);
			}
		}
	}
}

/* ITU-R BT.601, in 1/256. */
static void convert(const struct frame *frame, uint32_t *pixel)
{
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			int chroma = y / 2 * (WIDTH / 2) + x / 2;
			int32_t luma = 298 * (frame->y[y * WIDTH + x] - 16);
			int32_t u = frame->u[chroma] - 128, v = frame->v[chroma] - 128;

			*pixel++ = (uint32_t)clamp((luma + 409 * v) >> 8) << 16 |
				   (uint32_t)clamp((luma - 100 * u - 208 * v) >> 8) << 8 |
				   clamp((luma + 516 * u) >> 8);
		}
	}
}

/* Sleep until the frame is due; one that is due already is dropped, as a player does. */
static void wait_for_frame(struct worker *worker, struct video_state *state)
{
	struct timespec due;
	uint64_t now_ns = clock_now_ns();

	state->next_ns += FRAME_NS;
	for (; state->next_ns < now_ns; state->next_ns += FRAME_NS)
		worker_count(worker, 1, 1);
	due = ns_to_timespec(state->next_ns);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

static int step(struct worker *worker)
{
	struct video_state *state = worker->state;
	struct frame *frame = &state->frame[state->current];
	const struct frame *last = &state->frame[!state->current];

	decode_plane(worker, frame->y, last->y, WIDTH, HEIGHT);
	decode_plane(worker, frame->u, last->u, WIDTH / 2, HEIGHT / 2);
	decode_plane(worker, frame->v, last->v, WIDTH / 2, HEIGHT / 2);
	convert(frame, state->back);
	memcpy(state->front, state->back, sizeof(state->front));
	worker_fold(worker, state->front[worker_random_below(worker, WIDTH * HEIGHT)]);
	state->current = !state->current;
	worker_count(worker, 0, 1);
	wait_for_frame(worker, state);
	return 0;
}

const struct load load_video = {
	.name = "video",
	.help = "25 frames a second of decoding and blits",
	.unit = { "frames", "dropped_frames" },
	.setup = setup,
	.step = step,
};
