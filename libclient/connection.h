// Connection: a link on which this worker has joined its job: the rings, and calls for set-up.
//
// A connection lives once. When the daemon dies, or lies, it is severed, and the session makes
// another. It is held by shared_ptr, because a thread may still sleep on it then.
//
// Threads: await_completion by one at a time; the calls (create_buffer … leave) by one at a time;
// submit and take completions under the session's mutex; the rest from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/memfd.h"
#include "base/result.h"
#include "libclient/gpu.h"
#include "libclient/greeting.h"
#include "libclient/job_options.h"
#include "libclient/ring.h"
#include "libclient/run.h"
#include "libclient/spin.h"
#include "protocol/types.h"

namespace pace::client {

// What Welcome and Joined told.
struct JoinFacts {
    std::string node;
    uint64_t generation = 0;
    bool under_way = false;
    bool deserted = false;  // by all its workers
    std::string run;        // its identity; empty: none
    uint64_t began = 0;     // the run, in nanoseconds since 1970
};

// How the training goes, for whoever watches.
struct Progress {
    flatbuffers::Optional<double> loss = flatbuffers::nullopt;
    flatbuffers::Optional<double> samples_per_s = flatbuffers::nullopt;
};

// Who joins. What it had come to, if its session was connected before: its step, and how many rounds'
// results its model has.
struct Introduction {
    uint32_t rank = 0;
    uint64_t iteration = 0;
    uint64_t rounds = 0;
    RunIdentity run{};
    uint64_t began = 0;  // the run, if it was in it already
};

// A buffer as the daemon knows it.
struct DaemonBuffer {
    uint32_t index = 0;
    uint32_t generation = 0;
};

struct NewBuffer {
    DaemonBuffer daemon;
    base::MappedMemfd memory;
    std::unique_ptr<GpuMemory> gpu_memory;  // in place of the other
    bool restored = false;                  // a dead predecessor's, with its contents
    bool temporary = false;                 // of the host: no successor's
};

enum class Wake { completion, gone, deadline, interrupted };

class Connection {
  public:
    static base::Result<std::shared_ptr<Connection>> join(Greeting greeting,
                                                          const AskedOptions& options,
                                                          const Introduction& who,
                                                          base::TimePoint deadline,
                                                          bool interruptible = false);

    const JoinFacts& facts() const { return facts_; }
    ClientRing& ring() { return ring_; }
    int socket() const { return link_.fd(); }

    // The calls. A failure that the daemon told leaves the connection as it was; any other severs
    // it.
    // temporary: freed when this process dies, and nothing that an earlier one had.
    base::Result<NewBuffer> create_buffer(protocol::DType type, uint64_t count, bool temporary,
                                          base::TimePoint deadline);
    base::Result<NewBuffer> create_buffer(protocol::DType type, uint64_t count, Gpu& gpu,
                                          base::TimePoint deadline);
    // Memory that this process has: of the host, by its descriptor, or of a GPU.
    base::Result<DaemonBuffer> hand_buffer(protocol::DType type, uint64_t count, int memory,
                                           bool temporary, base::TimePoint deadline);
    base::Result<DaemonBuffer> hand_buffer(protocol::DType type, uint64_t count,
                                           const GpuMemory& memory, base::TimePoint deadline);
    // Gives the daemon our events, once for a device. Returns the daemon's.
    base::Result<std::vector<std::byte>> share_events(const Gpu& gpu, base::TimePoint deadline);
    base::Result<> free_buffer(uint32_t index, base::TimePoint deadline);
    base::Result<> leave(base::TimePoint deadline);

    // Never waits. `limit` if the daemon does not read its socket.
    base::Result<> cancel(uint64_t id);
    // Lost if the daemon does not read.
    void report(const Progress& progress);

    // Waits until there are completions, the daemon is gone or the deadline has passed: first
    // spinning, then asleep with the completion ring's bell on. The bell is left on: turn it off
    // with ring().set_sleeping(false).
    // Interrupted only if asked: a signal has come while it slept.
    Wake await_completion(base::TimePoint deadline, bool interruptible = false);

    bool is_gone() const { return severed_ || link_.is_gone(); }

    // Why a connection that is gone is gone: the daemon's last word, if it left one.
    std::string farewell();
    void sever();

  private:
    Connection(Greeting greeting, ClientRing ring, const protocol::client::Joined& joined);

    base::Result<DaemonBuffer> hand_over(const flatbuffers::FlatBufferBuilder& packet,
                                         uint64_t request, int fd, base::TimePoint deadline);
    // A call that severs the connection when the link breaks.
    template <typename Expected>
    base::Result<Packet> ask(const flatbuffers::FlatBufferBuilder& message, uint64_t request,
                             int fd, base::TimePoint deadline);

    base::Error severed(base::Error error);

    Wake sleep(base::TimePoint deadline, bool interruptible);

    Link link_;
    ClientRing ring_;
    JoinFacts facts_;
    Spin spin_;
    uint64_t next_request_ = 2;  // 1 was Join
    std::atomic<bool> severed_{false};
};

}  // namespace pace::client
