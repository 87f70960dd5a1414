// One node's part of a job, without a controller: its messages are dropped, and the test says what it would.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/control/controller_link.h"
#include "daemon/exchange/job.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {

// Hears nothing.
class DeafHandler final : public ControlHandler {
  public:
    void on_attached(control::NodeId /*self*/) override {}
    void on_detached(bool /*excluded*/, const std::string& /*reason*/) override {}
    void on_refused(const base::Error& /*error*/) override {}
    void on_not_attached(const base::Error& /*because*/, base::Duration /*since*/) override {}
    void report(control::Heartbeat& /*ret_heartbeat*/) override {}
    void on_message(const control::FromController& /*message*/) override {}
};

// Remembers how the requests have ended.
class TestPort final : public WorkerPort {
  public:
    void request_ended(uint64_t id, const Ending& ending) override {
        EXPECT_TRUE(endings.try_emplace(id, ending).second) << "request " << id << " ended twice";
    }
    void request_waits(uint64_t id, const std::string& what) override { waits[id] = what; }
    bool process_stopped() const override { return false; }
    bool ended(uint64_t id) const { return endings.contains(id); }

    std::map<uint64_t, Ending> endings;
    std::map<uint64_t, std::string> waits;  // what was told last
};

class JobFixture : public ::testing::Test {
  protected:
    static constexpr NodeId kSelf = 1;
    static constexpr NodeId kOther = 2;

    JobFixture() {
        services_.control = link_.get();
        services_.self = kSelf;
        services_.exchange_began = [] {};
        loop_->add_poller(transport_.get());
    }
    // What is under way ends while all that it calls back still lives.
    ~JobFixture() override {
        loop_->remove_poller(transport_.get());
        transport_->end();
    }

    // Never attached.
    std::unique_ptr<ControllerLink> new_link() {
        ControllerLinkConfig config;
        config.endpoint = "inproc://nobody";
        config.context = control_zmq::Context::create().value();
        config.name = "node";
        config.generation = 1;
        return ControllerLink::create(*loop_, std::move(config), handler_).value();
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

    // Of f32, all of this value.
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
    const std::unique_ptr<Services> own_services_ = std::make_unique<Services>(
        *loop_, *transport_, peers_, pool_, counters_, ExchangeOptions{}, disk_);
    Services& services_ = *own_services_;
    DeafHandler handler_;
    const std::unique_ptr<ControllerLink> link_ = new_link();
    TestPort port_;
    uint64_t requests_ = 0;
};

}  // namespace pace::daemon
