/* requests: waiting for them, and what is told of their end. */
#include <stdio.h>
#include <string.h>

#include "handlers.h"
#include "objects.h"

enum { MEMBERS_MAX = 128 };

typedef struct waiting {
    pace_wait_options options;
    pace_member members[MEMBERS_MAX];
    pace_request_info info;
    pace_error error;
} waiting;

static void begin(waiting* waiting, const command* command) {
    const pace_wait_options options = PACE_WAIT_OPTIONS_INIT;
    const pace_request_info info = PACE_REQUEST_INFO_INIT;
    waiting->options = options;
    waiting->info = info;
    waiting->options.local_iteration = (uint64_t)command_int(command, "local_iteration", 0);
    waiting->options.flags = command_int(command, "signals", 0) != 0 ? PACE_WAIT_SIGNALS : 0;
    waiting->options.members = waiting->members;
    waiting->options.member_capacity = MEMBERS_MAX;
}

static void add_info(command* command, const waiting* waiting) {
    static const char* const kContents[] = {"as_called", "torn", "result"};
    const pace_request_info* info = &waiting->info;
    command_add(command, " iteration=%llu user_data=%llu group=%llu round=%llu version=%llu",
                (unsigned long long)info->iteration, (unsigned long long)info->user_data,
                (unsigned long long)info->group, (unsigned long long)info->round,
                (unsigned long long)info->version);
    command_add(command, " member_count=%u node_count=%u contributor_count=%u divisor=%.17g",
                info->member_count, info->node_count, info->contributor_count, info->divisor);
    command_add(command, " rounds=%llu entries=%llu late=%u resync=%u dense=%u staleness=%llu",
                (unsigned long long)info->rounds, (unsigned long long)info->entries, info->late,
                info->resync, info->dense, (unsigned long long)info->staleness);
    command_add(command, " slowest_clock=%llu contents=%s", (unsigned long long)info->slowest_clock,
                kContents[info->contents]);
    if (info->member_listed == 0) return;
    command_add(command, " members=");
    for (uint32_t at = 0; at < info->member_listed; ++at)
        command_add(command, "%s%u", at == 0 ? "" : ",", waiting->members[at].rank);
    command_add(command, " weights=");
    for (uint32_t at = 0; at < info->member_listed; ++at)
        command_add(command, "%s%.17g", at == 0 ? "" : ",", waiting->members[at].weight);
}

static void end(command* command, const waiting* waiting, pace_status status) {
    command_status(command, status, &waiting->error);
    if (waiting->info.status != PACE_PENDING) add_info(command, waiting);
}

static const object* request_of(command* command) {
    const object* found = object_find(REQUEST, command_name(command));
    if (found == NULL) command_broken(command, "no such request");
    return found;
}

void handle_wait(command* command) {
    const object* request = request_of(command);
    if (request == NULL) return;
    waiting waiting;
    begin(&waiting, command);
    end(command, &waiting,
        pace_request_wait(request->session, request->request,
                          command_int(command, "timeout_ms", PACE_FOREVER), &waiting.options,
                          &waiting.info, &waiting.error));
}

void handle_test(command* command) {
    const object* request = request_of(command);
    if (request == NULL) return;
    waiting waiting;
    begin(&waiting, command);
    end(command, &waiting,
        pace_request_test(request->session, request->request, &waiting.options, &waiting.info,
                          &waiting.error));
}

void handle_next(command* command) {
    const object* session = object_find(SESSION, command_name(command));
    if (session == NULL) return command_broken(command, "no such session");
    waiting waiting;
    begin(&waiting, command);
    pace_request ended;
    const pace_status status =
        pace_session_next(session->session, command_int(command, "timeout_ms", PACE_FOREVER),
                          &waiting.options, &ended, &waiting.info, &waiting.error);
    end(command, &waiting, status);
    if (waiting.info.status != PACE_PENDING)
        command_add(command, " request=%s", object_request_name(session->session, ended));
}

void handle_wait_any(command* command) {
    const object* session = object_find(SESSION, command_name(command));
    const char* names = command_value(command, "requests");
    if (session == NULL || names == NULL) return command_broken(command, "no session or requests");
    pace_request wanted[8];
    size_t count = 0;
    char list[256];
    snprintf(list, sizeof(list), "%s", names);
    char* rest = NULL;
    for (char* name = strtok_r(list, ",", &rest); name != NULL && count < 8;
         name = strtok_r(NULL, ",", &rest)) {
        const object* request = object_find(REQUEST, name);
        if (request == NULL) return command_broken(command, "no such request");
        wanted[count++] = request->request;
    }
    waiting waiting;
    begin(&waiting, command);
    pace_request ended;
    const pace_status status = pace_request_wait_any(
        session->session, wanted, count, command_int(command, "timeout_ms", PACE_FOREVER),
        &waiting.options, &ended, &waiting.info, &waiting.error);
    end(command, &waiting, status);
    if (waiting.info.status != PACE_PENDING)
        command_add(command, " request=%s", object_request_name(session->session, ended));
}

void handle_cancel(command* command) {
    const object* request = request_of(command);
    if (request == NULL) return;
    pace_error error;
    command_status(command, pace_request_cancel(request->session, request->request, &error),
                   &error);
}

void handle_ready(command* command) {
    const object* request = request_of(command);
    if (request == NULL) return;
    pace_error error;
    command_status(command,
                   pace_request_ready(request->session, request->request,
                                      (uint64_t)command_int(command, "elements", 0), &error),
                   &error);
}
