// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk: writes, forces to the disk, drops from the page cache and reads back:
 * the block layer, the file system's journal and the disk's interrupts. Each
 * worker rewrites one small file for ever, so that the disk does not fill.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "load/worker.h"

#define BLOCK_BYTES    (64 * 1024)
#define BLOCKS_A_SYNC  4
#define STRIDE_BYTES   (BLOCK_BYTES * BLOCKS_A_SYNC)
#define FILE_MAX_BYTES (8 * 1024 * 1024)
#define RAM_MAX_BYTES  (1024 * 1024)
#define TMPFS	       0x01021994
#define RAMFS	       0x858458f6U

struct disk_state {
	int fd;
	off_t size, at;
	uint64_t block[BLOCK_BYTES / sizeof(uint64_t)];
};

/* At most an eighth of what is free, for all workers together. */
static off_t choose_size(struct worker *worker)
{
	off_t size = FILE_MAX_BYTES;
	struct statfs fs;

	if (statfs(worker->directory, &fs) < 0)
		return size;
	if ((uint32_t)fs.f_type == TMPFS || (uint32_t)fs.f_type == RAMFS) {
		worker_warn(worker, "load-degraded",
			    "it works in memory, so nothing reaches a disk; set TMPDIR to a directory on one");
		size = RAM_MAX_BYTES;
	}
	if (fs.f_blocks) {
		uint64_t share =
			(uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / 8 / worker->strength;

		if (share < (uint64_t)size)
			size = (off_t)share;
	}
	size -= size % STRIDE_BYTES;
	return size ? size : STRIDE_BYTES;
}

static int setup(struct worker *worker)
{
	struct disk_state *state = worker_alloc(worker, sizeof(*state));
	char path[PATH_MAX], name[16];

	snprintf(name, sizeof(name), "%u", worker->index);
	if (!state || worker_path(worker, path, name) < 0)
		return -1;
	state->size = choose_size(worker);
	state->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (state->fd < 0)
		return worker_fail(worker, "cannot make %s: %s", path, strerror(errno));
	worker->state = state;
	return 0;
}

static int write_block(struct worker *worker, struct disk_state *state, off_t at)
{
	ssize_t written;

	for (size_t i = 0; i < BLOCK_BYTES / sizeof(uint64_t); i++)
		state->block[i] = worker_random(worker);
	errno = ENOSPC; /* what a short write means */
	written = pwrite(state->fd, state->block, BLOCK_BYTES, at);
	if (written != BLOCK_BYTES)
		return worker_fail(worker,
				   "cannot write in %s: %s; free some space or set TMPDIR to another directory",
				   worker->directory, strerror(errno));
	worker_count(worker, 0, BLOCK_BYTES);
	return 0;
}

static int step(struct worker *worker)
{
	struct disk_state *state = worker->state;
	off_t back;

	for (int i = 0; i < BLOCKS_A_SYNC; i++) {
		if (write_block(worker, state, state->at + i * BLOCK_BYTES) < 0)
			return -1;
	}
	if (fsync(state->fd) < 0)
		return worker_fail(worker, "cannot sync %s: %s", worker->directory,
				   strerror(errno));
	worker_count(worker, 1, 1);
	posix_fadvise(state->fd, 0, 0, POSIX_FADV_DONTNEED);
	back = state->at + BLOCK_BYTES * (off_t)worker_random_below(worker, BLOCKS_A_SYNC);
	if (pread(state->fd, state->block, BLOCK_BYTES, back) != BLOCK_BYTES)
		return worker_fail(worker, "cannot read back from %s: %s", worker->directory,
				   strerror(errno));
	worker_fold(worker, state->block[0]);
	state->at = (state->at + STRIDE_BYTES) % state->size;
	return 0;
}

const struct load load_disk = {
	.name = "disk",
	.help = "writes, syncs, drops and reads back a file",
	.unit = { "bytes_written", "fsyncs" },
	.needs_directory = true,
	.setup = setup,
	.step = step,
};
