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
#include "transports/testing/bench_side.h"
#include "transports/ucx/ucx_process.h"
#include "transports/ucx/ucx_transport.h"

namespace {

using namespace pace::transports;

constexpr std::array<BenchWork, 12> kWork = {{
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

// Yields to the other process when there is nothing to do: the two may share a processor.
void idle(Transport& /*transport*/) {
    sched_yield();
}

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
    BenchSide side(**transport, *peer, first, idle);
    uint64_t exchange = 1;
    for (const BenchWork& work : kWork) {
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
