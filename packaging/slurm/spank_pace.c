/* spank_pace: `srun --pace`, a plug-in of Slurm. docs/slurm.md says how it is set up and used.
 *
 * Each task of a step, before its program, asks its node's daemon whether it answers, and gets its
 * address in PACE_ENDPOINT. A task whose daemon does not answer fails, and one task of each node
 * says why. If the step has asked for an embedded daemon, the trainer hosts a daemon itself
 * instead. libpace and the bindings take rank, world and the run's identity from Slurm's own
 * variables.
 *
 * srun, salloc and sbatch load it too, to read the option: a mistake in it is told before anything
 * is queued. */
#include <errno.h>
#include <fcntl.h>
#include <pace.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "request.h"

SPANK_PLUGIN(pace, 1)

#define NODE_BYTES 256
#define PROBLEM_BYTES 512
#define ASK_AGAIN_NS 100000000
/* The return value of a hook that fails: Slurm takes only negative values as failures. */
#define REFUSED (-1)

static struct step_request request = STEP_REQUEST_INIT;
static bool is_told = true; /* this task says what is wrong: the first of its node */

static int read_pace_option(int value, const char* words, int remote);

/* Registered by hand: sbatch and salloc do not look at a table of options. */
static struct spank_option step_option = {
    (char*)"pace",
    (char*)"OPTIONS",
    (char*)"train with Pace: check that each node's daemon answers, and tell the tasks where it is "
           "(endpoint=unix:/PATH, wait=SECONDS, embedded, embedded=/FILE.toml)",
    2,
    0,
    read_pace_option};

static int read_pace_option(int value, const char* words, int remote) {
    char problem[PROBLEM_BYTES];
    (void)value;
    (void)remote;
    request.asked = true;
    /* sbatch passes an option without a value to the nodes as "(null)". */
    if (words != NULL && strcmp(words, "(null)") == 0) words = NULL;
    if (step_request_read(&request, words, problem, sizeof problem)) return ESPANK_SUCCESS;
    slurm_error("pace: --pace: %s", problem);
    return REFUSED;
}

/* The words after the plug-in's path in plugstack.conf: the site's defaults. */
int slurm_spank_init(spank_t spank, int count, char** words) {
    for (int i = 0; i < count; ++i) {
        char problem[PROBLEM_BYTES];
        if (step_request_read(&request, words[i], problem, sizeof problem)) continue;
        slurm_error("pace: plugstack.conf: %s", problem);
        return REFUSED;
    }
    /* The site's socket gives way to a user's PACE_ENDPOINT; --pace=endpoint=... does not. */
    request.has_endpoint = false;
    return spank_option_register(spank, &step_option) == ESPANK_SUCCESS ? ESPANK_SUCCESS : REFUSED;
}

static int64_t now_ms(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Asks the daemon for its version, and again while none is there, until request.wait_s have passed.
 */
static pace_status ask_daemon(const char* endpoint, pace_error* error) {
    const int64_t last = now_ms() + request.wait_s * 1000;
    for (;;) {
        char* versions = NULL;
        const pace_status status = pace_query(endpoint, "versions", &versions, error);
        pace_text_free(versions);
        if (status != PACE_E_NOT_FOUND && status != PACE_E_DAEMON_GONE) return status;
        if (now_ms() >= last) return status;
        const struct timespec soon = {0, ASK_AGAIN_NS};
        nanosleep(&soon, NULL);
    }
}

/* The script of sbatch, or the shell of salloc: steps that it starts decide for themselves. */
static bool is_shell(spank_t spank) {
    uint32_t step = 0;
    return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           (step == SLURM_BATCH_SCRIPT || step == SLURM_INTERACTIVE_STEP);
}

/* Trainers that host a daemon each meet only by a controller that their configuration names. */
static bool may_embed(spank_t spank, char* problem, size_t bytes) {
    uint32_t tasks = 0;
    const char* const file = strchr(request.embedded, ':') + 1;
    if (*file != '\0') {
        if (faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0) return true;
        snprintf(problem, bytes, "embedded=%s cannot be read: %s", file, strerror(errno));
        return false;
    }
    if (spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) == ESPANK_SUCCESS && tasks <= 1)
        return true;
    snprintf(
        problem, bytes,
        "embedded is for a step of one task, and this one has %u: their daemons would not know of "
        "each other; name a configuration with the cluster's controller, embedded=/FILE.toml",
        (unsigned)tasks);
    return false;
}

static bool set_endpoint(spank_t spank, const char* node, const char* endpoint) {
    if (spank_setenv(spank, "PACE_ENDPOINT", endpoint, 1) == ESPANK_SUCCESS) return true;
    slurm_error("pace: %s: PACE_ENDPOINT cannot be set in the tasks' environment", node);
    return false;
}

static const char* advice(pace_status status) {
    switch (status) {
        case PACE_E_DENIED:
            return "; an administrator adds this user to that group, on this node";
        case PACE_E_NOT_FOUND:
        case PACE_E_DAEMON_GONE:
            return "; --pace=wait=SECONDS waits for one that is starting";
        default:
            return "";
    }
}

/* No daemon answers. False if the task must not start. */
static bool embed_or_refuse(spank_t spank, const char* node, pace_status status,
                            const pace_error* error) {
    char problem[ENDPOINT_BYTES + PROBLEM_BYTES];
    if (!request.may_embed) {
        if (is_told) slurm_error("pace: %s: %s%s", node, error->message, advice(status));
        return false;
    }
    if (is_shell(spank)) return true;
    if (!may_embed(spank, problem, sizeof problem)) {
        if (is_told) slurm_error("pace: %s: %s; and %s", node, error->message, problem);
        return false;
    }
    if (is_told)
        slurm_info("pace: %s: %s: trainers host a daemon themselves", node, error->message);
    return set_endpoint(spank, node, request.embedded);
}

/* Whether the task may start. */
static bool is_served(spank_t spank) {
    char node[NODE_BYTES] = "this node";
    char given[ENDPOINT_BYTES];
    const char* endpoint = request.endpoint;
    pace_error error;
    (void)gethostname(node, sizeof node - 1);
    if (!request.has_endpoint &&
        spank_getenv(spank, "PACE_ENDPOINT", given, sizeof given) == ESPANK_SUCCESS && *given)
        endpoint = given;
    /* The user's own word: there is no daemon to ask. */
    if (strncmp(endpoint, "embedded:", 9) == 0) return true;
    const pace_status status = ask_daemon(endpoint, &error);
    if (status == PACE_OK) return set_endpoint(spank, node, endpoint);
    return embed_or_refuse(spank, node, status, &error);
}

/* In each task's own process, before its program: here all rights but the user's are gone, so that
 * whoever answers at an endpoint that the user names talks to no process of root's. A failure of
 * slurmstepd's own hook would end srun with 0. */
int slurm_spank_task_init(spank_t spank, int count, char** words) {
    int task = 0;
    (void)count;
    (void)words;
    if (!request.asked) return ESPANK_SUCCESS;
    is_told = spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS || task == 0;
    return is_served(spank) ? ESPANK_SUCCESS : REFUSED;
}
