#include "daemon/collectives/bench/bench_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "transports/ucx/ucx_transport.h"

namespace pace::collectives {

namespace {

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

void enter_namespace(const std::string& prefix, size_t self) {
    if (prefix.empty()) return;
    const std::string path = "/run/netns/" + prefix + std::to_string(self);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) end_bench("cannot enter " + path);
    close(fd);
    // UCX finds the devices in /sys. A mount of /sys shows the devices of the namespace that
    // mounted it.
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
        umount2("/sys", MNT_DETACH) != 0 || mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0)
        end_bench("cannot mount the namespace's /sys");
}

}  // namespace

void end_bench(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
    std::_Exit(1);
}

void write_all(int fd, const void* data, size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
        const ssize_t n = write(fd, at, size);
        if (n <= 0) end_bench("the pipe closed");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

void read_all(int fd, void* data, size_t size) {
    for (char* at = static_cast<char*>(data); size > 0;) {
        const ssize_t n = read(fd, at, size);
        if (n <= 0) end_bench("a node ended early");
        at += n;
        size -= static_cast<size_t>(n);
    }
}

BenchNode::BenchNode(const BenchCluster& cluster, size_t self, int fd) : fd_(fd) {
    enter_namespace(cluster.netns_prefix, self);
    transports::UcxOptions options;
    options.net_devices = cluster.device;
    auto transport = transports::UcxTransport::create(options);
    if (!transport) end_bench(transport.error().message);
    transport_ = std::move(*transport);
    auto loop = base::EventLoop::create(std::chrono::microseconds(20));
    if (!loop) end_bench(loop.error().message);
    loop_ = std::move(*loop);
    loop_->add_poller(transport_.get());
    if (transport_->event_fd() >= 0 &&
        !loop_->watch(transport_->event_fd(), EPOLLIN, [](uint32_t) {}))
        end_bench("cannot watch the transport");
    join(cluster, self);
}

void BenchNode::join(const BenchCluster& cluster, size_t self) {
    write_address(fd_, transport_->address());
    group_.self = self;
    for (size_t node = 0; node < cluster.nodes; ++node) {
        if (cluster.zones > 0) group_.zones.push_back(static_cast<uint32_t>(node % cluster.zones));
        const transports::Address address = read_address(fd_);
        transports::PeerId peer = 0;
        if (node != self) {
            auto connected = transport_->connect(address);
            if (!connected) end_bench(connected.error().message);
            peer = *connected;
        }
        group_.nodes.push_back(peer);
    }
}

const Group& BenchNode::next_group() {
    ++group_.exchange;
    return group_;
}

std::vector<int> start_bench(const BenchCluster& cluster,
                             const std::function<void(size_t self, int fd)>& run) {
    std::vector<int> fds;
    for (size_t i = 0; i < cluster.nodes; ++i) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            end_bench("socketpair failed");
        if (fork() == 0) {
            run(i, pair[1]);
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

void finish_bench() {
    while (wait(nullptr) > 0) {
    }
}

}  // namespace pace::collectives
