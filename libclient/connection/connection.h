// Connection: a link on which this worker has joined its job. It holds the rings and makes the
// calls for set-up.
//
// A connection is used once. When the daemon dies or sends invalid data, the connection is severed
// and the session makes another. A connection is held by shared_ptr, because a thread may still
// sleep on a severed connection.
//
// Threads. One thread at a time may use await_completion. One thread at a time may make a call
// (create_buffer … leave). Submissions and the taking of completions need the session's mutex.
// Every other method may be used from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/memory/memfd.h"
#include "base/result.h"
#include "libclient/link/greeting.h"
#include "libclient/link/ring.h"
#include "libclient/link/spin.h"
#include "libclient/memory/gpu.h"
#include "libclient/options/job_options.h"
#include "libclient/options/run.h"
#include "protocol/types.h"

namespace pace::client {

// The facts that the messages Welcome and Joined told.
struct JoinFacts {
    std::string node;
    uint64_t generation = 0;
    bool takes_words = false;   // for the order of streams
    bool takes_blocks = false;  // of a GPU, with the buffers in them
    bool under_way = false;
    // All workers of the job have deserted it.
    bool deserted = false;
    // The identity of the run. Empty means that the run has no identity.
    std::string run;
    // When the run began, in nanoseconds since 1970.
    uint64_t began = 0;
};

// The progress of the training, for whoever watches.
struct Progress {
    flatbuffers::Optional<double> loss = flatbuffers::nullopt;
    flatbuffers::Optional<double> samples_per_s = flatbuffers::nullopt;
    // Either both step counts are given or neither.
    flatbuffers::Optional<uint64_t> steps_done = flatbuffers::nullopt;
    flatbuffers::Optional<uint64_t> steps_total = flatbuffers::nullopt;
};

// The worker that joins. If its session was connected before, the introduction tells the step that
// the worker had reached, and how many rounds' results its model has.
struct Introduction {
    uint32_t rank = 0;
    uint64_t iteration = 0;
    uint64_t rounds = 0;
    RunIdentity run{};
    // When the run began, if the worker was in the run already.
    uint64_t began = 0;
};

// The numbers by which the daemon knows a buffer.
struct DaemonBuffer {
    uint32_t index = 0;
    uint32_t generation = 0;
};

// What becomes of a buffer in the host's memory when this process dies, and who writes to it.
enum class HostMemory : uint8_t {
    inherited,  // a successor of this process gets the buffer
    temporary,  // nobody does
    copied,     // nobody does, and the trainer's own memory is elsewhere
};

struct NewBuffer {
    DaemonBuffer daemon;
    base::MappedMemfd memory;
    // The memory of a buffer on a GPU. Such a buffer has no `memory`.
    std::unique_ptr<GpuMemory> gpu_memory;
    // The buffer was a dead predecessor's and still has its contents.
    bool restored = false;
    HostMemory kind = HostMemory::inherited;
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

    // The calls. A failure that the daemon reports leaves the connection usable. Any other failure
    // severs the connection.
    // A temporary buffer is freed when this process dies. The daemon gives the buffer nothing that
    // an earlier process had.
    base::Result<NewBuffer> create_buffer(protocol::DType type, uint64_t count, HostMemory kind,
                                          base::TimePoint deadline);
    base::Result<NewBuffer> create_buffer(protocol::DType type, uint64_t count, Gpu& gpu,
                                          base::TimePoint deadline);
    // Gives the daemon memory that this process has: memory of the host by its descriptor, or
    // memory of a GPU.
    base::Result<DaemonBuffer> hand_buffer(protocol::DType type, uint64_t count, int memory,
                                           HostMemory kind, base::TimePoint deadline);
    base::Result<DaemonBuffer> hand_buffer(protocol::DType type, uint64_t count,
                                           const GpuMemory& memory, base::TimePoint deadline);
    // Agrees with the daemon how the streams of a GPU are ordered, once for each: by words if both
    // have them, otherwise by events. Returns the order for the Gpu.
    base::Result<std::shared_ptr<GpuOrder>> order_streams(const Gpu& gpu, base::TimePoint deadline);
    // If the place is kept, no other buffer gets the buffer's place in its block.
    base::Result<> free_buffer(uint32_t index, base::TimePoint deadline, bool keeps_place = false);
    base::Result<> leave(base::TimePoint deadline);

    // Never waits. Fails with `limit` if the daemon does not read its socket.
    base::Result<> cancel(uint64_t id);
    // The report is lost if the daemon does not read its socket.
    void report(const Progress& progress);

    // Waits until there are completions, the daemon is gone or the deadline has passed. The thread
    // first spins. It then turns the completion ring's bell on and sleeps. The bell is left on:
    // turn the bell off with ring().set_sleeping(false).
    // If `interruptible` is set, a signal that comes during the sleep ends the wait with
    // Wake::interrupted.
    Wake await_completion(base::TimePoint deadline, bool interruptible = false);

    bool is_gone() const { return severed_ || link_.is_gone(); }

    // Returns why a gone connection is gone: the daemon's last message, if the daemon left one.
    std::string farewell();
    void sever();

  private:
    Connection(Greeting greeting, ClientRing ring, const protocol::client::Joined& joined);

    base::Result<DaemonBuffer> hand_over(const flatbuffers::FlatBufferBuilder& packet,
                                         uint64_t request, int fd, base::TimePoint deadline);
    // Makes a call. Severs the connection when the link breaks.
    template <typename Expected>
    base::Result<Packet> ask(const flatbuffers::FlatBufferBuilder& message, uint64_t request,
                             int fd, base::TimePoint deadline);

    base::Error severed(base::Error error);
    static base::Result<std::unique_ptr<GpuMemory>> map_created(Packet& answer, Gpu& gpu,
                                                                uint64_t count,
                                                                protocol::DType type);
    base::Result<std::shared_ptr<GpuOrder>> order_by_words(const Gpu& gpu,
                                                           base::TimePoint deadline);
    base::Result<std::shared_ptr<GpuOrder>> order_by_events(const Gpu& gpu,
                                                            base::TimePoint deadline);

    Wake sleep(base::TimePoint deadline, bool interruptible);

    Link link_;
    ClientRing ring_;
    JoinFacts facts_;
    Spin spin_;
    uint64_t next_request_ = 2;         // request 1 was Join
    std::set<uint64_t> handed_blocks_;  // the daemon has their descriptors
    std::atomic<bool> severed_{false};
};

}  // namespace pace::client
