/* A trainer's use of libpace as of 0.2, which must build and run with every library of that ABI.
 *
 * Never edited after the release of 0.2: what breaks here breaks programs in the field. It needs no
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
    pace_job_options job = PACE_JOB_OPTIONS_INIT;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    pace_session* session = NULL;
    pace_buffer model;
    pace_request request;
    pace_member members[8];
    pace_error error;
    float* weights = NULL;
    void* data = NULL;
    uint64_t k;
    int fd = -1;

    job.name = "fashion";
    job.rank = rank;
    job.world = 8;
    job.policy = PACE_POLICY_PARTIAL_REDUCE;
    job.group_size = 3;
    job.weights = PACE_WEIGHTS_DYNAMIC;
    if (pace_session_open(endpoint, &job, &session, &error) != PACE_OK) return 1;
    if (pace_session_get_fd(session, &fd, &error) != PACE_OK) return 1;
    if (pace_buffer_create(session, PACE_F32, 1000, NULL, &model, &data, &error) != PACE_OK)
        return 1;
    weights = (float*)data;
    how.flags = PACE_WAIT_SIGNALS;
    how.members = members;
    how.member_capacity = 8;
    pace_broadcast(session, &model, 1, 0, &request, &error);
    pace_request_wait(session, request, PACE_FOREVER, &how, &info, &error);
    for (k = info.iteration; k < steps; k = info.iteration + 1) {
        weights[k % 1000] += 1.0F;
        pace_average(session, &model, 1, k, NULL, &request, &error);
        while (pace_request_test(session, request, NULL, &info, &error) == PACE_PENDING) continue;
    }
    pace_barrier(session, &request, &error);
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

static pace_status open_with(const pace_job_options* job, const char* endpoint, pace_error* error) {
    pace_session* session = (pace_session*)&failures; /* must not be touched */
    const pace_status status = pace_session_open(endpoint, job, &session, error);
    check(session == (pace_session*)&failures, "an output was written by a call that failed");
    return status;
}

static void check_job_options(void) {
    static const char absent[] = "unix:/nonexistent/pace/socket";
    pace_job_options good = PACE_JOB_OPTIONS_INIT;
    pace_job_options job;
    pace_error error;
    good.name = "fashion";
    good.world = 8;

    check_error(open_with(&good, absent, &error), PACE_E_NOT_FOUND, &error, absent);
    check_error(open_with(&good, absent, &error), PACE_E_NOT_FOUND, &error, "start paced");
    check(open_with(&good, absent, NULL) == PACE_E_NOT_FOUND, "an error need not be taken");
    check_error(open_with(&good, "tcp://host", &error), PACE_E_INVALID, &error, "tcp://host");
    check_error(open_with(NULL, absent, &error), PACE_E_INVALID, &error, "job");
    check_error(pace_session_open(absent, &good, NULL, &error), PACE_E_INVALID, &error,
                "ret_session");

    job = good;
    job.struct_size = 0;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "PACE_JOB_OPTIONS_INIT");
    job = good;
    job.name = NULL;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "name");
    job = good;
    job.name = "not a name";
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "not a name");
    job = good;
    job.world = 0;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "world");
    job = good;
    job.rank = 8;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "rank");
    job = good;
    job.policy = 99;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "policy");
    job = good;
    job.weights = -1;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "weights");
    job = good;
    job.missing = 99;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "missing");
    job = good;
    job.has_alpha = 1;
    job.alpha = 1.5;
    check_error(open_with(&job, absent, &error), PACE_E_INVALID, &error, "alpha");
}

static void check_null_session(void) {
    pace_request request;
    pace_buffer buffer;
    pace_error error;
    memset(&request, 0, sizeof(request));
    memset(&buffer, 0, sizeof(buffer));
    pace_session_free(NULL);
    check_error(pace_average(NULL, &buffer, 1, 0, NULL, &request, &error), PACE_E_INVALID, &error,
                "session");
    check_error(pace_reduce(NULL, &buffer, 1, NULL, &request, &error), PACE_E_INVALID, &error,
                "session");
    check_error(pace_sync(NULL, &buffer, 1, &request, &error), PACE_E_INVALID, &error, "session");
    check_error(pace_buffer_free(NULL, buffer, &error), PACE_E_INVALID, &error, "session");
    check_error(pace_request_wait(NULL, request, 0, NULL, NULL, &error), PACE_E_INVALID, &error,
                "session");
}

int main(int argc, char** argv) {
    if (argc == 2) return train(argv[1], 0, 10);
    check_names();
    check_job_options();
    check_null_session();
    return failures == 0 ? 0 : 1;
}
