/* SPDX-License-Identifier: GPL-2.0-only */
/* What a probe has of a session, where a unit test measures with the probe's own parts alone. */
#ifndef RTSCOPE_NO_SESSION_H
#define RTSCOPE_NO_SESSION_H

#include "session/session.h"

/* What the probe told under @key, the first time; -1 without it. */
double fact(const struct measuring *measuring, const char *key);

#endif
