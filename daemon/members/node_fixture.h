// What one node has of a job, without the job, in simulated time. The test says what the job would
// say.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/simulation/simulated_time.h"
#include "daemon/control/heard_controller.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/members/job_state.h"
#include "daemon/members/silent_job.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {

// A job that does nothing of its own.
class IdleJob final : public SilentJob {
  public:
    void advance(const WorkerPtr& worker) override { advanced.push_back(worker->rank); }

    std::vector<control::Rank> advanced;
};

class Trainer final : public WorkerPort {
  public:
    void request_ended(uint64_t id, const Ending& ending) override { endings[id] = ending; }
    void request_waits(uint64_t /*id*/, const std::string& /*what*/) override {}
    bool process_stopped() const override { return false; }

    std::map<uint64_t, Ending> endings;
};

class NodeFixture : public ::testing::Test {
  protected:
    static constexpr NodeId kSelf = 1;
    static constexpr NodeId kOther = 2;
    static constexpr control::JobId kJob = 7;
    static constexpr uint64_t kToken = 0xC0FFEE;
    static constexpr uint32_t kDigest = 99;

    NodeFixture() {
        services_.self = kSelf;
        job_.id = kJob;
        job_.token = kToken;
    }
    ~NodeFixture() override {
        job_.scope.end();
        transport_->end();
    }

    // Lets this much time pass. Timers that are due meanwhile run at their times.
    void pass(base::Duration time) {
        const base::TimePoint end = base::now() + time;
        for (auto next = loop_->next_timer(); next && *next <= end; next = loop_->next_timer()) {
            base::SimulatedTime::set(std::max(base::now(), *next));
            settle();
        }
        base::SimulatedTime::set(end);
        settle();
    }
    void settle() {
        for (int turns = 0; loop_->turn(false); ++turns) ASSERT_LT(turns, 1000);
    }

    WorkerPtr add_worker(control::Rank rank) {
        auto worker = std::make_shared<Worker>();
        worker->rank = rank;
        worker->port = &trainer_;
        job_.workers[rank] = worker;
        return worker;
    }
    static void has_announced(Worker& worker, uint64_t iteration) {
        worker.announced = Worker::Announced{iteration, kDigest, base::now()};
    }
    // A request with a buffer of this value.
    static Request request_of(protocol::Verb verb, uint64_t id, uint64_t iteration, float value = 0,
                              uint64_t count = 4) {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory = base::MappedMemfd::create("test", count * sizeof(float), false).value();
        buffer->count = count;
        std::fill_n(values(*buffer), count, value);
        Request request;
        request.id = id;
        request.verb = verb;
        request.iteration = iteration;
        request.digest = kDigest;
        request.buffers = {std::move(buffer)};
        request.elements = request.ready = count;
        return request;
    }
    // The worker has called an average. Returns its buffer.
    static BufferPtr has_called(Worker& worker, uint64_t iteration, float value = 0,
                                uint64_t count = 4) {
        Request request = request_of(protocol::Verb::average, worker.rank, iteration, value, count);
        BufferPtr buffer = request.buffers.front();
        worker.announced.reset();
        worker.queue.push_back(std::move(request));
        worker.state = Worker::State::ready;
        return buffer;
    }
    static float* values(Buffer& buffer) { return reinterpret_cast<float*>(buffer.memory.data()); }
    bool is_done(control::Rank rank) const {
        const auto ending = trainer_.endings.find(rank);
        return ending != trainer_.endings.end() &&
               ending->second.outcome == protocol::Outcome::done;
    }

    base::SimulatedTime simulated_{1};
    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    transports::MemoryNetwork network_;
    std::unique_ptr<transports::MemoryTransport> transport_ = network_.create();
    Peers peers_{*transport_};
    kernels::WorkerPool pool_{0};
    Counters counters_;
    base::BackgroundThread disk_;
    HeardController controller_;
    GpuGroups gpu_groups_{*loop_, 0};
    const std::unique_ptr<Services> own_services_ =
        std::make_unique<Services>(*loop_, *transport_, peers_, pool_, counters_, ExchangeOptions{},
                                   disk_, controller_, gpu_groups_);
    Services& services_ = *own_services_;
    IdleJob port_;
    Trainer trainer_;
    JobState job_{services_, port_, {}, 0};
};

}  // namespace pace::daemon
