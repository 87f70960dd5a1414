// One node's part of a job, without a controller: messages to it are dropped, and the test says
// what the controller would say.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/control/absent_controller.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/jobs/job.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {

// Remembers how requests have ended.
class TestPort final : public WorkerPort {
  public:
    void request_ended(uint64_t id, const Ending& ending) override {
        EXPECT_TRUE(endings.try_emplace(id, ending).second) << "request " << id << " ended twice";
    }
    void request_waits(uint64_t id, const std::string& what) override { waits[id] = what; }
    bool process_stopped() const override { return false; }
    bool ended(uint64_t id) const { return endings.contains(id); }

    std::map<uint64_t, Ending> endings;
    std::map<uint64_t, std::string> waits;  // the last that was told
};

class JobFixture : public ::testing::Test {
  protected:
    static constexpr NodeId kSelf = 1;
    static constexpr NodeId kOther = 2;

    // Without `controller`, there is none.
    explicit JobFixture(Controller* controller = nullptr)
        : own_services_(std::make_unique<Services>(
              *loop_, *transport_, peers_, pool_, counters_, ExchangeOptions{}, disk_,
              controller ? *controller : controller_, gpu_groups_)),
          services_(*own_services_) {
        services_.self = kSelf;
        loop_->add_poller(transport_.get());
    }
    // Ends what is under way while everything that it calls back still lives.
    ~JobFixture() override {
        loop_->remove_poller(transport_.get());
        transport_->end();
    }

    WorkerPtr new_worker(control::Rank rank) {
        auto worker = std::make_shared<Worker>();
        worker->rank = rank;
        worker->port = &port_;
        return worker;
    }

    void turn() {
        for (int i = 0; i < 20; ++i) loop_->turn(false);
    }
    template <typename Condition>
    bool within(base::Duration time, Condition condition) {
        const base::TimePoint deadline = base::now() + time;
        while (!condition() && base::now() < deadline) loop_->turn(false);
        return condition();
    }
    template <typename Condition>
    bool until(Condition condition) {
        return within(std::chrono::seconds(20), condition);
    }

    // This node has stood still: what it has may be of no use to the others.
    void be_in_doubt() {
        controller_.doubt().expect(base::now_through_sleep() - std::chrono::seconds(2),
                                   std::chrono::seconds(1));
        controller_.doubt().look(base::now_through_sleep());
    }
    // The controller has answered since.
    void be_sure() {
        controller_.doubt().said(1);
        controller_.doubt().answered(1);
    }

    // A buffer of f32 elements with this value.
    static BufferPtr buffer_of(uint64_t count, float value) {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory = base::MappedMemfd::create("test", count * sizeof(float), false).value();
        buffer->count = count;
        std::ranges::fill(floats(*buffer), value);
        return buffer;
    }
    static std::span<float> floats(Buffer& buffer) {
        return {reinterpret_cast<float*>(buffer.memory.data()), buffer.count};
    }
    Request request(protocol::Verb verb, const BufferPtr& buffer, uint64_t iteration) {
        Request request;
        request.id = ++requests_;
        request.verb = verb;
        request.iteration = iteration;
        request.buffers = {buffer};
        request.elements = request.ready = buffer->count;
        return request;
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    transports::MemoryNetwork network_;
    std::unique_ptr<transports::MemoryTransport> transport_ = network_.create();
    Peers peers_{*transport_};
    kernels::WorkerPool pool_{0};
    Counters counters_;
    base::BackgroundThread disk_;
    AbsentController controller_;
    GpuGroups gpu_groups_{*loop_, 0};
    const std::unique_ptr<Services> own_services_;
    Services& services_;
    TestPort port_;
    uint64_t requests_ = 0;
};

}  // namespace pace::daemon
