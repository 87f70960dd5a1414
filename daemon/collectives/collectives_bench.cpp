// collectives_bench: all-reduce and broadcast between processes over UCX, beside the wire bound.
//
//     collectives_bench NODES MBIT
//         [CHUNK_BYTES_MAX CHUNKS_PER_BLOCK WINDOW SENDS_MAX [NETNS_PREFIX DEVICE]]
//
// One process per node, forked here; with NETNS_PREFIX node i moves into network namespace PREFIXi
// first and uses DEVICE, otherwise all meet on loopback. MBIT is the links' goodput, for the bound
// 2(N-1)/N · S; 0 prints none. A time is the longest among the nodes, from a common barrier on; the
// median of several.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/barrier.h"
#include "daemon/collectives/broadcast.h"
#include "transports/ucx/ucx_transport.h"

namespace {

using namespace pace;
using namespace pace::collectives;

struct Settings {
    size_t nodes = 4;
    double mbit = 0;
    AllReduceOptions all_reduce;
    std::string netns_prefix;
    std::string device = "lo";
};

struct Case {
    size_t bytes;
    int rounds;
};
constexpr Case kCases[] = {{4096, 60},    {65536, 60},   {1 << 20, 30},
                           {16 << 20, 8}, {64 << 20, 5}, {100 << 20, 5}};

[[noreturn]] void die(const std::string& why) {
    std::fprintf(stderr, "collectives_bench: %s\n", why.c_str());
    std::_Exit(1);
}

void write_all(int fd, const void* data, size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
        const ssize_t n = write(fd, at, size);
        if (n <= 0) die("the pipe closed");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void read_all(int fd, void* data, size_t size) {
    for (char* at = static_cast<char*>(data); size > 0;) {
        const ssize_t n = read(fd, at, size);
        if (n <= 0) die("a node ended early");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void write_address(int fd, const transports::Address& address) {
    const size_t size = address.size();
    write_all(fd, &size, sizeof(size));
    write_all(fd, address.data(), size);
}

transports::Address read_address(int fd) {
    size_t size = 0;
    read_all(fd, &size, sizeof(size));
    transports::Address address(size);
    read_all(fd, address.data(), size);
    return address;
}

class Node {
  public:
    Node(const Settings& settings, size_t self, int fd) : settings_(settings), fd_(fd) {
        enter_namespace(self);
        transports::UcxOptions options;
        options.net_devices = settings.device;
        auto transport = transports::UcxTransport::create(options);
        if (!transport) die(transport.error().message);
        transport_ = std::move(*transport);
        auto loop = base::EventLoop::create(std::chrono::microseconds(20));
        if (!loop) die(loop.error().message);
        loop_ = std::move(*loop);
        loop_->add_poller(transport_.get());
        if (transport_->event_fd() >= 0 &&
            !loop_->watch(transport_->event_fd(), 1 /*EPOLLIN*/, [](uint32_t) {}))
            die("cannot watch the transport");
        join(self);
    }

    void run() {
        for (const Case& test : kCases) {
            measure(test, true);
            measure(test, false);
        }
    }

  private:
    void enter_namespace(size_t self) {
        if (settings_.netns_prefix.empty()) return;
        const std::string path = "/run/netns/" + settings_.netns_prefix + std::to_string(self);
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) die("cannot enter " + path);
        close(fd);
        // UCX finds the devices in /sys, which shows those of the namespace that mounted it.
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
            umount2("/sys", MNT_DETACH) != 0 || mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
            die("cannot mount the namespace's /sys");
    }

    void join(size_t self) {
        write_address(fd_, transport_->address());
        group_.self = self;
        for (size_t node = 0; node < settings_.nodes; ++node) {
            const transports::Address address = read_address(fd_);
            transports::PeerId peer = 0;
            if (node != self) {
                auto connected = transport_->connect(address);
                if (!connected) die(connected.error().message);
                peer = *connected;
            }
            group_.nodes.push_back(peer);
        }
    }

    void await(base::Task<base::Result<>> task) {
        bool ended = false;
        base::spawn<base::Result<>>(std::move(task), [&ended](const base::Result<>& result) {
            if (!result) die(result.error().message);
            ended = true;
        });
        while (!ended) loop_->turn(true);
    }

    void measure(const Case& test, bool reduce) {
        std::vector<std::byte> own(test.bytes);
        std::vector<std::byte> result(test.bytes);
        const LocalPart part(Layout({{protocol::DType::f32, test.bytes / 4}}),
                             {{{own.data()}, 1.0}});
        for (int round = 0; round <= test.rounds; ++round) {
            ++group_.exchange;
            Communicator communicator(*transport_, group_);
            await(barrier(communicator));
            const auto begin = base::now();
            if (reduce)
                await(all_reduce(communicator, part, 0.25, result, settings_.all_reduce));
            else
                await(broadcast(communicator, 0, result, BroadcastOptions()));
            const double seconds = base::to_seconds(base::now() - begin);
            if (round > 0) write_all(fd_, &seconds, sizeof(seconds));  // the first warms up
        }
    }

    Settings settings_;
    int fd_;
    std::unique_ptr<transports::Transport> transport_;
    std::unique_ptr<base::EventLoop> loop_;
    Group group_;
};

double median_of_slowest(const std::vector<int>& fds, int rounds) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        double slowest = 0;
        for (const int fd : fds) {
            double seconds = 0;
            read_all(fd, &seconds, sizeof(seconds));
            slowest = std::max(slowest, seconds);
        }
        times.push_back(slowest);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void print(const char* what, double seconds, double bound) {
    std::printf(" | %s %9.3f ms", what, seconds * 1e3);
    if (bound > 0) std::printf(" (%3.0f %% of the bound)", 100 * bound / seconds);
}

void report(const Settings& settings, const std::vector<int>& fds) {
    const auto nodes = static_cast<double>(settings.nodes);
    for (const Case& test : kCases) {
        const double wire =
            settings.mbit > 0 ? static_cast<double>(test.bytes) * 8 / settings.mbit / 1e6 : 0;
        std::printf("%8zu KB", test.bytes >> 10U);
        print("all-reduce", median_of_slowest(fds, test.rounds), wire * 2 * (nodes - 1) / nodes);
        print("broadcast", median_of_slowest(fds, test.rounds), wire);
        std::printf("\n");
        std::fflush(stdout);
    }
}

std::vector<int> start_nodes(const Settings& settings) {
    std::vector<int> fds;
    for (size_t i = 0; i < settings.nodes; ++i) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) die("socketpair failed");
        if (fork() == 0) {
            Node(settings, i, pair[1]).run();
            std::_Exit(0);
        }
        close(pair[1]);
        fds.push_back(pair[0]);
    }
    std::vector<transports::Address> addresses;
    addresses.reserve(fds.size());
    for (const int fd : fds) addresses.push_back(read_address(fd));
    for (const int fd : fds)
        for (const auto& address : addresses) write_address(fd, address);
    return fds;
}

size_t number(const char* text) {
    return std::strtoul(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    if (argc > 1) settings.nodes = number(argv[1]);
    if (argc > 2) settings.mbit = static_cast<double>(number(argv[2]));
    if (argc > 6) {
        settings.all_reduce.chunk_bytes_max = number(argv[3]);
        settings.all_reduce.chunks_per_block = number(argv[4]);
        settings.all_reduce.window = number(argv[5]);
        settings.all_reduce.sends_max = number(argv[6]);
    }
    if (argc > 8) {
        settings.netns_prefix = argv[7];
        settings.device = argv[8];
    }
    report(settings, start_nodes(settings));
    while (wait(nullptr) > 0) {
    }
}
