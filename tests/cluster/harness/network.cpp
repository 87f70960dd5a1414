#include "tests/cluster/harness/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

namespace pace::cluster {

namespace {

constexpr const char* kDevice = "v0";
// Large frames take fewer turns of the switch than frames of 1500 bytes.
constexpr int kMtu = 9000;

ifreq request(const char* device) {
    ifreq request{};
    std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    return request;
}

void ask(int socket, unsigned long what, ifreq& request, const char* name) {
    EXPECT_EQ(ioctl(socket, what, &request), 0) << name << ": " << std::strerror(errno);
}

void bring_up(int socket, const char* device) {
    ifreq flags = request(device);
    ask(socket, SIOCGIFFLAGS, flags, "SIOCGIFFLAGS");
    flags.ifr_flags = static_cast<short>(flags.ifr_flags | IFF_UP | IFF_RUNNING);
    ask(socket, SIOCSIFFLAGS, flags, "SIOCSIFFLAGS");
}

void set_address(int socket, unsigned long what, const char* text) {
    ifreq address = request(kDevice);
    auto* ip = reinterpret_cast<sockaddr_in*>(&address.ifr_addr);
    ip->sin_family = AF_INET;
    inet_pton(AF_INET, text, &ip->sin_addr);
    ask(socket, what, address, text);
}

// The switch finds the receiver of a frame by the last byte of the frame's hardware address.
void set_hardware_address(int socket, size_t number) {
    ifreq hardware = request(kDevice);
    hardware.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    hardware.ifr_hwaddr.sa_data[0] = 2;
    hardware.ifr_hwaddr.sa_data[5] = static_cast<char>(number);
    ask(socket, SIOCSIFHWADDR, hardware, "SIOCSIFHWADDR");
}

}  // namespace

std::optional<std::string> Network::absence() {
    std::optional<std::string> absence;
    // The check runs in its own thread, because the thread may enter another namespace. The thread
    // ends there.
    std::thread([&] {
        const base::UniqueFd tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
        if (!tun.valid())
            absence = std::string("/dev/net/tun cannot be opened: ") + std::strerror(errno);
        else if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
            absence = std::string("no namespace can be made: ") + std::strerror(errno);
    }).join();
    return absence;
}

Network::Network(size_t places) : ended_(eventfd(0, EFD_CLOEXEC)) {
    EXPECT_LE(places, kPlacesMax);
    for (size_t place = 0; place < places; ++place) {
        std::thread([&] { places_.push_back(make_place(place)); }).join();
    }
    switch_ = std::thread([this] { run(); });
}

Network::~Network() {
    const uint64_t one = 1;
    EXPECT_EQ(write(ended_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    switch_.join();
}

// Must run in a thread that stays in the new namespace and ends.
Network::Place Network::make_place(size_t number) {
    Place place;
    EXPECT_EQ(unshare(CLONE_NEWNET), 0) << std::strerror(errno);
    place.stack.reset(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    place.tap.reset(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    ifreq tap = request(kDevice);
    tap.ifr_flags = IFF_TAP | IFF_NO_PI;
    ask(place.tap.get(), TUNSETIFF, tap, "TUNSETIFF");
    const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    set_hardware_address(socket.get(), number);
    ifreq mtu = request(kDevice);
    mtu.ifr_mtu = kMtu;
    ask(socket.get(), SIOCSIFMTU, mtu, "SIOCSIFMTU");
    set_address(socket.get(), SIOCSIFADDR, ("10.77.0." + std::to_string(number + 1)).c_str());
    set_address(socket.get(), SIOCSIFNETMASK, "255.255.255.0");
    bring_up(socket.get(), kDevice);
    bring_up(socket.get(), "lo");
    return place;
}

// The command has a file system of its own beside the network stack, because UCX looks for
// interfaces in /sys. Only /sys is made private. The root need not be a mount. In a chroot it is
// none.
std::vector<std::string> Network::at(size_t place, std::vector<std::string> arguments) const {
    const std::string stack =
        "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(places_[place].stack.get());
    const std::string mount_sys =
        "mount --make-private /sys && mount -t sysfs sysfs /sys && exec \"$0\" \"$@\"";
    std::vector<std::string> command{"/usr/bin/nsenter",
                                     "--net=" + stack,
                                     "/usr/bin/unshare",
                                     "--mount",
                                     "--propagation=unchanged",
                                     "/bin/sh",
                                     "-c",
                                     mount_sys};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

void Network::cut(size_t one, size_t other) {
    cut_one_way(one, other);
    cut_one_way(other, one);
}

void Network::isolate(size_t place) {
    for (size_t other = 0; other < places_.size(); ++other)
        if (other != place) cut(place, other);
}

void Network::mend() {
    for (auto& from : lost_)
        for (auto& to : from) to = false;
}

void Network::run() {
    std::vector<pollfd> watched;
    for (const Place& place : places_) watched.push_back({place.tap.get(), POLLIN, 0});
    watched.push_back({ended_.get(), POLLIN, 0});
    std::array<std::byte, 65536> frame{};
    while (poll(watched.data(), watched.size(), -1) >= 0 && watched.back().revents == 0) {
        for (size_t from = 0; from < places_.size(); ++from) {
            // A place may have more frames. The others get their turn before all of them are read.
            for (int taken = 0; taken < 64; ++taken) {
                const ssize_t size = read(places_[from].tap.get(), frame.data(), frame.size());
                if (size < 14) break;
                forward(from, frame.data(), static_cast<size_t>(size));
            }
        }
    }
}

void Network::forward(size_t from, const std::byte* frame, size_t size) const {
    const bool to_all = (static_cast<unsigned>(frame[0]) & 1U) != 0;
    const auto receiver = static_cast<size_t>(frame[5]);
    for (size_t to = 0; to < places_.size(); ++to) {
        if (to == from || (!to_all && to != receiver) || lost_[from][to]) continue;
        // A frame for which the receiver has no room is lost, as on any network.
        [[maybe_unused]] const ssize_t written = write(places_[to].tap.get(), frame, size);
    }
}

}  // namespace pace::cluster
