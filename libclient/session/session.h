// Session: one worker of one job, from the trainer's side.
//
// Threads. Every method may be called from any thread. There are two locks, taken in this order:
//
//  setup_mutex_  allows one set-up call at a time on the socket: buffers, reconnecting. The lock
//                is held while the daemon answers.
//  mutex_        guards the tables, the rings' indices and the current connection. The lock is
//                held for moments only.
//
// Waiting. Completions arrive on a ring with one consumer, but any number of threads may wait. The
// first thread that waits is the *collector*. The collector spins and sleeps on the connection
// without mutex_. The collector then takes the completions off the ring, ends the requests and
// wakes the other threads. One of these threads collects next if its own request has not ended.
// While there is a collector, no other thread takes completions. Otherwise the collector could
// sleep on although its request has ended.
//
// The daemon's death. A thread that notices the death (a hang-up on the socket, invalid data in the
// ring) *loses* the connection: every request in flight ends as failed with `unavailable`, once.
// The next verb or buffer call reconnects and hands the new daemon the memory of every buffer.
// Pointers and handles stay valid.
//
//                open()                     lose()
//    (nothing) ──────────▶ connected ──────────────────▶ gone
//                              ▲                           │
//                              └────── reconnect() ────────┘
//
// The end. leave() says good-bye. After leave() only the destructor may follow. A session that is
// destroyed without leave() has ended as if its worker had died: a garbage collector or an
// exception that destroys a session says no good-bye for the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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
#include "libclient/connection/buffer.h"
#include "libclient/connection/connection.h"
#include "libclient/connection/new_memory.h"
#include "libclient/link/endpoint.h"
#include "libclient/link/fork_mark.h"
#include "libclient/link/ready_signal.h"
#include "libclient/memory/gpu.h"
#include "libclient/options/job_options.h"
#include "libclient/requests/operation.h"
#include "libclient/requests/request.h"
#include "libclient/requests/request_end.h"

namespace pace::client {

struct SessionInfo {
    uint32_t rank = 0;
    uint32_t world = 0;
    bool under_way = false;
    // All workers of the job had deserted it.
    bool deserted = false;
    // The generation of the daemon.
    uint64_t generation = 0;
    std::string job;
    std::string node;
    // The identity of the run. Empty means that the run has no identity.
    std::string run;
    // When the run began, in nanoseconds since 1970.
    uint64_t began = 0;
};

struct CreatedBuffer {
    BufferHandle handle;
    void* data = nullptr;
};

// The waiter: the calling thread, or a stream of a GPU. A stream can wait for the result of a
// request whose buffers are on the stream's GPU.
struct Waiter {
    // A signal ends the wait, with RequestEnd::interrupted. The wait often ends so without a
    // signal, too.
    bool by_signals = false;
    bool is_stream = false;
    uint32_t ordinal = 0;  // of the stream's GPU
    base::cuda::CUstream stream = nullptr;
    // The stream waits for the request at once, and the thread does not: RequestEnd::queued. Where
    // streams cannot do so, the thread waits for the end.
    bool queues = false;
    // The thread copies all that is left of an ended request, even after the deadline.
    bool finishes = false;
};

class Session {
  public:
    // Connects and joins within `connect`. The same time bounds later reconnections and answers. If
    // `interruptible` is set, a signal that comes during open() or during a later reconnection ends
    // the call with ErrorKind::interrupted.
    static base::Result<std::unique_ptr<Session>> open(const Endpoint& endpoint,
                                                       const AskedOptions& asked, uint32_t rank,
                                                       base::Duration connect,
                                                       const RunIdentity& run = {},
                                                       bool interruptible = false);

    // Ends the session as if the worker had died, unless the session has left its job.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Leaves the job in order. Requests that are not collected end unseen. From this call on every
    // other call fails with `closed`. Returns false if the daemon has been told and has not
    // answered by the deadline. Fails with `unavailable` if the daemon is gone.
    base::Result<bool> leave(base::TimePoint deadline);

    base::Result<SessionInfo> info();

    // Reports the progress of the training for whoever watches. The session sends at most one
    // report in a tenth of a second and drops the others.
    base::Result<> report(const Progress& progress);

    // Returns a descriptor as described in ReadySignal. From now on the daemon rings the bell at
    // every completion. For calls that are made from now on, the daemon tells no result on a GPU
    // that is only queued.
    base::Result<int> ready_fd();

    // A `device` of 0 means the host's memory. Otherwise `device` is 1 + the ordinal of a GPU.
    base::Result<CreatedBuffer> create_buffer(protocol::DType type, uint64_t count,
                                              uint32_t device = 0, const Imported& imported = {});
    base::Result<BufferInfo> buffer_info(BufferHandle handle);
    base::Result<SharedBuffer> share_buffer(BufferHandle handle);
    base::Result<> free_buffer(BufferHandle handle);
    // Like free_buffer, but waits for nothing. The handle is void at once. The buffer is freed by
    // the next call that makes or frees a buffer, after the requests that name it.
    base::Result<> release_buffer(BufferHandle handle);

    // Begins an operation. Waits for nothing unless the session must reconnect.
    base::Result<RequestHandle> submit(const Operation& operation);
    // Sends the daemon a note, which needs no answer (protocol::is_note). The note is lost if the
    // daemon is gone. Fails with `verb` if the job's policy has no groups.
    base::Result<> note(protocol::Verb verb, uint64_t iteration);

    // Returns true if the request has ended. The end is then in `ret_end` and the request is
    // collected. Returns false if the request is still in flight at the deadline. With a deadline
    // that has passed, the method looks once. An average of copies (keep_local) is added before the
    // deadline, as far as the time allows, and at least one piece of it. The request is told when
    // all of the average is added.
    base::Result<bool> wait(RequestHandle handle, base::TimePoint deadline, RequestEnd* ret_end,
                            Waiter waiter = {});

    // Like wait, for the request of `wanted` that has ended first. `ret_end` says which request it
    // is. Fails with `handle` if any handle of `wanted` names no request.
    base::Result<bool> wait_any(std::span<const RequestHandle> wanted, base::TimePoint deadline,
                                RequestEnd* ret_end, Waiter waiter = {});

    // Like wait, for the request of the session that has ended first. Fails with `not_found` if the
    // session has no request that could end.
    base::Result<bool> next(base::TimePoint deadline, RequestEnd* ret_end, Waiter waiter = {});

    // Returns what a request in flight waits for. The daemon says so once the request has lasted
    // for long. Otherwise the text is empty.
    std::string awaited(RequestHandle handle);

    base::Result<> cancel(RequestHandle handle);

    // Tells that the first or last `elements` of an ordered average's buffers are ready.
    base::Result<> ready(RequestHandle handle, uint64_t elements);

  private:
    Session(Endpoint endpoint, KnownJob job, Introduction standing, base::Duration connect,
            std::shared_ptr<Connection> connection);

    // Checks that this process opened the session and that the session has not left.
    base::Result<> check_open() const;

    // The following methods need mutex_.
    bool is_connected();
    void lose(std::string_view reason);
    base::Result<> install(std::shared_ptr<Connection> connection,
                           std::span<const DaemonBuffer> handed);
    base::Result<RequestHandle> begin(const Operation& operation,
                                      std::unique_lock<std::mutex>& lock);
    base::Result<> claim_all(const Operation& operation, Request& request);
    void abandon(Request& request);
    base::Result<> push(const Operation& operation, const Request& request);
    base::Result<> take_completions();
    void collect_now();
    bool collect(std::unique_lock<std::mutex>& lock, base::TimePoint deadline, bool by_signals);
    base::Result<Request*> look(std::span<const RequestHandle> wanted, bool late);
    base::Result<bool> await(std::span<const RequestHandle> wanted, base::TimePoint deadline,
                             RequestEnd* ret_end, Waiter waiter);
    base::Result<bool> tell(RequestHandle handle, base::TimePoint deadline, RequestEnd* ret_end,
                            Waiter waiter, std::unique_lock<std::mutex>& lock);
    base::Result<bool> queue_wait(std::span<const RequestHandle> wanted, base::TimePoint deadline,
                                  RequestEnd* ret_end, const Waiter& waiter,
                                  std::unique_lock<std::mutex>& lock);
    base::Result<bool> meet_gpu(RequestHandle handle, base::TimePoint deadline, Waiter waiter,
                                std::unique_lock<std::mutex>& lock);
    void learn_standing(const Request& request);
    void end(Request& request);
    void deliver(Request& request, RequestEnd* ret_end);
    Request& work_outside(Request& request, std::unique_lock<std::mutex>& lock,
                          const std::function<void()>& work);
    bool copy_buffers(uint64_t id, std::unique_lock<std::mutex>& lock);
    bool copy_ready(Request& request, uint64_t elements, std::unique_lock<std::mutex>& lock);
    bool finish_outside(Request& request, base::TimePoint deadline, bool finishes,
                        std::unique_lock<std::mutex>& lock);

    // The following methods take the locks.
    base::Result<> rehearse(const Operation& operation);
    base::Result<> provide_copies(std::span<const Slice> slices);
    base::Result<> provide_copy(BufferHandle handle);
    base::Result<> free_one(BufferHandle handle);

    // The following methods need setup_mutex_ and take mutex_.
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
    // What the session tells the next daemon about itself.
    Introduction standing_;
    base::TimePoint reported_{};           // when progress was told last
    std::unique_ptr<ReadySignal> signal_;  // set once ready_fd() was called
    // The GPUs by ordinal. The map grows only with setup_mutex_ held, too.
    std::map<uint32_t, std::shared_ptr<Gpu>> gpus_;
    BufferTable buffers_;
    // Whether the run was under way when this worker joined.
    const bool found_under_way_;
    const bool found_deserted_;
    RequestTable requests_;
    Completion arriving_;
};

}  // namespace pace::client
