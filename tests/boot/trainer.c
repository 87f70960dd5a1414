/* boot-trainer: one worker that trains through whatever happens to its daemon, and reports how long
 * it stood still.
 *
 *   boot-trainer JOB FAMILY RANK WORLD STEPS
 *
 * FAMILY: all-reduce, majority, spardl, partial-reduce, prague or ssp. STEPS: 0 goes on until
 * SIGTERM. The daemon is that of the node, or of PACE_ENDPOINT. Times are milliseconds of
 * CLOCK_MONOTONIC. It writes lines:
 *
 *   steps N T     at time T, after N exchanges; once in a tenth of a second
 *   gap G T       the exchange that ended at T came G after the one before it, which is long
 *   ended S T     an exchange ended with status S, and the worker went on
 *   done N
 */
#include <pace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 4096, STEP_US = 2000, LONG_MS = 50, REPORT_MS = 100 };

typedef enum kind { ROUNDS, AVERAGES, SERVED } kind;

typedef struct family {
    const char* name;
    const char* policy;
    kind kind;
    pace_option options[4];
    size_t option_count;
} family;

typedef struct worker {
    const family* family;
    uint32_t rank;
    pace_session* session;
    pace_buffer model;
    pace_buffer update;
    float* weights;
    float* gradient;
    uint64_t iteration;
    pace_request_info info;
    pace_error error;
} worker;

static volatile sig_atomic_t told_to_end = 0;

static void end_soon(int number) {
    (void)number;
    told_to_end = 1;
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void compute(long us) {
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void give_up(const char* what, pace_status status, const pace_error* error) {
    fprintf(stderr, "boot-trainer: %s: %s: %s\n", what, pace_status_name(status), error->message);
    exit(1);
}

static family family_of(const char* name) {
    const family known[] = {
        {"all-reduce", PACE_POLICY_ALL_REDUCE, ROUNDS, {{0}}, 0},
        {"majority",
         PACE_POLICY_ALL_REDUCE,
         ROUNDS,
         {PACE_OPTION_TEXT(PACE_OPT_QUORUM, "majority")},
         1},
        {"spardl",
         PACE_POLICY_ALL_REDUCE,
         ROUNDS,
         {PACE_OPTION_TEXT(PACE_OPT_COMPRESSION, "spardl"),
          PACE_OPTION_TEXT(PACE_OPT_TOPK_DENSE_FALLBACK, "never")},
         2},
        {"partial-reduce",
         PACE_POLICY_PARTIAL_REDUCE,
         AVERAGES,
         {PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 2)},
         1},
        {"prague",
         PACE_POLICY_PRAGUE_SMART,
         AVERAGES,
         {PACE_OPTION_INT(PACE_OPT_GROUP_SIZE, 2)},
         1},
        {"ssp",
         PACE_POLICY_SSP,
         SERVED,
         {PACE_OPTION_INT(PACE_OPT_SERVER_ELEMENTS, ELEMENTS),
          PACE_OPTION_INT(PACE_OPT_SERVER_CHECKPOINT_EVERY_MS, 200)},
         2},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
        if (strcmp(known[i].name, name) == 0) return known[i];
    fprintf(stderr, "boot-trainer: there is no family '%s'\n", name);
    exit(2);
}

/* A gradient, or a model that is made anew after its daemon left it torn. */
static void fill(worker* w, float* data) {
    for (size_t i = 0; i < ELEMENTS; ++i) data[i] = (float)(w->rank + 1);
}

static float* buffer_for(worker* w, pace_buffer* buffer) {
    void* data = NULL;
    const pace_status status =
        pace_buffer_create(w->session, PACE_F32, ELEMENTS, NULL, buffer, &data, &w->error);
    if (status != PACE_OK) give_up("make a buffer", status, &w->error);
    return data;
}

static void open_session(worker* w, const char* job, uint32_t world) {
    pace_session_options where = PACE_SESSION_OPTIONS_INIT;
    where.job = job;
    where.policy = w->family->policy;
    where.rank = w->rank;
    where.world = world;
    where.options = w->family->options;
    where.option_count = w->family->option_count;
    const pace_status status = pace_session_open(&where, &w->session, &w->error);
    if (status != PACE_OK) give_up("open the session", status, &w->error);
    w->weights = buffer_for(w, &w->model);
    w->gradient = buffer_for(w, &w->update);
}

/* How the exchange ended that was begun with `begun`. */
static pace_status end_of(worker* w, pace_status begun, pace_request request) {
    const pace_request_info fresh = PACE_REQUEST_INFO_INIT;
    w->info = fresh;
    if (begun != PACE_OK) return begun;
    return pace_request_wait(w->session, request, PACE_FOREVER, NULL, &w->info, &w->error);
}

static pace_status broadcast(worker* w) {
    const pace_slice all = PACE_WHOLE(w->model);
    pace_request request;
    const pace_status status =
        end_of(w, pace_broadcast(w->session, &all, 1, NULL, &request, &w->error), request);
    if (status == PACE_OK) w->iteration = w->info.iteration;
    return status;
}

static pace_status average(worker* w) {
    const pace_slice all = PACE_WHOLE(w->model);
    pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
    pace_request request;
    how.call.iteration = w->iteration;
    const pace_status status =
        end_of(w, pace_average(w->session, &all, 1, &how, &request, &w->error), request);
    if (status == PACE_OK) w->iteration = w->info.iteration + 1;
    return status;
}

static pace_status reduce(worker* w) {
    const pace_slice all = PACE_WHOLE(w->update);
    pace_reduce_options how = PACE_REDUCE_OPTIONS_INIT;
    pace_request request;
    fill(w, w->gradient);
    how.call.iteration = w->iteration;
    const pace_status status =
        end_of(w, pace_reduce(w->session, &all, 1, &how, &request, &w->error), request);
    if (status == PACE_OK) ++w->iteration;
    return status;
}

static pace_status pull_and_push(worker* w) {
    const pace_slice model = PACE_WHOLE(w->model);
    const pace_slice update = PACE_WHOLE(w->update);
    pace_pull_options pull = PACE_PULL_OPTIONS_INIT;
    pace_push_options push = PACE_PUSH_OPTIONS_INIT;
    pace_request request;
    pull.call.iteration = w->iteration;
    pace_status status =
        end_of(w, pace_pull(w->session, &model, 1, &pull, &request, &w->error), request);
    if (status != PACE_OK) return status;
    w->iteration = w->info.iteration;
    fill(w, w->gradient);
    push.call.iteration = w->iteration;
    status = end_of(w, pace_push(w->session, &update, 1, &push, &request, &w->error), request);
    if (status == PACE_OK) ++w->iteration;
    return status;
}

static pace_status exchange(worker* w) {
    switch (w->family->kind) {
        case ROUNDS:
            return reduce(w);
        case AVERAGES:
            return average(w);
        default:
            return pull_and_push(w);
    }
}

/* Whether a worker goes on after such an end. E_NOT_FOUND: of a broadcast, as long as nobody has a
 * model. */
static int can_go_on(pace_status status, int was_broadcast) {
    if (was_broadcast && status == PACE_E_NOT_FOUND) return 1;
    return status == PACE_ABORTED || status == PACE_CANCELED || status == PACE_STALE ||
           status == PACE_E_DAEMON_GONE || status == PACE_E_NO_CONTROLLER;
}

static void train(worker* w, uint64_t steps) {
    uint64_t done = 0;
    double last = now_ms();
    double reported = 0;
    int needs_model = 1;
    while (!told_to_end && (steps == 0 || done < steps)) {
        compute(STEP_US);
        const int was_broadcast = needs_model;
        const pace_status status = was_broadcast ? broadcast(w) : exchange(w);
        const double now = now_ms();
        if (status != PACE_OK) {
            if (!can_go_on(status, was_broadcast))
                give_up(was_broadcast ? "broadcast" : "exchange", status, &w->error);
            printf("ended %s %.0f\n", pace_status_name(status), now);
            if (status == PACE_E_DAEMON_GONE && w->info.contents == PACE_CONTENTS_TORN)
                fill(w, w->weights);
            needs_model = was_broadcast || status == PACE_STALE;
            continue;
        }
        needs_model = 0;
        if (was_broadcast) continue;
        ++done;
        if (now - last > LONG_MS) printf("gap %.0f %.0f\n", now - last, now);
        last = now;
        if (now - reported > REPORT_MS) {
            printf("steps %llu %.0f\n", (unsigned long long)done, now);
            reported = now;
        }
    }
    printf("done %llu\n", (unsigned long long)done);
}

int main(int argc, char** argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s JOB FAMILY RANK WORLD STEPS\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, end_soon);
    const family chosen = family_of(argv[2]);
    worker w = {.family = &chosen, .rank = (uint32_t)strtoul(argv[3], NULL, 10)};
    open_session(&w, argv[1], (uint32_t)strtoul(argv[4], NULL, 10));
    fill(&w, w.weights);
    train(&w, strtoull(argv[5], NULL, 10));
    pace_session_leave(w.session, 1000, NULL);
    pace_session_free(w.session);
    return 0;
}
