/* pace.h: the C interface of Pace, and the only header that is installed.
 *
 * A trainer opens a session with the daemon on its node, joins a job as one of its workers, puts
 * its parameters or gradients in buffers that the daemon owns, and calls a verb. Every verb begins
 * an operation and returns a request; pace_request_wait learns its end.
 *
 *     pace_job_options job = PACE_JOB_OPTIONS_INIT;
 *     job.name = "fashion"; job.rank = rank; job.world = 8;
 *     job.policy = PACE_POLICY_PARTIAL_REDUCE; job.group_size = 3;
 *     pace_session_open(NULL, &job, &session, &error);
 *     pace_buffer_create(session, PACE_F32, count, NULL, &model, (void **)&weights, &error);
 *     pace_broadcast(session, &model, 1, 0, &request, &error);
 *     pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error);
 *     for (uint64_t k = info.iteration; k < steps; k = info.iteration + 1) {
 *         local_step(weights);
 *         pace_average(session, &model, 1, k, NULL, &request, &error);
 *         pace_request_wait(session, request, PACE_FOREVER, NULL, &info, &error);
 *     }
 *     pace_session_leave(session, 1000, &error);
 *     pace_session_free(session);
 *
 * Rules that hold everywhere:
 *
 * Errors. Every call that can fail returns a pace_status and takes a pace_error, which may be NULL.
 * 0 is done, above 0 an outcome to handle here, below 0 a fault; the error then says what was
 * wrong, with which value, and what to do. Later releases add statuses: treat one that you do not know by its sign. Nothing has changed when a call fails. No call ends the process
 * or prints.
 *
 * Outputs. Parameters named ret_ are written only when the call succeeds; ret_info of a wait also
 * when the request has ended in another way, and its status always. They may be NULL where so stated.
 *
 * Options. Every options struct begins with its own size, set by its _INIT macro. Zero means
 * default. Fields are only ever appended; a library refuses non-zero bytes that it does not know,
 * and fields named reserved that are not 0.
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

#define PACE_VERSION_MAJOR 0
#define PACE_VERSION_MINOR 2
#define PACE_VERSION_PATCH 0

#if defined(__GNUC__)
#define PACE_API __attribute__((visibility("default")))
#else
#define PACE_API
#endif

/* ----------------------------------------------------------------------------------------------------
 * status */

typedef int32_t pace_status;

enum {
    PACE_OK = 0,

    /* Outcomes to handle. */
    PACE_TIMEOUT = 1, /* the time given has passed; the request is still in flight */
    PACE_ABORTED =
        2, /* ended by a failure elsewhere; the buffers are as they were; calling again is right */
    PACE_CANCELED = 3, /* ended because pace_request_cancel asked */
    PACE_STALE = 4, /* the worker's model lacks what the job has done without it: it was suspended
                         for being late or frozen, or its node was cut off, or its daemon or its
                         process was restarted. pace_broadcast takes the current model */
    PACE_PENDING =
        5, /* still in flight: what pace_request_test says, and the info of a request that has not been collected */
    PACE_INTERRUPTED =
        6, /* a wait with PACE_WAIT_SIGNALS: a signal has come, or half a second has passed, in which one may have; the request is
                             still in flight. A call that opens an interruptible session, or has to reconnect it: a signal has
                             come; nothing was begun, call again */

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
    PACE_E_CLOSED =
        -14, /* what the session belonged to is over: its run, since a later one has begun
                                  under the job's name, or the memory of a GPU; open another session */
    PACE_E_INTERNAL = -15, /* a defect of Pace: please report it */
    PACE_E_REFUSED =
        -16, /* a request has ended because what it named was refused, when the other side looked at it: a gradient with a NaN, an
                index outside of the model. Its buffers are as they were. E_INVALID is for what a call refuses at once */
    PACE_E_UNSUPPORTED =
        -17 /* this library, or this machine's daemon, is built without that device or feature */
};

/* The constant name of a status, "PACE_E_TAKEN"; "PACE_?" for a number that is none. Threads: any.
 * Blocks: no. */
PACE_API const char* pace_status_name(pace_status status);

#define PACE_MESSAGE_MAX 512

/* Filled whenever a call that takes one returns something else than PACE_OK; untouched otherwise.
 * Owns: the caller; nothing to free. */
typedef struct pace_error {
    pace_status status;
    char message[PACE_MESSAGE_MAX]; /* one sentence or two, zero-terminated */
} pace_error;

/* The version of the library that is loaded, as 10000 * major + 100 * minor + patch. Threads: any.
 * Blocks: no. */
PACE_API uint32_t pace_library_version(void);

/* ----------------------------------------------------------------------------------------------------
 * jobs */

typedef enum pace_policy {
    PACE_POLICY_DEFAULT = 0,    /* partial reduce */
    PACE_POLICY_ALL_REDUCE = 1, /* collective family: buffers hold gradients, verb pace_reduce,
                                   everyone waits for all unless `quorum` says otherwise */
    PACE_POLICY_PARTIAL_REDUCE =
        2, /* averaging family: buffers hold parameters, verb pace_average, groups of group_size */

    /* The others are of the averaging family too, but name their groups before the members have
     * called: a call waits until all of its group have. Who is dead, suspended, or has not called for
     * ten median steps (at least a second) is left out. */
    PACE_POLICY_PRAGUE_RANDOM =
        3, /* whoever has no group gets one with others drawn from all. Source: Luo et al., Prague,
              ASPLOS 2020, section 4.1 */
    PACE_POLICY_PRAGUE_SMART =
        4, /* whoever has no group divides all that have none into groups, the slow left out; among
              the nodes first, then within each. Source: the same, section 5 */
    PACE_POLICY_AD_PSGD = 5, /* pairs. Source: Lian et al., ICML 2018 */
    PACE_POLICY_FULL = 6,    /* everyone, as in local SGD: call it every so many steps */

    /* Also of the averaging family, but without the controller: who meets whom follows from the
     * nodes that the members are on and from how many times each has called since the membership
     * last changed. Four phases: one worker of every node, the others in pairs; each node; pairs
     * within a node and between opposite ones; each node. Whoever has no group in a phase gets its
     * own buffers back at once. For workers of equal speed: a late one holds up its node. Source:
     * Luo et al., Prague, ASPLOS 2020, section 4.2, figure 10 */
    PACE_POLICY_PRAGUE_STATIC = 7,

    /* Of the averaging family: which of the policies with ordered groups, and with which group size,
     * follows from how unequal the steps are and how long averages take. It is looked at again as
     * these change; the choice and its reason are in the controller's log and in `pacectl status`. */
    PACE_POLICY_AUTO = 8,

    /* Server family: buffers hold updates, verbs pace_push and pace_pull; the daemons keep the model, in
     * shards. A worker whose step is `clock` gets the model when the slowest worker is at most so many steps
     * behind. Source: Jiang et al., "Heterogeneity-aware Distributed Parameter Servers", SIGMOD 2017. */
    PACE_POLICY_BSP = 9,  /* none: everyone waits for the slowest */
    PACE_POLICY_SSP = 10, /* staleness_max */
    PACE_POLICY_ASP = 11  /* any: nobody waits */
} pace_policy;

/* What an update counts in the model (server family). Source: the same, Algorithms 1 and 2. */
typedef enum pace_rate {
    PACE_RATE_DEFAULT = 0,  /* dynamic */
    PACE_RATE_SUM = 1,      /* 1: it is added as it is (SSPSGD) */
    PACE_RATE_CONSTANT = 2, /* constant_rate (ConSGD) */
    PACE_RATE_DYNAMIC =
        3 /* those that were computed on one version of the model count as their mean,
                               however late some of them come (DynSGD) */
} pace_rate;

typedef enum pace_weights {
    PACE_WEIGHTS_DEFAULT = 0,  /* constant */
    PACE_WEIGHTS_CONSTANT = 1, /* 1/P each */
    PACE_WEIGHTS_DYNAMIC =
        2 /* older models count less: exponential moving average over iterations */
} pace_weights;

/* Who gets the weight of an iteration that no member of the group has (dynamic weights only). */
typedef enum pace_missing {
    PACE_MISSING_DEFAULT = 0, /* closest */
    PACE_MISSING_CLOSEST = 1, /* the members of the nearest iteration */
    PACE_MISSING_INITIAL = 2  /* the model of the first pace_broadcast, which must come first */
} pace_missing;

/* How many workers must have called before a reduce goes on. The others contribute what they have:
 * nothing, or a late gradient. Source: Li et al., PPoPP 2020 (eager-SGD), for solo and majority. */
typedef enum pace_quorum {
    PACE_QUORUM_DEFAULT = 0,  /* all */
    PACE_QUORUM_ALL = 1,      /* everyone waits for all */
    PACE_QUORUM_SOLO = 2,     /* the first to call starts the round */
    PACE_QUORUM_MAJORITY = 3, /* a worker starts it that is drawn for each round, from a seed that
                                 all share: half of them have called, on average */
    PACE_QUORUM_MAJORITY_STRICT = 4, /* ceil(N/2) of N have called */
    PACE_QUORUM_COUNT = 5            /* quorum_count have called, or all that do not wait
                                        in a verb for all members, if they are fewer */
} pace_quorum;

/* What becomes of a gradient whose round has begun without it. */
typedef enum pace_late {
    PACE_LATE_DEFAULT = 0,    /* accumulate */
    PACE_LATE_ACCUMULATE = 1, /* it is added to the worker's next one, and so counts in exactly one
                                 later round */
    PACE_LATE_DROP = 2        /* it is lost, as with backup workers */
} pace_late;

/* By what PACE_OP_MEAN divides the sum. */
typedef enum pace_divide_by {
    PACE_DIVIDE_BY_DEFAULT = 0, /* world */
    PACE_DIVIDE_BY_WORLD = 1,   /* the number of members, whoever contributed */
    PACE_DIVIDE_BY_CONTRIBUTORS = 2
} pace_divide_by;

/* What of the gradients travels between nodes. With the top-k ones, the `density` largest of the
 * elements do; what is cut comes again in later rounds, as `residuals` says. */
typedef enum pace_compression {
    PACE_COMPRESSION_DEFAULT = 0, /* none */
    PACE_COMPRESSION_NONE = 1,    /* every element as it is */
    PACE_COMPRESSION_F16 = 2,     /* every element; those of PACE_F32 as halves */
    PACE_COMPRESSION_BF16 = 3,    /* the same, as bfloat16 */
    PACE_COMPRESSION_SPARDL = 4,  /* top-k by SparDL. Source: Zhao et al., SparDL */
    PACE_COMPRESSION_TOPKA = 5,   /* top-k by its rivals, for comparison */
    PACE_COMPRESSION_TOPKDSA = 6,
    PACE_COMPRESSION_GTOPK = 7,
    PACE_COMPRESSION_OKTOPK = 8
} pace_compression;

/* Which of the values that a top-k compression cuts come again in later rounds. All but the first are
 * for comparison. Source: SparDL, section 3.2. */
typedef enum pace_residuals {
    PACE_RESIDUALS_DEFAULT = 0, /* global */
    PACE_RESIDUALS_GLOBAL = 1,  /* all, so that nothing is lost */
    PACE_RESIDUALS_PARTIAL = 2, /* those that a participant left out itself, or sent in vain */
    PACE_RESIDUALS_LOCAL = 3    /* those that a participant left out itself */
} pace_residuals;

/* How the teams of SparDL gather each other's results. Source: SparDL, section 3.3. */
typedef enum pace_team_gather {
    PACE_TEAM_GATHER_DEFAULT = 0,   /* automatic */
    PACE_TEAM_GATHER_AUTOMATIC = 1, /* whichever is cheaper for the number of teams */
    PACE_TEAM_GATHER_RECURSIVE = 2,
    PACE_TEAM_GATHER_BRUCK = 3
} pace_team_gather;

/* How a top-k compression writes the indices of the elements that it sends. */
typedef enum pace_indices {
    PACE_INDICES_DEFAULT = 0, /* compressed */
    PACE_INDICES_PLAIN = 1,   /* four bytes each */
    PACE_INDICES_COMPRESSED = 2
} pace_indices;

/* How it writes their values. */
typedef enum pace_values {
    PACE_VALUES_DEFAULT = 0, /* f32 */
    PACE_VALUES_F32 = 1,
    PACE_VALUES_F16 = 2,
    PACE_VALUES_BF16 = 3
} pace_values;

/* Who takes part in a top-k exchange. */
typedef enum pace_hierarchy {
    PACE_HIERARCHY_DEFAULT = 0, /* node */
    PACE_HIERARCHY_NODE = 1,    /* each node: the gradients of its workers are summed first */
    PACE_HIERARCHY_FLAT = 2     /* each worker, as in the paper */
} pace_hierarchy;

typedef enum pace_dense_fallback {
    PACE_DENSE_FALLBACK_DEFAULT = 0,   /* automatic */
    PACE_DENSE_FALLBACK_AUTOMATIC = 1, /* exchanges for which dense would be faster go dense */
    PACE_DENSE_FALLBACK_NEVER = 2 /* for comparisons: among nodes none does. Of a single node (or,
                                          flat, member) nothing travels and nothing is cut: info.dense
                                          says so */
} pace_dense_fallback;

typedef struct pace_job_options {
    uint32_t struct_size;
    uint32_t rank;    /* this worker, 0 .. world-1 */
    uint32_t world;   /* workers of the job, 1 .. 65536 */
    int32_t policy;   /* pace_policy */
    const char* name; /* letters, digits, '.', '_', '-'; 1 to 63 of them. Copied. */

    /* Of the averaging family. With PACE_POLICY_ALL_REDUCE, which forms no groups, one that is set to
     * something else than its default is refused. */
    uint32_t group_size; /* P, 2 .. world; default 3, or world if that is less, but at least 2.
                            PACE_POLICY_AD_PSGD has 2, PACE_POLICY_FULL world, and
                            PACE_POLICY_PRAGUE_STATIC none of the options here but constant weights */
    uint32_t group_min;  /* of partial reduce: the smallest group that is closed when group_wait_ms
                            has passed, 2 .. group_size; default 2 */
    int32_t weights;     /* pace_weights */
    int32_t missing;     /* pace_missing */
    double alpha;        /* decay of dynamic weights, 0 <= alpha < 1; default 0.5. Counts only with
                            has_alpha: set without it, or given where weights are not dynamic, it
                            is refused */
    uint32_t has_alpha;  /* 1: alpha is set (so that 0 can be asked for), else 0 */
    uint32_t
        group_wait_ms; /* of partial reduce: longest wait for a full group; default: adaptive */
    uint32_t history_window; /* groups that must connect all workers, at least
                                ceil((world-1)/(group_size-1)); default twice that */

    /* Of every policy. */
    uint32_t worker_timeout_ms; /* a worker that computes longer than this is suspended when others
                                   wait for it; default: ten of its median steps, at least 30 s */
    uint32_t connect_ms;        /* longest wait for the daemon and its controller; default 10000 */
    uint32_t reserved;          /* 0 */

    /* Of PACE_POLICY_ALL_REDUCE. With partial reduce, one that is set to something else than its
     * default is refused. So is one without meaning beside the others: late, staleness_max and
     * divide_by need another quorum than all; teams and team_gather need compression spardl;
     * density, residuals, indices, values, hierarchy and dense_fallback need a top-k compression.
     * A compression needs quorum all, so far. */

    int32_t quorum;        /* pace_quorum */
    uint32_t quorum_count; /* 1 .. world; with PACE_QUORUM_COUNT only */
    int32_t late;          /* pace_late */

    /* Rounds. When a contribution would become older, the next round waits for its owner;
     * default 32. It does not wait for one that waits in a verb for all members: the gradient after
     * a barrier may be older by the rounds that went on meanwhile. */
    uint32_t staleness_max;
    int32_t divide_by; /* pace_divide_by */

    /* Every so many rounds info.resync asks all workers to call pace_sync on their parameters;
     * 0: never. */
    uint32_t resync_every;
    int32_t compression; /* pace_compression */
    int32_t residuals;   /* pace_residuals */
    double density;      /* share of the elements that top-k chooses, above 0, at most 1;
                            default 0.01 */

    /* SparDL's d, which must divide the number of participants; 0: chosen by the cost model. */
    uint32_t teams;
    int32_t team_gather;    /* pace_team_gather */
    int32_t indices;        /* pace_indices */
    int32_t values;         /* pace_values */
    int32_t hierarchy;      /* pace_hierarchy */
    int32_t dense_fallback; /* pace_dense_fallback */

    /* 1: a reduce of gradients with an infinity or a NaN is refused, with any compression or none;
     * else 0. */
    uint32_t reject_nonfinite;

    /* Of PACE_POLICY_PRAGUE_SMART: a worker that has called so many times less is in no group that a
     * faster one waits for; default 4. */
    uint32_t progress_gap;
    uint32_t edge_count; /* see edges */

    /* Of PACE_POLICY_AD_PSGD: the communication graph, as edge_count pairs of ranks that may average
     * with each other, at most 4096; it must connect all workers. NULL: any two may. Copied. */
    const uint32_t* edges;

    /* Of the server family. With other policies, one that is set is refused. staleness_max, above, is of
     * PACE_POLICY_SSP too: steps; default 3. */
    uint64_t elements;    /* of the model, all buffers together; must be given */
    int32_t rate;         /* pace_rate */
    uint32_t has_filter;  /* 1: filter is set (so that 0 can be asked for), else 0 */
    double constant_rate; /* with PACE_RATE_CONSTANT, above 0, at most 1; default 1/world */
    double
        filter; /* elements of updates whose magnitude is below this are not sent; they wait in the
                             daemon until they have grown. Default 1e-6; 0: all are sent. Counts only with
                             has_filter: set without it, it is refused */
    uint32_t
        shards; /* parts of the model, at most 4096 and elements; default: one for each node of the first
                   workers */
    uint32_t
        checkpoint_every_ms; /* how often the daemons save the model to their disks, if it has changed;
                                     default: when a worker calls pace_checkpoint */
    uint32_t
        checkpoint_copies; /* nodes whose disks have each shard's part of a checkpoint: 2, so that it outlives
                                     any one node, or 1, for a folder that all nodes share; default 2 */
    uint32_t
        restore; /* 1: the job begins with the newest checkpoint of a job of this user and name, if its nodes have
                         one: each worker's first call is pace_broadcast, or pace_pull for its step 0, which gives it
                         that model, and info.iteration says with which step it goes on. Without a whole one
                         on its nodes it begins at step 0, and the controller's log says so. Else 0: with the root's
                         model of pace_broadcast */
    uint32_t
        unsynchronized; /* 1: a push has its place in the order before it has come to all shards, so that a
                                pull, which takes each shard as it is, waits for less and may see an update in one and
                                not in another, this worker's own too (for comparison); else 0 */

    /* Which execution of the job this worker is of: 1 to 63 printable characters without spaces, the same
     * for all of its workers; copied. NULL: the environment's PACE_RUN_ID, or what torchrun
     * (TORCHELASTIC_RUN_ID) or Slurm (SLURM_JOB_ID, _STEP_ID, _RESTART_COUNT) say, or none. A job whose
     * workers are all gone is kept for some minutes. Who opens it then with the same run_id, or
     * PACE_RUN_ID, is one of its workers that returns; with another identity it begins a new run, which
     * starts when all `world` workers have joined. So does, of a launcher's run or without an identity, who
     * opens it after all its workers have died or left: a launcher that starts workers anew starts all. While
     * workers of another run live, it is refused (E_TAKEN, after connect_ms). */
    const char* run_id;
    uint32_t resume; /* 1: this worker goes on with the run of this identity though all its workers
                           have died; else 0 */
    uint32_t
        interruptible; /* 1: pace_session_open, and verbs and buffer calls that reconnect, return PACE_INTERRUPTED when a signal
                               comes while they wait; else 0. For waits, see PACE_WAIT_SIGNALS */
} pace_job_options;

#define PACE_JOB_OPTIONS_INIT                                                                      \
    {                                                                                              \
        (uint32_t)sizeof(pace_job_options), 0, 0, 0, NULL, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0,   \
            0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0.0, 0.0, 0, 0, 0, \
            0, 0, NULL, 0, 0                                                                       \
    }

/* -------------------------------------------------------------------------------------------------
 * sessions */

typedef struct pace_session pace_session;

/* Connects to a daemon and joins the job, creating it if this worker is the first. All workers of a
 * job give the same options, rank, connect_ms, resume and interruptible excepted.
 *
 * endpoint: "unix:PATH", a daemon's socket; "embedded:" or "embedded:FILE.toml", a daemon hosted in
 * this process by libpaced.so (all sessions of the process with the same endpoint share it); NULL:
 * the environment's PACE_ENDPOINT, else the socket of this node's daemon, /run/pace/paced.sock.
 *
 * Owns: the caller gets *ret_session, to be freed with pace_session_free.  Threads: any.
 * Blocks: until the job is joined, at most connect_ms; it does not wait for the other workers. A
 * daemon that is not there at all is waited for a quarter of a second, a controller that the daemon
 * cannot reach for the whole of connect_ms.
 * Fails with: E_INVALID (argument or option named), E_NOT_FOUND or E_DAEMON_GONE (no daemon there,
 * or none that answers), E_VERSION, E_NO_CONTROLLER, E_TAKEN (rank held by a live worker, the job by
 * another run, or the node's name by another daemon), E_MISMATCH (the job has other options: each is named), E_DENIED
 * (of the socket, or the job is another user's), E_LIMIT, E_MEMORY, E_DISK (the controller's
 * journal has no room for a new job). Returns also: INTERRUPTED (a signal has come; only with interruptible; there is no session: call
 * again). */
PACE_API pace_status pace_session_open(const char* endpoint, const pace_job_options* job,
                                       pace_session** ret_session, pace_error* error);

/* Leaves the job in order: the others go on without this worker at once, and its rank is free when this returns OK, on every node,
 * if the controller answers within a second. Requests that are not collected end unseen. The session is over, whatever this returns: its buffers
 * stay mapped until it is freed, and every other call fails with E_CLOSED.
 *
 * Threads: any; a wait of another thread fails with E_CLOSED.  Blocks: for the daemon's answer, at most timeout_ms (PACE_FOREVER: without limit).
 * Returns: OK; TIMEOUT (the daemon has been told, and has not answered in time). Fails with: E_INVALID (timeout_ms below PACE_FOREVER; this alone
 * leaves the session as it was), E_DAEMON_GONE (it cannot be told: the worker counts as one that died), E_CLOSED (it has left before). */
PACE_API pace_status pace_session_leave(pace_session* session, int64_t timeout_ms,
                                        pace_error* error);

/* Frees the session, its buffers and their memory, and closes its descriptor. A session that has not left before ends as if the worker had died:
 * its job goes on without it, and keeps what a worker that returns would need. So it is safe where a program clears up after a
 * failure. NULL does nothing. Threads: no other call on this session may run or follow.  Blocks: no. */
PACE_API void pace_session_free(pace_session* session);

typedef struct pace_session_info {
    uint32_t struct_size;
    uint32_t rank;
    uint32_t world;
    uint32_t under_way; /* 1: the job had started when this worker joined; pace_broadcast gives it
                           the current model */
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

/* A descriptor that polls readable while ended requests wait to be collected with pace_request_wait
 * or _test, or the daemon is gone. Every call gives the same one; it stays good when the session
 * reconnects. Owns: the session; do not read, write or close it.  Lives until: the session is
 * freed. Threads: any.  Blocks: no.  Fails with: E_INVALID, E_LIMIT (this process has no descriptor
 * left). */
PACE_API pace_status pace_session_get_fd(pace_session* session, int* ret_fd, pace_error* error);

/* Says on which CUDA stream (a cudaStream_t or CUstream; NULL, as at first: the device's default stream) the trainer makes the contents
 * of its buffers on GPUs: every verb called from now on, by whatever thread, takes them when that stream has come to where it is at the
 * call. Neither this process nor the device waits for that. What the trainer queues after the call and before the request has
 * ended must not touch the buffers.
 *
 * Threads: any.  Blocks: no.  Fails with: E_INVALID. A stream of another device than the buffers' is refused by the verb (E_INVALID). */
PACE_API pace_status pace_session_set_stream(pace_session* session, void* cuda_stream,
                                             pace_error* error);

/* --------------------------------------------------------------------------------------------------
 * buffers */

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

/* For pace_buffer_options.device: the CUDA device of this number, as this process counts them (CUDA_VISIBLE_DEVICES). */
#define PACE_CUDA(ordinal) ((uint32_t)(ordinal) + 1U)

typedef struct pace_buffer_options {
    uint32_t struct_size;
    uint32_t device; /* 0: memory of the host; PACE_CUDA(n): of that GPU */
} pace_buffer_options;

#define PACE_BUFFER_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_buffer_options), 0 }

/* Makes a buffer of `count` elements in memory that the daemon owns and this process maps, zeroed;
 * *ret_data is its address, aligned to a page. The trainer reads and writes it freely except while
 * a request that names it is in flight. If an earlier process of this rank died on this node, the
 * first buffers of the same type and count are the ones it had, with their contents.
 *
 * With options->device = PACE_CUDA(n) it is memory of that GPU, and *ret_data a device pointer, aligned to 256 bytes at least, in
 * the device's primary context, which CUDA's runtime, PyTorch and JAX use, too. NVIDIA's driver is loaded then, not before; a process
 * that forks does that earlier. The daemon keeps a twin of the same size in memory of the host, which counts against the client's
 * quota. See pace_session_set_stream for the order between streams and calls. Where the GPU exports no descriptors of its
 * memory the buffer does not survive the daemon: then the session cannot reconnect (E_CLOSED).
 *
 * options may be NULL.  Owns: the session; free with pace_buffer_free, or with the session.
 * Lives until: then. It survives the daemon: a session that reconnects hands its memory to the new
 * daemon. Threads: any.  Blocks: for one exchange with the daemon (page allocation included); if
 * the session lost its daemon, until it has reconnected or connect_ms has passed.
 * Fails with: E_INVALID (also a GPU that is none), E_LIMIT (the daemon's quota: its name and size are told), E_MEMORY (of the
 * host, or of the GPU), E_NOT_FOUND (there is no driver here; the daemon has no GPU, and why; or it does not have this process's: those that
 * it has are named), and, where it had to reconnect, as pace_session_open. */
PACE_API pace_status pace_buffer_create(pace_session* session, int32_t type, uint64_t count,
                                        const pace_buffer_options* options, pace_buffer* ret_buffer,
                                        void** ret_data, pace_error* error);

/* Frees the buffer and unmaps its memory; no daemon is needed for that. A null handle does nothing.
 * Threads: any.  Blocks: no longer than one exchange with the daemon. Fails with: E_HANDLE;
 * E_INVALID while a request in flight names it. */
PACE_API pace_status pace_buffer_free(pace_session* session, pace_buffer buffer, pace_error* error);

typedef struct pace_buffer_info {
    uint32_t struct_size;
    int32_t type; /* of pace_type */
    uint64_t count;
    void* data; /* a device pointer where device is not 0 */
    uint32_t device;
    /* The same in the words of DLPack (dlpack.h 0.8): a tensor of one dimension of `count`, compact, read and write. */
    int32_t dl_device_type; /* 1: kDLCPU, 2: kDLCUDA */
    int32_t dl_device_id;
    uint8_t dl_type_code; /* 1: kDLUInt, 2: kDLFloat, 4: kDLBfloat */
    uint8_t dl_type_bits;
    uint16_t dl_type_lanes;
    /* And in those of NumPy's __array_interface__ and Numba's __cuda_array_interface__ (version 3): "<f4". Empty for PACE_BF16, which
     * they do not know. */
    char typestr[8];
} pace_buffer_info;

#define PACE_BUFFER_INFO_INIT \
    { (uint32_t)sizeof(pace_buffer_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, "" }

/* Describes a buffer, so that other libraries see its memory as theirs: fills as much of *info as info->struct_size says. What it
 * describes lives until the buffer is freed. Threads: any.  Blocks: no.  Fails with: E_INVALID, E_HANDLE. */
PACE_API pace_status pace_buffer_get_info(pace_session* session, pace_buffer buffer,
                                          pace_buffer_info* info, pace_error* error);

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

/* What the buffers hold of a request whose daemon was gone before it could tell its end. */
typedef enum pace_contents {
    PACE_CONTENTS_AS_CALLED = 0, /* what they held at the call */
    PACE_CONTENTS_TORN = 1, /* part of the result: make their contents anew, or take the model by
                                    pace_broadcast */
    PACE_CONTENTS_RESULT =
        2 /* the whole result: the exchange was done for this worker, though nothing else is
                                    told of it; do not give the same gradient again */
} pace_contents;

typedef struct pace_request_info {
    uint32_t struct_size;
    pace_status
        status; /* how the request ended; PACE_PENDING: it has not been collected, and the rest is as it was */
    uint64_t iteration; /* the worker's iteration now: the group's newest (average), the one given
                           (reduce), the donor's (broadcast to a newcomer); else as before */
    uint64_t group;     /* of an average: the group's number */
    uint64_t
        round; /* of a verb for all members: the round's number; of a late reduce, that of the last sum that it got */
    uint64_t version;    /* of a pull and a checkpoint: the model's, which grows */
    uint64_t bytes_sent; /* by this node over the network for this exchange */
    uint64_t bytes_received;
    uint64_t queued_ns;    /* from the call to the start of the exchange: forming the group, waiting
                               for others */
    uint64_t moving_ns;    /* from there to the result */
    double initial_weight; /* weight of the initial model (PACE_MISSING_INITIAL) */
    uint32_t member_count; /* members of the exchange */
    uint32_t node_count;   /* nodes they are on */
    uint32_t
        member_listed; /* members filled in (pace_wait_options.members): less than member_count if there was no
                               room, and at most 128, the daemon's list */
    int32_t contents; /* of a request that ended as E_DAEMON_GONE: pace_contents */

    /* Of a reduce. */
    double divisor;             /* what the sum was divided by; 0 where nothing was summed */
    uint64_t rounds;            /* rounds whose results the buffers now hold together: 1 as a rule,
                                   more for a worker that had missed some; their sum, in order */
    uint64_t entries;           /* elements of the result that top-k chose; 0 for dense */
    uint32_t contributor_count; /* members whose gradients are in the result; of a push: 1, or 0 if
                                   the update of that step had been taken before */
    uint32_t late;   /* 1: this worker's gradient came after its round had begun; it counts in a
                        later one, or was dropped */
    uint32_t resync; /* 1: call pace_sync now (resync_every) */
    uint32_t dense;  /* 1: compression was asked for, but all elements are in the result:
                        dense was faster, or nothing had to travel */

    uint64_t
        staleness; /* of an average with keep_local: steps that the worker has made since the call, which the average lacks */

    /* Of a push, a pull, and a broadcast of the server family. */
    uint64_t
        slowest_clock; /* steps that the slowest worker has pushed: with PACE_POLICY_SSP the model is fresh
                               enough for steps up to slowest_clock + staleness_max */
} pace_request_info;

#define PACE_REQUEST_INFO_INIT                                                                   \
    {                                                                                            \
        (uint32_t)sizeof(pace_request_info), PACE_PENDING, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, \
            0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0                                                       \
    }

/* A device, in DLPack's numbers (dlpack.h, DLDeviceType), and which of those, as this process counts them. */
enum { PACE_DEVICE_CPU = 1, PACE_DEVICE_CUDA = 2, PACE_DEVICE_ROCM = 10, PACE_DEVICE_ONEAPI = 14 };

typedef struct pace_device {
    int32_t type;
    int32_t id;
} pace_device;

/* Flags of pace_wait_options. */
enum {
    /* The wait returns PACE_INTERRUPTED when its thread has handled a signal, and twice a second besides, so that a trainer in
     * a language that handles signals between its own steps can look. */
    PACE_WAIT_SIGNALS = 1
};

typedef struct pace_wait_options {
    uint32_t struct_size;
    uint32_t flags; /* PACE_WAIT_SIGNALS */

    /* Who waits for a result on a GPU. All zero, or PACE_DEVICE_CPU: this thread, until the result is there. PACE_DEVICE_CUDA and the GPU's number:
     * `stream` (a cudaStream_t or CUstream of that GPU; NULL: its default stream) does, and what is queued there from now on sees
     * the result. This thread then waits only until the daemon has queued what makes the result: for the other members' calls, and for
     * what comes from other nodes. Should the daemon die after the wait has returned OK, the stream may see only part of the
     * result: the next call tells of the death. Of a request whose buffers are on the host it changes nothing. */
    pace_device device;
    void* stream;

    uint64_t
        local_iteration; /* of an average with keep_local: the iteration that the worker has reached by now; 0: it has made
                                   no step since the call */
    pace_member* members; /* room for member_capacity members, filled by rank; or NULL */
    size_t member_capacity;
} pace_wait_options;

#define PACE_WAIT_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_wait_options), 0, {0, 0}, NULL, 0, NULL, 0 }

#define PACE_FOREVER (-1)

/* Waits until the request has ended, and collects it: the handle is then void. timeout_ms: 0 looks
 * once, PACE_FOREVER waits without limit. options may be NULL, and so may ret_info; its status is written whatever this
 * returns, the rest when the request is collected. Spins shortly before it sleeps.
 *
 * Returns: OK; TIMEOUT (not ended, not collected); INTERRUPTED (the same, only with PACE_WAIT_SIGNALS); or the way it ended: ABORTED,
 * CANCELED, STALE or a fault, with the info filled and the request collected. Every request ends exactly once, also
 * when the daemon dies (E_DAEMON_GONE). Threads: any; several may wait, each for its own request.
 * Blocks: at most timeout_ms. Fails with: E_INVALID (an argument or option is wrong; not collected),
 * E_HANDLE (never made, or collected already), E_UNSUPPORTED (options->device; not collected), E_CLOSED (the session has left), and how
 * the request failed: E_REFUSED, E_MISMATCH (workers disagree about verb, types or lengths), E_DAEMON_GONE, or another fault.
 * ret_info->status tells the two apart: it is PACE_PENDING of a request that has not been collected.
 *
 * Of a request that has lasted for ten seconds (the daemon's setting wait_notice_ms) the message of TIMEOUT, INTERRUPTED and PENDING
 * says for whom it waits, or for what. */
PACE_API pace_status pace_request_wait(pace_session* session, pace_request request,
                                       int64_t timeout_ms, const pace_wait_options* options,
                                       pace_request_info* ret_info, pace_error* error);

/* As pace_request_wait with timeout 0, but PENDING instead of TIMEOUT; also, of a request with buffers on a GPU, when the descriptor
 * of pace_session_get_fd says already that it has ended, until the result is on the device, and of an average with keep_local,
 * until all of it is added: each call adds a piece, which takes less than a millisecond. Blocks: no. */
PACE_API pace_status pace_request_test(pace_session* session, pace_request request,
                                       const pace_wait_options* options,
                                       pace_request_info* ret_info, pace_error* error);

/* As pace_request_wait, of whichever of the session's requests has ended first: collects it, and writes its handle, void by now, to *ret_request.
 * options->local_iteration is for averages with keep_local alone. A request that another thread waits for may be taken from it,
 * which is told E_HANDLE then: use either the one or the other.
 *
 * Returns: as pace_request_wait; *ret_request is written exactly when ret_info->status is not PACE_PENDING. Fails also with: E_NOT_FOUND (no
 * request is in flight or waits to be collected; at once). */
PACE_API pace_status pace_session_next(pace_session* session, int64_t timeout_ms,
                                       const pace_wait_options* options, pace_request* ret_request,
                                       pace_request_info* ret_info, pace_error* error);

/* Asks that the request end as CANCELED. One that is in an exchange already, or has ended, ends in
 * the ordinary way: wait for it in either case. (An exchange among several nodes has begun for a
 * node as soon as its own members have called; it then waits for the others'.) Threads: any.  Blocks: no.  Fails with: E_HANDLE,
 * E_DAEMON_GONE, E_LIMIT (the daemon does not read; the request is in flight still: try again). */
PACE_API pace_status pace_request_cancel(pace_session* session, pace_request request,
                                         pace_error* error);

/* ----------------------------------------------------------------------------------------------------
 * verbs
 *
 * Each begins an operation on `count` buffers (1 .. 256), which count as one vector in the order
 * given; all workers of the exchange give equal types and lengths in equal order. The buffers must
 * stay untouched until the request has ended.
 *
 * pace_average is for whoever is ready. pace_residual_save and pace_residual_load are a worker's own
 * affair. The others are for all members of the job: every worker calls them in the same order.
 *
 * Owns: the caller collects *ret_request with pace_request_wait or _test.  Threads: any.  Blocks:
 * no; if the session lost its daemon, until it has reconnected or connect_ms has passed. Fails
 * with: E_INVALID, E_HANDLE, E_VERB (which one fits is told), E_LIMIT (64 requests are in flight or
 * not collected), and, where it had to reconnect, as pace_session_open. */

/* How a trainer says which elements of its buffers are ready, counted over all of them as one vector. */
typedef enum pace_order {
    PACE_ORDER_DEFAULT = 0, /* all are, at the call */
    PACE_ORDER_FORWARD = 1, /* pace_request_ready tells how many of the first */
    PACE_ORDER_BACKWARD = 2 /* pace_request_ready tells how many of the last, as a backward pass
                               makes them */
} pace_order;

typedef struct pace_average_options {
    uint32_t struct_size;
    int32_t order; /* pace_order; all workers give the same */

    /* 1: the trainer keeps its buffers and goes on with its steps while a copy of them is averaged.
     * What it has changed meanwhile is kept: when the request is collected, the average minus the copy
     * is added to the buffers, by the thread that collects it; nobody else may write them during that
     * call. A call whose time ends first adds a piece of it, or several, and returns TIMEOUT or
     * PENDING: the next one goes on there. The copy is made in the call, which blocks for that, and the first
     * time also for an exchange with the daemon; it stays for the next time, twice the size of the
     * buffers. Only while such a request is in flight may a buffer that it names be written, and
     * named by no other request. pace_wait_options.local_iteration tells how far the worker has come, and
     * info.iteration then is the group's newest and the steps since. Not together with an order. */
    uint32_t keep_local;
    uint32_t reserved; /* 0 */
} pace_average_options;

#define PACE_AVERAGE_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_average_options), 0, 0, 0 }

/* Averages the buffers, which hold parameters, over a group of workers that are ready (averaging
 * family). `iteration` is the worker's own step count; afterwards it is the group's newest, as the
 * info tells. options may be NULL. Source: Miao et al., SIGMOD 2021, Algorithm 2. */
PACE_API pace_status pace_average(pace_session* session, const pace_buffer* buffers, size_t count,
                                  uint64_t iteration, const pace_average_options* options,
                                  pace_request* ret_request, pace_error* error);

/* Tells the controller, at the start of a step, that the next verb of this worker will be pace_average
 * with this iteration, on buffers of the same types and lengths as its last pace_average: its group
 * forms while it computes, from 7/8 of the usual time of its steps on, and pace_average begins to
 * exchange at once. The buffers may be written meanwhile. Nothing need be collected, and it is only
 * a hint: it is ignored before the first pace_average, in a step whose length is not known yet, while
 * a request is in flight, and if the daemon is gone. Whoever comes too late is not waited for: its
 * group forms anew without it. Another verb, another iteration or a worker's death take it back.
 * Threads: any. Blocks: no. Fails with: E_HANDLE, E_VERB (the job does not average in groups).
 * Source: Luo et al., Prague, ASPLOS 2020, section 4.1. */
PACE_API pace_status pace_announce(pace_session* session, uint64_t iteration, pace_error* error);

/* Of an average that was called with an order: the first, or last, `elements` of its buffers are ready,
 * and will not be written again before the request has ended. Their exchange with other nodes begins
 * at once, in pieces of 4 MiB, while the rest is computed. Of less than was said before, does nothing;
 * all elements must be ready before the request can end. A worker of whom nothing has become ready for
 * a second, while its group waits, is left to a later group. Does nothing to a request that has ended.
 * Threads: any.  Blocks: no.  Fails with: E_HANDLE, E_INVALID (more elements than there are; the call
 * had no order), E_LIMIT (the daemon has not taken the last 64 calls yet: say it again). */
PACE_API pace_status pace_request_ready(pace_session* session, pace_request request,
                                        uint64_t elements, pace_error* error);

/* Takes the announcement back: this worker will not average next. Without one, does nothing. Threads,
 * blocks, fails as pace_announce. */
PACE_API pace_status pace_withdraw(pace_session* session, pace_error* error);

typedef enum pace_op {
    PACE_OP_MEAN = 0, /* the sum divided by the number of members, or of those who contributed, as
                         divide_by says */
    PACE_OP_SUM = 1
} pace_op;

typedef struct pace_reduce_options {
    uint32_t struct_size;
    int32_t op;         /* pace_op */
    uint64_t iteration; /* the worker's step count, for status displays and for newcomers */
} pace_reduce_options;

#define PACE_REDUCE_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_reduce_options), 0, 0 }

/* Reduces the buffers, which hold gradients, over all members (collective family); the first one
 * waits until all workers have joined. Every member gets bit-identical results. options may be
 * NULL: the mean. All workers give the same op. The mean of finite values is finite, except of elements that are infinite as the
 * half type as which they travel (compression), and of late gradients whose sum at one worker its type does not hold; a sum may
 * exceed its type, at the end or within a node.
 *
 * A worker whose model lacks rounds, because it, its daemon or its node's connection was away, is
 * never let in with it: its call ends as STALE, and pace_broadcast gives it the model of another, or
 * E_NOT_FOUND if no worker has got one by pace_broadcast. Who was told that may go on with its own
 * parameters: its next call takes part.
 *
 * With a quorum other than all, a round goes on as soon as the quorum has called. A worker that
 * calls after that is late: it gets at once the sum of the rounds that it missed, in order
 * (info.rounds tells how many), and its own gradient goes to the next round (PACE_LATE_ACCUMULATE)
 * or is lost (PACE_LATE_DROP). So all workers apply the same results in the same order, some of them
 * several at a time. Each step is one call that names all of its buffers, since one decision is made
 * for them together; every call names buffers of the same types and lengths. Parameters then differ
 * by rounding at most: pace_sync and pace_broadcast make them equal again, and what a worker had
 * missed until then and not been given is forgotten. A worker that joins such a job while it is under
 * way calls pace_broadcast first: its model lacks rounds, and until then every other verb ends as
 * STALE. A call that is canceled after its gradient was taken still counts in that round; a barrier
 * or broadcast counts as a round for staleness_max. Source: Li et al., PPoPP 2020.
 *
 * With a top-k compression, the result holds the largest elements of the sum and is 0 elsewhere
 * (info.entries tells how many); what was cut is kept by the daemon and added to later gradients.
 * Every member gets bit-identical results here too. Where dense is faster it is used, and info.dense
 * says so. Source: Zhao et al., SparDL.
 *
 * Fails also with E_REFUSED at its end: reject_nonfinite is set, and a gradient holds an infinity or a
 * NaN, or, with compression f16 or bf16, an element that is infinite as that type. */
PACE_API pace_status pace_reduce(pace_session* session, const pace_buffer* buffers, size_t count,
                                 const pace_reduce_options* options, pace_request* ret_request,
                                 pace_error* error);

/* Gives everyone the buffers of worker `root`, 0 .. world-1, bit by bit. The first one waits until all workers
 * have joined and fixes the initial model. In a job that is under way, a newcomer's first broadcast
 * gives it the buffers of a healthy worker instead, and info.iteration says at which iteration: those
 * of that worker's latest broadcast, or, if it has made none with its daemon, those that it averages.
 * If no worker has any, it ends as E_NOT_FOUND; before the first round, it waits for all as ever. If no
 * other worker is there, it keeps what it has. In the
 * server family what everyone gets becomes the model, and a newcomer's first broadcast gives it the model; so
 * does anyone's when that is a checkpoint's (pace_checkpoint). */
PACE_API pace_status pace_broadcast(pace_session* session, const pace_buffer* buffers, size_t count,
                                    uint32_t root, pace_request* ret_request, pace_error* error);

/* Averages the buffers over all members with equal weights, whatever the family. */
PACE_API pace_status pace_sync(pace_session* session, const pace_buffer* buffers, size_t count,
                               pace_request* ret_request, pace_error* error);

/* Ends when every member has called it. */
PACE_API pace_status pace_barrier(pace_session* session, pace_request* ret_request,
                                  pace_error* error);

typedef struct pace_push_options {
    uint32_t struct_size;
    uint32_t
        sparse; /* 1: buffers are two, indices (PACE_U32) that rise strictly, and values (PACE_F32) */
    uint64_t entries; /* with sparse: how many of each count; 0: none */
    uint64_t first;   /* element of the model at which dense buffers begin */
} pace_push_options;

#define PACE_PUSH_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_push_options), 0, 0, 0 }

/* Adds an update of this worker, computed in its step `clock` (0, 1, ...), to the model, as the job's rate says
 * (server family). The update is dense, all of the model's elements or a range of them, or sparse, indices
 * and values; it costs what it has of elements. It is taken into the daemon's memory at once, and the
 * buffers are free when the request ends, which waits for nobody, unless four earlier updates of this worker
 * have not arrived at all shards. An update counts in all of the model or in none. It is lost if the daemon
 * dies before it has arrived. options may be NULL.
 *
 * A push of a step whose update has been taken before ends as OK too, and changes nothing: info.contributor_count is then 0,
 * else 1, and info.iteration the worker's next step. So one whose end was not heard of (E_DAEMON_GONE) may be repeated.
 *
 * Fails also, at its end, with E_REFUSED: a buffer is not of PACE_F32, a range or an index lies outside of the
 * model, indices do not rise; STALE: the worker was suspended or is new, or the model is another one (pace_pull), and it must call
 * pace_broadcast or pace_pull first. Nothing has changed then. */
PACE_API pace_status pace_push(pace_session* session, const pace_buffer* buffers, size_t count,
                               uint64_t clock, const pace_push_options* options,
                               pace_request* ret_request, pace_error* error);

typedef struct pace_pull_options {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t first;    /* element of the model at which the buffers begin */
} pace_pull_options;

#define PACE_PULL_OPTIONS_INIT \
    { (uint32_t)sizeof(pace_pull_options), 0, 0 }

/* Fills the buffers with the model, or a range of it, for this worker's step `clock`: as soon as the slowest
 * worker is near enough (see the policies), all of it as it was at one moment: of every update all or
 * nothing, and this worker's own that it has pushed before. Called before the push of the step before, it
 * is a prefetch, which lacks that step's update and may wait for it. A worker pulls when its copy is too old,
 * that is, when the last pull's info.slowest_clock + staleness_max < clock. info.version is the model's,
 * which grows. A model that nobody has broadcast is zero at first. options may be NULL.
 *
 * Fails also, at its end, with E_REFUSED (a buffer is not of PACE_F32, the range lies outside of the model, a
 * clock beyond the step after the last one pushed), STALE (the model is lost with a node that kept a shard of it: pace_broadcast gives it anew;
 * or it is that of a checkpoint again: pace_broadcast or another pull gives it, and info.iteration the worker's step then; or every
 * daemon that knew of the job was gone, and it has begun anew: pace_broadcast makes the root's the model). */
PACE_API pace_status pace_pull(pace_session* session, const pace_buffer* buffers, size_t count,
                               uint64_t clock, const pace_pull_options* options,
                               pace_request* ret_request, pace_error* error);

/* Has the daemons save the model to their disks, with all updates that this worker has pushed before, and
 * ends when that is durable, on checkpoint_copies nodes each. Other pushes and pulls go on meanwhile; whoever
 * asks at the same time gets the same checkpoint. info.version is the model's in it. From the newest
 * whole checkpoint a model that is lost with a node goes on, or another job, later (restore). Calls that are under way then, pushes, and
 * pulls for steps that the checkpoint has not, end as STALE, until the worker has called pace_broadcast or such a pull. Older ones are removed. The clocks are saved too: info.iteration tells each worker
 * where to go on. What is written is in the folder that the daemons' setting `checkpoints` names; while
 * it is written, a node needs memory for a copy of its shards.
 *
 * Fails also, at its end, with E_VERB (the job has no parameter server), E_DISK (a node has no such folder, no room there
 * or a broken disk; the message names it: older checkpoints and the model are as they were), STALE
 * (as for pace_push). */
PACE_API pace_status pace_checkpoint(pace_session* session, pace_request* ret_request,
                                     pace_error* error);

/* Writes what a top-k compression still owes to later rounds into the buffers, for a checkpoint: one
 * PACE_F32 buffer for each buffer of the pace_reduce that it belongs to, of the same counts; zeros
 * before the first one. With PACE_HIERARCHY_NODE the first of a node's workers gets what the node
 * owes and the others zeros, with PACE_HIERARCHY_FLAT each its own. No other worker need call.
 * Fails also with: E_VERB (the job has no top-k compression), E_INVALID (a buffer of another type,
 * named), E_MISMATCH (what is owed has other counts). */
PACE_API pace_status pace_residual_save(pace_session* session, const pace_buffer* buffers,
                                        size_t count, pace_request* ret_request, pace_error* error);

/* Adds the buffers' contents to what is owed: a restored job, which owes nothing yet, then owes
 * exactly what was saved. Buffers, callers and failures as for pace_residual_save. */
PACE_API pace_status pace_residual_load(pace_session* session, const pace_buffer* buffers,
                                        size_t count, pace_request* ret_request, pace_error* error);

#ifdef __cplusplus
}
#endif

#endif /* PACE_H */
