// Averages of copies while the trainer keeps the buffers, and the trainer's reports of its
// progress.
#include "libclient/memory/local_progress.h"

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "base/half.h"
#include "base/random.h"
#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::DType;
using protocol::Order;
using protocol::SubmissionEntry;
using protocol::Verb;

constexpr uint64_t kElements = 16;

template <typename T>
void expect_added(DType type, const std::function<T(float)>& number,
                  const std::function<float(T)>& value) {
    std::array<T, 3> data{number(1), number(2), number(3)};
    std::array<T, 3> copy{};
    std::array<T, 3> snapshot{};
    const KeptBuffer kept{type, 3, reinterpret_cast<std::byte*>(data.data()),
                          reinterpret_cast<std::byte*>(copy.data()),
                          reinterpret_cast<std::byte*>(snapshot.data())};
    take_copy(kept);
    EXPECT_EQ(copy, data);
    copy = {number(0.1F), number(6), number(-3)};
    data[1] = number(2.5F);
    EXPECT_EQ(add_change(std::span(&kept, 1), 0, 2), 2U);
    EXPECT_EQ(data[2], number(3)) << "not its turn yet";
    EXPECT_EQ(add_change(std::span(&kept, 1), 2, 2), 1U);
    // An element that nobody changed is the average itself, without rounding.
    EXPECT_EQ(data[0], number(0.1F));
    EXPECT_EQ(value(data[1]), 6.5F);
    EXPECT_EQ(data[2], number(-3));
}

TEST(LocalProgress, IsAddedToTheAverageInEveryType) {
    expect_added<float>(
        DType::f32, [](float v) { return v; }, [](float v) { return v; });
    expect_added<double>(
        DType::f64, [](float v) { return double{v}; },
        [](double v) { return static_cast<float>(v); });
    expect_added<uint16_t>(DType::f16, base::f16_from_float, base::float_from_f16);
    expect_added<uint16_t>(DType::bf16, base::bf16_from_float, base::float_from_bf16);
}

// The daemon adds 10 to the elements that it is given. It ends a request when the test says so.
class KeptTest : public SessionFixture {
  protected:
    void SetUp() override {
        start(holding());
        session_ = open();
        x_ = make_buffer(*session_, kElements);
        data_ = static_cast<float*>(x_.data);
        for (uint64_t i = 0; i < kElements; ++i) data_[i] = static_cast<float>(i);
    }

    base::Result<RequestHandle> call(uint64_t iteration = 5) {
        Operation operation;
        operation.verb = Verb::average;
        const Slice slice{x_.handle};
        operation.slices = {&slice, 1};
        operation.iteration = iteration;
        operation.keep_local = true;
        return session_->submit(operation);
    }

    // Returns the one buffer that the latest submission names.
    static std::byte* averaged(Peer& peer) {
        const uint32_t slot = (peer.header().submission.tail.value.load() - 1) % peer.layout.slots;
        SubmissionEntry entry;
        std::memcpy(&entry,
                    peer.ring.data() + peer.layout.submissions() + slot * sizeof(SubmissionEntry),
                    sizeof(entry));
        return peer.buffers.at(entry.slices[0].buffer).memory.data();
    }

    void end(RequestHandle request, protocol::Outcome outcome = protocol::Outcome::done) {
        daemon_->with_peer([&](Peer& peer) {
            std::array<float, kElements> values{};
            std::memcpy(values.data(), averaged(peer), sizeof(values));
            for (float& value : values) value += 10;
            std::memcpy(averaged(peer), values.data(), sizeof(values));
            protocol::CompletionEntry entry{};
            entry.id = request.id;
            entry.outcome = outcome;
            entry.iteration = 8;
            peer.complete(entry);
        });
    }

    std::unique_ptr<Session> session_;
    CreatedBuffer x_;
    float* data_ = nullptr;
};

TEST_F(KeptTest, WhatTheTrainerDoesMeanwhileIsKept) {
    for (int round = 0; round < 3; ++round) {
        const float before = data_[3];
        const auto request = call();
        ASSERT_TRUE(request) << request.error().message;
        data_[3] += 0.5F;
        end(*request);
        RequestEnd told;
        told.local_iteration = 7;
        ASSERT_TRUE(*session_->wait(*request, base::now() + kPatience, &told));
        EXPECT_EQ(data_[3], before + 10.5F);
        EXPECT_EQ(data_[4], static_cast<float>(4 + 10 * (round + 1)));
        EXPECT_EQ(told.staleness, 2U);
        EXPECT_EQ(told.entry.iteration, 10U);
    }
}

// Averages of two buffers, each of several pieces (outside_memory.cpp). The averages have come and
// are not added yet.
class KeptMuch : public KeptTest {
  protected:
    static constexpr uint64_t kMany = uint64_t{300} << 10U;

    RequestHandle average_has_come() {
        std::vector<BufferHandle> handles;
        for (int i = 0; i < 2; ++i) {
            const CreatedBuffer created = make_buffer(*session_, kMany);
            handles.push_back(created.handle);
            values_.push_back(static_cast<float*>(created.data));
            std::fill_n(values_.back(), kMany, 1.0F);
        }
        Operation operation;
        operation.verb = Verb::average;
        const auto slices = slices_of(handles);
        operation.slices = slices;
        operation.keep_local = true;
        const auto request = session_->submit(operation);
        EXPECT_TRUE(request) << request.error().message;
        daemon_->with_peer([&](Peer& peer) {
            // The copies were made last.
            auto copy = peer.buffers.rbegin();
            for (int i = 0; i < 2; ++i, ++copy)
                std::fill_n(reinterpret_cast<float*>(copy->second.memory.data()), kMany, 11.0F);
            peer.complete_done(request->id);
        });
        return *request;
    }
    void expect_average() const {
        for (const float* const values : values_)
            for (const uint64_t i : {uint64_t{0}, kMany - 1}) EXPECT_EQ(values[i], 11.0F) << i;
    }

    std::vector<float*> values_;
};

TEST_F(KeptMuch, IsAddedAPieceAtATimeByWhoHasNoTime) {
    const RequestHandle request = average_has_come();
    int looks = 0;
    RequestEnd told;
    while (!*session_->wait(request, base::TimePoint::min(), &told)) ++looks;
    EXPECT_GE(looks, 4) << "one look did it all";
    expect_average();
}

// A caller that looks because the descriptor is readable does this.
TEST_F(KeptMuch, IsAddedByOneLookThatFinishes) {
    ASSERT_TRUE(session_->ready_fd());
    const RequestHandle request = average_has_come();
    RequestEnd told;
    const auto ended = session_->wait(request, base::TimePoint::min(), &told, {.finishes = true});
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_TRUE(*ended);
    expect_average();
}

// Every element gets the average once. One of the two threads is told.
// The average of the copy that was made last is this number.
void complete_with(Peer& peer, uint64_t id, uint64_t elements, float value) {
    auto& copy = peer.buffers.rbegin()->second;
    std::fill_n(reinterpret_cast<float*>(copy.memory.data()), elements, value);
    protocol::CompletionEntry entry{};
    entry.id = id;
    entry.outcome = protocol::Outcome::done;
    peer.complete(entry);
}

TEST_F(KeptTest, WhoOnlyLooksDoesNotAddWhatAnotherThreadAdds) {
    constexpr uint64_t kMany = uint64_t{4} << 20U;
    const CreatedBuffer created = make_buffer(*session_, kMany);
    auto* const values = static_cast<float*>(created.data);
    for (int round = 0; round < 5; ++round) {
        std::fill_n(values, kMany, 1.0F);
        Operation operation;
        operation.verb = Verb::average;
        const Slice slice{created.handle};
        operation.slices = {&slice, 1};
        operation.keep_local = true;
        const auto request = session_->submit(operation);
        ASSERT_TRUE(request) << request.error().message;
        daemon_->with_peer([&](Peer& peer) { complete_with(peer, request->id, kMany, 11.0F); });
        std::atomic<int> told = 0;
        std::atomic<bool> over = false;
        const auto collect = [&](base::TimePoint deadline) {
            const auto ended = session_->wait(*request, deadline, nullptr);
            if (ended && *ended) ++told;
            if (!ended || *ended) over = true;
            // The request is collected. A later wait does not know the request.
            if (!ended) {
                EXPECT_EQ(ended.error().kind, ErrorKind::handle) << ended.error().message;
            }
        };
        std::thread looks([&] {
            while (!over) collect(base::TimePoint::min());
        });
        while (!over) collect(base::now() + std::chrono::milliseconds(round));
        looks.join();
        EXPECT_EQ(told, 1);
        for (uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(values[i], 11.0F) << i;
    }
}

TEST_F(KeptTest, NothingIsMadeForACallThatCannotBe) {
    const std::array<BufferHandle, 2> twice{x_.handle, x_.handle};
    Operation operation;
    operation.verb = Verb::average;
    const auto slices_twice = slices_of(twice);
    operation.slices = slices_twice;
    operation.keep_local = true;
    EXPECT_EQ(session_->submit(operation).error().kind, ErrorKind::invalid);
    const std::array<BufferHandle, 2> unknown{x_.handle, BufferHandle{}};
    const auto slices_unknown = slices_of(unknown);
    operation.slices = slices_unknown;
    EXPECT_EQ(session_->submit(operation).error().kind, ErrorKind::handle);
    daemon_->with_peer(
        [](Peer& peer) { EXPECT_EQ(peer.buffers.size(), 1U) << "copies were made"; });
}

TEST_F(KeptTest, AFailureLeavesTheBuffersAsTheTrainerHasThem) {
    const auto request = call();
    ASSERT_TRUE(request);
    data_[3] = 77;
    end(*request, protocol::Outcome::aborted);
    const RequestEnd told = wait(*session_, *request);
    EXPECT_EQ(told.entry.outcome, protocol::Outcome::aborted);
    EXPECT_EQ(told.staleness, 0U);
    EXPECT_EQ(data_[3], 77.0F);
    EXPECT_EQ(data_[4], 4.0F);
    // The buffers are free for another call.
    EXPECT_TRUE(call());
}

TEST_F(KeptTest, ABufferIsInOneRequestUntilThatIsCollected) {
    const auto request = call();
    ASSERT_TRUE(request);
    EXPECT_EQ(call().error().kind, ErrorKind::invalid);
    end(*request);
    EXPECT_EQ(session_->free_buffer(x_.handle).error().kind, ErrorKind::invalid);
    wait(*session_, *request);
    EXPECT_TRUE(session_->free_buffer(x_.handle));
    // The copy was freed with the buffer: two buffers were made and both were freed.
    daemon_->with_peer([](Peer& peer) { EXPECT_TRUE(peer.buffers.empty()); });
}

TEST_F(KeptTest, AnIterationBeforeTheCallIsRefusedAndTheRequestStays) {
    const auto request = call(5);
    ASSERT_TRUE(request);
    end(*request);
    RequestEnd told;
    told.local_iteration = 4;
    const auto refused = session_->wait(*request, base::now() + kPatience, &told);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(says(refused.error(), "local_iteration is 4")) << refused.error().message;
    EXPECT_EQ(data_[4], 4.0F);
    EXPECT_EQ(wait(*session_, *request).entry.iteration, 8U);
    EXPECT_EQ(data_[4], 14.0F);
}

TEST_F(KeptTest, ADeadDaemonLeavesTheBuffersAndTheNextOneGetsTheCopyToo) {
    const auto request = call();
    ASSERT_TRUE(request);
    data_[3] = 77;
    daemon_->kill();
    EXPECT_TRUE(is_gone(wait(*session_, *request)));
    EXPECT_EQ(data_[3], 77.0F);
    EXPECT_EQ(data_[4], 4.0F);
    daemon_->restart(holding());
    const auto again = call();
    ASSERT_TRUE(again) << again.error().message;
    end(*again);
    wait(*session_, *again);
    EXPECT_EQ(data_[3], 87.0F);
}

// The submissions that pace_request_ready makes on the ring.
class OrderedTest : public SessionFixture {
  protected:
    void SetUp() override {
        Script script;
        script.on_submission = [this](Peer&, const SubmissionEntry& entry) {
            seen_.push_back(entry);
        };
        start(std::move(script));
        session_ = open();
        x_ = make_buffer(*session_, kElements);
    }
    void TearDown() override { daemon_.reset(); }  // the daemon uses seen_

    RequestHandle call(Order order) {
        Operation operation;
        operation.verb = Verb::average;
        const Slice slice{x_.handle};
        operation.slices = {&slice, 1};
        operation.order = order;
        const auto request = session_->submit(operation);
        if (request) return *request;
        ADD_FAILURE() << request.error().message;
        return {};
    }

    // Returns the submissions so far. Earlier submissions are on the ring and are taken before the
    // barrier.
    std::vector<SubmissionEntry> seen() {
        const RequestHandle last = barrier(*session_);
        std::vector<SubmissionEntry> seen;
        while (seen.empty() || seen.back().id != last.id)
            daemon_->with_peer([&](Peer&) { seen = seen_; });
        return seen;
    }

    std::vector<SubmissionEntry> seen_;  // the daemon's thread adds to it
    std::unique_ptr<Session> session_;
    CreatedBuffer x_;
};

TEST_F(OrderedTest, WhatIsReadyIsToldOnceAndOnlyIfItIsMore) {
    const RequestHandle request = call(Order::backward);
    for (const uint64_t elements : {4U, 4U, 3U, 16U})
        EXPECT_TRUE(session_->ready(request, elements));
    const auto entries = seen();
    ASSERT_EQ(entries.size(), 4U);
    EXPECT_EQ(entries[0].order, Order::backward);
    EXPECT_EQ(entries[1].verb, Verb::ready);
    EXPECT_EQ(entries[1].id, request.id);
    EXPECT_EQ(entries[1].iteration, 4U);
    EXPECT_EQ(entries[2].iteration, 16U);
}

TEST_F(OrderedTest, WhatCannotBeReadyIsRefused) {
    const RequestHandle request = call(Order::forward);
    const auto too_many = session_->ready(request, kElements + 1);
    ASSERT_FALSE(too_many);
    EXPECT_TRUE(says(too_many.error(), "elements is 17")) << too_many.error().message;
    EXPECT_EQ(session_->ready({}, 1).error().kind, ErrorKind::handle);
    const RequestHandle without = barrier(*session_);
    const auto no_order = session_->ready(without, 0);
    ASSERT_FALSE(no_order);
    EXPECT_TRUE(says(no_order.error(), "has no order")) << no_order.error().message;
}

}  // namespace
}  // namespace pace::client::testing
