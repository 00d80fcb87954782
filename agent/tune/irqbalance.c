// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPUs that irqbalance leaves alone.
 *
 * Two places: the daemon that runs, which is queried and set by its socket, and
 * its file of settings for those to come. A key is the path of one of them. Of
 * the socket the value is a list of CPUs, of the file the whole line that says
 * so, empty where there is none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "proc/file.h"
#include "tune/capability.h"
#include "tune/config.h"
#include "tune/irqbalance.h"

#define SOCKETS	     "/run/irqbalance"
#define VARIABLE     "IRQBALANCE_BANNED_CPULIST="
#define FILE_SIZE    (32 << 10)
#define ANSWER_SIZE  (64 << 10)
#define ANSWER_LIMIT 5 /* s */

static const char *const files[] = { "/etc/default/irqbalance", "/etc/sysconfig/irqbalance" };

static char answer[ANSWER_SIZE];

static bool is_socket(const char *key)
{
	return !strncmp(key, SOCKETS "/", strlen(SOCKETS "/"));
}

/* It trusts a sender with credentials; a file descriptor or -1 with errno. */
static int send_words(const char *path, const char *words)
{
	struct ucred own = { .pid = getpid(), .uid = getuid(), .gid = getgid() };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(own))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(own)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_CREDENTIALS } };
	struct iovec data = { .iov_base = (void *)words, .iov_len = strlen(words) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };
	struct timeval limit = { .tv_sec = ANSWER_LIMIT };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	memcpy(CMSG_DATA(&control.head), &own, sizeof(own));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int read_socket(const char *path, char *value, size_t size)
{
	static const char key[] = "BANNED ";
	int fd = send_words(path, "setup");
	size_t used = 0;
	cpu_set_t cpus;
	char *banned;
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT || errno == ECONNREFUSED ? ESRCH : errno;
	while (used < sizeof(answer) - 1 &&
	       (got = read(fd, answer + used, sizeof(answer) - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
	answer[used] = '\0';
	banned = strstr(answer, key);
	if (!banned)
		return EPROTO;
	banned += strlen(key);
	banned[strcspn(banned, " \n")] = '\0';
	if (!cpulist_parse_mask(banned, &cpus))
		return EPROTO;
	cpulist_format(&cpus, value, size);
	return 0;
}

static int write_socket(const char *path, const char *value)
{
	char words[CPULIST_SIZE + 32];
	int fd;

	snprintf(words, sizeof(words), "settings cpus %s", *value ? value : "NULL");
	fd = send_words(path, words);
	if (fd < 0)
		return errno == ENOENT || errno == ECONNREFUSED ? ESRCH : errno;
	while (read(fd, answer, sizeof(answer)) > 0)
		; /* until it has done it */
	close(fd);
	return 0;
}

/* The line that is in force, the last one; NULL for none. */
static char *find_line(char *text)
{
	char *found = NULL;

	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, VARIABLE, strlen(VARIABLE)))
			found = line;
	}
	return found;
}

static int read_file(const char *path, char *value, size_t size)
{
	char *line;

	if (!file_text(AT_FDCWD, path, answer, FILE_SIZE))
		return access(path, F_OK) ? ESRCH : 0;
	line = find_line(answer);
	snprintf(value, size, "%.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
	return 0;
}

static bool is_text(const char *line, size_t length, const char *text)
{
	return strlen(text) == length && (!length || !strncmp(line, text, length));
}

/* In the old line's place, or at the end. */
static int replace_file(const char *path, const char *before, const char *value)
{
	static char text[FILE_SIZE + TUNE_VALUE_SIZE];
	size_t size = file_text(AT_FDCWD, path, answer, FILE_SIZE);
	char *line = find_line(answer), *rest = answer + size;
	size_t length = line ? strcspn(line, "\n") : 0;

	if (size == FILE_SIZE - 1)
		return EFBIG;
	if (!is_text(line, length, before) && !is_text(line, length, value))
		return ESTALE;
	if (line) {
		rest = line + strcspn(line, "\n");
		rest += *rest == '\n';
		size = (size_t)(line - answer);
	}
	snprintf(text, sizeof(text), "%.*s%s%s%s%s", (int)size, answer,
		 size && answer[size - 1] != '\n' && *value ? "\n" : "", value, *value ? "\n" : "",
		 rest);
	return config_replace(path, answer, text);
}

static int read_banned(const char *key, char *value, size_t size)
{
	*value = '\0';
	return is_socket(key) ? read_socket(key, value, size) : read_file(key, value, size);
}

static int replace_banned(const char *key, const char *before, const char *value)
{
	return is_socket(key) ? write_socket(key, value) : replace_file(key, before, value);
}

static void describe(const char *key, char *what, char *where, size_t size)
{
	snprintf(where, size, "%s", key);
	snprintf(what, size,
		 is_socket(key) ? "CPUs banned from the running irqbalance" :
				  "CPUs banned from irqbalance");
}

static const char *lacking(const char *key, const char *value)
{
	(void)value;
	return capability_to_write(key);
}

const struct tune_kind tune_irqbalance = {
	.name = "irqbalance",
	.read = read_banned,
	.replace = replace_banned,
	.describe = describe,
	.lacking = lacking,
	.delayed = "irqbalance adopts it at its next scan, within 10 s",
	.lasting = true,
};

static void want(struct tune_plan *plan, const char *key, const cpu_set_t *banned)
{
	char value[TUNE_VALUE_SIZE], list[CPULIST_SIZE], line[CPULIST_SIZE + 32];
	cpu_set_t cpus;
	const char *now = value;

	if (read_banned(key, value, sizeof(value)))
		return;
	if (!is_socket(key) && *value)
		now += strlen(VARIABLE) + strspn(value + strlen(VARIABLE), "\"'");
	snprintf(list, sizeof(list), "%.*s", (int)strcspn(now, "\"' #"), now);
	if (!cpulist_parse(list, &cpus))
		CPU_ZERO(&cpus);
	CPU_OR(&cpus, &cpus, banned);
	cpulist_format(&cpus, list, sizeof(list));
	snprintf(line, sizeof(line), VARIABLE "%s", list);
	tune_plan_want(plan, &tune_irqbalance, key, value, is_socket(key) ? list : line);
}

void tune_irqbalance_resolve(struct tune_rules *rules, struct tune_plan *plan)
{
	DIR *folder = opendir(SOCKETS);
	struct dirent *entry;
	cpu_set_t cpus;
	char path[300];

	tune_rules_cpus(rules, RULE_IRQBALANCE, &cpus);
	while (folder && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), SOCKETS "/%s", entry->d_name);
		if (*entry->d_name != '.')
			want(plan, path, &cpus);
	}
	if (folder)
		closedir(folder);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!access(files[i], F_OK))
			want(plan, files[i], &cpus);
	}
}
