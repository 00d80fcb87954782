// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "base/json.h"
#include "base/warning.h"

void warning_report(struct json *json, const char *code, const char *text)
{
	if (json)
		json_warning(json, code, text);
	else
		fprintf(stderr, "warning: %s\n", text);
}
