// Memory of the trainer's own in calls: what the daemon sees of the memory, and when the memory
// gets the result.
#include "libclient/memory/staging.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::DType;
using protocol::SubmissionEntry;
using protocol::Verb;

TEST(IsWritable, AsksTheKernelOfEveryPage) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const three =
        mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(three, MAP_FAILED);
    auto* const begin = static_cast<std::byte*>(three);
    EXPECT_TRUE(is_writable(begin, 3 * page));
    EXPECT_TRUE(is_writable(begin + 5, 1));
    ASSERT_EQ(mprotect(begin + page, page, PROT_READ), 0);
    EXPECT_TRUE(is_writable(begin, page));
    EXPECT_FALSE(is_writable(begin, page + 1));
    EXPECT_FALSE(is_writable(begin + page, 1));
    ASSERT_EQ(munmap(begin + page, page), 0);
    EXPECT_FALSE(is_writable(begin, 3 * page));
    EXPECT_TRUE(is_writable(begin + 2 * page, page));
    EXPECT_FALSE(is_writable(begin, std::numeric_limits<uint64_t>::max()));
    munmap(begin, page);
    munmap(begin + 2 * page, page);
}

class StagingTest : public SessionFixture {
  protected:
    // The daemon adds 100 to each element that a call names.
    Script script() {
        Script script;
        script.on_submission = [this](Peer& peer, const SubmissionEntry& entry) {
            if (protocol::is_note(entry.verb)) return;
            seen_ = entry;
            if (!is_holding_) finish(peer, entry);
        };
        return script;
    }
    void SetUp() override {
        start(script());
        session_ = open();
        std::fill(memory_.begin(), memory_.end(), 1.0F);
        handle_ = import(memory_.data(), memory_.size()).value().handle;
    }

    base::Result<CreatedBuffer> import(void* pointer, uint64_t count) {
        return session_->create_buffer(DType::f32, count, 0,
                                       {.pointer = static_cast<std::byte*>(pointer)});
    }
    static std::span<float> floats(Peer& peer, const protocol::SubmittedSlice& slice) {
        auto* const data = reinterpret_cast<float*>(peer.buffers.at(slice.buffer).memory.data());
        return {data + slice.first, slice.count};
    }
    static void add(Peer& peer, const SubmissionEntry& entry) {
        for (int i = 0; i < entry.slice_count; ++i)
            for (float& element : floats(peer, entry.slices[i])) element += 100;
    }
    static void finish(Peer& peer, const SubmissionEntry& entry) {
        add(peer, entry);
        peer.complete_done(entry.id);
    }
    base::Result<RequestHandle> submit(Operation operation, const std::vector<Slice>& slices) {
        operation.slices = slices;
        return session_->submit(operation);
    }

    SubmissionEntry seen_{};
    std::atomic<bool> is_holding_{false};
    std::unique_ptr<Session> session_;
    std::array<float, 16> memory_{};
    BufferHandle handle_;
};

TEST_F(StagingTest, ACallTakesTheContentsAndBringsTheResultOfItsSliceAlone) {
    const auto request = submit({.verb = Verb::sync}, {{handle_, 3, 2}});
    ASSERT_TRUE(request) << request.error().message;
    wait(*session_, *request);
    for (size_t i = 0; i < memory_.size(); ++i)
        EXPECT_EQ(memory_[i], i == 3 || i == 4 ? 101 : 1) << i;
    const BufferInfo info = session_->buffer_info(handle_).value();
    EXPECT_EQ(info.data, memory_.data());
    EXPECT_TRUE(info.staged);
    EXPECT_EQ(info.twin_bytes, sizeof(memory_));
}

// The daemon sees such memory only as it was in the last call that named it.
TEST_F(StagingTest, EachDaemonIsToldThatTheBufferIsACopy) {
    make_buffer(*session_);
    const auto copies = [&] {
        std::vector<bool> copied;
        daemon_->with_peer([&](Peer& peer) {
            for (const auto& [index, buffer] : peer.buffers) copied.push_back(buffer.copied);
        });
        return copied;
    };
    EXPECT_EQ(copies(), (std::vector<bool>{true, false}));
    is_holding_ = true;
    const auto lost = submit({.verb = Verb::sync}, {{handle_, 0, kRest}});
    ASSERT_TRUE(lost) << lost.error().message;
    daemon_->settle();
    daemon_->kill();
    EXPECT_TRUE(is_gone(wait(*session_, *lost)));
    daemon_->restart(script());
    is_holding_ = false;
    const auto request = submit({.verb = Verb::sync}, {{handle_, 0, kRest}});
    ASSERT_TRUE(request) << request.error().message;
    wait(*session_, *request);
    EXPECT_EQ(copies(), (std::vector<bool>{true, false}));
}

TEST_F(StagingTest, NothingComesBackBeforeTheRequestIsCollected) {
    is_holding_ = true;
    const auto request = submit({.verb = Verb::sync}, {{handle_, 0, kRest}});
    ASSERT_TRUE(request);
    daemon_->settle();
    daemon_->with_peer([&](Peer& peer) { finish(peer, seen_); });
    EXPECT_EQ(memory_.front(), 1);
    EXPECT_EQ(session_->free_buffer(handle_).error().kind, ErrorKind::invalid);
    wait(*session_, *request);
    EXPECT_EQ(memory_.front(), 101);
    EXPECT_TRUE(session_->free_buffer(handle_));
    EXPECT_EQ(memory_.front(), 101) << "it is the trainer's";
}

TEST_F(StagingTest, AFailureLeavesTheMemoryAsItWas) {
    is_holding_ = true;
    const auto request = submit({.verb = Verb::sync}, {{handle_, 0, kRest}});
    ASSERT_TRUE(request);
    daemon_->settle();
    daemon_->with_peer([&](Peer& peer) {
        add(peer, seen_);
        protocol::CompletionEntry entry{};
        entry.id = seen_.id;
        entry.outcome = protocol::Outcome::aborted;
        peer.complete(entry);
    });
    wait(*session_, *request);
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 1.0F), std::ssize(memory_));
}

// The daemon had written part of the result, or all of the result.
TEST_F(StagingTest, ADaemonThatDiesLeavesTheWholeResultOrTheMemoryAsItWas) {
    using protocol::WriteState;
    is_holding_ = true;
    for (const auto state : {WriteState::writing, WriteState::whole}) {
        SCOPED_TRACE(static_cast<int>(state));
        memory_.fill(1);
        const auto request = submit({.verb = Verb::sync}, {{handle_, 0, kRest}});
        ASSERT_TRUE(request) << request.error().message;
        daemon_->settle();
        daemon_->with_peer([&](Peer& peer) {
            add(peer, seen_);
            auto* marks =
                reinterpret_cast<protocol::WriteMark*>(peer.ring.data() + peer.layout.marks());
            marks[0].request = seen_.id;
            marks[0].state = static_cast<uint32_t>(state);
        });
        daemon_->kill();
        const RequestEnd end = wait(*session_, *request);
        EXPECT_TRUE(is_gone(end));
        const bool is_whole = state == WriteState::whole;
        EXPECT_EQ(end.contents, is_whole ? WriteState::whole : WriteState::untouched);
        EXPECT_EQ(std::count(memory_.begin(), memory_.end(), is_whole ? 101.0F : 1.0F),
                  std::ssize(memory_));
        daemon_->restart(script());
    }
}

TEST_F(StagingTest, APushIsReadAndNotWritten) {
    session_.reset();
    session_ = open(protocol::Policy::ssp);
    handle_ = import(memory_.data(), memory_.size()).value().handle;
    const auto request = submit({.verb = Verb::push, .iteration = 1}, {{handle_, 0, kRest}});
    ASSERT_TRUE(request) << request.error().message;
    wait(*session_, *request);
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 1.0F), std::ssize(memory_));
}

TEST_F(StagingTest, WhatBecomesReadyInStepsIsTakenAsItDoes) {
    is_holding_ = true;
    for (const auto order : {protocol::Order::forward, protocol::Order::backward}) {
        SCOPED_TRACE(static_cast<int>(order));
        memory_.fill(-1);
        const auto request =
            submit({.verb = Verb::average, .iteration = 1, .order = order}, {{handle_, 0, kRest}});
        ASSERT_TRUE(request) << request.error().message;
        const bool is_forward = order == protocol::Order::forward;
        const auto made = is_forward ? std::span(memory_).first(10) : std::span(memory_).last(10);
        std::fill(made.begin(), made.end(), 7.0F);
        ASSERT_TRUE(session_->ready(*request, 10));
        // Six more elements are ready. The other ten have been given already.
        memory_.fill(8);
        ASSERT_TRUE(session_->ready(*request, 16));
        daemon_->settle();
        daemon_->with_peer([&](Peer& peer) {
            const auto given = floats(peer, seen_.slices[0]);
            EXPECT_EQ(std::count(given.begin(), given.end(), 7.0F), 10);
            EXPECT_EQ(std::count(given.begin(), given.end(), 8.0F), 6);
            EXPECT_EQ(given.front(), is_forward ? 7 : 8);
            finish(peer, seen_);
        });
        wait(*session_, *request);
        EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 107.0F), 10);
    }
}

TEST_F(StagingTest, AnAverageOfACopyIsAddedToTheMemoryItself) {
    is_holding_ = true;
    const auto request =
        submit({.verb = Verb::average, .iteration = 1, .keep_local = true}, {{handle_, 0, kRest}});
    ASSERT_TRUE(request) << request.error().message;
    for (float& element : memory_) element += 10;
    daemon_->settle();
    daemon_->with_peer([&](Peer& peer) { finish(peer, seen_); });
    wait(*session_, *request);
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 111.0F), std::ssize(memory_));
}

TEST_F(StagingTest, MemoryThatIsNoneOrMisalignedIsRefused) {
    EXPECT_EQ(import(reinterpret_cast<std::byte*>(memory_.data()) + 1, 4).error().kind,
              ErrorKind::invalid);
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const gone = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto refused = import(gone, 4);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_TRUE(refused.error().message.starts_with("options->pointer")) << refused.error().message;
    munmap(gone, page);
}

}  // namespace
}  // namespace pace::client::testing
