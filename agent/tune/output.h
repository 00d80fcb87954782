/* SPDX-License-Identifier: GPL-2.0-only */
/* The output of the verb tune: JSON lines or text, and through a queue while rules are held. */
#ifndef RTSCOPE_TUNE_OUTPUT_H
#define RTSCOPE_TUNE_OUTPUT_H

#include <stdbool.h>

#include "tune/change.h"

/* Write through a queue from here on. Returns 0 or an errno. */
int tune_output_queue(void);

/* Begin the output, and block the signals that end the verb. */
void tune_output_begin(bool json_lines);

void tune_output_warn(const char *code, const char *text);

/* Write @change, or each change of @plan but side effects. */
void tune_output_change(const struct tune_change *change);
void tune_output_plan(const struct tune_plan *plan);

/* Let changes be dropped while nobody reads the queue, or let none be dropped. */
void tune_output_may_drop(bool may);

/* Warn of the changes that were dropped. */
void tune_output_report_dropped(void);

/* End the output with the exit @status. Returns false if it could not be written in full. */
bool tune_output_end(int status);

#endif
