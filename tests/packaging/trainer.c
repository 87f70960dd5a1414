/* What a user of the bundle would compile first: `trainer ENDPOINT RANK WORLD` meets the others at
 * a barrier and sums. */
#include <pace.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000

static void check(pace_status status, const pace_error* error, const char* what) {
    if (status == PACE_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, pace_status_name(status), error->message);
    exit(1);
}

int main(int argc, char** argv) {
    if (argc != 4) return fprintf(stderr, "usage: %s ENDPOINT RANK WORLD\n", argv[0]), 2;
    pace_session* session = NULL;
    pace_buffer gradient;
    pace_slice all;
    pace_request request;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    pace_error error;
    float* x = NULL;

    pace_reduce_options sum = PACE_REDUCE_OPTIONS_INIT;
    sum.op = PACE_OP_SUM;
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.endpoint = argv[1];
    where.job = "bundle";
    where.rank = (uint32_t)atoi(argv[2]);
    where.world = (uint32_t)atoi(argv[3]);
    where.policy = PACE_POLICY_ALL_REDUCE;
    check(pace_session_open(&where, &session, &error), &error, "open");
    check(pace_buffer_create(session, PACE_F32, COUNT, NULL, &gradient, (void**)&x, &error), &error,
          "buffer");
    check(pace_barrier(session, NULL, &request, &error), &error, "barrier");
    check(pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error), &error, "wait");
    for (int i = 0; i < COUNT; ++i) x[i] = (float)i;
    all = PACE_WHOLE(gradient);
    check(pace_reduce(session, &all, 1, &sum, &request, &error), &error, "reduce");
    check(pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error), &error, "wait");
    for (int i = 0; i < COUNT; ++i)
        if (x[i] != (float)(i * (int)where.world))
            return fprintf(stderr, "element %d is %f\n", i, (double)x[i]), 1;
    pace_session_leave(session, 1000, NULL);
    pace_session_free(session);
    puts("reduced");
    return 0;
}
