// Session: one worker of one job, from the trainer's side.
//
// Threads. Every method may be called from any thread. Two locks, taken in this order:
//
//   setup_mutex_  one set-up call at a time on the socket: buffers, reconnecting. Held while the
//                 daemon answers.
//   mutex_        the tables, the rings' indices, which connection is current. Held for moments.
//
// Waiting. Completions arrive on a ring with one consumer, but any number of threads wait. The
// first to come is the *collector*: it spins and sleeps on the connection without mutex_, then
// takes what came off the ring, ends the requests, and wakes the others, one of whom collects next
// if its own request has not ended. While there is a collector nobody else takes completions, or
// the collector could sleep on although its request has ended.
//
// The daemon's death. Whoever notices it (a hang-up on the socket, a lie in the ring) *loses* the
// connection: every request in flight ends as failed with `unavailable`, once. The next verb or
// buffer call reconnects, and hands the new daemon the memory of every buffer: pointers and handles
// stay good.
//
//                 open()                     lose()
//     (nothing) ──────────▶ connected ──────────────────▶ gone
//                               ▲                           │
//                               └────── reconnect() ────────┘
//
// The end. leave() says good-bye, and nothing but the destructor may follow. A session that is destroyed without it has ended as if
// its worker had died: what is thrown away by a garbage collector or by an exception says no good-bye for a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/condition.h"
#include "base/result.h"
#include "libclient/buffer.h"
#include "libclient/connection.h"
#include "libclient/endpoint.h"
#include "libclient/fork_mark.h"
#include "libclient/gpu.h"
#include "libclient/job_options.h"
#include "libclient/local_progress.h"
#include "libclient/ready_signal.h"
#include "libclient/request.h"
#include "libclient/staging.h"

namespace pace::client {

struct SessionInfo {
    uint32_t rank = 0;
    uint32_t world = 0;
    bool under_way = false;
    bool deserted = false;    // by all its workers
    uint64_t generation = 0;  // of the daemon
    std::string job;
    std::string node;
    std::string run;     // its identity; empty: none
    uint64_t began = 0;  // the run, in nanoseconds since 1970
};

struct CreatedBuffer {
    BufferHandle handle;
    void* data = nullptr;
};

struct BufferInfo {
    protocol::DType type = protocol::DType::f32;
    uint64_t count = 0;
    uint32_t device = 0;  // as given to create_buffer
    void* data = nullptr;
    bool restored = false;
    bool staged = false;
    uint64_t twin_bytes =
        0;  // of a copy besides: on the host of what is on a GPU, or of memory that is staged
};

// A buffer, and what keeps its memory though it is freed; null where nothing of the session's can: it is the trainer's own, or goes with the
// daemon.
struct SharedBuffer {
    BufferInfo info;
    std::shared_ptr<const void> memory;
};

// Memory that the trainer has already; all absent: new memory.
struct Imported {
    std::byte* pointer = nullptr;  // of the host: staged, copied at calls and back at their ends
    int fd = -1;  // of a memfd, or of an allocation on a GPU; the caller keeps the descriptor
    bool is_copy = false;  // new memory, for a copy of another buffer
};

// Who waits: the calling thread, or, for the result of a request whose buffers are on a GPU, a stream of that GPU.
struct Waiter {
    bool by_signals =
        false;  // the wait ends, as RequestEnd::interrupted, when a signal has come, and often besides
    bool is_stream = false;
    uint32_t ordinal = 0;  // of the stream's GPU
    base::cuda::CUstream stream = nullptr;
    bool finishes = false;  // does what is left to copy of an ended request, whatever the deadline
};

// A stream of a GPU, and which GPU.
struct Stream {
    uint32_t ordinal = 0;
    base::cuda::CUstream stream = nullptr;
};

// How messages name Operation::results, as the C interface's callers gave them.
inline constexpr std::string_view kResults = "options->call.results";

struct Operation {
    protocol::Verb verb = protocol::Verb::barrier;
    std::span<const Slice> slices{};
    std::span<const Slice> results{};  // where the result goes, as many and alike; empty: there
    uint64_t user_data = 0;            // told with its end
    std::optional<Stream>
        after{};  // what makes the buffers' contents, if they are on a GPU; none: its default stream
    uint64_t iteration = 0;
    protocol::ReduceOp op = protocol::ReduceOp::mean;
    uint32_t root = 0;
    protocol::Order order = protocol::Order::all_at_once;  // average
    bool keep_local = false;                               // average
    bool sparse = false;                                   // push: indices, values
    uint64_t first = 0;                                    // push, pull
    uint64_t entries = 0;                                  // push
};

// How a request ended.
struct RequestEnd {
    std::span<protocol::MemberEntry> room;  // in: where to list members
    RequestHandle handle{};                 // which it is
    uint64_t user_data = 0;                 // as its operation had it
    protocol::Verb verb = protocol::Verb::barrier;
    uint64_t local_iteration = 0;  // in: that the worker has reached; 0: the call's
    uint32_t listed = 0;           // of them, by rank
    bool interrupted = false;      // it has not ended: the wait was interrupted
    uint64_t staleness = 0;        // steps since the call that the average lacks
    protocol::WriteState contents = protocol::WriteState::untouched;  // of one that the daemon left
    protocol::CompletionEntry entry{};

    std::string_view message() const { return {entry.message, entry.message_bytes}; }
};

class Session {
  public:
    // Connects and joins within `connect`; the same time bounds later reconnections and answers. `interruptible`: a signal that comes
    // meanwhile, or while a call reconnects, ends the call with ErrorKind::interrupted.
    static base::Result<std::unique_ptr<Session>> open(const Endpoint& endpoint,
                                                       const AskedOptions& asked, uint32_t rank,
                                                       base::Duration connect,
                                                       const RunIdentity& run = {},
                                                       bool interruptible = false);

    // As if the worker had died, unless it has left.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Leaves the job in order; requests that are not collected end unseen. From the call on every other one fails with `closed`. False:
    // the daemon has been told, and has not answered by the deadline. Fails with `unavailable` if the daemon is gone.
    base::Result<bool> leave(base::TimePoint deadline);

    base::Result<SessionInfo> info();

    // How the training goes, for whoever watches. At most one report in a tenth of a second is told.
    base::Result<> report(const Progress& progress);

    // A descriptor as ReadySignal says. From now on the daemon rings at every completion.
    // It does not tell of results on GPUs that are only queued, of calls that are made from then on.
    base::Result<int> ready_fd();

    // device: 0 for the host's memory, or 1 + the ordinal of a GPU.
    base::Result<CreatedBuffer> create_buffer(protocol::DType type, uint64_t count,
                                              uint32_t device = 0, const Imported& imported = {});
    base::Result<BufferInfo> buffer_info(BufferHandle handle);
    base::Result<SharedBuffer> share_buffer(BufferHandle handle);
    base::Result<> free_buffer(BufferHandle handle);
    // The same, but waits for nothing: the handle is void at once, and the buffer goes with the next call that makes or frees one, after
    // the requests that name it.
    base::Result<> release_buffer(BufferHandle handle);

    // Begins an operation. Waits for nothing unless the session must reconnect.
    base::Result<RequestHandle> submit(const Operation& operation);
    // Tells the daemon something that needs no answer (protocol::is_note). Lost if the daemon is gone. Fails with `verb`.
    base::Result<> note(protocol::Verb verb, uint64_t iteration);

    // True: the request has ended, is told in `ret_end` and collected. False: it is in flight still
    // at the deadline. A deadline that has passed looks once. An average of copies (keep_local) is added by then as far as the time
    // allows, a piece at least; the request is told when all of it is.
    base::Result<bool> wait(RequestHandle handle, base::TimePoint deadline, RequestEnd* ret_end,
                            Waiter waiter = {});

    // The same of that one of `wanted` which has ended first; `ret_end` says which. Fails with `handle` if any of them is none.
    base::Result<bool> wait_any(std::span<const RequestHandle> wanted, base::TimePoint deadline,
                                RequestEnd* ret_end, Waiter waiter = {});

    // The same of whichever request of the session has ended first. Fails with `not_found` if there is none to end.
    base::Result<bool> next(base::TimePoint deadline, RequestEnd* ret_end, Waiter waiter = {});

    // What a request that is in flight waits for, as its daemon says once it has lasted for long; else empty.
    std::string awaited(RequestHandle handle);

    base::Result<> cancel(RequestHandle handle);

    // The first, or last, `elements` of an ordered average's buffers are ready.
    base::Result<> ready(RequestHandle handle, uint64_t elements);

  private:
    Session(Endpoint endpoint, KnownJob job, Introduction standing, base::Duration connect,
            std::shared_ptr<Connection> connection);

    // Whether this process opened the session, and it has not left.
    base::Result<> check_open() const;
    base::Result<> check(const Operation& operation) const;
    // Whatever the job's family.
    base::Result<> check_shape(const Operation& operation) const;

    // These need mutex_.
    bool is_connected();
    static BufferInfo describe(Buffer& buffer);
    base::Result<RequestHandle> begin(const Operation& operation,
                                      std::unique_lock<std::mutex>& lock);
    base::Result<> claim_buffers(const Operation& operation, Request& request);
    base::Result<> check_alike(const Part& result, const Part& given, size_t number) const;
    base::Result<Part> claim(const Slice& slice, std::string_view name, size_t number,
                             const Request& request);
    void release_buffers(Request& request);
    base::Result<> push(const Operation& operation, const Request& request);
    base::Result<> take_completions();
    void collect_now();
    bool collect(std::unique_lock<std::mutex>& lock, base::TimePoint deadline, bool by_signals);
    base::Result<Request*> look(std::span<const RequestHandle> wanted, bool late);
    base::Result<bool> await(std::span<const RequestHandle> wanted, base::TimePoint deadline,
                             RequestEnd* ret_end, Waiter waiter);
    base::Result<bool> tell(RequestHandle handle, base::TimePoint deadline, RequestEnd* ret_end,
                            Waiter waiter, std::unique_lock<std::mutex>& lock);
    void end(Request& request);
    void learn_standing(const Request& request);
    void deliver(Request& request, RequestEnd* ret_end);
    // session_gpu.cpp
    base::Result<> order(const Operation& operation, Request& request);
    base::Result<bool> meet_gpu(RequestHandle handle, base::TimePoint deadline, Waiter waiter,
                                std::unique_lock<std::mutex>& lock);
    std::vector<KeptBuffer> kept_buffers(const Request& request);
    bool copy_buffers(uint64_t id, std::unique_lock<std::mutex>& lock);
    std::vector<StagedPart> staged_parts(std::span<const Part> parts);
    template <typename Work>
    Request& work_outside(Request& request, std::unique_lock<std::mutex>& lock, Work work);
    bool finish_outside(Request& request, base::TimePoint deadline, bool finishes,
                        std::unique_lock<std::mutex>& lock);
    bool copy_ready(Request& request, uint64_t elements, std::unique_lock<std::mutex>& lock);
    protocol::WriteState contents_left(const Request& request) const;
    void lose(std::string_view reason);
    base::Result<> install(std::shared_ptr<Connection> connection,
                           std::span<const DaemonBuffer> handed);

    // These take the locks.
    base::Result<> rehearse(const Operation& operation);
    base::Result<> provide_copies(std::span<const Slice> slices);
    base::Result<> provide_copy(BufferHandle handle);
    base::Result<> free_one(BufferHandle handle);

    // These need setup_mutex_, and take mutex_.
    base::Result<Gpu*> open_gpu(uint32_t ordinal, Connection& connection);
    base::Result<> free_at(uint32_t index);
    void free_released();
    base::Result<> share_gpus(Connection& connection, base::TimePoint deadline);
    base::Result<> reconnect();
    base::Result<> try_reconnect(base::TimePoint deadline);

    const Endpoint endpoint_;
    const KnownJob job_;
    const uint32_t rank_;
    const base::Duration connect_;
    const uint64_t stamp_;
    ForkMark fork_mark_;
    bool interruptible_ = false;
    std::atomic<bool> left_{false};

    std::mutex setup_mutex_;
    std::mutex mutex_;
    base::Condition collected_;
    bool collecting_ = false;
    bool gone_ = false;
    std::shared_ptr<Connection> connection_;
    Introduction standing_;                          // with the next daemon
    base::TimePoint reported_{};                     // when progress was told last
    std::unique_ptr<ReadySignal> signal_;            // once ready_fd() was called
    std::map<uint32_t, std::shared_ptr<Gpu>> gpus_;  // by ordinal; grows with setup_mutex_, too
    BufferTable buffers_;
    const bool found_under_way_;  // the run, when this worker joined it
    const bool found_deserted_;
    RequestTable requests_;
    Completion arriving_;
};

}  // namespace pace::client
