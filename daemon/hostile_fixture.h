// HostileClients: a whole daemon in this thread, and clients with rings that send and submit
// whatever a test wants.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log/log.h"
#include "base/loop/event_loop.h"
#include "base/unique_fd.h"
#include "daemon/clients/packet.h"
#include "daemon/node.h"
#include "protocol/option_codec.h"
#include "protocol/ring.h"
#include "protocol/version.h"

namespace pace::daemon {

using base::UniqueFd;
using protocol::DType;
using protocol::SubmissionEntry;
using protocol::Verb;
namespace fb = protocol::client;

// A shared mapping in this process.
class Mapping {
  public:
    Mapping(int fd, size_t bytes)
        : data_(static_cast<std::byte*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))),
          bytes_(bytes) {}
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Mapping& operator=(Mapping&&) = delete;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (data_ != nullptr) munmap(data_, bytes_);
    }
    std::byte* data() const { return data_; }
    size_t size() const { return bytes_; }

  private:
    std::byte* data_;
    size_t bytes_;
};

using Tune = std::function<void(protocol::JobOptions&)>;

// One daemon, alone on its machine, and its thread.
class HostileClients : public ::testing::Test {
  public:
    HostileClients() {
        base::set_log_level(base::LogLevel::none);
        NodeConfig config;
        config.name = "besieged";
        config.threads = 1;
        config.limits = {.bytes_max = uint64_t{64} << 20U, .buffers_max = 64};
        config.accounts = {.user_bytes_max = uint64_t{256} << 20U};
        config.gpu.off = true;
        config.exchange.buffers_keep = std::chrono::seconds(1);
        node_ = Node::create(*loop_, config).value();
    }
    ~HostileClients() override {
        node_.reset();
        base::set_log_level(base::LogLevel::info);
    }

    UniqueFd connect() {
        std::array<int, 2> ends{};
        EXPECT_EQ(
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
        node_->add_client(UniqueFd(ends[0]));
        return UniqueFd(ends[1]);
    }
    void turn() { loop_->turn(false); }
    // Turns the loop until `condition` holds. `condition` may consume input, so it is not called
    // again once it has held.
    template <typename Condition>
    bool until(Condition condition) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (base::now() < deadline) {
            if (condition()) return true;
            turn();
        }
        return false;
    }

  protected:
    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    std::unique_ptr<Node> node_;
};

struct ClientBuffer {
    uint32_t index = 0;
    uint32_t generation = 0;
    uint64_t count = 0;
    Mapping memory;
};

// A trainer that breaks the rules.
class RingClient {
  public:
    explicit RingClient(HostileClients& daemon) : daemon_(daemon), socket_(daemon.connect()) {
        EXPECT_TRUE(ask(fb::Body::Hello, [](flatbuffers::FlatBufferBuilder& b) {
            return fb::CreateHelloDirect(b, protocol::kVersion, "hostile").Union();
        }));
    }

    // Returns false if the join was refused; refusal() says why.
    bool join(const std::string& job, uint32_t rank, uint32_t world, const Tune& tune) {
        const bool joined = ask(fb::Body::Join, [&](flatbuffers::FlatBufferBuilder& b) {
            protocol::JobOptions options;
            options.name = job;
            options.world = world;
            tune(options);
            const auto built = protocol::write_job_options(b, options);
            fb::JoinBuilder join(b);
            join.add_request(++asked_);
            join.add_rank(rank);
            join.add_options(built);
            return join.Finish().Union();
        });
        if (!joined || type() != fb::Body::Joined || answer_.fds.size() != 3) return false;
        layout_ = {packet()->body_as_Joined()->ring_slots(),
                   packet()->body_as_Joined()->member_capacity()};
        ring_.emplace(answer_.fds[0].get(), layout_.bytes());
        doorbell_ = std::move(answer_.fds[1]);
        return true;
    }

    // Returns null if the buffer was refused.
    std::shared_ptr<ClientBuffer> create(DType dtype, uint64_t count, std::span<const int> fds = {},
                                         bool adopt = false) {
        const bool made = ask(
            fb::Body::BufferCreate,
            [&](flatbuffers::FlatBufferBuilder& b) {
                return fb::CreateBufferCreate(b, ++asked_, static_cast<fb::DType>(dtype), count,
                                              adopt)
                    .Union();
            },
            fds);
        if (!made || type() != fb::Body::BufferCreated || answer_.fds.size() != 1) return nullptr;
        const auto* created = packet()->body_as_BufferCreated();
        return std::make_shared<ClientBuffer>(
            ClientBuffer{created->buffer(), created->generation(), count,
                         Mapping(answer_.fds[0].get(), created->bytes())});
    }
    bool free(const ClientBuffer& buffer) {
        return ask(fb::Body::BufferFree, [&](flatbuffers::FlatBufferBuilder& b) {
            return fb::CreateBufferFree(b, ++asked_, buffer.index).Union();
        });
    }
    void cancel(uint64_t id) {
        (void)send_body(socket_.get(), [&](flatbuffers::FlatBufferBuilder& b) {
            return std::pair(fb::Body::Cancel, fb::CreateCancel(b, id).Union());
        });
    }
    bool leave() {
        return ask(fb::Body::Leave, [&](flatbuffers::FlatBufferBuilder& b) {
            return fb::CreateLeave(b, ++asked_).Union();
        });
    }

    void submit(const SubmissionEntry& entry) {
        auto& control = header().submission;
        const uint32_t tail = control.tail.value.load();
        auto* const slots =
            reinterpret_cast<SubmissionEntry*>(ring_->data() + layout_.submissions());
        slots[tail & (layout_.slots - 1)] = entry;
        control.tail.value.store(tail + 1);
        const uint64_t one = 1;
        EXPECT_EQ(write(doorbell_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
        if (!protocol::is_note(entry.verb)) ++open_;
    }
    // Returns the completions since the last call.
    std::vector<protocol::CompletionEntry> ended() {
        std::vector<protocol::CompletionEntry> ended;
        const uint32_t tail = header().completion.tail.value.load();
        const auto* const slots = reinterpret_cast<const protocol::CompletionEntry*>(
            ring_->data() + layout_.completions());
        for (; head_ != tail; ++head_) {
            ended.push_back(slots[head_ & (layout_.slots - 1)]);
            EXPECT_GT(open_, 0U) << "request " << ended.back().id << " ended twice";
            --open_;
        }
        return ended;
    }
    size_t open() const { return open_; }
    // Whether the daemon has closed the connection.
    bool is_gone() {
        char byte = 0;
        const ssize_t got = recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got == 0 || (got < 0 && errno == ECONNRESET);
    }
    const std::string& refusal() const { return refusal_; }
    int socket() const { return socket_.get(); }

  private:
    template <typename Build>
    bool ask(fb::Body body, Build&& build, std::span<const int> fds = {}) {
        const auto sent = send_body(
            socket_.get(),
            [&](flatbuffers::FlatBufferBuilder& b) { return std::pair(body, build(b)); }, fds);
        if (!sent) return false;
        const bool answered = daemon_.until([this] {
            auto got = receive_packet(socket_.get());
            if (!got || got->would_block) return false;
            answer_ = std::move(*got);
            return true;
        });
        if (!answered || answer_.closed || packet() == nullptr) return false;
        if (type() != fb::Body::Failed) return true;
        refusal_ = packet()->body_as_Failed()->message()->str();
        return false;
    }
    const fb::Packet* packet() const { return verify_packet(answer_.bytes); }
    fb::Body type() const { return packet()->body_type(); }
    protocol::RingHeader& header() const {
        return *reinterpret_cast<protocol::RingHeader*>(ring_->data());
    }

    HostileClients& daemon_;
    UniqueFd socket_;
    UniqueFd doorbell_;
    protocol::RingLayout layout_;
    std::optional<Mapping> ring_;
    ReceivedPacket answer_;
    std::string refusal_;
    uint64_t asked_ = 0;
    uint32_t head_ = 0;
    size_t open_ = 0;
};

// Expects that a well-behaved trainer is served.
inline void expect_served(HostileClients& daemon) {
    RingClient client(daemon);
    ASSERT_TRUE(client.join("well-mannered", 0, 1, [](protocol::JobOptions& options) {
        options.policy = protocol::Policy::all_reduce;
    })) << client.refusal();
    const auto buffer = client.create(DType::f32, 10);
    ASSERT_NE(buffer, nullptr) << client.refusal();
    SubmissionEntry entry{};
    entry.id = 1;
    entry.verb = Verb::reduce;
    entry.op = protocol::ReduceOp::sum;
    entry.slice_count = 1;
    entry.slices[0] = {buffer->index, buffer->generation, 0, 10};
    client.submit(entry);
    std::vector<protocol::CompletionEntry> ends;
    EXPECT_TRUE(daemon.until([&] {
        for (const auto& end : client.ended()) ends.push_back(end);
        return !ends.empty();
    }));
    ASSERT_FALSE(ends.empty());
    EXPECT_EQ(ends.front().outcome, protocol::Outcome::done);
}

}  // namespace pace::daemon
