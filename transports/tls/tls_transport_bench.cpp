// Measures TlsTransport beside UcxTransport over TCP, and beside a plain TCP stream, between two
// processes on loopback: tls_transport_bench [SEGMENT_BYTES [tls|ucx|plain]].
//
// Prints the throughput or the time for each message, and the processor seconds of both processes
// for each gigabyte. The processes sleep when there is nothing to do. Each process has a processor
// to itself only if the machine has two idle processors. The numbers mean no more than that.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "transports/testing/address_pipe.h"
#include "transports/testing/bench_side.h"
#include "transports/tls/testing/open_key.h"
#include "transports/tls/tls_transport.h"
#include "transports/ucx/ucx_process.h"
#include "transports/ucx/ucx_transport.h"

namespace {

using namespace pace::transports;

constexpr std::array<BenchWork, 7> kWork = {{
    {8, 10'000, 1},
    {65'536, 4'000, 1},
    {256, 200'000, 64},
    {16'384, 60'000, 64},
    {262'144, 8'000, 8},
    {4'194'304, 500, 4},
    {67'108'864, 40, 2},
}};

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print(const char* name, const BenchWork& work, double seconds, double processor) {
    const double bytes = static_cast<double>(work.size) * static_cast<double>(work.count);
    std::printf("%-5s %9zu bytes, %2lu in flight: %9.2f us each, %8.1f MB/s, %6.3f s/GB\n", name,
                work.size, static_cast<unsigned long>(work.in_flight),
                seconds / static_cast<double>(work.count) * 1e6, bytes / seconds / 1e6,
                processor / bytes * 1e9);
    std::fflush(stdout);
}

// Exchanges the processor time of both sides.
double both(int pipe, double mine) {
    double theirs = 0;
    if (!write_fully(pipe, &mine, sizeof(mine)) || !read_fully(pipe, &theirs, sizeof(theirs)))
        std::exit(1);
    return mine + theirs;
}

// Sleeps until there is something to do.
void idle(Transport& transport) {
    if (!transport.arm()) return;
    pollfd event{transport.event_fd(), POLLIN, 0};
    poll(&event, 1, -1);
}

// Makes a transport and tells it what it must know of the other's address.
struct Kind {
    const char* name;
    std::function<std::unique_ptr<Transport>()> make;
    std::function<bool(Transport&, const Address&)> meet;
};

int run_transport(int pipe, bool first, const Kind& kind) {
    const auto transport = kind.make();
    if (transport == nullptr || !write_address(pipe, transport->address())) return 1;
    const auto address = read_address(pipe);
    if (!address || !kind.meet(*transport, *address)) return 1;
    const auto peer = transport->connect(*address);
    if (!peer) return 1;
    BenchSide side(*transport, *peer, first, idle);
    uint64_t exchange = 1;
    for (const BenchWork& work : kWork) {
        const double before = processor_seconds();
        const double seconds = side.run(work, exchange++);
        const double processor = both(pipe, processor_seconds() - before);
        if (first) print(kind.name, work, seconds, processor);
    }
    both(pipe, 0);  // neither leaves before the other has ended
    return 0;
}

// A stream of blocks through one TCP connection.
int run_plain(int pipe, bool first) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    int fd = -1;
    if (first) {
        if (!read_fully(pipe, &address, sizeof(address))) return 1;
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) return 1;
    } else {
        if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            listen(listener, 1) != 0 ||
            getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
            !write_fully(pipe, &address, sizeof(address)))
            return 1;
        fd = accept(listener, nullptr, nullptr);
    }
    for (const BenchWork& work : kWork) {
        if (work.in_flight == 1) continue;
        std::vector<char> buffer(work.size);
        const double before = processor_seconds();
        const auto begin = pace::base::now();
        for (uint64_t i = 0; i < work.count; ++i) {
            size_t moved = 0;
            while (moved < work.size) {
                const ssize_t count = first ? write(fd, buffer.data() + moved, work.size - moved)
                                            : read(fd, buffer.data() + moved, work.size - moved);
                if (count <= 0) return 1;
                moved += static_cast<size_t>(count);
            }
        }
        const double processor = both(pipe, processor_seconds() - before);
        const double seconds = pace::base::to_seconds(pace::base::now() - begin);
        if (first) print("plain", work, seconds, processor);
    }
    close(fd);
    close(listener);
    return 0;
}

// Runs both sides, each in a process of its own.
int in_two_processes(const std::function<int(int pipe, bool first)>& side) {
    std::array<int, 2> sockets{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return 1;
    std::array<pid_t, 2> children{};
    for (size_t i = 0; i < children.size(); ++i) {
        children[i] = fork();
        if (children[i] == 0) _exit(side(sockets[i], i == 0));
    }
    for (const int fd : sockets) close(fd);
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        worst |= status;
    }
    return worst == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    restart_without_ucx_effects();
    const size_t segment_bytes =
        argc > 1 ? std::strtoul(argv[1], nullptr, 10) : TlsOptions{}.segment_bytes;
    const Kind tls_kind{"tls",
                        [&]() -> std::unique_ptr<Transport> {
                            TlsOptions options;
                            options.segment_bytes = segment_bytes;
                            auto made = TlsTransport::create(options);
                            return made ? std::move(*made) : nullptr;
                        },
                        [](Transport& transport, const Address& address) {
                            return tls::testing::add_open_key(transport, address).ok();
                        }};
    const Kind ucx_kind{"ucx",
                        [&]() -> std::unique_ptr<Transport> {
                            UcxOptions options;
                            options.segment_bytes = segment_bytes;
                            auto made = UcxTransport::create(options);
                            return made ? std::move(*made) : nullptr;
                        },
                        [](Transport&, const Address&) { return true; }};
    const std::string_view only = argc > 2 ? argv[2] : "";
    int status = 0;
    for (const Kind& kind : {tls_kind, ucx_kind}) {
        if (!only.empty() && only != kind.name) continue;
        status |= in_two_processes(
            [&](int pipe, bool first) { return run_transport(pipe, first, kind); });
    }
    if (only.empty() || only == "plain") status |= in_two_processes(run_plain);
    return status;
}
