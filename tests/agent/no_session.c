// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "no_session.h"

void session_warn(const char *code, const char *text)
{
	(void)code;
	(void)text;
}

void measuring_fact(struct measuring *measuring, const char *key, double value)
{
	if (measuring->fact_count == PROBE_FACTS_MAX)
		return;
	measuring->fact[measuring->fact_count].key = key;
	measuring->fact[measuring->fact_count++].value = value;
}

double fact(const struct measuring *measuring, const char *key)
{
	for (unsigned int i = 0; i < measuring->fact_count; i++) {
		if (!strcmp(measuring->fact[i].key, key))
			return measuring->fact[i].value;
	}
	return -1;
}
