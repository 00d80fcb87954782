/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pauses between events that share no factor with anything periodic.
 *
 * Each is half to one and a half times the mean, evenly spread. The phase of
 * the events therefore wanders through all of any other period. The sequence
 * follows from its seed: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
 */
#ifndef RTSCOPE_PAUSE_H
#define RTSCOPE_PAUSE_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t random = *state += 0x9e3779b97f4a7c15;

	random = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9;
	random = (random ^ (random >> 27)) * 0x94d049bb133111eb;
	return random ^ random >> 31;
}

static inline uint64_t pause_next_ns(uint64_t *state, uint64_t mean_ns)
{
	return mean_ns / 2 + (uint64_t)(((unsigned __int128)mean_ns * random_next(state)) >> 64);
}

#endif
