// Measures throughput and latency between two processes: ucx_transport_bench [DEVICES
// [SEGMENT_BYTES [EAGER_BYTES_MAX]]].
//
// Each size is measured twice: with messages one way, some in flight and receives posted before;
// and with ping-pong. Each process has a processor to itself only if the machine has two idle
// processors. The numbers mean no more than that.
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "transports/network/interfaces.h"
#include "transports/testing/address_pipe.h"
#include "transports/ucx/ucx_process.h"
#include "transports/ucx/ucx_transport.h"

namespace {

using namespace pace::transports;
using pace::base::Result;

struct Work {
    size_t size;
    uint64_t count;
    uint64_t in_flight;  // 1 is ping-pong
};

constexpr std::array<Work, 12> kWork = {{
    {8, 20'000, 1},
    {4096, 20'000, 1},
    {65'536, 5'000, 1},
    {1'048'576, 500, 1},
    {4096, 100'000, 64},
    {16'384, 50'000, 64},
    {65'536, 20'000, 16},
    {262'144, 8'000, 8},
    {1'048'576, 2'000, 8},
    {4'194'304, 500, 8},
    {4'194'304, 500, 2},
    {67'108'864, 30, 2},
}};

class Side {
  public:
    Side(Transport& transport, PeerId peer, bool first)
        : transport_(transport), peer_(peer), first_(first) {}

    // Returns the seconds for all messages.
    double run(const Work& work, uint64_t exchange) {
        exchange_ = exchange;
        work_ = work;
        started_ = ended_ = 0;
        buffers_.assign(work.in_flight, std::vector<std::byte>(work.size));
        wait_for_other();
        const auto begin = pace::base::now();
        while (started_ < work.in_flight) start();
        while (ended_ < work.count) poll();
        wait_for_other();
        return pace::base::to_seconds(pace::base::now() - begin);
    }

  private:
    // Yields to the other process when there is nothing to do: the two may share a processor.
    void poll() {
        if (!transport_.poll()) sched_yield();
    }

    void start() {
        const auto slot = static_cast<uint32_t>(started_++);
        const bool sends = work_.in_flight == 1 ? (slot % 2 == 0) == first_ : first_;
        auto& buffer = buffers_[slot % work_.in_flight];
        const Tag tag{exchange_, slot, 0};
        const auto done = [this](Result<> result) {
            if (!result) {
                std::fprintf(stderr, "%s\n", result.error().message.c_str());
                std::exit(1);
            }
            ++ended_;
            if (started_ < work_.count) start();
        };
        if (sends) {
            transport_.send(peer_, tag, buffer, done);
        } else {
            transport_.receive(peer_, tag, buffer, done);
        }
    }

    void wait_for_other() {
        int ended = 0;
        const auto done = [&](const Result<>&) { ++ended; };
        const Tag tag{~uint64_t{0}, barrier_++, 0};
        transport_.receive(peer_, tag, {}, done);
        transport_.send(peer_, tag, {}, done);
        while (ended < 2) poll();
    }

    Transport& transport_;
    PeerId peer_;
    bool first_;
    Work work_{};
    uint64_t exchange_ = 0;
    uint64_t started_ = 0;
    uint64_t ended_ = 0;
    uint32_t barrier_ = 0;
    std::vector<std::vector<std::byte>> buffers_;
};

int run(int fd, bool first, const UcxOptions& options) {
    auto transport = UcxTransport::create(options);
    if (!transport) {
        std::fprintf(stderr, "%s\n", transport.error().message.c_str());
        return 1;
    }
    if (!write_address(fd, (*transport)->address())) return 1;
    const auto address = read_address(fd);
    if (!address) return 1;
    const auto peer = (*transport)->connect(*address);
    if (!peer) return 1;
    Side side(**transport, *peer, first);
    uint64_t exchange = 1;
    for (const Work& work : kWork) {
        const double seconds = side.run(work, exchange++);
        if (!first) continue;
        const double each = seconds / static_cast<double>(work.count);
        std::printf("%9zu bytes, %2lu in flight: %9.2f us each, %6.3f GB/s\n", work.size,
                    static_cast<unsigned long>(work.in_flight), each * 1e6,
                    static_cast<double>(work.size) / each / 1e9);
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    restart_without_ucx_effects();
    UcxOptions options;
    const auto devices = resolve_devices(argc > 1 ? argv[1] : "");
    if (!devices) {
        std::fprintf(stderr, "%s\n", devices.error().message.c_str());
        return 1;
    }
    options.net_devices = *devices;
    if (argc > 2) options.segment_bytes = std::strtoul(argv[2], nullptr, 10);
    if (argc > 3) options.eager_bytes_max = std::strtoul(argv[3], nullptr, 10);
    std::array<int, 2> sockets{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return 1;
    // The fork comes before UCX is used: UCX's threads and descriptors do not survive a fork.
    const pid_t child = fork();
    if (child == 0) _exit(run(sockets[1], false, options));
    const int status = run(sockets[0], true, options);
    waitpid(child, nullptr, 0);
    return status;
}
