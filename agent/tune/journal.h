/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal of changes that are not undone yet; each is on disk before it is made. */
#ifndef RTSCOPE_TUNE_JOURNAL_H
#define RTSCOPE_TUNE_JOURNAL_H

#include "base/warning.h"
#include "tune/change.h"

#define TUNE_JOURNAL "/var/lib/rtscope/tune"

struct journal_entry {
	struct tune_change change;
	uint64_t ticks; /* when it was written, in the unit of threads' starts */
	bool stale;	/* of an earlier boot */
	bool undone;
	bool unclear;		 /* a line that this agent cannot read is about it */
	unsigned int set_back;	 /* how often others have changed it while it was held */
	uint64_t quiet_until_ns; /* it is not read before; of CLOCK_MONOTONIC */
};

/* A change of a kind, or in a form, that this agent does not know: a newer one made it. */
struct journal_foreign {
	struct tune_kind kind; /* its name, and how to describe the change; no more */
	struct tune_change change;
	bool undone;
	char *line; /* that the texts of both are parts of */
	struct journal_foreign *next;
};

struct journal {
	int directory;
	int fd;
	char path[256];
	char boot[64];
	uint64_t ticks; /* of the entries that are added */
	bool changed;	/* since it was on disk */
	char *unread;	/* lines of a newer agent, byte for byte */
	size_t unread_size;
	struct journal_foreign *foreign; /* the changes among them, the latest first */
	uint64_t highest;		 /* number in its lines */
	struct journal_entry *entry;
	size_t count;
	size_t room;
};

/*
 * Open and read the journal below @directory. To change it, it is locked until it is closed; the
 * folder is made. Returns 0, or -1 with a sentence in @error: no permission, or another is at it.
 */
int journal_open(struct journal *journal, const char *directory, bool change, warn_fn *warn,
		 char *error, size_t error_size);

/*
 * Write down all planned changes of @plan from @first on, and wait until they are on disk; their
 * numbers are set. Returns 0, or -1 with a sentence in @error: then nothing is written down.
 */
int journal_add(struct journal *journal, const char *profile, struct tune_plan *plan, size_t first,
		char *error, size_t error_size);

/* The entry is no longer one: it is restored, or not ours any more. */
void journal_forget(struct journal *journal, struct journal_entry *entry);

/* The entry is no longer one, and @later, of the same thing, restores what it would have. */
void journal_hand_over(struct journal *journal, struct journal_entry *entry,
		       struct journal_entry *later);

/* What undo restores, and what counts as ours until then. */
void journal_set_old(struct journal *journal, struct journal_entry *entry, const char *value);
void journal_set_new(struct journal *journal, struct journal_entry *entry, const char *value);

/* The entry of a change that was added; NULL for none. */
struct journal_entry *journal_find(struct journal *journal, uint64_t number);

/* The last entry of the same thing that is not forgotten; NULL for none. */
struct journal_entry *journal_holder(struct journal *journal, const struct tune_kind *kind,
				     const char *key);

/* Let go of what is forgotten, in memory too, where that is most of it. */
void journal_compact(struct journal *journal);

/* Have all on disk and let the next one in. Where nothing is left the file is removed. */
void journal_close(struct journal *journal);

#endif
