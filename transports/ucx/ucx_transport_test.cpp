#include "transports/ucx/ucx_transport.h"

#include <dirent.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/loop/event_loop.h"
#include "base/unique_fd.h"
#include "transports/conformance.h"
#include "transports/ucx/ucx_process.h"

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

// Returns the local addresses and ports of TCP sockets on which this process listens, as the kernel
// prints them.
std::vector<std::string> listening_sockets() {
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
                addresses.push_back(columns[1]);
        }
    }
    return addresses;
}

std::vector<std::string> listening_addresses() {
    std::vector<std::string> addresses = listening_sockets();
    for (std::string& address : addresses) address.resize(address.find(':'));
    return addresses;
}

std::vector<uint16_t> listening_ports() {
    std::vector<uint16_t> ports;
    for (const std::string& address : listening_sockets())
        ports.push_back(
            static_cast<uint16_t>(std::stoul(address.substr(address.find(':') + 1), nullptr, 16)));
    return ports;
}

TEST(UcxTransport, ListensOnTheChosenInterfaceAlone) {
    ASSERT_TRUE(listening_addresses().empty());
    const auto transport = make();
    const auto addresses = listening_addresses();
    EXPECT_FALSE(addresses.empty());
    for (const std::string& address : addresses) EXPECT_EQ(address, "0100007F") << "127.0.0.1";
}

// Returns how long the connected TCP sockets of this process may hold bytes that nobody
// acknowledges, in milliseconds.
std::vector<unsigned> bounds_of_connections() {
    std::vector<unsigned> bounds;
    DIR* directory = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(directory)) {
        const int fd = std::atoi(entry->d_name);
        tcp_info info{};
        socklen_t size = sizeof(info);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
        if (info.tcpi_state != TCP_ESTABLISHED) continue;
        unsigned bound = 0;
        size = sizeof(bound);
        EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &bound, &size), 0);
        bounds.push_back(bound);
    }
    closedir(directory);
    return bounds;
}

// Both ends of each connection are bounded. Otherwise a connection that was cut would be silent
// after the cut for as long again as the cut lasted.
TEST(UcxTransport, BoundsHowLongEachConnectionHoldsBytesThatNobodyAcknowledges) {
    UcxOptions options;
    options.unmoved_max = std::chrono::milliseconds(7000);
    std::vector<std::unique_ptr<UcxTransport>> nodes;
    for (int i = 0; i < 3; ++i) nodes.push_back(make(options));
    for (const auto& from : nodes)
        for (const auto& to : nodes)
            if (from != to) from->ping(*from->connect(to->address()));
    const base::TimePoint deadline = base::now() + std::chrono::seconds(30);
    const auto all_bounded = [] {
        const std::vector<unsigned> bounds = bounds_of_connections();
        return bounds.size() >= 6 && std::all_of(bounds.begin(), bounds.end(),
                                                 [](unsigned bound) { return bound == 7000; });
    };
    while (!all_bounded() && base::now() < deadline)
        for (const auto& node : nodes) node->poll();
    EXPECT_TRUE(all_bounded()) << bounds_of_connections().size();
}

// This runs before gtest's main(), like the first call in the main of our programs.
[[maybe_unused]] const bool kRestarted = (restart_without_ucx_effects(), true);

std::string library_of(const void* code) {
    Dl_info info{};
    return dladdr(code, &info) != 0 ? info.dli_fname : "";
}

TEST(UcxTransport, LeavesTheSignalHandlersAndTheMemoryCallsOfItsHostAlone) {
    const auto transport = make();
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
        struct sigaction action {};
        ASSERT_EQ(sigaction(number, nullptr, &action), 0);
        const std::string library = library_of(reinterpret_cast<void*>(action.sa_sigaction));
        EXPECT_EQ(library.find("libucs"), std::string::npos) << number;
    }
#if defined(__x86_64__)
    // UCX overwrites a function with a jump (opcode E9 or FF 25). The functions of libc begin
    // otherwise.
    void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(libc, nullptr);
    for (const auto* name : {"mmap", "munmap", "madvise", "shmat"}) {
        const auto* code = static_cast<const unsigned char*>(dlsym(libc, name));
        ASSERT_NE(code, nullptr) << name;
        EXPECT_FALSE(code[0] == 0xE9 || (code[0] == 0xFF && code[1] == 0x25)) << name;
    }
    dlclose(libc);
#endif
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

// Two transports that keep few bytes of messages that nobody has asked for.
class UcxUnasked : public ::testing::Test {
  protected:
    UcxUnasked() {
        UcxOptions options;
        options.unexpected_bytes_max = 100'000;
        a_ = make(options);
        b_ = make(options);
        a_to_b_ = *a_->connect(b_->address());
        b_to_a_ = *b_->connect(a_->address());
        b_->set_peer_lost_handler(
            [this](PeerId, const base::Error& error) { lost_ = error.message; });
    }

    template <typename Predicate>
    bool await(Predicate done) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!done() && base::now() < deadline) {
            a_->poll();
            b_->poll();
        }
        return done();
    }

    std::unique_ptr<UcxTransport> a_;
    std::unique_ptr<UcxTransport> b_;
    PeerId a_to_b_ = 0;
    PeerId b_to_a_ = 0;
    std::string lost_;
};

TEST_F(UcxUnasked, ASenderThatRunsAheadIsHeldBackAndNothingIsLost) {
    constexpr uint32_t kMessages = 300;
    constexpr size_t kSizes = 3;
    const std::array<std::vector<std::byte>, kSizes> sent = {
        std::vector<std::byte>{}, conformance::pattern(700, 1), conformance::pattern(10'000, 2)};
    uint32_t ended = 0;
    for (const uint64_t exchange : {1U, 2U, 3U}) {
        uint32_t sends = 0;
        uint32_t receives = 0;
        for (uint32_t slot = 0; slot < kMessages; ++slot) {
            a_->send(a_to_b_, {exchange, slot, 0}, sent[slot % kSizes], [&](base::Result<> result) {
                EXPECT_TRUE(result);
                ++sends;
            });
        }
        for (int turn = 0; turn < 1000; ++turn) {
            a_->poll();
            b_->poll();
        }
        EXPECT_LT(sends, kMessages) << "some wait at the sender";
        std::vector<std::vector<std::byte>> received(kMessages);
        for (uint32_t slot = 0; slot < kMessages; ++slot) {
            received[slot].resize(sent[slot % kSizes].size());
            b_->receive(b_to_a_, {exchange, slot, 0}, received[slot], [&](base::Result<> result) {
                EXPECT_TRUE(result);
                ++receives;
            });
        }
        ASSERT_TRUE(await([&] { return sends == kMessages && receives == kMessages; }));
        for (uint32_t slot = 0; slot < kMessages; ++slot)
            EXPECT_EQ(received[slot], sent[slot % kSizes]) << slot;
        ended += receives;
    }
    EXPECT_EQ(ended, 3 * kMessages);
    EXPECT_EQ(lost_, "");
}

TEST_F(UcxUnasked, APeerThatOffersWithoutEndIsGivenUp) {
    const std::vector<std::byte> bytes(20'000);
    for (uint32_t slot = 0; slot < 2000; ++slot) a_->send(a_to_b_, {1, slot, 0}, bytes, {});
    ASSERT_TRUE(await([&] { return !lost_.empty(); }));
    EXPECT_NE(lost_.find("100000 bytes"), std::string::npos) << lost_;
}

// UCX may merge the connection of the ping with the connection for the answer. By then more
// messages than the ping have come.
TEST_F(UcxUnasked, TheFirstAnswerToAPeerDisturbsNothingThatHasComeBehindTheQuestion) {
    constexpr uint32_t kMessages = 50;
    const std::vector<std::byte> sent = conformance::pattern(300, 1);
    a_->send(a_to_b_, {1, kMessages, 0}, sent, {});
    ASSERT_TRUE(await([&] { return b_->counters().messages_unexpected == 1; }));
    ASSERT_EQ(a_->heard(a_to_b_), base::TimePoint{}) << "nothing has come the other way";
    a_->ping(a_to_b_);
    for (uint32_t slot = 0; slot < kMessages; ++slot) a_->send(a_to_b_, {1, slot, 0}, sent, {});
    for (int turn = 0; turn < 1000; ++turn) a_->poll();
    ASSERT_TRUE(await([&] { return a_->heard(a_to_b_) != base::TimePoint{}; }));
    std::vector<std::vector<std::byte>> received(kMessages, std::vector<std::byte>(sent.size()));
    uint32_t receives = 0;
    for (uint32_t slot = 0; slot < kMessages; ++slot)
        b_->receive(b_to_a_, {1, slot, 0}, received[slot], [&](base::Result<> result) {
            EXPECT_TRUE(result);
            ++receives;
        });
    ASSERT_TRUE(await([&] { return receives == kMessages; }));
    for (const auto& bytes : received) EXPECT_EQ(bytes, sent);
    EXPECT_EQ(lost_, "");
}

// Listens on the port of an ended transport, takes connections and says nothing.
base::UniqueFd silent_listener(uint16_t port) {
    base::UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    EXPECT_EQ(setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener.get(), SOMAXCONN), 0);
    return listener;
}

TEST(UcxTransport, LosesAPeerWhoseHostTakesAConnectionThatNobodyAnswers) {
    auto gone = make();
    const Address address = gone->address();
    ASSERT_EQ(listening_ports().size(), 1U);
    const uint16_t port = listening_ports()[0];
    gone.reset();
    const base::UniqueFd listener = silent_listener(port);
    UcxOptions options;
    options.unmoved_max = std::chrono::milliseconds(300);
    const auto transport = make(options);
    std::string lost;
    transport->set_peer_lost_handler(
        [&](PeerId, const base::Error& error) { lost = error.message; });
    const PeerId peer = *transport->connect(address);
    bool failed = false;
    const std::array<std::byte, 8> bytes{};
    transport->send(peer, {1, 0, 0}, bytes, [&](base::Result<> result) { failed = !result; });
    const base::TimePoint began = base::now();
    while (lost.empty() && base::now() - began < std::chrono::seconds(20)) transport->poll();
    EXPECT_NE(lost.find("has taken nothing"), std::string::npos) << lost;
    EXPECT_GE(base::now() - began, options.unmoved_max);
    EXPECT_TRUE(failed);
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
    // The message is larger than any socket buffer, so that sending itself must be woken. There is
    // a pause before each round.
    const auto sent = conformance::pattern(30'000'000, 1);
    std::vector<std::byte> received(sent.size());
    int rounds = 0;
    base::Timer next;
    std::function<void()> round = [&] {
        const auto exchange = static_cast<uint64_t>(rounds);
        b->receive(b_to_a, {exchange, 0, 0}, received, [&](base::Result<> result) {
            EXPECT_TRUE(result);
            if (++rounds == 5) return (*loop)->stop();
            next = (*loop)->run_after(std::chrono::milliseconds(3), round);
        });
        a->send(a_to_b, {exchange, 0, 0}, sent, {});
    };
    bool late = false;
    const base::Timer deadline = (*loop)->run_after(std::chrono::seconds(20), [&] {
        late = true;
        (*loop)->stop();
    });
    next = (*loop)->run_after(std::chrono::milliseconds(3), round);
    (*loop)->run();
    EXPECT_FALSE(late) << "the loop slept through its work";
    EXPECT_EQ(rounds, 5);
    EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace pace::transports

PACE_INSTANTIATE_CONFORMANCE(Ucx, pace::transports::UcxFabric);
