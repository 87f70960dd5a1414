// Conformance<Fabric>: some transports of one kind in one thread. The fixture observes every
// operation.
//
// A Fabric makes transports and makes them vanish:
//     std::unique_ptr<Transport> create();
//     void vanish(std::unique_ptr<Transport>& transport);   // as if its process had been killed
// The fixture checks two rules in every test. No completion runs inside a call. Each operation has
// ended exactly once when its transport is gone. Waiting is progress with a deadline, never a
// sleep.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "transports/transport.h"

namespace pace::transports::conformance {

// The outcome of one operation.
struct Operation {
    int ends = 0;
    std::optional<base::Error> error;

    bool ended() const { return ends > 0; }
    bool ok() const { return ends > 0 && !error; }
    bool failed_with(base::ErrorKind kind) const { return error && error->kind == kind; }
};

// Makes a buffer whose bytes tell where they belong. Buffers of two different seeds differ in about
// every byte.
inline std::vector<std::byte> pattern(size_t size, uint64_t seed) {
    std::vector<std::byte> bytes(size);
    uint64_t state = seed * 0x9E3779B97F4A7C15U + 0x2545F4914F6CDD1DU;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56U);
    }
    return bytes;
}

template <typename Fabric>
class Conformance : public ::testing::Test {
  protected:
    static constexpr size_t kSmall = 100;
    static constexpr size_t kLarge = 3'000'001;
    static constexpr auto kDeadline = std::chrono::seconds(30);

    struct Lost {
        size_t node;
        PeerId peer;
        base::ErrorKind kind;
        // The number of operations with the peer that had not ended when the handler ran.
        size_t unended;
    };

    // Adds a node without peers. Returns its index.
    size_t add() {
        const size_t index = nodes_.size();
        nodes_.push_back(fabric_.create());
        EXPECT_NE(nodes_.back(), nullptr);
        peers_.emplace_back();
        nodes_.back()->set_peer_lost_handler([this, index](PeerId peer, const base::Error& error) {
            lost_.push_back({index, peer, error.kind, unended(index, peer)});
        });
        return index;
    }

    // Adds `count` nodes, each connected to all others.
    void add_connected(size_t count) {
        for (size_t i = 0; i < count; ++i) add();
        for (size_t i = 0; i < count; ++i) {
            for (size_t j = 0; j < count; ++j) {
                if (i != j) connect(i, j);
            }
        }
    }

    PeerId connect(size_t from, size_t to) {
        auto peer = nodes_[from]->connect(nodes_[to]->address());
        EXPECT_TRUE(peer) << (peer ? "" : peer.error().message);
        if (!peer) return 0;
        peers_[from].resize(nodes_.size(), 0);
        return peers_[from][to] = *peer;
    }

    Transport& node(size_t index) { return *nodes_[index]; }
    PeerId peer(size_t from, size_t to) const { return peers_[from][to]; }

    Operation& send(size_t from, size_t to, Tag tag, std::span<const std::byte> bytes) {
        Record& record = observe(from, peer(from, to));
        in_call_ = true;
        nodes_[from]->send(record.peer, tag, bytes, completion(record));
        in_call_ = false;
        return record.operation;
    }

    Operation& receive(size_t to, size_t from, Tag tag, std::span<std::byte> bytes) {
        Record& record = observe(to, peer(to, from));
        in_call_ = true;
        nodes_[to]->receive(record.peer, tag, bytes, completion(record));
        in_call_ = false;
        return record.operation;
    }

    void close_exchange(size_t index, uint64_t exchange) {
        in_call_ = true;
        nodes_[index]->close_exchange(exchange);
        in_call_ = false;
    }

    void disconnect(size_t from, size_t to) {
        in_call_ = true;
        nodes_[from]->disconnect(peer(from, to));
        in_call_ = false;
    }

    void vanish(size_t index) {
        gone_.resize(nodes_.size(), false);
        gone_[index] = true;
        fabric_.vanish(nodes_[index]);
    }

    bool is_gone(size_t index) const { return index < gone_.size() && gone_[index]; }

    // Polls every living node once.
    bool progress() {
        bool worked = false;
        for (size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i] != nullptr && !is_gone(i)) worked = nodes_[i]->poll() || worked;
        }
        return worked;
    }

    template <typename Predicate>
    bool await(Predicate done) {
        const base::TimePoint deadline = base::now() + kDeadline;
        while (!done()) {
            if (!progress()) sched_yield();
            if (base::now() > deadline) {
                ADD_FAILURE() << "not done within the deadline";
                return false;
            }
        }
        return true;
    }

    bool await_all_ended() {
        return await([this] { return unended() == 0; });
    }

    // Returns true once a marker has crossed from each node to the other. Small messages that were
    // sent before have then arrived.
    bool cross(size_t a, size_t b) {
        const Tag tag{~uint64_t{0}, next_marker_++, 0};
        std::vector<std::byte> marker(1);
        Operation& forth = send(a, b, tag, {});
        Operation& back = send(b, a, tag, {});
        Operation& there = receive(b, a, tag, {});
        Operation& here = receive(a, b, tag, {});
        return await([&] {
                   return forth.ended() && back.ended() && there.ended() && here.ended();
               }) &&
               there.ok() && here.ok();
    }

    // The number of operations of living nodes that have not ended.
    size_t unended() const {
        size_t count = 0;
        for (const Record& record : records_)
            count += (!is_gone(record.node) && !record.operation.ended()) ? 1U : 0U;
        return count;
    }

    size_t unended(size_t index, PeerId with) const {
        size_t count = 0;
        for (const Record& record : records_) {
            if (record.node == index && record.peer == with && !record.operation.ended()) ++count;
        }
        return count;
    }

    void TearDown() override {
        nodes_.clear();
        for (const Record& record : records_) ASSERT_EQ(record.operation.ends, 1);
        records_.clear();
    }

    struct Record {
        size_t node;
        PeerId peer;
        Operation operation;
    };

    Record& observe(size_t index, PeerId with) {
        return records_.emplace_back(Record{index, with, {}});
    }

    Completion completion(Record& record) {
        return [this, &record](base::Result<> result) {
            EXPECT_FALSE(in_call_) << "a completion ran inside a call";
            ++record.operation.ends;
            if (!result) record.operation.error = std::move(result).error();
        };
    }

    Fabric fabric_;
    // The records outlive the transports, whose destructors end operations.
    std::deque<Record> records_;
    std::vector<Lost> lost_;
    std::vector<std::unique_ptr<Transport>> nodes_;
    std::vector<std::vector<PeerId>> peers_;
    std::vector<bool> gone_;
    bool in_call_ = false;
    uint32_t next_marker_ = 0;
};

}  // namespace pace::transports::conformance
