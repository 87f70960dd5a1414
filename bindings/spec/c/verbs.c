/* verbs: each begins a request on slices of buffers. */
#include <stdlib.h>
#include <string.h>

#include "handlers.h"
#include "objects.h"

enum { SLICES_MAX = 300 };

typedef struct slices {
    pace_slice list[SLICES_MAX];
    size_t count;
    bool is_known; /* every buffer that was named is there */
} slices;

/* "B,C[2:5]" */
static slices slices_of(const char* text) {
    slices slices = {.count = 0, .is_known = true};
    while (text != NULL && *text != 0 && slices.count < SLICES_MAX) {
        const size_t length = strcspn(text, ",");
        const size_t name_length = strcspn(text, "[,");
        char name[NAME_BYTES] = "";
        memcpy(name, text, name_length < NAME_BYTES ? name_length : NAME_BYTES - 1);
        const object* buffer = object_find(BUFFER, name);
        if (buffer == NULL) slices.is_known = false;
        pace_slice slice = pace_whole(buffer == NULL ? (pace_buffer){0, 0, 0} : buffer->buffer);
        if (text[name_length] == '[') {
            char* rest = NULL;
            slice.first = strtoull(text + name_length + 1, &rest, 10);
            slice.count = strtoull(rest + 1, NULL, 10) - slice.first;
        }
        slices.list[slices.count++] = slice;
        text += length + (text[length] == ',');
    }
    return slices;
}

static pace_call call_of(const command* command, pace_call call, const slices* results) {
    call.iteration = (uint64_t)command_int(command, "iteration", 0);
    call.user_data = (uint64_t)command_int(command, "user_data", 0);
    call.results = results->count > 0 ? results->list : NULL;
    call.result_count = results->count;
    return call;
}

static int32_t order_of(const command* command) {
    const char* order = command_value(command, "order");
    if (order == NULL) return PACE_ORDER_DEFAULT;
    return strcmp(order, "forward") == 0 ? PACE_ORDER_FORWARD : PACE_ORDER_BACKWARD;
}

static int32_t op_of(const command* command) {
    const char* op = command_value(command, "op");
    return op != NULL && strcmp(op, "sum") == 0 ? PACE_OP_SUM : PACE_OP_MEAN;
}

static pace_status begin(const command* command, pace_session* session, const slices* slices,
                         const struct slices* results, pace_request* request, pace_error* error) {
    const char* verb = command->words[0];
    const pace_slice* list = slices->list;
    const size_t count = slices->count;
    if (strcmp(verb, "average") == 0) {
        pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        options.order = order_of(command);
        options.keep_local = (uint32_t)command_int(command, "keep_local", 0);
        return pace_average(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "reduce") == 0) {
        pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        options.op = op_of(command);
        return pace_reduce(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "sync") == 0) {
        pace_sync_options options = PACE_SYNC_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        return pace_sync(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "broadcast") == 0) {
        pace_broadcast_options options = PACE_BROADCAST_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        options.root = (uint32_t)command_int(command, "root", 0);
        return pace_broadcast(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "push") == 0) {
        pace_push_options options = PACE_PUSH_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        options.sparse = (uint32_t)command_int(command, "sparse", 0);
        options.entries = (uint64_t)command_int(command, "entries", 0);
        options.first = (uint64_t)command_int(command, "first", 0);
        return pace_push(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "pull") == 0) {
        pace_pull_options options = PACE_PULL_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        options.first = (uint64_t)command_int(command, "first", 0);
        return pace_pull(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "residual_save") == 0 || strcmp(verb, "residual_load") == 0) {
        pace_residual_options options = PACE_RESIDUAL_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        return strcmp(verb, "residual_save") == 0
                   ? pace_residual_save(session, list, count, &options, request, error)
                   : pace_residual_load(session, list, count, &options, request, error);
    }
    if (strcmp(verb, "checkpoint") == 0) {
        pace_checkpoint_options options = PACE_CHECKPOINT_OPTIONS_INIT;
        options.call = call_of(command, options.call, results);
        return pace_checkpoint(session, &options, request, error);
    }
    pace_barrier_options options = PACE_BARRIER_OPTIONS_INIT;
    options.call = call_of(command, options.call, results);
    return pace_barrier(session, &options, request, error);
}

void handle_verb(command* command) {
    const char* session_name = command_value(command, "session");
    const object* session = object_find(SESSION, session_name == NULL ? "" : session_name);
    const slices slices = slices_of(command_value(command, "buffers"));
    const struct slices results = slices_of(command_value(command, "results"));
    if (session == NULL || !slices.is_known || !results.is_known)
        return command_broken(command, "no such session or buffer");
    pace_error error;
    pace_request request;
    const pace_status status =
        begin(command, session->session, &slices, &results, &request, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    object* made = object_make(REQUEST, command_name(command));
    made->session = session->session;
    made->request = request;
}
