#include "transports/ucx/ucx_transport.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/event_loop.h"
#include "transports/conformance.h"

namespace pace::transports {
namespace {

std::unique_ptr<UcxTransport> make(const UcxOptions& options = {}) {
    auto transport = UcxTransport::create(options);
    EXPECT_TRUE(transport) << (transport ? "" : transport.error().message);
    return transport ? std::move(*transport) : nullptr;
}

class UcxFabric {
  public:
    static std::unique_ptr<Transport> create() { return make(); }
    static void vanish(std::unique_ptr<Transport>& transport) { transport.reset(); }
};

std::set<std::string> own_socket_inodes() {
    std::set<std::string> inodes;
    DIR* directory = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(directory)) {
        std::array<char, 64> target{};
        const std::string path = std::string("/proc/self/fd/") + entry->d_name;
        if (readlink(path.c_str(), target.data(), target.size() - 1) <= 0) continue;
        const std::string link = target.data();
        if (link.starts_with("socket:[")) inodes.insert(link.substr(8, link.size() - 9));
    }
    closedir(directory);
    return inodes;
}

// The local addresses, as the kernel prints them, of TCP sockets on which this process listens.
std::vector<std::string> listening_addresses() {
    const std::set<std::string> own = own_socket_inodes();
    std::vector<std::string> addresses;
    for (const auto* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
        std::ifstream file(table);
        std::string line;
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::vector<std::string> columns;
            for (std::string word; words >> word;) columns.push_back(word);
            constexpr auto* kListen = "0A";
            if (columns.size() > 9 && columns[3] == kListen && own.contains(columns[9]))
                addresses.push_back(columns[1].substr(0, columns[1].find(':')));
        }
    }
    return addresses;
}

TEST(UcxTransport, ListensOnTheChosenInterfaceAlone) {
    ASSERT_TRUE(listening_addresses().empty());
    const auto transport = make();
    const auto addresses = listening_addresses();
    EXPECT_FALSE(addresses.empty());
    for (const std::string& address : addresses) EXPECT_EQ(address, "0100007F") << "127.0.0.1";
}

TEST(UcxTransport, LeavesTheSignalHandlersOfItsHostAlone) {
    const auto transport = make();
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
        struct sigaction action {};
        ASSERT_EQ(sigaction(number, nullptr, &action), 0);
        Dl_info info{};
        const bool known = dladdr(reinterpret_cast<void*>(action.sa_sigaction), &info) != 0;
        EXPECT_FALSE(known && std::string(info.dli_fname).find("libucs") != std::string::npos)
            << number;
    }
}

TEST(UcxTransport, RefusesOptionsThatMakeNoSense) {
    const auto refused = [](auto change) {
        UcxOptions options;
        change(options);
        const auto transport = UcxTransport::create(options);
        return !transport && !transport.error().message.empty();
    };
    EXPECT_TRUE(refused([](UcxOptions& o) { o.net_devices = ""; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.net_devices = "all"; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.net_devices = "nope0"; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.tls = ""; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.tls = "pigeons"; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.segment_bytes = 1; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.eager_bytes_max = o.segment_bytes + 1; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.unexpected_bytes_max = 1; }));
    EXPECT_TRUE(refused([](UcxOptions& o) { o.keepalive_interval = std::chrono::seconds(0); }));
}

TEST(UcxTransport, RefusesAPeerWithOtherSegments) {
    UcxOptions other;
    other.segment_bytes /= 2;
    const auto a = make();
    const auto b = make(other);
    const auto peer = a->connect(b->address());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().kind, base::ErrorKind::mismatch);
}

TEST(UcxTransport, GivesUpAPeerThatSendsMoreThanIsKeptUnasked) {
    UcxOptions options;
    options.unexpected_bytes_max = 100'000;
    const auto a = make();
    const auto b = make(options);
    const PeerId a_to_b = *a->connect(b->address());
    ASSERT_TRUE(b->connect(a->address()));
    std::string reason;
    b->set_peer_lost_handler([&](PeerId, const base::Error& error) { reason = error.message; });
    const std::vector<std::byte> bytes(10'000);
    for (uint32_t slot = 0; slot < 20; ++slot) a->send(a_to_b, {1, slot, 0}, bytes, {});
    const base::TimePoint deadline = base::now() + std::chrono::seconds(10);
    while (reason.empty() && base::now() < deadline) {
        a->poll();
        b->poll();
    }
    EXPECT_NE(reason.find("100000 bytes"), std::string::npos) << reason;
}

TEST(UcxTransport, WakesAnEventLoopThatSleeps) {
    auto loop = base::EventLoop::create();
    ASSERT_TRUE(loop);
    const auto a = make();
    const auto b = make();
    const PeerId a_to_b = *a->connect(b->address());
    const PeerId b_to_a = *b->connect(a->address());
    for (UcxTransport* transport : {a.get(), b.get()}) {
        (*loop)->add_poller(transport);
        ASSERT_TRUE((*loop)->watch(transport->event_fd(), EPOLLIN, [](uint32_t) {}));
    }
    // Larger than any socket buffer, so that sending itself must be woken, and a pause before each round.
    const auto sent = conformance::pattern(30'000'000, 1);
    std::vector<std::byte> received(sent.size());
    int rounds = 0;
    std::function<void()> round = [&] {
        const auto exchange = static_cast<uint64_t>(rounds);
        b->receive(b_to_a, {exchange, 0, 0}, received, [&](base::Result<> result) {
            EXPECT_TRUE(result);
            if (++rounds == 5) return (*loop)->stop();
            (*loop)->run_after(std::chrono::milliseconds(3), round);
        });
        a->send(a_to_b, {exchange, 0, 0}, sent, {});
    };
    bool late = false;
    (*loop)->run_after(std::chrono::seconds(20), [&] {
        late = true;
        (*loop)->stop();
    });
    (*loop)->run_after(std::chrono::milliseconds(3), round);
    (*loop)->run();
    EXPECT_FALSE(late) << "the loop slept through its work";
    EXPECT_EQ(rounds, 5);
    EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace pace::transports

PACE_INSTANTIATE_CONFORMANCE(Ucx, pace::transports::UcxFabric);
