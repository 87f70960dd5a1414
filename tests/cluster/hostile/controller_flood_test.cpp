// A client reaches the controller's port, sends any messages as fast as it can, and reads nothing.
// The client's messages wait in its own memory and not in the controller's. Meanwhile the
// controller serves the others.
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitized.h"
#include "protocol/control_codec.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

namespace control = protocol::control;
using Bytes = std::vector<std::byte>;

constexpr size_t kMessages = 500'000;
// Far less than the size of all messages, and of all answers to them. Only a bounded number of
// messages and answers may wait.
constexpr unsigned long kGrowthMaxKib = 30 * 1024;

Bytes nonsense() {
    Bytes bytes(400);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
    return bytes;
}

Bytes copy_of(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

// A heartbeat of a daemon that is no longer attached. The controller answers each one.
Bytes heartbeat() {
    protocol::EnvelopeWriter writer;
    auto& builder = writer.begin();
    std::vector<flatbuffers::Offset<control::WorkerReport>> workers;
    for (uint32_t rank = 0; rank < 10; ++rank)
        workers.push_back(control::CreateWorkerReport(builder, 1, rank, 1000 + rank, 1000));
    return copy_of(writer.finish(7, 99, control::CreateHeartbeatDirect(builder, &workers)));
}

// A heartbeat of so many workers that it is nearly as large as a message may be.
Bytes large_heartbeat() {
    protocol::EnvelopeWriter writer;
    auto& builder = writer.begin();
    std::vector<flatbuffers::Offset<control::WorkerReport>> workers;
    for (uint32_t rank = 0; builder.GetSize() < protocol::kToControllerBytesMax * 3 / 4; ++rank)
        workers.push_back(control::CreateWorkerReport(builder, 1, rank, 1000 + rank, 1000));
    return copy_of(writer.finish(7, 99, control::CreateHeartbeatDirect(builder, &workers)));
}

Bytes status_request() {
    protocol::EnvelopeWriter writer;
    return copy_of(writer.finish(0, 0, control::CreateStatusRequest(writer.begin(), 1)));
}

// Sends one message over and over, on a thread of its own. If the connection takes no more, it
// connects anew: the controller's kernel may end the connection of a client that has taken no
// answer for 4 s, and ZeroMQ notices that at the client only when the client reads.
class Sender {
  public:
    Sender(std::string endpoint, Bytes message)
        : endpoint_(std::move(endpoint)), message_(std::move(message)) {
        thread_ = std::thread([this] { send_all(); });
    }
    ~Sender() {
        over_ = true;
        thread_.join();
        zmq_ctx_term(context_);
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    bool is_done() const { return done_; }
    size_t sent() const { return sent_; }

  private:
    void send_all() {
        while (!over_ && sent_ < kMessages && send_some() > kQueued) {
        }
        done_ = true;
    }

    // Returns how many messages one connection, and its queue, have taken.
    size_t send_some() {
        void* const socket = zmq_socket(context_, ZMQ_DEALER);
        constexpr int kPatienceMs = 5'000;
        constexpr int kNoLinger = 0;
        zmq_setsockopt(socket, ZMQ_SNDTIMEO, &kPatienceMs, sizeof(kPatienceMs));
        zmq_setsockopt(socket, ZMQ_LINGER, &kNoLinger, sizeof(kNoLinger));
        zmq_setsockopt(socket, ZMQ_SNDHWM, &kQueued, sizeof(kQueued));
        EXPECT_EQ(zmq_connect(socket, endpoint_.c_str()), 0);
        size_t taken = 0;
        while (!over_ && sent_ < kMessages &&
               zmq_send(socket, message_.data(), message_.size(), 0) >= 0) {
            ++taken;
            ++sent_;
        }
        zmq_close(socket);
        return taken;
    }

    static constexpr int kQueued = 1000;

    const std::string endpoint_;
    const Bytes message_;
    void* const context_ = zmq_ctx_new();
    std::atomic<size_t> sent_ = 0;
    std::atomic<bool> over_ = false;
    std::atomic<bool> done_ = false;
    std::thread thread_;
};

// Many connections. One thread sends the same message on all of them in turn, wherever there is
// room.
class Crowd {
  public:
    Crowd(const std::string& endpoint, Bytes message, int connections)
        : message_(std::move(message)) {
        constexpr int kNoLinger = 0;
        constexpr int kFew = 2;
        for (int i = 0; i < connections; ++i) {
            void* const socket = zmq_socket(context_, ZMQ_DEALER);
            zmq_setsockopt(socket, ZMQ_LINGER, &kNoLinger, sizeof(kNoLinger));
            zmq_setsockopt(socket, ZMQ_SNDHWM, &kFew, sizeof(kFew));
            EXPECT_EQ(zmq_connect(socket, endpoint.c_str()), 0);
            sockets_.push_back(socket);
            room_.push_back({socket, 0, ZMQ_POLLOUT, 0});
        }
        thread_ = std::thread([this] { send_all(); });
    }
    ~Crowd() {
        over_ = true;
        thread_.join();
        for (void* const socket : sockets_) zmq_close(socket);
        zmq_ctx_term(context_);
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    size_t sent() const { return sent_; }

  private:
    void send_all() {
        while (!over_) {
            size_t now = 0;
            for (void* const socket : sockets_)
                if (zmq_send(socket, message_.data(), message_.size(), ZMQ_DONTWAIT) >= 0) ++now;
            sent_ += now;
            constexpr long kLookMs = 50;
            if (now == 0) zmq_poll(room_.data(), static_cast<int>(room_.size()), kLookMs);
        }
    }

    const Bytes message_;
    void* const context_ = zmq_ctx_new();
    std::vector<void*> sockets_;
    // Tells which sockets have room in their queues.
    std::vector<zmq_pollitem_t> room_;
    std::atomic<size_t> sent_ = 0;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

unsigned long resident_kib(const Process& process) {
    std::ifstream file("/proc/" + std::to_string(process.pid()) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
    ADD_FAILURE() << "no VmRSS of the controller";
    return 0;
}

struct Kind {
    const char* name;
    Bytes (*message)();
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
    return out << kind.name;
}

class ControllerFlood : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Messages, ControllerFlood,
                         testing::Values(Kind{"Nonsense", nonsense}, Kind{"Heartbeats", heartbeat},
                                         Kind{"StatusRequests", status_request}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(ControllerFlood, WaitsInItsSendersMemoryAndOthersAreServed) {
    if (base::kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own";
    Cluster cluster({.nodes = 1});
    int served = 0;
    const auto serve = [&] {
        Worker worker(
            {.endpoint = cluster.endpoint(0), .job = "job-" + std::to_string(served % 4)});
        ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint() << cluster.logs();
        worker.add_floats(10, 1);
        worker.finish(worker.reduce());
        ++served;
    };
    for (int i = 0; i < 4; ++i) serve();
    const unsigned long before = resident_kib(cluster.controller());
    unsigned long most = before;
    {
        const Sender sender(cluster.controller_endpoint(), GetParam().message());
        const Deadline in_time = within(std::chrono::seconds(100));
        while (!sender.is_done() && std::chrono::steady_clock::now() < in_time) {
            ASSERT_NO_FATAL_FAILURE(serve());
            most = std::max(most, resident_kib(cluster.controller()));
        }
        EXPECT_EQ(sender.sent(), kMessages) << "the controller takes no more\n" << cluster.logs();
        most = std::max(most, resident_kib(cluster.controller()));
    }
    EXPECT_LT(most, before + kGrowthMaxKib);
    ASSERT_NO_FATAL_FAILURE(serve());
    EXPECT_EQ(cluster.said(Cluster::name(0), "nothing heard from the controller"), 0U)
        << cluster.logs();
}

constexpr int kConnections = 150;
// The memory that may wait for each connection, and the memory that the controller takes besides.
// Without a bound, 64 messages of a mebibyte waited for each connection.
constexpr unsigned long kWaitingMaxKib = kConnections * 7 * 1024 + kGrowthMaxKib;

TEST(ControllerCrowd, OfLargeMessagesOnManyConnectionsTakesBoundedMemoryAndDaemonsAreHeard) {
    if (base::kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own";
    // The silence that is too long here is longer than usual: the flood wants both processors.
    Cluster cluster({.nodes = 2, .controller_flags = {"--liveness-max-ms", "5000"}});
    Worker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint() << cluster.logs();
    worker.add_floats(10, 1);
    worker.finish(worker.reduce());
    const unsigned long before = resident_kib(cluster.controller());
    unsigned long most = before;
    {
        const Bytes message = large_heartbeat();
        const Crowd crowd(cluster.controller_endpoint(), message, kConnections);
        const Deadline over = within(std::chrono::seconds(8));
        while (std::chrono::steady_clock::now() < over) {
            worker.finish(worker.reduce());
            most = std::max(most, resident_kib(cluster.controller()));
        }
        EXPECT_GT(crowd.sent(), 2U * kConnections) << "nothing was in the way";
        EXPECT_EQ(cluster.said("controller", "excluded"), 0U) << cluster.logs();
    }
    EXPECT_LT(most, before + kWaitingMaxKib);
    worker.finish(worker.reduce());
    for (size_t node = 0; node < 2; ++node)
        EXPECT_EQ(cluster.said(Cluster::name(node), "nothing heard from the controller"), 0U)
            << cluster.logs();
}

TEST(ControllerCrowd, WhoeverConnectsBeyondTheLimitIsShutOutAndDaemonsAreHeard) {
    Cluster cluster({.nodes = 1, .controller_flags = {"--connections-max", "8"}});
    Worker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint() << cluster.logs();
    worker.add_floats(10, 1);
    const Crowd crowd(cluster.controller_endpoint(), nonsense(), 40);
    EXPECT_TRUE(cluster.wait_until_said("controller", "connections_max", 1, soon()))
        << cluster.logs();
    for (int i = 0; i < 5; ++i) worker.finish(worker.reduce());
    EXPECT_EQ(cluster.said(Cluster::name(0), "nothing heard from the controller"), 0U)
        << cluster.logs();
}

}  // namespace
}  // namespace pace::cluster
