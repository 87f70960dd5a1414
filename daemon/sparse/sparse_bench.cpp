// sparse_bench: SparDL beside its rivals and the dense all-reduce, between processes over UCX, in one
// run.
//
//     sparse_bench NODES [ELEMENTS [DENSITY [NETNS_PREFIX DEVICE]]]
//
// One process per node, forked here; with NETNS_PREFIX node i moves into network namespace PREFIXi
// first and uses DEVICE, otherwise all meet on loopback. A time is the longest among the nodes, from
// a common barrier on, selection and writing of the result included; the median of several.
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
#include "base/random.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/barrier.h"
#include "daemon/sparse/sparse_all_reduce.h"
#include "transports/ucx/ucx_transport.h"

namespace {

using namespace pace;

struct BenchSettings {
    size_t nodes = 6;
    size_t elements = 14728266;  // VGG-16
    double density = 0.01;
    std::string netns_prefix;
    std::string device = "lo";
};

struct Contender {
    const char* name;
    bool dense;
    sparse::Algorithm algorithm;
    size_t teams;
    sparse::WireFormat format;
};

constexpr sparse::WireFormat kPaper{sparse::IndexFormat::plain, sparse::ValueFormat::f32};
constexpr sparse::WireFormat kIndices{sparse::IndexFormat::elias_fano, sparse::ValueFormat::f32};
constexpr sparse::WireFormat kHalves{sparse::IndexFormat::elias_fano, sparse::ValueFormat::f16};
constexpr int kRounds = 5;

constexpr Contender kContenders[] = {
    {"dense all-reduce", true, sparse::Algorithm::spar_dl, 1, kPaper},
    {"topka", false, sparse::Algorithm::topk_a, 1, kPaper},
    {"topkdsa", false, sparse::Algorithm::topk_dsa, 1, kPaper},
    {"gtopk", false, sparse::Algorithm::g_topk, 1, kPaper},
    {"oktopk", false, sparse::Algorithm::ok_topk, 1, kPaper},
    {"spardl, the paper's format", false, sparse::Algorithm::spar_dl, 1, kPaper},
    {"spardl, 2 teams, the same", false, sparse::Algorithm::spar_dl, 2, kPaper},
    {"spardl, Elias-Fano and f32", false, sparse::Algorithm::spar_dl, 1, kIndices},
    {"spardl, Elias-Fano and f16", false, sparse::Algorithm::spar_dl, 1, kHalves},
    {"spardl, 2 teams, the same", false, sparse::Algorithm::spar_dl, 2, kHalves},
};

struct Sample {
    double seconds = 0;
    uint64_t bytes_sent = 0;
    uint64_t messages_sent = 0;
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "sparse_bench: %s\n", why.c_str());
    std::_Exit(1);
}

void write_whole(int fd, const void* data, size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
        const ssize_t n = write(fd, at, size);
        if (n <= 0) give_up("the pipe closed");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void read_whole(int fd, void* data, size_t size) {
    for (char* at = static_cast<char*>(data); size > 0;) {
        const ssize_t n = read(fd, at, size);
        if (n <= 0) give_up("a node ended early");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void write_address(int fd, const transports::Address& address) {
    const size_t size = address.size();
    write_whole(fd, &size, sizeof(size));
    write_whole(fd, address.data(), size);
}

transports::Address read_address(int fd) {
    size_t size = 0;
    read_whole(fd, &size, sizeof(size));
    transports::Address address(size);
    read_whole(fd, address.data(), size);
    return address;
}

void enter_namespace(const std::string& prefix, size_t self) {
    if (prefix.empty()) return;
    const std::string path = "/run/netns/" + prefix + std::to_string(self);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) give_up("cannot enter " + path);
    close(fd);
    // UCX finds the devices in /sys, which shows those of the namespace that mounted it.
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
        umount2("/sys", MNT_DETACH) != 0 || mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
        give_up("cannot mount the namespace's /sys");
}

class BenchNode {
  public:
    BenchNode(const BenchSettings& settings, size_t self, int fd)
        : settings_(settings), fd_(fd), pool_(0), gradient_(settings.elements) {
        enter_namespace(settings.netns_prefix, self);
        transports::UcxOptions options;
        options.net_devices = settings.device;
        auto transport = transports::UcxTransport::create(options);
        if (!transport) give_up(transport.error().message);
        transport_ = std::move(*transport);
        auto loop = base::EventLoop::create(std::chrono::microseconds(20));
        if (!loop) give_up(loop.error().message);
        loop_ = std::move(*loop);
        loop_->add_poller(transport_.get());
        if (transport_->event_fd() >= 0 &&
            !loop_->watch(transport_->event_fd(), 1 /*EPOLLIN*/, [](uint32_t) {}))
            give_up("cannot watch the transport");
        join(self);
        base::Random random(self);
        for (float& value : gradient_) {
            const double u = random.uniform() + random.uniform() + random.uniform() - 1.5;
            value = static_cast<float>(1e-3 * u * u * u);
        }
    }

    void run() {
        for (const Contender& contender : kContenders) measure(contender);
    }

  private:
    void join(size_t self) {
        write_address(fd_, transport_->address());
        group_.self = self;
        for (size_t node = 0; node < settings_.nodes; ++node) {
            const transports::Address address = read_address(fd_);
            transports::PeerId peer = 0;
            if (node != self) {
                auto connected = transport_->connect(address);
                if (!connected) give_up(connected.error().message);
                peer = *connected;
            }
            group_.nodes.push_back(peer);
        }
    }

    template <typename T>
    void await(base::Task<base::Result<T>> task) {
        bool ended = false;
        base::spawn<base::Result<T>>(std::move(task), [&ended](const base::Result<T>& result) {
            if (!result) give_up(result.error().message);
            ended = true;
        });
        while (!ended) loop_->turn(true);
    }

    void measure(const Contender& contender) {
        const auto* bytes = reinterpret_cast<const std::byte*>(gradient_.data());
        const collectives::LocalPart part(
            collectives::Layout({{protocol::DType::f32, gradient_.size()}}), {{{bytes}, 1.0}});
        std::vector<std::byte> result(part.layout().bytes());
        sparse::SparseState state(gradient_.size());
        sparse::Options options;
        options.algorithm = contender.algorithm;
        options.teams = contender.teams;
        options.density = settings_.density;
        options.format = contender.format;
        for (int round = 0; round <= kRounds; ++round) {
            ++group_.exchange;
            collectives::Communicator communicator(*transport_, group_);
            await(collectives::barrier(communicator));
            const auto before = communicator.counters();
            const auto begin = base::now();
            if (contender.dense)
                await(collectives::all_reduce(communicator, part, 0.25, result, {}));
            else
                await(sparse_all_reduce(communicator, part, 0.25, result, state, options, pool_));
            Sample sample{base::to_seconds(base::now() - begin), 0, 0};
            state.commit();
            sample.bytes_sent = communicator.counters().bytes_sent - before.bytes_sent;
            sample.messages_sent = communicator.counters().messages_sent - before.messages_sent;
            if (round > 0) write_whole(fd_, &sample, sizeof(sample));  // the first warms up
        }
    }

    BenchSettings settings_;
    int fd_;
    kernels::WorkerPool pool_;
    std::vector<float> gradient_;
    std::unique_ptr<transports::Transport> transport_;
    std::unique_ptr<base::EventLoop> loop_;
    collectives::Group group_;
};

void report(const std::vector<int>& fds) {
    for (const Contender& contender : kContenders) {
        std::vector<double> times;
        uint64_t bytes = 0;
        uint64_t messages = 0;
        for (int round = 0; round < kRounds; ++round) {
            double slowest = 0;
            for (const int fd : fds) {
                Sample sample;
                read_whole(fd, &sample, sizeof(sample));
                slowest = std::max(slowest, sample.seconds);
                bytes = std::max(bytes, sample.bytes_sent);
                messages = std::max(messages, sample.messages_sent);
            }
            times.push_back(slowest);
        }
        std::sort(times.begin(), times.end());
        std::printf("%-28s %8.2f ms, at most %6.2f MB in %3llu messages sent by a node\n",
                    contender.name, times[times.size() / 2] * 1e3,
                    static_cast<double>(bytes) * 1e-6, static_cast<unsigned long long>(messages));
        std::fflush(stdout);
    }
}

std::vector<int> start_nodes(const BenchSettings& settings) {
    std::vector<int> fds;
    for (size_t i = 0; i < settings.nodes; ++i) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            give_up("socketpair failed");
        if (fork() == 0) {
            BenchNode(settings, i, pair[1]).run();
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

}  // namespace

int main(int argc, char** argv) {
    BenchSettings settings;
    if (argc > 1) settings.nodes = std::strtoul(argv[1], nullptr, 10);
    if (argc > 2) settings.elements = std::strtoul(argv[2], nullptr, 10);
    if (argc > 3) settings.density = std::strtod(argv[3], nullptr);
    if (argc > 5) {
        settings.netns_prefix = argv[4];
        settings.device = argv[5];
    }
    report(start_nodes(settings));
    while (wait(nullptr) > 0) {
    }
}
