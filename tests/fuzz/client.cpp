// Fuzzes a whole daemon with a whole client, descriptors included. The client sends the input,
// packet by packet, and goes. Meanwhile and afterwards the daemon serves others, and keeps nothing
// of the client.
//
// Each chunk is a packet with the kind of its descriptor in front.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/log/log.h"
#include "base/loop/event_loop.h"
#include "base/unique_fd.h"
#include "daemon/clients/packet.h"
#include "daemon/node.h"
#include "protocol/version.h"
#include "tests/fuzz/chunks.h"

namespace {

using pace::base::UniqueFd;
using pace::daemon::Node;
namespace fb = pace::protocol::client;

void require(bool holds) {
    if (!holds) std::abort();
}

// One daemon for all inputs, alone on its machine, with small limits.
class Daemon {
  public:
    Daemon() {
        pace::base::set_log_level(pace::base::LogLevel::error);
        auto loop = pace::base::EventLoop::create();
        require(loop.ok());
        loop_ = std::move(*loop);
        pace::daemon::NodeConfig config;
        config.name = "fuzzed";
        config.threads = 1;
        config.limits = {.bytes_max = 1U << 20U, .buffers_max = 16};
        config.accounts = {.user_bytes_max = 8U << 20U};
        config.exchange.buffers_keep = pace::base::Duration::zero();
        config.gpu.off = true;
        auto node = Node::create(*loop_, config);
        require(node.ok());
        node_ = std::move(*node);
    }

    UniqueFd connect() {
        std::array<int, 2> ends{};
        require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                           ends.data()) == 0);
        node_->add_client(UniqueFd(ends[0]));
        return UniqueFd(ends[1]);
    }
    void turn() { loop_->turn(false); }

  private:
    std::unique_ptr<pace::base::EventLoop> loop_;
    std::unique_ptr<Node> node_;
};

// Returns a descriptor of the kind. The kinds are 1 to 5. Any other kind means no descriptor.
UniqueFd descriptor(unsigned kind) {
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (kind == 5) return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (kind < 1 || kind > 5) return {};
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (kind == 4 ? MFD_HUGETLB : 0);
    UniqueFd memory(memfd_create("fuzz", flags));
    if (!memory.valid()) return {};
    const off_t bytes = kind == 2 ? off_t{1} << 46U : kind == 4 ? off_t{2} << 20U : off_t{4096};
    if (ftruncate(memory.get(), bytes) != 0) return {};
    if (kind != 3) fcntl(memory.get(), F_ADD_SEALS, kSeals);
    return memory;
}

// Reads all answers of the daemon. Returns the type of the last body, or NONE if nothing came.
fb::Body drain(int socket) {
    fb::Body last = fb::Body::NONE;
    while (true) {
        const auto received = pace::daemon::receive_packet(socket);
        if (!received || received->would_block || received->closed) return last;
        const auto* packet = pace::daemon::verify_packet(received->bytes);
        require(packet != nullptr);
        last = packet->body_type();
    }
}

// The daemon asks the controller, which answers in the same thread, some turns later.
void answer(Daemon& daemon, int socket) {
    constexpr int kTurns = 6;
    for (int i = 0; i < kTurns; ++i) {
        daemon.turn();
        drain(socket);
    }
}

void expect_served(Daemon& daemon) {
    const UniqueFd socket = daemon.connect();
    require(pace::daemon::send_body(socket.get(), [](flatbuffers::FlatBufferBuilder& b) {
                const auto hello = fb::CreateHelloDirect(b, pace::protocol::kVersion, "fuzz");
                return std::pair(fb::Body::Hello, hello.Union());
            }).ok());
    daemon.turn();
    require(drain(socket.get()) == fb::Body::Welcome);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Daemon daemon;
    constexpr size_t kPacketsMax = 12;
    size_t sent = 0;
    {
        const UniqueFd socket = daemon.connect();
        for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size))) {
            if (chunk.empty() || ++sent > kPacketsMax) break;
            const UniqueFd fd = descriptor(std::to_integer<unsigned>(chunk.front()));
            const std::array<int, 1> fds{fd.get()};
            const auto packet = std::span(chunk).subspan(1);
            if (packet.empty()) continue;
            const auto taken = pace::daemon::send_packet(socket.get(), packet,
                                                         std::span(fds).first(fd.valid() ? 1 : 0));
            if (!taken) break;  // the daemon has hung up
            answer(daemon, socket.get());
        }
    }
    daemon.turn();
    daemon.turn();
    expect_served(daemon);
    return 0;
}
