/* A trainer's use of libpace as of 1.0, which must build and run with every library of that ABI.
 *
 * Never edited after the release of 1.0: what breaks here breaks programs in the field. It needs no
 * daemon: it walks the ways that end without one, and the shape of the others only has to compile.
 */
#include <pace.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    ++failures;
}

/* The call must have failed as `status`, with `word` in its message. */
static void check_error(pace_status got, pace_status status, const pace_error* error,
                        const char* word) {
    char what[700];
    snprintf(what, sizeof(what), "wanted %s naming \"%s\", got %s: %s", pace_status_name(status),
             word, pace_status_name(got), error->message);
    check(got == status && error->status == status && strstr(error->message, word) != NULL, what);
}

/* The loop of a trainer, never run here. */
int train(const char* endpoint, uint32_t rank, uint64_t steps);

int train(const char* endpoint, uint32_t rank, uint64_t steps) {
    pace_option options[] = {PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 3),
                             PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "dynamic")};
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    pace_session* session = NULL;
    pace_buffer model;
    pace_slice half;
    pace_average_options average = PACE_AVERAGE_OPTIONS_INIT;
    pace_broadcast_options broadcast = PACE_BROADCAST_OPTIONS_INIT;
    pace_request request;
    pace_member members[8];
    pace_error error;
    float* weights = NULL;
    void* data = NULL;
    uint64_t k;
    int fd = -1;

    where.endpoint = endpoint;
    where.job = "fashion";
    where.rank = rank;
    where.world = 8;
    where.policy = PACE_POLICY_PARTIAL_REDUCE;
    where.options = options;
    where.option_count = 2;
    if (pace_session_open(&where, &session, &error) != PACE_OK) return 1;
    if (pace_session_get_fd(session, &fd, &error) != PACE_OK) return 1;
    if (pace_buffer_create(session, PACE_F32, 1000, NULL, &model, &data, &error) != PACE_OK)
        return 1;
    weights = (float*)data;
    how.flags = PACE_WAIT_SIGNALS;
    how.members = members;
    how.member_capacity = 8;
    half = PACE_WHOLE(model);
    half.count = 500;
    broadcast.root = 1;
    pace_broadcast(session, &half, 1, &broadcast, &request, &error);
    pace_request_wait(session, request, PACE_FOREVER, &how, &info, &error);
    for (k = info.iteration; k < steps; k = info.iteration + 1) {
        weights[k % 1000] += 1.0F;
        average.call.iteration = k;
        average.call.user_data = k;
        pace_average(session, &half, 1, &average, &request, &error);
        while (pace_request_test(session, request, NULL, &info, &error) == PACE_PENDING) continue;
    }
    pace_barrier(session, NULL, &request, &error);
    pace_session_next(session, 0, &how, &request, &info, &error);
    pace_request_cancel(session, request, &error);
    pace_buffer_free(session, model, &error);
    pace_session_leave(session, 1000, NULL);
    pace_session_free(session);
    return 0;
}

static void check_names(void) {
    check(strcmp(pace_status_name(PACE_OK), "PACE_OK") == 0, "name of PACE_OK");
    check(strcmp(pace_status_name(PACE_STALE), "PACE_STALE") == 0, "name of PACE_STALE");
    check(strcmp(pace_status_name(PACE_E_TAKEN), "PACE_E_TAKEN") == 0, "name of PACE_E_TAKEN");
    check(strcmp(pace_status_name(12345), "PACE_?") == 0, "name of no status");
    check(pace_library_version() >=
              10000 * PACE_VERSION_MAJOR + 100 * PACE_VERSION_MINOR + PACE_VERSION_PATCH,
          "the library is not older than the header");
}

static const char absent[] = "unix:/nonexistent/pace/socket";

static pace_session_options good(void) {
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.endpoint = absent;
    where.job = "fashion";
    where.policy = PACE_POLICY_PARTIAL_REDUCE;
    where.world = 8;
    return where;
}

static pace_status open_with(const pace_session_options* where, pace_error* error) {
    pace_session* session = (pace_session*)&failures; /* must not be touched */
    const pace_status status = pace_session_open(where, &session, error);
    check(session == (pace_session*)&failures, "an output was written by a call that failed");
    return status;
}

static void check_session_options(void) {
    pace_session_options where = good();
    pace_error error;
    check_error(open_with(&where, &error), PACE_E_NOT_FOUND, &error, absent);
    check_error(open_with(&where, &error), PACE_E_NOT_FOUND, &error, "start paced");
    check(open_with(&where, NULL) == PACE_E_NOT_FOUND, "an error need not be taken");
    check_error(open_with(NULL, &error), PACE_E_INVALID, &error, "options");
    check_error(pace_session_open(&where, NULL, &error), PACE_E_INVALID, &error, "ret_session");
    where.endpoint = "tcp://host";
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "tcp://host");
    where = good();
    where.struct_size = 0;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "PACE_SESSION_OPTIONS_INIT");
    where = good();
    where.job = NULL;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "job");
    where.job = "not a name";
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "not a name");
    where = good();
    where.world = 0;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "world");
    where = good();
    where.rank = 8;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "rank");
    where = good();
    where.policy = NULL;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "partial-reduce");
    check(strcmp(error.argument, "policy") == 0, "the argument that is wrong");
}

static void check_options(void) {
    pace_session_options where = good();
    pace_error error;
    pace_option option = PACE_OPTION_TEXT(PACE_OPT_AVERAGE_WEIGHTS, "heavy");
    where.options = &option;
    where.option_count = 1;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "heavy");
    check(strcmp(error.argument, "average.weights") == 0, "the option that is wrong");
    option = PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 1);
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "2 to 65536");
    option = PACE_OPTION_REAL(PACE_OPT_AVERAGE_ALPHA, 0.5);
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "average.weights dynamic");
    option = PACE_OPTION_BYTES(PACE_OPT_GROUP_EDGES, "", 0);
    option.flags = PACE_OPTION_HINT;
    check_error(open_with(&where, &error), PACE_E_INVALID, &error, "group.edges");
}

static void check_query(void) {
    static const char* const what[] = {"options", "policies", "versions"};
    pace_error error;
    char* json = NULL;
    size_t i;
    for (i = 0; i < sizeof(what) / sizeof(what[0]); ++i) {
        check(pace_query(NULL, what[i], &json, &error) == PACE_OK && json != NULL, what[i]);
        pace_text_free(json);
    }
    check_error(pace_query(absent, "status", &json, &error), PACE_E_NOT_FOUND, &error, absent);
    pace_text_free(NULL);
}

static void check_null_session(void) {
    pace_request request;
    pace_buffer buffer;
    pace_slice slice;
    pace_average_options average = PACE_AVERAGE_OPTIONS_INIT;
    pace_error error;
    memset(&request, 0, sizeof(request));
    memset(&buffer, 0, sizeof(buffer));
    slice = PACE_WHOLE(buffer);
    pace_session_free(NULL);
    check_error(pace_average(NULL, &slice, 1, &average, &request, &error), PACE_E_INVALID, &error,
                "session");
    check_error(pace_reduce(NULL, &slice, 1, NULL, &request, &error), PACE_E_INVALID, &error,
                "session");
    check_error(pace_sync(NULL, &slice, 1, NULL, &request, &error), PACE_E_INVALID, &error,
                "session");
    check_error(pace_buffer_free(NULL, buffer, &error), PACE_E_INVALID, &error, "session");
    check_error(pace_request_wait(NULL, request, 0, NULL, NULL, &error), PACE_E_INVALID, &error,
                "session");
}

int main(int argc, char** argv) {
    if (argc == 2) return train(argv[1], 0, 10);
    check_names();
    check_session_options();
    check_options();
    check_query();
    check_null_session();
    return failures == 0 ? 0 : 1;
}
