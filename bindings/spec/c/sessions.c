/* sessions: opening, describing and ending them, and what a session itself is told. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handlers.h"
#include "objects.h"

enum { OPTIONS_MAX = 32, BYTES_MAX = 4096 };

typedef struct options {
    pace_option list[OPTIONS_MAX];
    char names[OPTIONS_MAX][64];
    unsigned char bytes[BYTES_MAX];
    size_t count;
    size_t byte_count;
} options;

static pace_session* session_of(command* command) {
    const object* found = object_find(SESSION, command_name(command));
    if (found == NULL) command_broken(command, "no such session");
    return found == NULL ? NULL : found->session;
}

static pace_option bytes_option(options* options, const char* name, const char* digits) {
    unsigned char* begin = options->bytes + options->byte_count;
    size_t length = 0;
    while (digits[2 * length] != 0 && options->byte_count < BYTES_MAX) {
        const char pair[] = {digits[2 * length], digits[2 * length + 1], 0};
        begin[length++] = (unsigned char)strtoul(pair, NULL, 16);
        ++options->byte_count;
    }
    return pace_option_bytes(name, begin, length);
}

/* A word such as int:group.size=3; others are left alone. */
static void add_option(options* options, const char* word) {
    const bool is_hint = strncmp(word, "hint-", 5) == 0;
    if (is_hint) word += 5;
    const char* colon = strchr(word, ':');
    const char* equals = strchr(word, '=');
    if (colon == NULL || equals == NULL || colon > equals || options->count == OPTIONS_MAX) return;
    char* name = options->names[options->count];
    snprintf(name, sizeof(options->names[0]), "%.*s", (int)(equals - colon - 1), colon + 1);
    const char* value = equals + 1;
    pace_option option;
    if (strncmp(word, "int:", 4) == 0)
        option = pace_option_int(name, strtoll(value, NULL, 10));
    else if (strncmp(word, "real:", 5) == 0)
        option = pace_option_real(name, strtod(value, NULL));
    else if (strncmp(word, "text:", 5) == 0)
        option = pace_option_text(name, value);
    else if (strncmp(word, "bytes:", 6) == 0)
        option = bytes_option(options, name, value);
    else
        return;
    if (is_hint) option.flags |= PACE_OPTION_HINT;
    options->list[options->count++] = option;
}

void handle_open(command* command) {
    options options = {.count = 0};
    for (size_t word = 2; word < command->word_count; ++word)
        add_option(&options, command->words[word]);
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.rank = (uint32_t)command_int(command, "rank", 0);
    where.world = (uint32_t)command_int(command, "world", 0);
    where.connect_ms = command_int(command, "connect_ms", where.connect_ms);
    where.flags = command_int(command, "resume", 0) != 0 ? PACE_SESSION_RESUME : 0;
    where.endpoint = command_value(command, "endpoint");
    where.job = command_value(command, "job");
    where.policy = command_value(command, "policy");
    where.run = command_value(command, "run");
    where.options = options.list;
    where.option_count = options.count;
    pace_error error;
    pace_session* session = NULL;
    const pace_status status = pace_session_open(&where, &session, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    const object* before = object_find(SESSION, command_name(command));
    if (before != NULL) pace_session_free(before->session);
    object_make(SESSION, command_name(command))->session = session;
    command_add(command, " rank=%u world=%u", where.rank, where.world);
}

void handle_info(command* command) {
    static const char* const kStates[] = {"new", "under_way", "resumed"};
    pace_session* session = session_of(command);
    if (session == NULL) return;
    pace_error error;
    pace_session_info info = PACE_SESSION_INFO_INIT;
    const pace_status status = pace_session_get_info(session, &info, &error);
    command_status(command, status, &error);
    if (status == PACE_OK)
        command_add(command, " rank=%u world=%u run_state=%s generation=%llu job=%s node=%s run=%s",
                    info.rank, info.world, kStates[info.run_state],
                    (unsigned long long)info.generation, info.job, info.node, info.run);
}

void handle_leave(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    pace_error error;
    command_status(command,
                   pace_session_leave(session, command_int(command, "timeout_ms", 1000), &error),
                   &error);
}

void handle_free(command* command) {
    object* session = object_find(SESSION, command_name(command));
    if (session != NULL) {
        pace_session_free(session->session);
        session->kind = 0;
    }
    command_add(command, "PACE_OK");
}

void handle_fd(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    pace_error error;
    int descriptor = -1;
    const pace_status status = pace_session_get_fd(session, &descriptor, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    command_add(command, " readable=%d",
                poll(&polled, 1, (int)command_int(command, "timeout_ms", 0)) > 0);
}

void handle_report(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    const char* loss = command_value(command, "loss");
    const char* rate = command_value(command, "samples_per_s");
    const char* total = command_value(command, "steps_total");
    pace_progress progress = PACE_PROGRESS_INIT;
    if (loss != NULL) progress.flags |= PACE_PROGRESS_LOSS;
    if (rate != NULL) progress.flags |= PACE_PROGRESS_RATE;
    if (total != NULL) progress.flags |= PACE_PROGRESS_STEPS;
    progress.loss = loss == NULL ? 0 : strtod(loss, NULL);
    progress.samples_per_s = rate == NULL ? 0 : strtod(rate, NULL);
    progress.steps_done = (uint64_t)command_int(command, "steps_done", 0);
    progress.steps_total = (uint64_t)command_int(command, "steps_total", 0);
    pace_error error;
    command_status(command, pace_session_report(session, &progress, &error), &error);
}

void handle_fork(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    int ends[2];
    if (pipe(ends) != 0) return command_broken(command, "no pipe");
    const pid_t child = fork();
    if (child == 0) {
        pace_request request;
        const pace_status told = pace_barrier(session, NULL, &request, NULL);
        _exit(write(ends[1], &told, sizeof(told)) == sizeof(told) ? 0 : 1);
    }
    pace_status told = PACE_OK;
    close(ends[1]);
    const bool is_told = child > 0 && read(ends[0], &told, sizeof(told)) == sizeof(told);
    close(ends[0]);
    waitpid(child, NULL, 0);
    if (!is_told) return command_broken(command, "the child said nothing");
    command_add(command, "PACE_OK child=%s", pace_status_name(told));
}

void handle_announce(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    pace_error error;
    command_status(command,
                   pace_announce(session, (uint64_t)command_int(command, "iteration", 0), &error),
                   &error);
}

void handle_withdraw(command* command) {
    pace_session* session = session_of(command);
    if (session == NULL) return;
    pace_error error;
    command_status(command, pace_withdraw(session, &error), &error);
}
