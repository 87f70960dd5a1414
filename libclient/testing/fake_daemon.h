// FakeDaemon: a daemon on a thread of the test, which speaks the client plane by a script.
//
// Without hooks the daemon is honest: it greets, lets anyone join, gives out buffers and ends every
// request as done. A hook may take over a message or a submission. The hook may then answer
// anything, answer nothing, or let the daemon die. The daemon always asks to be woken for
// submissions, so that no test depends on time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/memory/memfd.h"
#include "base/unique_fd.h"
#include "libclient/link/packet.h"
#include "protocol/ring.h"
#include "protocol/version.h"

namespace pace::client::testing {

struct FakeBuffer {
    base::MappedMemfd memory;
    bool adopted = false;
    bool copied = false;  // the trainer goes on with other memory
    ino_t inode = 0;      // of the memfd: equal for descriptors of one memory
};

// One client, as the daemon sees the client.
struct Peer {
    base::UniqueFd socket;
    bool joined = false;
    std::string policy;
    protocol::RingLayout layout;
    base::MappedMemfd ring;
    base::UniqueFd submission_bell;
    base::UniqueFd completion_bell;
    uint32_t submission_head = 0;
    uint32_t completion_tail = 0;
    uint32_t next_buffer = 0;
    std::map<uint32_t, FakeBuffer> buffers;

    protocol::RingHeader& header() const;
    protocol::CompletionEntry& completion_slot(uint32_t index) const;

    void send_bytes(std::span<const uint8_t> bytes, std::span<const int> fds = {}) const;
    template <typename Table>
    void send(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> body,
              std::span<const int> fds = {}) const {
        finish_packet(builder, body);
        send_bytes({builder.GetBufferPointer(), builder.GetSize()}, fds);
    }
    void send_failed(uint64_t request, base::ErrorKind kind, const char* message) const;

    // Posts a completion unchanged, with its member list. Rings the bell if the client has asked
    // for it.
    void complete(const protocol::CompletionEntry& entry,
                  std::span<const protocol::MemberEntry> members = {});
    void complete_done(uint64_t id);
    void complete_failed(uint64_t id, base::ErrorKind kind);
    // Moves the completion ring's tail to any value that the test wants.
    void publish(uint32_t completion_tail);

    void close() { socket.reset(); }
};

struct Script {
    uint32_t version = protocol::kVersion;
    uint64_t generation = 1;
    uint32_t ring_slots = 8;
    uint32_t member_capacity = 4;
    protocol::RingStrides strides = {};
    // The strides that the daemon tells, if they differ from its real strides.
    std::optional<protocol::RingStrides> told_strides = {};
    // False: the daemon behaves like a daemon from before the options existed.
    bool knows_options = true;

    // Called with every new connection, before anything is read from the connection.
    std::function<void(Peer&)> on_accepted;
    // Called with every message. Returns true if the hook has handled the message.
    std::function<bool(Peer&, Packet&)> on_packet;
    // Called with every submission. Without this hook each request ends as done.
    std::function<void(Peer&, const protocol::SubmissionEntry&)> on_submission;
    // Called before Joined is sent. The hook may spoil the ring.
    std::function<void(Peer&)> on_ring;
};

// A script that keeps every submission. The test ends the requests.
Script holding();
// A hook that ends each request as done and keeps the last submission in `seen`. Read `seen` after
// settle().
std::function<void(Peer&, const protocol::SubmissionEntry&)> keeping(
    protocol::SubmissionEntry& seen);

class FakeDaemon {
  public:
    FakeDaemon(std::string path, Script script);
    ~FakeDaemon();
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

    std::string endpoint() const { return "unix:" + path_; }

    // Lets the daemon die: every connection closes and the socket is removed.
    void kill();
    void restart(Script script);

    // Runs `action` on the daemon's thread with the last client that joined. Waits until `action`
    // is done.
    void with_peer(const std::function<void(Peer&)>& action);

    // Returns when the hooks have handled all that came before. The test may then read what the
    // hooks wrote. (The rings order the accesses already, but the thread sanitizer does not know
    // that two mappings share one memory.)
    void settle() {
        with_peer([](Peer&) {});
    }

  private:
    void run();
    void serve(Peer& peer);
    void serve_packet(Peer& peer, Packet packet);
    void serve_submissions(Peer& peer);
    void join(Peer& peer, const wire::Join& message);
    void create_buffer(Peer& peer, Packet& packet);
    void run_posted();

    std::string path_;
    Script script_;
    base::UniqueFd listener_;
    base::UniqueFd wakeup_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::thread thread_;
    std::mutex mutex_;
    std::function<void()> posted_;
    bool stopping_ = false;
};

}  // namespace pace::client::testing
