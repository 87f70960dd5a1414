/* step_request: what a step wants from Pace on its nodes, by the words of plugstack.conf and then
 * those of `srun --pace=...`.
 *
 * Pure: nothing here knows Slurm or talks to a daemon. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* With the terminating zero. A socket's path has 108 at most, a path of a file 4096. */
#define ENDPOINT_BYTES 4128
#define WAIT_S_MAX 600

struct step_request {
    bool asked;        /* the step has --pace */
    bool has_endpoint; /* --pace names it: the environment's does not count */
    bool may_embed;    /* where no daemon answers, trainers host one themselves */
    long wait_s;       /* how long a daemon that is starting is waited for */
    char endpoint[ENDPOINT_BYTES];
    char embedded[ENDPOINT_BYTES]; /* the endpoint of those that host one */
};

#define STEP_REQUEST_INIT \
    { false, false, false, 0, "unix:/run/pace/paced.sock", "embedded:" }

/* Takes `words`, separated by commas, into `request`: endpoint=unix:PATH, wait=SECONDS, embedded,
 * embedded=FILE. NULL and "" are no words. False, with a sentence in `problem`, if one is wrong;
 * the request is then as good as lost. */
bool step_request_read(struct step_request* request, const char* words, char* problem,
                       size_t problem_bytes);
