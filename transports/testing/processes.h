// Processes: tests that need real processes, for a transport between machines. A process is killed
// or frozen in the midst of transfers.
#pragma once

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "transports/testing/address_pipe.h"
#include "transports/testing/peer_traffic.h"
#include "transports/transport.h"

namespace pace::transports {

// A process that exchanges messages with transports of the test. It is killed and reaped at the
// end.
class PeerProcess {
  public:
    PeerProcess(std::string program, size_t peers) {
        std::array<int, 2> sockets{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
        pipe_.reset(sockets[0]);
        const base::UniqueFd theirs(sockets[1]);
        std::string fd = std::to_string(theirs.get());
        std::string count = std::to_string(peers);
        const std::array<char*, 4> arguments = {program.data(), fd.data(), count.data(), nullptr};
        posix_spawn_file_actions_t actions{};
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addclose(&actions, pipe_.get());
        EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ),
                  0);
        posix_spawn_file_actions_destroy(&actions);
    }
    ~PeerProcess() { kill_now(); }
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    Address address() { return read_address(pipe_.get()).value_or(Address{}); }
    void introduce(const Transport& transport) const {
        EXPECT_TRUE(write_address(pipe_.get(), transport.address()));
    }
    void signal(int number) const { EXPECT_EQ(kill(pid_, number), 0); }
    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    base::UniqueFd pipe_;
    pid_t pid_ = 0;
};

// Two transports of this process that exchange messages with each other and with a third process
// that can be killed.
class Processes : public ::testing::Test {
  protected:
    static constexpr size_t kHere = 2;

    // The program of the third process (peer_process.h).
    virtual std::string program() const = 0;
    virtual std::unique_ptr<Transport> make(std::chrono::seconds unmoved_max) = 0;
    // The transport gets to know what it must know of another one.
    virtual void meet(Transport& transport, const Address& other) = 0;

    // `unmoved_max` is so large that no test reaches it, unless the test is about it.
    void begin(std::chrono::seconds unmoved_max = std::chrono::seconds(100)) {
        process_ = std::make_unique<PeerProcess>(program(), kHere);
        const Address address = process_->address();
        for (size_t i = 0; i < kHere; ++i) {
            transports_.push_back(make(unmoved_max));
            ASSERT_NE(transports_.back(), nullptr);
            transports_[i]->set_peer_lost_handler(
                [this, i](PeerId peer, const base::Error&) { lost_.emplace_back(i, peer); });
            process_->introduce(*transports_[i]);
            meet(*transports_[i], address);
            const auto peer = transports_[i]->connect(address);
            ASSERT_TRUE(peer) << peer.error().message;
            to_process_.push_back(*peer);
            remote_.emplace_back(*transports_[i], *peer, PeerTraffic::Side::test);
        }
        meet(*transports_[0], transports_[1]->address());
        meet(*transports_[1], transports_[0]->address());
        local_.emplace_back(*transports_[0], *transports_[0]->connect(transports_[1]->address()),
                            PeerTraffic::Side::process);
        local_.emplace_back(*transports_[1], *transports_[1]->connect(transports_[0]->address()),
                            PeerTraffic::Side::test);
        for (PeerTraffic& traffic : remote_) traffic.start();
        for (PeerTraffic& traffic : local_) traffic.start();
    }

    void end() {
        transports_.clear();
        for (const auto* all : {&remote_, &local_}) {
            for (const PeerTraffic& traffic : *all) {
                EXPECT_EQ(traffic.under_way(), 0U) << "every operation ends";
                EXPECT_EQ(traffic.twice(), 0U) << "and ends once";
                EXPECT_EQ(traffic.wrong(), 0U) << "with the bytes that were meant";
            }
        }
        remote_.clear();
        local_.clear();
        lost_.clear();
        to_process_.clear();
        process_.reset();
    }

    template <typename Predicate>
    bool await(Predicate done) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(30);
        while (!done()) {
            bool worked = false;
            for (const auto& transport : transports_) worked = transport->poll() || worked;
            if (!worked) sched_yield();
            if (base::now() > deadline) return false;
        }
        return true;
    }

    bool await_received(std::deque<PeerTraffic>& traffic, uint64_t more) {
        const std::array<uint64_t, kHere> before = {traffic[0].received(), traffic[1].received()};
        return await([&] {
            return traffic[0].received() >= before[0] + more &&
                   traffic[1].received() >= before[1] + more;
        });
    }

    bool remote_ended() const { return remote_[0].under_way() == 0 && remote_[1].under_way() == 0; }

    // The survivors notice at once that the process is killed in the midst of transfers.
    void kill_in_the_midst() {
        base::Duration slowest{};
        for (uint64_t messages = 0; messages < 40; messages += 4) {
            begin();
            ASSERT_TRUE(await_received(remote_, messages)) << messages;
            process_->kill_now();
            const base::TimePoint killed = base::now();
            ASSERT_TRUE(await([&] { return lost_.size() == kHere && remote_ended(); })) << messages;
            slowest = std::max(slowest, base::now() - killed);
            for (const auto& [node, peer] : lost_) EXPECT_EQ(peer, to_process_[node]);
            EXPECT_TRUE(await_received(local_, 20)) << "the others go on";
            EXPECT_EQ(lost_.size(), kHere);
            end();
        }
        std::printf("slowest notice of a killed process: %.3f ms\n",
                    base::to_seconds(slowest) * 1e3);
        RecordProperty("slowest_notice_us", static_cast<int>(base::to_seconds(slowest) * 1e6));
    }

    // The frozen process blocks nobody. disconnect() ends what is under way with it.
    void freeze_in_the_midst() {
        base::Duration slowest{};
        for (uint64_t messages = 0; messages < 40; messages += 8) {
            begin();
            ASSERT_TRUE(await_received(remote_, messages));
            process_->signal(SIGSTOP);
            // The wait ends some time after the frozen process has stopped taking messages.
            EXPECT_TRUE(await_received(local_, 60)) << "the others go on";
            EXPECT_TRUE(lost_.empty());
            EXPECT_FALSE(remote_ended());
            const base::TimePoint disconnected = base::now();
            for (size_t i = 0; i < kHere; ++i) transports_[i]->disconnect(to_process_[i]);
            ASSERT_TRUE(await([&] { return remote_ended(); })) << "disconnect ends all";
            slowest = std::max(slowest, base::now() - disconnected);
            EXPECT_TRUE(await_received(local_, 20));
            process_->signal(SIGCONT);
            EXPECT_TRUE(await_received(local_, 40)) << "what it says when it wakes harms nobody";
            EXPECT_TRUE(lost_.empty());
            end();
        }
        std::printf("slowest end of what was under way with a frozen process: %.3f ms\n",
                    base::to_seconds(slowest) * 1e3);
        RecordProperty("slowest_end_us", static_cast<int>(base::to_seconds(slowest) * 1e6));
    }

    std::unique_ptr<PeerProcess> process_;
    std::deque<PeerTraffic> remote_;
    std::deque<PeerTraffic> local_;
    std::vector<std::unique_ptr<Transport>> transports_;
    std::vector<PeerId> to_process_;
    std::vector<std::pair<size_t, PeerId>> lost_;
};

}  // namespace pace::transports
