/* The smallest trainer: `minimal-trainer RANK WORLD [ENDPOINT]`, started once for each rank.
 *
 * Worker r alone would end at x = r. Together they end near the mean of all ranks, and no worker
 * ever waits for the slowest. */
#include <pace.h>
#include <stdio.h>
#include <stdlib.h>

static void check(pace_status status, const pace_error* error) {
    if (status == PACE_OK) return;
    fprintf(stderr, "%s: %s\n", pace_status_name(status), error->message);
    exit(1);
}

int main(int argc, char** argv) {
    if (argc < 3) return fprintf(stderr, "usage: %s RANK WORLD [ENDPOINT]\n", argv[0]), 2;
    pace_session* session = NULL;
    pace_buffer model;
    pace_slice all;
    pace_request request;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
    pace_error error;
    float* x = NULL;

    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.job = "minimal";
    where.rank = (uint32_t)atoi(argv[1]);
    where.world = (uint32_t)atoi(argv[2]);
    where.policy = PACE_POLICY_PARTIAL_REDUCE;
    where.endpoint = argc > 3 ? argv[3] : NULL;
    check(pace_session_open(&where, &session, &error), &error);
    check(pace_buffer_create(session, PACE_F32, 1, NULL, &model, (void**)&x, &error), &error);
    all = PACE_WHOLE(model);
    check(pace_broadcast(session, &all, 1, NULL, &request, &error), &error);
    check(pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error), &error);
    for (uint64_t k = info.iteration; k < 1000; k = info.iteration + 1) {
        *x -= 0.01F * (*x - (float)where.rank); /* the local step */
        how.call.iteration = k;
        check(pace_average(session, &all, 1, &how, &request, &error), &error);
        check(pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error), &error);
    }
    printf("worker %u: x = %.2f\n", (unsigned)where.rank, (double)*x);
    pace_session_leave(session, 1000, NULL);
    pace_session_free(session);
    return 0;
}
