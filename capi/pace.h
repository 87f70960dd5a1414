/* pace.h: the C interface of Pace, and the only header that is installed.
 *
 * A trainer opens a session with the daemon on its node, joins a job as one of its workers, puts
 * its parameters or gradients in buffers that the daemon owns, and calls a verb. Every verb begins
 * an operation and returns a request; pace_request_wait learns its end.
 *
 *     pace_option options[] = {PACE_OPTION_INT("group.size", 3)};
 *     pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
 *     pace_session_options where = PACE_SESSION_OPTIONS_INIT;
 *     where.job = "fashion"; where.policy = "partial-reduce"; where.rank = rank; where.world = 8;
 *     where.options = options; where.option_count = 1;
 *     pace_session_open(&where, &session, &error);
 *     pace_buffer_create(session, PACE_F32, count, NULL, &model, (void **)&weights, &error);
 *     pace_slice all = PACE_WHOLE(model);
 *     pace_broadcast(session, &all, 1, NULL, &request, &error);
 *     pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error);
 *     for (uint64_t k = info.iteration; k < steps; k = info.iteration + 1) {
 *         local_step(weights);
 *         how.call.iteration = k;
 *         pace_average(session, &all, 1, &how, &request, &error);
 *         pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error);
 *     }
 *     pace_session_leave(session, 1000, &error);
 *     pace_session_free(session);
 *
 * Rules that hold everywhere:
 *
 * Errors. Every call that can fail returns a pace_status and takes a pace_error, which may be NULL.
 * 0 is done, above 0 an outcome to handle here, below 0 a fault; the error then says what was
 * wrong, with which value, and what to do. Later releases add statuses: treat one that you do not
 * know by its sign. Nothing has changed when a call fails. No call ends the process or prints.
 *
 * Outputs. Parameters named ret_ are written only when the call succeeds; ret_info of a wait also
 * when the request has ended in another way, and its status always. They may be NULL where so
 * stated.
 *
 * Structs. Every options and info struct begins with its own size, set by its _INIT macro, which
 * sets the defaults too. Fields are only ever appended. In options, a library refuses non-zero
 * bytes that it does not know, and fields named reserved that are not 0. In an info, it fills the
 * fields that it knows. pace_error, pace_option, pace_slice, pace_device and the handles never
 * grow. pace_call does not grow either: it has room of its own.
 *
 * Threads. A session and all its handles may be used from any thread; calls on one session are
 * serialized inside. Different sessions are independent; a process may have several.
 *
 * Blocks. A call blocks only where its comment says so.
 *
 * Forks. A session belongs to the process that opened it; a forked child must not use it, and is
 * told so (E_INVALID).
 *
 * Every call may also fail with E_INVALID (an argument that is NULL or out of range, named),
 * E_MEMORY (this process has none left) and E_INTERNAL.
 */
#ifndef PACE_H
#define PACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define PACE_VERSION_MAJOR 1
#define PACE_VERSION_MINOR 0
#define PACE_VERSION_PATCH 0

#if defined(__GNUC__)
#define PACE_API __attribute__((visibility("default")))
#else
#define PACE_API
#endif

/* ----------------------------------------------------------------------------------------------------
 * status */

/* How a call, or a request, has ended: 0, an outcome above 0, or a fault below 0. */
typedef int32_t pace_status;

/* The values of pace_status. */
enum {
    PACE_OK = 0,

    /* Outcomes to handle. */
    PACE_TIMEOUT = 1, /* the time given has passed; the request is still in flight */
    PACE_ABORTED =
        2, /* ended by a failure elsewhere; the buffers are as they were; calling again is right */
    PACE_CANCELED = 3, /* ended because pace_request_cancel asked */
    PACE_STALE = 4,   /* the worker's model lacks what the job has done without it: it was suspended
                           for being late or frozen, or its node was cut off, or its daemon or its
                           process was restarted. pace_broadcast takes the current model */
    PACE_PENDING = 5, /* still in flight: what pace_request_test says, and the info of a request
                         that has not been collected */
    PACE_INTERRUPTED = 6, /* a wait with PACE_WAIT_SIGNALS: a signal has come, or half a second has
                             passed, in which one may have; the request is still in flight. A call
                             that opens a session with PACE_SESSION_SIGNALS, or has to reconnect it:
                             a signal has come; nothing was begun, call again */

    /* Faults. */
    PACE_E_INVALID = -1,   /* an argument or option is wrong */
    PACE_E_HANDLE = -2,    /* a stale, closed or foreign handle */
    PACE_E_VERB = -3,      /* the verb does not fit the job's family */
    PACE_E_MISMATCH = -4,  /* workers disagree: options, buffers, order of verbs */
    PACE_E_NOT_FOUND = -5, /* no such job, socket, file */
    PACE_E_TAKEN = -6,     /* the rank or name is in use */
    PACE_E_VERSION = -7,   /* the daemon speaks another protocol version */
    PACE_E_DAEMON_GONE =
        -8, /* the daemon ended, cannot be reached or does not start; the next call reconnects. Of a
               request, info.contents tells what its buffers hold */
    PACE_E_NO_CONTROLLER = -9, /* the daemon cannot reach its controller */
    PACE_E_LIMIT = -10,        /* a quota of the daemon, or of this process */
    PACE_E_MEMORY = -11,       /* no memory, or too little shared memory */
    PACE_E_DISK = -12,         /* no space on a disk that must record this */
    PACE_E_DENIED = -13,       /* not permitted for this user */
    PACE_E_CLOSED = -14,   /* what the session belonged to is over: its run, since a later one has
                              begun under the job's name, or the memory of a GPU; open another
                              session */
    PACE_E_INTERNAL = -15, /* a defect of Pace: please report it */
    PACE_E_REFUSED =
        -16, /* a request has ended because what it named was refused, when the other side looked at
                it: a gradient with a NaN, an index outside of the model. Its buffers are as they
                were. E_INVALID is for what a call refuses at once */
    PACE_E_UNSUPPORTED =
        -17 /* this library, or this machine's daemon, is built without that device or feature */
};

/* The constant name of a status, "PACE_E_TAKEN"; "PACE_?" for a number that is none. Threads: any.
 * Blocks: no. */
PACE_API const char* pace_status_name(pace_status status);

/* Filled whenever a call that takes one returns something else than PACE_OK; untouched otherwise.
 * Needs no initialization. 512 bytes for ever. Owns: the caller; nothing to free. */
typedef struct pace_error {
    pace_status status;
    uint32_t reserved[7];
    char argument[32]; /* the argument, field or option that is wrong: "topk.density", "timeout_ms";
                          or "" */
    char message[448]; /* what, with which value, what to do: one sentence or two, zero-terminated,
                          UTF-8 */
} pace_error;

/* The version of the library that is loaded, as 10000 * major + 100 * minor + patch. Threads: any.
 * Blocks: no. */
PACE_API uint32_t pace_library_version(void);

/* ----------------------------------------------------------------------------------------------------
 * jobs
 *
 * A policy says what the buffers of a job hold, which verbs therefore fit (its family), and who
 * exchanges with whom. Its options say how. For each policy and option, docs/options.md gives the
 * meaning, the origin, the values, the default, and the other options with which it counts.
 * pace_query gives the same to programs. */

/* Policies.
 *
 * Collective family: buffers hold gradients, verb pace_reduce. Everyone waits for all, unless the
 * option quorum says otherwise.
 *     all-reduce
 * Averaging family: buffers hold parameters, verb pace_average, over a group.
 *     partial-reduce   whoever is ready
 *     prague-random, prague-smart, ad-psgd, full   groups that are named before their members have
 *                      called: a call waits until all of its group have; who is dead, suspended, or
 *                      has not called for ten median steps (at least a second) is left out
 *     prague-static    groups that follow from the members' nodes and from how many times each has
 *                      called, without the controller: for workers of equal speed, since a late one
 *                      holds up its node
 *     auto             one of those with ordered groups, and a group size, by how unequal steps are
 *                      and how long averages take
 * Server family: buffers hold updates, verbs pace_push and pace_pull; the daemons keep the model,
 * in shards. A worker whose step is `clock` gets the model when the slowest worker is at most so
 * many steps behind:
 *     bsp 0, ssp server.staleness, asp any */
#define PACE_POLICY_ALL_REDUCE "all-reduce"
#define PACE_POLICY_PARTIAL_REDUCE "partial-reduce"
#define PACE_POLICY_PRAGUE_RANDOM "prague-random"
#define PACE_POLICY_PRAGUE_SMART "prague-smart"
#define PACE_POLICY_AD_PSGD "ad-psgd"
#define PACE_POLICY_FULL "full"
#define PACE_POLICY_PRAGUE_STATIC "prague-static"
#define PACE_POLICY_AUTO "auto"
#define PACE_POLICY_BSP "bsp"
#define PACE_POLICY_SSP "ssp"
#define PACE_POLICY_ASP "asp"

/* Options. Their prefixes name what they are for: average and group for averages; quorum, reduce,
 * compression and topk for reductions; server for parameter servers; worker and run for every
 * job. */
#define PACE_OPT_WORKER_TIMEOUT_MS "worker.timeout_ms"
#define PACE_OPT_RUN_MIN_WORKERS "run.min_workers"
#define PACE_OPT_RUN_WAIT_MS "run.wait_ms"
#define PACE_OPT_GROUP_SIZE "group.size"
#define PACE_OPT_GROUP_MIN "group.min"
#define PACE_OPT_GROUP_WAIT_MS "group.wait_ms"
#define PACE_OPT_GROUP_WINDOW "group.window"
#define PACE_OPT_GROUP_PROGRESS_GAP "group.progress_gap"
#define PACE_OPT_GROUP_EDGES "group.edges"
#define PACE_OPT_AVERAGE_WEIGHTS "average.weights"
#define PACE_OPT_AVERAGE_ALPHA "average.alpha"
#define PACE_OPT_AVERAGE_MISSING "average.missing"
#define PACE_OPT_QUORUM "quorum"
#define PACE_OPT_QUORUM_COUNT "quorum.count"
#define PACE_OPT_QUORUM_LATE "quorum.late"
#define PACE_OPT_QUORUM_STALENESS_MAX "quorum.staleness_max"
#define PACE_OPT_QUORUM_DIVIDE_BY "quorum.divide_by"
#define PACE_OPT_REDUCE_RESYNC_EVERY "reduce.resync_every"
#define PACE_OPT_REDUCE_REJECT_NONFINITE "reduce.reject_nonfinite"
#define PACE_OPT_COMPRESSION "compression"
#define PACE_OPT_TOPK_DENSITY "topk.density"
#define PACE_OPT_TOPK_RESIDUALS "topk.residuals"
#define PACE_OPT_TOPK_TEAMS "topk.teams"
#define PACE_OPT_TOPK_TEAM_GATHER "topk.team_gather"
#define PACE_OPT_TOPK_INDICES "topk.indices"
#define PACE_OPT_TOPK_VALUES "topk.values"
#define PACE_OPT_TOPK_HIERARCHY "topk.hierarchy"
#define PACE_OPT_TOPK_DENSE_FALLBACK "topk.dense_fallback"
#define PACE_OPT_SERVER_ELEMENTS "server.elements"
#define PACE_OPT_SERVER_STALENESS "server.staleness"
#define PACE_OPT_SERVER_RATE "server.rate"
#define PACE_OPT_SERVER_CONSTANT_RATE "server.constant_rate"
#define PACE_OPT_SERVER_FILTER "server.filter"
#define PACE_OPT_SERVER_SHARDS "server.shards"
#define PACE_OPT_SERVER_CHECKPOINT_EVERY_MS "server.checkpoint_every_ms"
#define PACE_OPT_SERVER_CHECKPOINT_COPIES "server.checkpoint_copies"
#define PACE_OPT_SERVER_RESTORE "server.restore"
#define PACE_OPT_SERVER_UNSYNCHRONIZED "server.unsynchronized"

/* What kind of value an option has. An integer does for a real number. */
enum { PACE_INT = 1, PACE_REAL = 2, PACE_TEXT = 3, PACE_BYTES = 4 };

/* Flags of pace_option. */
enum {
    PACE_OPTION_HINT =
        1 /* a library, daemon or controller that does not know the name ignores it */
};

/* The value of an option, by its kind. */
typedef union pace_option_value {
    int64_t i; /* of a switch: 0 or 1 */
    double r;
    const char* text; /* of a choice: its word, "dynamic" */
    const void* data; /* group.edges: pairs of ranks as 32-bit numbers, the least byte first */
} pace_option_value;

/* One option of a job. 32 bytes for ever (where a pointer has 8). Copied by the call that it is
 * given to. */
typedef struct pace_option {
    const char* name; /* "topk.density", or PACE_OPT_TOPK_DENSITY */
    int32_t kind;     /* PACE_INT, ...: which member of the value it is */
    uint32_t flags;   /* PACE_OPTION_HINT */
    pace_option_value value;
    uint64_t bytes; /* of data; else 0 */
} pace_option;

/* PACE_OPTION_INT("group.size", 3) and its kin: values of pace_option, for C and C++. */
static inline pace_option pace_option_int(const char* name, int64_t number) {
    pace_option option;
    option.name = name;
    option.kind = PACE_INT;
    option.flags = 0;
    option.value.i = number;
    option.bytes = 0;
    return option;
}
static inline pace_option pace_option_real(const char* name, double number) {
    pace_option option = pace_option_int(name, 0);
    option.kind = PACE_REAL;
    option.value.r = number;
    return option;
}
static inline pace_option pace_option_text(const char* name, const char* text) {
    pace_option option = pace_option_int(name, 0);
    option.kind = PACE_TEXT;
    option.value.text = text;
    return option;
}
static inline pace_option pace_option_bytes(const char* name, const void* data, uint64_t bytes) {
    pace_option option = pace_option_int(name, 0);
    option.kind = PACE_BYTES;
    option.value.data = data;
    option.bytes = bytes;
    return option;
}
#define PACE_OPTION_INT(name, number) pace_option_int(name, number)
#define PACE_OPTION_REAL(name, number) pace_option_real(name, number)
#define PACE_OPTION_TEXT(name, text) pace_option_text(name, text)
#define PACE_OPTION_BYTES(name, data, bytes) pace_option_bytes(name, data, bytes)

/* Gives a JSON document, zero-terminated, in *ret_json. what:
 *     "options"   a list of objects: name, kind ("integer", "real", "text", "bytes": PACE_INT and
 *                 so on), values, default, family ("any": of every one), policies that take it,
 *                 help, and where there are such, choices, least, greatest, needs
 *     "policies"  a list of objects: name, family, help
 *     "versions"  an object: library, protocol (least, greatest); with an endpoint also daemon,
 *                 node
 *     "status"    the cluster as `pacectl status --json` shows it
 * endpoint: NULL asks this library alone, which knows no status; else the daemon there is asked, as
 * pace_session_open names it, and "" is the one that pace_session_open finds by itself.
 *
 * Owns: the caller; free with pace_text_free.  Threads: any.  Blocks: without an endpoint, no; with
 * one, at most ten seconds for connecting and ten for the answer. Fails with: E_INVALID (what;
 * endpoint), and with an endpoint as pace_session_open. */
PACE_API pace_status pace_query(const char* endpoint, const char* what, char** ret_json,
                                pace_error* error);

/* Frees what pace_query gave. NULL does nothing. Threads: any.  Blocks: no. */
PACE_API void pace_text_free(char* text);

/* -------------------------------------------------------------------------------------------------
 * sessions */

/* A worker's membership in a job. pace_session_open makes it, pace_session_free ends it. */
typedef struct pace_session pace_session;

/* A time in milliseconds without limit: for waits, for leaving, and as connect_ms. */
#define PACE_FOREVER (-1)

/* Flags of pace_session_options. */
enum {
    /* This worker goes on with the run of this identity though all its workers have died. */
    PACE_SESSION_RESUME = 1,
    /* pace_session_open, and verbs and buffer calls that reconnect, return PACE_INTERRUPTED when a
     * signal comes while they wait. For waits, see PACE_WAIT_SIGNALS. */
    PACE_SESSION_SIGNALS = 2
};

/* What pace_session_open is called with: which worker this is, of which job, and by which daemon.
 */
typedef struct pace_session_options {
    uint32_t struct_size;
    uint32_t rank;  /* this worker, 0 .. world-1 */
    uint32_t world; /* workers of the job, 1 .. 65536; must be given */
    uint32_t flags;
    int64_t connect_ms; /* longest wait for the daemon and its controller, at the opening and
                           whenever the session reconnects: 10000; less than 1000 counts for a
                           daemon that is not there, one that is there has a second to answer;
                           PACE_FOREVER waits without limit */

    /* "unix:PATH", a daemon's socket; "embedded:" or "embedded:FILE.toml", a daemon hosted in this
     * process by libpaced.so (all sessions of the process with the same endpoint share it); NULL:
     * the environment's PACE_ENDPOINT, else the socket of this node's daemon, /run/pace/paced.sock.
     */
    const char* endpoint;
    const char* job; /* its name: letters, digits, '.', '_', '-'; 1 to 63 of them; must be given */
    const char* policy; /* its word, "partial-reduce"; must be given */

    /* What is absent has its default. At most 256. */
    const pace_option* options;
    size_t option_count;

    /* Which execution of the job this worker is of: 1 to 63 printable characters without spaces,
     * the same for all of its workers. NULL: the environment's PACE_RUN_ID, or what torchrun
     * (TORCHELASTIC_RUN_ID) or Slurm (SLURM_JOB_ID, _STEP_ID, _RESTART_COUNT) say, or none. A job
     * whose workers are all gone is kept for some minutes. A worker that opens it then with the
     * same identity, given here or by PACE_RUN_ID, is one of its workers that returns. A worker
     * with another identity begins a new run, which starts when all `world` workers have joined, or
     * as run.min_workers says. A worker with a launcher's identity, or without one, also begins a
     * new run when all workers have died or left, because a launcher that starts workers again
     * starts all of them. While workers of another run live, the opening is refused (E_TAKEN, after
     * connect_ms). */
    const char* run;
} pace_session_options;

#define PACE_SESSION_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_session_options), 0, 0, 0, 10000, NULL, NULL, NULL, NULL, 0, NULL }

/* Connects to a daemon and joins the job, creating it if this worker is the first. All workers of a
 * job give the same world, policy, options and run. What options points to is copied.
 *
 * Owns: the caller gets *ret_session, to be freed with pace_session_free.  Threads: any.
 * Blocks: until the job is joined, at most connect_ms; it does not wait for the other workers. A
 * daemon that is not there at all is waited for a quarter of a second, a controller that the daemon
 * cannot reach for the whole of connect_ms.
 * Fails with: E_INVALID (argument or option named, with what to give instead: one that is unknown,
 * of another kind, out of its bounds, given twice, or without meaning in this job), E_NOT_FOUND or
 * E_DAEMON_GONE (no daemon there, or none that answers), E_VERSION, E_NO_CONTROLLER, E_TAKEN (rank
 * held by a live worker, the job by another run, or the node's name by another daemon), E_MISMATCH
 * (the job has other options: each is named), E_DENIED (of the socket, or the job is another
 * user's), E_LIMIT, E_MEMORY, E_DISK (the controller's journal has no room for a new job). Returns
 * also: INTERRUPTED (a signal has come; only with PACE_SESSION_SIGNALS; there is no session: call
 * again). */
PACE_API pace_status pace_session_open(const pace_session_options* options,
                                       pace_session** ret_session, pace_error* error);

/* Leaves the job in order: the others go on without this worker at once, and its rank is free when
 * this returns OK, on every node, if the controller answers within a second. Requests that are not
 * collected end without being seen. The daemon may write to the slices that they name until it has
 * closed the connection, for which this call does not wait. The session is over, whatever this
 * returns: its buffers stay mapped until it is freed, every other call fails with E_CLOSED, and its
 * descriptor tells nothing more.
 *
 * Threads: any; a wait of another thread fails with E_CLOSED.  Blocks: for the daemon's answer, at
 * most timeout_ms (PACE_FOREVER: without limit), and while another thread makes or frees a buffer,
 * or reconnects. Returns: OK; TIMEOUT (the daemon has been told, and has not answered in time).
 * Fails with: E_INVALID (timeout_ms below PACE_FOREVER; this alone leaves the session as it was),
 * E_DAEMON_GONE (it cannot be told: the worker counts as one that died), E_CLOSED (it has left
 * before). */
PACE_API pace_status pace_session_leave(pace_session* session, int64_t timeout_ms,
                                        pace_error* error);

/* Frees the session, its buffers and their memory, and closes its descriptor. A session that has
 * not left before ends as if the worker had died: its job goes on without it, and keeps what a
 * worker that returns would need. A program may therefore call this when it clears up after a
 * failure. NULL does nothing. Threads: no other call on this session may run or follow. Blocks:
 * no. */
PACE_API void pace_session_free(pace_session* session);

/* What a worker finds when it joins. */
enum {
    PACE_RUN_NEW = 0, /* a run that begins, when all have joined */
    PACE_RUN_UNDER_WAY =
        1, /* one that others take part in: pace_broadcast gives the current model */
    PACE_RUN_RESUMED =
        2 /* a run that has begun and whose workers were all gone, so that no worker can give a
             model: this worker goes on from a checkpoint, or from what it has */
};

/* What pace_session_get_info tells of a session. Texts are zero-terminated. */
typedef struct pace_session_info {
    uint32_t struct_size;
    uint32_t rank;
    uint32_t world;
    uint32_t
        run_state; /* when this worker opened its session: PACE_RUN_NEW, _UNDER_WAY or _RESUMED */
    uint64_t
        generation; /* of the daemon; changes when the session has reconnected to a restarted one */
    char job[64];
    char node[64]; /* the daemon's name */
    char
        run[64]; /* the identity of the run that this worker takes part in; empty: none was given */
    uint64_t run_began; /* when its first worker opened its session, in nanoseconds since 1970 */
} pace_session_info;

#define PACE_SESSION_INFO_INIT \
    { (uint32_t)sizeof(pace_session_info), 0, 0, 0, 0, "", "", "", 0 }

/* Tells about the session: fills as much of *info as info->struct_size says. Threads: any.
 * Blocks: no.  Fails with: E_INVALID. */
PACE_API pace_status pace_session_get_info(pace_session* session, pace_session_info* info,
                                           pace_error* error);

/* A descriptor that polls readable while ended requests wait to be collected with
 * pace_request_wait, _test or pace_session_next, or the daemon is gone. While it is readable, a
 * wait with a timeout of 0 finds a request that has ended. For this reason a request with buffers
 * on a GPU that is made after this call ends when its result is there, not when it is queued on the
 * device. Every call gives the same descriptor, which stays good when the session reconnects. Owns:
 * the session; do not read, write or close it. Lives until: the session is freed. Threads: any.
 * Blocks: no. Fails with: E_INVALID, E_LIMIT (this process has no descriptor left). */
PACE_API pace_status pace_session_get_fd(pace_session* session, int* ret_fd, pace_error* error);

/* Flags of pace_progress. */
enum { PACE_PROGRESS_LOSS = 1, PACE_PROGRESS_RATE = 2, PACE_PROGRESS_STEPS = 4 };

/* How the training goes, as its trainer sees it. */
typedef struct pace_progress {
    uint32_t struct_size;
    uint32_t flags;       /* which of the following are given, one at least */
    double loss;          /* of the latest step, or a mean over some; also an infinity or a NaN */
    double samples_per_s; /* that this worker trains on; above 0 */
    uint64_t steps_done;  /* that the training has made, as its trainer counts them */
    uint64_t steps_total; /* that it is to make in all; above 0. Both count as one field */
} pace_progress;

#define PACE_PROGRESS_INIT \
    { (uint32_t)sizeof(pace_progress), 0, 0.0, 0.0, 0, 0 }

/* Tells those who watch, `pacectl status` and its metrics, how the training goes; nothing that Pace
 * does depends on it. It may be called at each step. If there are several calls within a tenth of a
 * second, only the first is told. A call while the daemon is gone or does not read is lost.
 * Threads: any. Blocks: no.  Fails with: E_INVALID. */
PACE_API pace_status pace_session_report(pace_session* session, const pace_progress* progress,
                                         pace_error* error);

/* --------------------------------------------------------------------------------------------------
 * buffers */

/* The types that elements of buffers have. */
typedef enum pace_type {
    PACE_F32 = 1,
    PACE_F64 = 2,
    PACE_F16 = 3,  /* IEEE 754 binary16; sums are made in f32 */
    PACE_BF16 = 4, /* bfloat16; sums are made in f32 */
    PACE_U32 = 5   /* indices, for pace_push alone */
} pace_type;

/* A handle. All zero is no buffer. A handle of a freed buffer or of another session is refused with
 * E_HANDLE. */
typedef struct pace_buffer {
    uint64_t session; /* stamp of the session that made it */
    uint32_t index;
    uint32_t generation;
} pace_buffer;

/* Kinds of devices, in DLPack's numbers (dlpack.h, DLDeviceType). */
enum { PACE_DEVICE_CPU = 1, PACE_DEVICE_CUDA = 2, PACE_DEVICE_ROCM = 10, PACE_DEVICE_ONEAPI = 14 };

/* A device. All zero is the host, or no device, as is said. */
typedef struct pace_device {
    int32_t type; /* PACE_DEVICE_CPU, ... */
    int32_t id;   /* which of that kind, as this process counts them (CUDA_VISIBLE_DEVICES) */
} pace_device;

/* Whose memory a buffer is. */
enum {
    PACE_NEW = 0, /* the daemon's, which this process maps */
    PACE_POINTER =
        1,      /* the trainer's own, at options->pointer; of the host it needs PACE_MAY_STAGE */
    PACE_FD = 2 /* the trainer's own, by a descriptor, which the daemon maps, too */
};

/* Flags of pace_buffer_options. */
enum {
    /* Memory that cannot be shared is copied. At each call it is copied to memory that the daemon
     * maps; where the call has an order, that is done as pace_request_ready says. It is copied back
     * when the request is collected. Those functions take the time of the copy; one that only looks
     * (pace_request_test, a timeout of 0) copies all. */
    PACE_MAY_STAGE = 1
};

/* What pace_buffer_create is called with: whose memory the buffer is, and on which device. */
typedef struct pace_buffer_options {
    uint32_t struct_size;
    int32_t source;     /* PACE_NEW, PACE_POINTER, PACE_FD */
    pace_device device; /* all zero, or PACE_DEVICE_CPU: memory of the host; PACE_DEVICE_CUDA: of
                           that GPU */
    void* pointer; /* PACE_POINTER: `count` elements that this process reads and writes, aligned for
                      their type; otherwise NULL. Of a GPU a device pointer to memory by cudaMalloc
                      or cuMemAlloc, or into it */
    int32_t fd; /* PACE_FD: of the host by memfd_create, its size exactly `count` elements in whole
                   pages, sealed with F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL, not of huge pages.
                   Of a GPU by cuMemExportToShareableHandle
                         (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), of at least `count` elements in
                   whole allocation units. It is duplicated, and stays the caller's */
    uint32_t flags; /* PACE_MAY_STAGE */
} pace_buffer_options;

#define PACE_BUFFER_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_buffer_options), PACE_NEW, {0, 0}, NULL, -1, 0 }

/* Makes a buffer of `count` elements in memory that the daemon owns and this process maps, zeroed;
 * *ret_data is its address, aligned to a page. The trainer reads and writes it freely except while
 * a request that names it is in flight. If an earlier process of this rank died on this node, the
 * first buffers of the same type and count are the ones it had, with their contents.
 *
 * With options->device.type = PACE_DEVICE_CUDA it is memory of that GPU, and *ret_data a device
 * pointer, aligned to 256 bytes at least, in the device's primary context, which CUDA's runtime,
 * PyTorch and JAX use, too. NVIDIA's driver is loaded then, not before; a process that forks does
 * that earlier. Exchanges by way of the hosts work on a twin of the same size in memory of the
 * host. The daemon takes its memory when it is needed first, and counts it against the client's
 * quota from the start. See pace_call for the order between streams and calls. Where the GPU
 * exports no descriptors of its memory the buffer does not survive the daemon: then the session
 * cannot reconnect (E_CLOSED).
 *
 * With options->source = PACE_FD it is the memfd's memory, with the contents that it has; its pages
 * are allocated now, and *ret_data is a mapping of the library's own. What the trainer maps of it
 * already is the same memory. With PACE_POINTER *ret_data is the pointer: the memory must stay
 * until the buffer is freed, and be left alone as any buffer while a request names it. A request
 * that ends with another status than OK leaves it as it was at the call, unless info.contents says
 * that it holds the result. The copy counts against the client's quota; pace_buffer_get_info tells
 * of it. Neither source gives the buffers that an earlier process of this rank had. The caller
 * keeps two buffers of the same memory apart: the slices that calls name are compared by buffer.
 *
 * The same holds for memory on a GPU, which is shared in both cases. With PACE_FD *ret_data is a
 * mapping of the library's own. With PACE_POINTER it is the pointer, and the daemon opens the block
 * that the pointer is in (cuIpcGetMemHandle). If the block is freed before the buffer is, or before
 * its requests have ended, it may still be written. An error of the GPU concerns every session that
 * has buffers there.
 *
 * options may be NULL.  Owns: the session; free with pace_buffer_free, or with the session.
 * Lives until: then. It survives the daemon: a session that reconnects hands its memory to the new
 * daemon. Threads: any.  Blocks: for one exchange with the daemon (page allocation included); if
 * the session lost its daemon, until it has reconnected or connect_ms has passed.
 * Fails with: E_INVALID (also a GPU that is none, a pointer that is not mapped, a descriptor that
 * cannot be shared), E_LIMIT (the daemon's quota: its name and size are told), E_MEMORY (of the
 * host, or of the GPU), E_UNSUPPORTED (a device for which this library is not built; PACE_POINTER
 * without PACE_MAY_STAGE), E_NOT_FOUND (there is no driver here; the daemon has no GPU, and why; or
 * it does not have this process's: those that it has are named), and, where it had to reconnect, as
 * pace_session_open. */
PACE_API pace_status pace_buffer_create(pace_session* session, int32_t type, uint64_t count,
                                        const pace_buffer_options* options, pace_buffer* ret_buffer,
                                        void** ret_data, pace_error* error);

/* Frees the buffer and unmaps its memory; no daemon is needed for that. A null handle does nothing.
 * Threads: any.  Blocks: for one exchange with the daemon, and while another thread makes or frees
 * a buffer, or reconnects; for a buffer on a GPU also until the work that this process has queued
 * on the GPU by now has ended, so not while a CUDA graph is being captured. Fails with: E_HANDLE;
 * E_INVALID while a request in flight names it. */
PACE_API pace_status pace_buffer_free(pace_session* session, pace_buffer buffer, pace_error* error);

/* What pace_buffer_get_info tells of a buffer. */
typedef struct pace_buffer_info {
    uint32_t struct_size;
    int32_t type; /* of pace_type */
    uint64_t count;
    void* data; /* a device pointer where it is not on the host */
    pace_device device;
    /* With the device, the words of DLPack (dlpack.h 0.8): a tensor of one dimension of `count`,
     * compact, read and write. */
    uint8_t dl_type_code; /* 1: kDLUInt, 2: kDLFloat, 4: kDLBfloat */
    uint8_t dl_type_bits;
    uint16_t dl_type_lanes;
    /* And in those of NumPy's __array_interface__ and Numba's __cuda_array_interface__ (version 3):
     * "<f4". Empty for PACE_BF16, which they do not know. */
    char typestr[8];
    uint32_t flags;      /* PACE_BUFFER_RESTORED, PACE_BUFFER_STAGED */
    uint64_t twin_bytes; /* of the copy on the host that a buffer on a GPU, or one that is staged,
                            has besides; 0: none */
} pace_buffer_info;

/* Flags of pace_buffer_info. */
enum {
    PACE_BUFFER_RESTORED = 1, /* its contents were an earlier process's of this rank */
    PACE_BUFFER_STAGED = 2    /* the trainer's own memory, which is copied at calls */
};

#define PACE_BUFFER_INFO_INIT \
    { (uint32_t)sizeof(pace_buffer_info), 0, 0, NULL, {0, 0}, 0, 0, 0, "", 0, 0 }

/* As pace_buffer_free, but waits for nobody, so that a finalizer may call it: the handle is void at
 * once. The buffer itself goes with the session, or with the next call of this session that makes
 * or frees a buffer, if no request names it any more. Until then it counts against the daemon's
 * quota. Memory of the trainer's own (PACE_POINTER) must stay until every request that names it is
 * collected; on a GPU, until the buffer is gone. A null handle does nothing. Threads: any.  Blocks:
 * no.  Fails with: E_HANDLE, E_CLOSED (the session has left: its buffers go when it is freed). */
PACE_API pace_status pace_buffer_release(pace_session* session, pace_buffer buffer,
                                         pace_error* error);

/* Describes a buffer, so that other libraries see its memory as theirs: fills as much of *info as
 * info->struct_size says. The memory described lives until the buffer is freed. Threads: any.
 * Blocks: no.  Fails with: E_INVALID, E_HANDLE. */
PACE_API pace_status pace_buffer_get_info(pace_session* session, pace_buffer buffer,
                                          pace_buffer_info* info, pace_error* error);

/* The buffer as a tensor of DLPack, of one dimension of `count`, read and write:
 * *ret_managed_tensor is a DLManagedTensor (major = 0, what a capsule "dltensor" holds) or a
 * DLManagedTensorVersioned of version 1.0 (major = 1 or more, "dltensor_versioned"), of the
 * consumer's choice. The tensor holds the memory by itself: the memory stays, with its contents,
 * after pace_buffer_free and pace_session_free, until the tensor's deleter is called. The trainer
 * keeps memory of its own (PACE_POINTER). The rule for a buffer's memory holds for the tensor, too:
 * nothing touches it while a request that names the buffer is in flight. The tensor says nothing
 * about streams.
 *
 * Owns: the caller; end it with its deleter, once, from any thread.  Threads: any.  Blocks: no.
 * Fails with: E_INVALID, E_HANDLE, E_UNSUPPORTED (on a GPU that exports no descriptors of its
 * memory, which goes with the daemon). */
PACE_API pace_status pace_buffer_to_dlpack(pace_session* session, pace_buffer buffer,
                                           uint32_t major, void** ret_managed_tensor,
                                           pace_error* error);

/* -------------------------------------------------------------------------------------------------
 * requests */

/* A request in flight, or ended and not collected yet. All zero is no request. */
typedef struct pace_request {
    uint64_t session;
    uint64_t id;
} pace_request;

/* What one member of an exchange brought. */
typedef struct pace_member {
    uint32_t rank;
    uint32_t reserved;
    uint64_t staleness; /* iterations behind the newest member; for a reduce, the rounds that its
                           oldest gradient has waited */
    double weight;      /* of its buffer in the result; 0 if it gave none */
} pace_member;

/* What a request's buffers hold if its daemon was gone before it could tell how it ended. */
typedef enum pace_contents {
    PACE_CONTENTS_AS_CALLED = 0, /* what they held at the call */
    PACE_CONTENTS_TORN = 1,  /* part of the result: make their contents anew, or take the model by
                                     pace_broadcast */
    PACE_CONTENTS_RESULT = 2 /* the whole result: the exchange was done for this worker, though
                                nothing else is told of it; do not give the same gradient again */
} pace_contents;

/* What a wait tells of a request: how it ended, and what the exchange did. */
typedef struct pace_request_info {
    uint32_t struct_size;
    pace_status status; /* how the request ended; PACE_PENDING: it has not been collected, and the
                           rest is as it was */
    uint64_t iteration; /* the worker's iteration now: the group's newest (average), the one given
                           (reduce), the donor's (broadcast to a newcomer); else as before */
    uint64_t user_data; /* as the call had it (pace_call) */
    uint64_t group;     /* of an average: the group's number */
    uint64_t round; /* of a verb for all members: the round's number; of a late reduce, that of the
                       last sum that it got */
    uint64_t version;    /* of a pull and a checkpoint: the model's, which grows */
    uint64_t bytes_sent; /* by this node over the network for this exchange */
    uint64_t bytes_received;
    uint64_t queued_ns;    /* from the call to the start of the exchange: forming the group, waiting
                               for others */
    uint64_t moving_ns;    /* from there to the result */
    double initial_weight; /* weight of the initial model (average.missing initial) */
    uint32_t member_count; /* members of the exchange */
    uint32_t node_count;   /* nodes they are on */
    uint32_t member_listed; /* members filled in (pace_wait_options.members): less than member_count
                               if there was no room, and at most 128, the daemon's list */
    int32_t contents;       /* of a request that ended as E_DAEMON_GONE: pace_contents */

    /* Of a reduce. */
    double divisor;             /* what the sum was divided by; 0 where nothing was summed */
    uint64_t rounds;            /* rounds whose results the buffers now hold together: 1 as a rule,
                                   more for a worker that had missed some; their sum, in order */
    uint64_t entries;           /* elements of the result that top-k chose; 0 for dense */
    uint32_t contributor_count; /* members whose gradients are in the result; of a push: 1, or 0 if
                                   the update of that step had been taken before */
    uint32_t late;   /* 1: this worker's gradient came after its round had begun; it counts in a
                        later one, or was dropped */
    uint32_t resync; /* 1: call pace_sync now (reduce.resync_every) */
    uint32_t dense;  /* 1: compression was asked for, but all elements are in the result:
                        dense was faster, or nothing had to travel */

    uint64_t staleness; /* of an average with keep_local: steps that the worker has made since the
                           call, which the average lacks */

    /* Of a push, a pull, and a broadcast of the server family. */
    uint64_t slowest_clock; /* steps that the slowest worker has pushed: with policy ssp the model
                               is fresh enough for steps up to slowest_clock + server.staleness */
} pace_request_info;

#define PACE_REQUEST_INFO_INIT                                                                   \
    {                                                                                            \
        (uint32_t)sizeof(pace_request_info), PACE_PENDING, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, \
            0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0                                                    \
    }

/* Flags of pace_wait_options. */
enum {
    /* The wait returns PACE_INTERRUPTED when its thread has handled a signal, and twice a second
     * besides, so that a trainer in a language that handles signals between its own steps can look.
     */
    PACE_WAIT_SIGNALS = 1,

    /* pace_request_wait alone, with a stream in options->device and stream: the stream waits for
     * the request's end at once, and this thread does not. The call returns PENDING; the request
     * stays in flight, and another wait collects it and tells how it ended. The stream goes on
     * whatever the end is, also when it is a fault, the daemon dies or the session is freed: work
     * that is queued there then sees the buffers as they are, so look at the end before you use
     * what was made of them. What the end needs of this process must not be queued behind the wait:
     * not in this stream, and not in one that shares its queue of the GPU
     * (CUDA_DEVICE_MAX_CONNECTIONS). If the request has ended already, it is collected as without
     * this flag. Where streams cannot wait so long (a driver before CUDA 11.7, a daemon inside this
     * process), and for buffers on the host, this thread waits as without it. Each call makes its
     * stream wait, so several streams may wait for one request. */
    PACE_WAIT_QUEUED = 2
};

/* How a request is waited for. */
typedef struct pace_wait_options {
    uint32_t struct_size;
    uint32_t flags; /* PACE_WAIT_SIGNALS, PACE_WAIT_QUEUED, both or 0 */

    /* Who waits for a result on a GPU. All zero, or PACE_DEVICE_CPU: this thread waits until the
     * result is there. PACE_DEVICE_CUDA and the GPU's number: `stream` (a cudaStream_t or CUstream
     * of that GPU; NULL: its default stream) waits, and work queued there from now on sees the
     * result. This thread then waits only until the daemon has queued the work that makes the
     * result: for the other members' calls, and for the data of other nodes (PACE_WAIT_QUEUED: it
     * waits for nothing). If the daemon dies after the wait has returned OK, the stream may see
     * only part of the result; the next call tells of the death. This field changes nothing for a
     * request with buffers on the host. */
    pace_device device;
    void* stream;

    uint64_t local_iteration; /* of an average with keep_local: the iteration that the worker has
                                 reached by now; 0: it has made no step since the call */
    pace_member* members;     /* room for member_capacity members, filled by rank; or NULL */
    size_t member_capacity;
} pace_wait_options;

#define PACE_WAIT_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_wait_options), 0, {0, 0}, NULL, 0, NULL, 0 }

/* Waits until the request has ended, and collects it: the handle is then void. timeout_ms: 0 looks
 * once, PACE_FOREVER waits without limit. options and ret_info may be NULL. ret_info->status is
 * written whatever this returns, the rest when the request is collected. Spins shortly before it
 * sleeps.
 *
 * Returns: OK; TIMEOUT (not ended, not collected); INTERRUPTED (the same, only with
 * PACE_WAIT_SIGNALS); PENDING (the same, only with PACE_WAIT_QUEUED); or the way it ended: ABORTED,
 * CANCELED, STALE or a fault, with the info filled and the request collected. Every request ends
 * exactly once, also when the daemon dies (E_DAEMON_GONE). Threads: any; several may wait, each for
 * its own request. Blocks: at most timeout_ms; with 0 as pace_request_test. Fails with: E_INVALID
 * (an argument or option is wrong; not collected), E_HANDLE (never made, or collected already; its
 * result is then where it belongs), E_UNSUPPORTED (options->device; not collected), E_CLOSED (the
 * session has left), and how the request failed: E_REFUSED, E_MISMATCH (workers disagree about
 * verb, types or lengths), E_DAEMON_GONE, or another fault. ret_info->status tells the two apart:
 * it is PACE_PENDING of a request that has not been collected.
 *
 * Once a request has lasted for ten seconds (the daemon's setting wait_notice_ms), the message of
 * TIMEOUT, INTERRUPTED and PENDING says for whom it waits, or for what. */
PACE_API pace_status pace_request_wait(pace_session* session, pace_request request,
                                       int64_t timeout_ms, const pace_wait_options* options,
                                       pace_request_info* ret_info, pace_error* error);

/* As pace_request_wait with timeout 0, but PENDING instead of TIMEOUT. Blocks: no, while the
 * request is in flight; once it has ended, as long as it takes to add an average with keep_local or
 * to copy staged memory (a gigabyte: a few tenths of a second). A caller that may not wait for that
 * uses pace_request_wait with a timeout, which works a piece at a time until the timeout has
 * passed. */
PACE_API pace_status pace_request_test(pace_session* session, pace_request request,
                                       const pace_wait_options* options,
                                       pace_request_info* ret_info, pace_error* error);

/* As pace_request_wait, for the first of `count` requests (1 .. 64) that ends: collects that one,
 * and writes its handle, void by now, to *ret_request. The others stay as they are. Another thread
 * may wait for the same requests: the wait that comes second fails with E_HANDLE.
 *
 * Returns: as pace_request_wait; *ret_request is written exactly when ret_info->status is not
 * PACE_PENDING. Fails also with: E_HANDLE (any of them was never made, or is collected already;
 * none is collected then). Threads: any.  Blocks: at most timeout_ms; with 0 as pace_request_test.
 */
PACE_API pace_status pace_request_wait_any(pace_session* session, const pace_request* requests,
                                           size_t count, int64_t timeout_ms,
                                           const pace_wait_options* options,
                                           pace_request* ret_request, pace_request_info* ret_info,
                                           pace_error* error);

/* As pace_request_wait, for the session's request that ends first: collects it, and writes its
 * handle, void by now, to *ret_request. options->local_iteration is for averages with keep_local
 * alone. This call may collect a request for which another thread waits; that thread's wait then
 * fails with E_HANDLE. Use either this call or waits for single requests.
 *
 * Returns: as pace_request_wait; *ret_request is written exactly when ret_info->status is not
 * PACE_PENDING. Fails also with: E_NOT_FOUND (no request is in flight or waits to be collected; at
 * once). */
PACE_API pace_status pace_session_next(pace_session* session, int64_t timeout_ms,
                                       const pace_wait_options* options, pace_request* ret_request,
                                       pace_request_info* ret_info, pace_error* error);

/* Asks that the request end as CANCELED. A request that is in an exchange already, or has ended,
 * ends in the ordinary way: wait for it in either case. (An exchange among several nodes has begun
 * for a node as soon as the node's own members have called; the node then waits for the other
 * nodes' members.) Threads: any. Blocks: no. Fails with: E_HANDLE (also of one that has been
 * collected meanwhile), E_DAEMON_GONE, E_LIMIT (the daemon does not read; the request is in flight
 * still: try again). */
PACE_API pace_status pace_request_cancel(pace_session* session, pace_request request,
                                         pace_error* error);

/* ----------------------------------------------------------------------------------------------------
 * verbs
 *
 * Each begins an operation on `count` slices (1 .. 256), which count as one vector in the order
 * given; all workers of the exchange give equal types and lengths in equal order. Their elements
 * must stay untouched until the request has ended; those beside them are free, also for other
 * requests. Results come where the slices are, or where pace_call.results says.
 *
 * pace_average is for the workers that are ready. pace_residual_save and pace_residual_load concern
 * one worker. The other verbs are for all members of the job: every worker calls them in the same
 * order.
 *
 * Owns: the caller collects *ret_request with pace_request_wait, _test or pace_session_next.
 * Threads: any.  Blocks: no; if the session lost its daemon, until it has reconnected or connect_ms
 * has passed. Fails with: E_INVALID, E_HANDLE, E_UNSUPPORTED (the call's device), E_VERB (which one
 * fits is told), E_LIMIT (64 requests are in flight or not collected), and, where it had to
 * reconnect, as pace_session_open. */

/* The count of a slice that goes to the end of its buffer. */
#define PACE_REST UINT64_MAX

/* `count` elements of a buffer from element `first` on; PACE_REST: to its end. A buffer on a GPU is
 * taken as a whole. */
typedef struct pace_slice {
    pace_buffer buffer;
    uint64_t first;
    uint64_t count;
} pace_slice;

/* PACE_WHOLE(buffer): all of it. */
static inline pace_slice pace_whole(pace_buffer buffer) {
    pace_slice slice = {{0, 0, 0}, 0, PACE_REST};
    slice.buffer = buffer;
    return slice;
}
#define PACE_WHOLE(buffer) pace_whole(buffer)

/* What is common to all verbs; first in the options of each. Its _INIT macro sets the size. */
typedef struct pace_call {
    uint32_t struct_size; /* of the options that it is first in */
    uint32_t flags;       /* 0 */
    uint64_t iteration;   /* the worker's step: its own count (pace_average, pace_reduce), its clock
                             (pace_push, pace_pull). The others take no notice of it */
    uint64_t user_data;   /* anything; pace_request_info tells it with the end */

    /* For buffers on a GPU: their contents are made on this stream (a cudaStream_t or CUstream;
     * NULL: the device's default stream) of this GPU, which must be the buffers' own. The call
     * takes the contents when the stream has come to where it is now. Neither this process nor the
     * device waits for that. Work that is queued after the call and before the request has ended
     * must not touch the buffers. A stream that is being captured into a CUDA graph is refused:
     * PACE_E_INVALID. All zero: the default stream of the buffers' GPU. For buffers on the host
     * both fields must be zero. */
    pace_device device;
    void* stream;

    /* Where the result goes instead of to the slices, which the call then only reads:
     * `result_count` slices, which is the call's count. Each has the type and length of the call's
     * slice with the same index, and overlaps no other slice of the call. NULL: in place. Not with
     * keep_local. A call that fails leaves the slices that it read as they were, and its results
     * undefined. The list is read during the call. Only pace_average, pace_reduce and pace_sync
     * take results. */
    const pace_slice* results;
    size_t result_count;

    uint64_t reserved[2]; /* 0 */
} pace_call;

#define PACE_CALL_INIT(options)                                      \
    {                                                                \
        (uint32_t)sizeof(options), 0, 0, 0, {0, 0}, NULL, NULL, 0, { \
            0, 0                                                     \
        }                                                            \
    }

/* How a trainer says which elements of its buffers are ready, counted over all of them as one
 * vector. */
typedef enum pace_order {
    PACE_ORDER_DEFAULT = 0, /* all are, at the call */
    PACE_ORDER_FORWARD = 1, /* pace_request_ready tells how many of the first */
    PACE_ORDER_BACKWARD = 2 /* pace_request_ready tells how many of the last, as a backward pass
                               makes them */
} pace_order;

/* What pace_average is called with. */
typedef struct pace_average_options {
    pace_call call;
    int32_t order; /* pace_order; all workers give the same */

    /* 1: the trainer keeps its buffers and goes on with its steps while a copy of them is averaged.
     * The changes that it makes meanwhile are kept: when the request is collected, the thread that
     * collects it adds the average minus the copy to the buffers. No other thread may write them
     * during that call. A wait whose time ends first adds one piece or several, and returns
     * TIMEOUT; the next wait goes on from there. A call that only looks adds all. The copy is made
     * in the call of pace_average, which blocks for that, and the first time also for an exchange
     * with the daemon. The copy stays for the next time and takes twice the size of the buffers. No
     * other kind of request allows its slices to be written while it is in flight.
     * pace_wait_options.local_iteration tells how far the worker has come, and info.iteration is
     * then the group's newest plus the steps since the call. Not together with an order. */
    uint32_t keep_local;
} pace_average_options;

#define PACE_AVERAGE_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_average_options), 0, 0 }

/* Averages the buffers, which hold parameters, over a group of workers that are ready (averaging
 * family). options->call.iteration is the worker's own step count; afterwards it is the group's
 * newest, as the info tells. A worker that comes back after a time away goes on with its own model.
 * If nobody else was left meanwhile, and newly started workers have begun the job anew, it is told
 * once: its call ends as STALE, and pace_broadcast gives it their model. Source: Miao et al.,
 * SIGMOD 2021, Algorithm 2. */
PACE_API pace_status pace_average(pace_session* session, const pace_slice* slices, size_t count,
                                  const pace_average_options* options, pace_request* ret_request,
                                  pace_error* error);

/* Tells the controller, at the start of a step, that the next verb of this worker will be
 * pace_average with this iteration, on buffers of the same types and lengths as its last
 * pace_average. The worker's group then forms while it computes, from 7/8 of the usual time of its
 * steps on, and pace_average begins to exchange at once. The buffers may be written meanwhile.
 * Nothing need be collected. The announcement is only a hint: it is ignored before the first
 * pace_average, in a step whose length is not known yet, while a request is in flight, and if the
 * daemon is gone. A group does not wait for a worker that comes too late, but forms again without
 * it. Another verb, another iteration or the worker's death take the announcement back. Threads:
 * any. Blocks: no. Fails with: E_VERB (the job does not average in groups). Source: Luo et al.,
 * Prague, ASPLOS 2020, section 4.1. */
PACE_API pace_status pace_announce(pace_session* session, uint64_t iteration, pace_error* error);

/* For an average that was called with an order: the first, or last, `elements` of its buffers are
 * ready, and will not be written again before the request has ended. Their exchange with other
 * nodes begins at once, in pieces of 4 MiB, while the rest is computed. A number below one given
 * before does nothing; all elements must be ready before the request can end. If no more of a
 * worker's elements become ready for a second, while its group waits, the worker is left to a later
 * group. Does nothing to a request that has ended. Threads: any. Blocks: no. Fails with: E_HANDLE,
 * E_INVALID (more elements than there are; the call had no order), E_LIMIT (the daemon has not
 * taken the last 64 calls yet: say it again). */
PACE_API pace_status pace_request_ready(pace_session* session, pace_request request,
                                        uint64_t elements, pace_error* error);

/* Takes the announcement back: this worker will not average next. Without one, does nothing.
 * Threads, blocks, fails as pace_announce. */
PACE_API pace_status pace_withdraw(pace_session* session, pace_error* error);

/* What pace_reduce makes of the gradients. */
typedef enum pace_op {
    PACE_OP_MEAN = 0, /* the sum divided by the number of members, or of those who contributed, as
                         quorum.divide_by says */
    PACE_OP_SUM = 1
} pace_op;

/* What pace_reduce is called with. */
typedef struct pace_reduce_options {
    pace_call call;    /* its iteration is for status displays and for newcomers */
    int32_t op;        /* pace_op */
    uint32_t reserved; /* 0 */
} pace_reduce_options;

#define PACE_REDUCE_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_reduce_options), 0, 0 }

/* Reduces the buffers, which hold gradients, over all members (collective family); the first one
 * waits until the run has begun: until all workers have joined, or as run.min_workers says. Every
 * member gets bit-identical results. options may be NULL: the mean. All workers give the same op.
 * The mean of finite values is finite, except of elements that are infinite as the half type as
 * which they travel (compression), and of late gradients whose sum at one worker its type does not
 * hold; a sum may exceed its type, at the end or within a node.
 *
 * A model lacks rounds if its worker, the worker's daemon or the node's connection was away. A
 * worker with such a model takes no part: its call ends as STALE. pace_broadcast then gives it the
 * model of another worker, or fails with E_NOT_FOUND if no worker has got one by pace_broadcast. A
 * worker that was told E_NOT_FOUND may go on with its own parameters: its next call takes part.
 *
 * With a quorum other than all, a round goes on as soon as the quorum has called. A worker that
 * calls after that is late: it gets at once the sum of the rounds that it missed, in order
 * (info.rounds tells how many), and its own gradient goes to the next round (quorum.late
 * accumulate) or is lost (drop). So all workers apply the same results in the same order, some of
 * them several at a time. Each step is one call that names all of its buffers, since one decision
 * is made for them together; every call names buffers of the same types and lengths. Parameters
 * then differ by rounding at most. pace_sync and pace_broadcast make them equal again; the sums
 * that a worker had missed until then, and had not been given, are dropped. A worker that joins
 * such a job while it is under way calls pace_broadcast first: its model lacks rounds, and until
 * then every other verb ends as STALE. A call that is canceled after its gradient was taken still
 * counts in that round. A barrier or broadcast counts as a round for quorum.staleness_max. Source:
 * Li et al., PPoPP 2020.
 *
 * With a top-k compression, the result holds the largest elements of the sum and is 0 elsewhere
 * (info.entries tells how many). The daemon keeps the elements that were cut and adds them to later
 * gradients. Every member gets bit-identical results here too. A dense exchange is used where it is
 * faster, and info.dense says so. Source: Zhao et al., SparDL.
 *
 * Fails also with E_REFUSED at its end: reduce.reject_nonfinite is set, and a gradient holds an
 * infinity or a NaN, or, with compression f16 or bf16, an element that is infinite as that type. */
PACE_API pace_status pace_reduce(pace_session* session, const pace_slice* slices, size_t count,
                                 const pace_reduce_options* options, pace_request* ret_request,
                                 pace_error* error);

/* What pace_broadcast is called with. */
typedef struct pace_broadcast_options {
    pace_call call;
    uint32_t root;     /* 0 .. world-1 */
    uint32_t reserved; /* 0 */
} pace_broadcast_options;

#define PACE_BROADCAST_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_broadcast_options), 0, 0 }

/* Gives everyone the buffers of worker options->root (options NULL: 0), bit by bit. The first one
 * waits until the run has begun and fixes the initial model. In a job that is under way, a
 * newcomer's first broadcast gives it the buffers of a healthy worker instead, and info.iteration
 * says at which iteration: those of that worker's latest broadcast, or, if it has made none with
 * its daemon, those that it averages. If no worker has any, it ends as E_NOT_FOUND; before the
 * first round, it waits for all workers as usual. Nor has a worker any whose copies
 * (PACE_MAY_STAGE) are older than its last pace_reduce, since that did not name them. If no other
 * worker is there, the newcomer keeps what it has. In the server family, the buffers that everyone
 * gets become the model, and a newcomer's first broadcast gives it the model. When the model is
 * that of a checkpoint again (pace_checkpoint), any worker's broadcast gives it the model.
 *
 * The root may have left or died. The others wait 5 s for it to be back if there is no model yet;
 * else, and after that time, their calls fail with E_REFUSED at their end. A root that is lost in
 * the midst of a broadcast has given its buffers to all others or to none. After E_REFUSED the
 * buffers are as they were: call again once the root is back, or name another one. */
PACE_API pace_status pace_broadcast(pace_session* session, const pace_slice* slices, size_t count,
                                    const pace_broadcast_options* options,
                                    pace_request* ret_request, pace_error* error);

/* What pace_sync is called with. */
typedef struct pace_sync_options {
    pace_call call;
} pace_sync_options;

#define PACE_SYNC_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_sync_options) }

/* Averages the buffers over all members with equal weights, whatever the family. options may be
 * NULL. */
PACE_API pace_status pace_sync(pace_session* session, const pace_slice* slices, size_t count,
                               const pace_sync_options* options, pace_request* ret_request,
                               pace_error* error);

/* What pace_barrier is called with. */
typedef struct pace_barrier_options {
    pace_call call;
} pace_barrier_options;

#define PACE_BARRIER_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_barrier_options) }

/* Ends when every member has called it. options may be NULL. */
PACE_API pace_status pace_barrier(pace_session* session, const pace_barrier_options* options,
                                  pace_request* ret_request, pace_error* error);

/* What pace_push is called with. */
typedef struct pace_push_options {
    pace_call call;    /* its iteration is the clock; must be given */
    uint32_t sparse;   /* 1: slices are two, indices (PACE_U32) that rise strictly, and values
                          (PACE_F32) */
    uint32_t reserved; /* 0 */
    uint64_t entries;  /* with sparse: how many of each count; 0: none */
    uint64_t first;    /* element of the model at which dense slices begin */
} pace_push_options;

#define PACE_PUSH_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_push_options), 0, 0, 0, 0 }

/* Adds an update of this worker, computed in its step `clock` (0, 1, ...), to the model, as
 * server.rate says (server family). The update is dense (all of the model's elements or a range of
 * them) or sparse (indices and values); its cost depends on the number of its elements. It is taken
 * into the daemon's memory at once, and the buffers are free when the request ends. The request
 * waits for no other worker, but it does wait while four earlier updates of this worker have not
 * arrived at all shards. An update counts in all of the model or in none. It is lost if the daemon
 * dies before it has arrived.
 *
 * A push of a step whose update has been taken before ends as OK too, and changes nothing:
 * info.contributor_count is then 0, else 1, and info.iteration the worker's next step. A push whose
 * end is unknown (E_DAEMON_GONE) may therefore be repeated.
 *
 * Fails also, at its end, with E_REFUSED: a buffer is not of PACE_F32, a range or an index lies
 * outside of the model, indices do not rise; STALE: the worker was suspended or is new, or the
 * model is another one (pace_pull), and it must call pace_broadcast or pace_pull first. Nothing has
 * changed then. */
PACE_API pace_status pace_push(pace_session* session, const pace_slice* slices, size_t count,
                               const pace_push_options* options, pace_request* ret_request,
                               pace_error* error);

/* What pace_pull is called with. */
typedef struct pace_pull_options {
    pace_call call; /* its iteration is the clock; must be given */
    uint64_t first; /* element of the model at which the slices begin */
} pace_pull_options;

#define PACE_PULL_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_pull_options), 0 }

/* Fills the buffers with the model, or a range of it, for this worker's step `clock`, as soon as
 * the slowest worker is near enough (see the policies). All elements are as they were at one
 * moment: they have all of an update or none of it, and all updates that this worker has pushed
 * before. A pull that is called before the push of the step before is a prefetch, which lacks that
 * step's update and may wait for it. A worker pulls when its copy is too old, that is, when the
 * last pull's info.slowest_clock + server.staleness < clock. info.version is the model's, which
 * grows. A model is zero until a worker has broadcast one.
 *
 * Fails also, at its end, with E_REFUSED (a buffer is not of PACE_F32, the range lies outside of
 * the model, a clock beyond the step after the last one pushed), STALE (the model is lost with a
 * node that kept a shard of it: pace_broadcast gives it anew; or it is that of a checkpoint again:
 * pace_broadcast or another pull gives it, and info.iteration the worker's step then; or every
 * daemon that knew of the job was gone, and it has begun anew: pace_broadcast makes the root's the
 * model). */
PACE_API pace_status pace_pull(pace_session* session, const pace_slice* slices, size_t count,
                               const pace_pull_options* options, pace_request* ret_request,
                               pace_error* error);

/* What pace_checkpoint is called with. */
typedef struct pace_checkpoint_options {
    pace_call call;
} pace_checkpoint_options;

#define PACE_CHECKPOINT_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_checkpoint_options) }

/* Has the daemons save the model to their disks, with all updates that this worker has pushed
 * before, and ends when that is durable, on server.checkpoint_copies nodes each. Other pushes and
 * pulls go on meanwhile; all workers that ask while a checkpoint is written get the same next one.
 * info.version is the version of the model in it. A model that is lost with a node goes on from the
 * newest whole checkpoint; another job can start from it later (server.restore). When a model goes
 * on so, calls that are under way, pushes, and pulls for steps that the checkpoint lacks end as
 * STALE, until the worker has called pace_broadcast or a pull for a step that it has. Older
 * checkpoints are removed. The clocks are saved too: info.iteration tells each worker where to go
 * on. The files are in the folder that the daemons' setting `checkpoints` names. While a node
 * writes them, it needs memory for a copy of its shards.
 *
 * Fails also with E_VERB (the job has no parameter server); at its end with E_DISK (a node has no
 * such folder, no room there or a broken disk; the message names it: older checkpoints and the
 * model are as they were), STALE (as for pace_push). */
PACE_API pace_status pace_checkpoint(pace_session* session, const pace_checkpoint_options* options,
                                     pace_request* ret_request, pace_error* error);

/* What pace_residual_save and pace_residual_load are called with. */
typedef struct pace_residual_options {
    pace_call call;
} pace_residual_options;

#define PACE_RESIDUAL_OPTIONS_INIT \
    { PACE_CALL_INIT(pace_residual_options) }

/* Writes what a top-k compression still owes to later rounds into the buffers, for a checkpoint:
 * one PACE_F32 buffer for each buffer of the pace_reduce that it belongs to, of the same counts;
 * zeros before the first one. With topk.hierarchy node, the first of a node's workers gets what the
 * node owes, and the others get zeros; with flat, each worker gets its own. No other worker need
 * call. Fails also with: E_VERB (the job has no top-k compression), E_INVALID (a buffer of another
 * type, named). Buffers of other counts than any pace_reduce had get zeros. */
PACE_API pace_status pace_residual_save(pace_session* session, const pace_slice* slices,
                                        size_t count, const pace_residual_options* options,
                                        pace_request* ret_request, pace_error* error);

/* Adds the buffers' contents to what is owed: a restored job, which owes nothing yet, then owes
 * exactly what was saved. Buffers, callers and failures as for pace_residual_save; also E_REFUSED,
 * at its end, while a reduce of the same buffers is under way. */
PACE_API pace_status pace_residual_load(pace_session* session, const pace_slice* slices,
                                        size_t count, const pace_residual_options* options,
                                        pace_request* ret_request, pace_error* error);

#ifdef __cplusplus
}
#endif

#endif /* PACE_H */
