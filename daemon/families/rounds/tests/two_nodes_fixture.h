// What two nodes know of one job, for tests of single parts of its rounds: there is no Job, no
// worker and no controller. The node `there` has ended the round, and the node `here` has missed
// it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/control/absent_controller.h"
#include "daemon/families/rounds/last_result.h"
#include "daemon/families/rounds/round_plan.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/members/silent_job.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {

class TwoNodesOfAJob : public testing::Test {
  protected:
    static constexpr NodeId kHere = 1;
    static constexpr NodeId kThere = 2;
    static constexpr uint64_t kRound = 7;
    static constexpr uint32_t kCheck = 99;

    struct Node {
        Node(TwoNodesOfAJob& test, NodeId self, const control::JobOptions& options)
            : transport(test.network_.create()),
              own_services(std::make_unique<Services>(*test.loop_, *transport, peers, test.pool_,
                                                      counters, ExchangeOptions{}, test.disk_,
                                                      test.controller_, test.gpu_groups_)),
              job(*own_services, port, options, 1000) {
            own_services->self = self;
            job.id = 1;
            job.token = 12345;
            commit(1);
            test.loop_->add_poller(transport.get());
        }
        // The next round is the one that `here` has missed.
        void commit(uint64_t epoch) {
            control::CommitView view;
            view.epoch = job.view.epoch = epoch;
            view.base_round = kRound;
            job.view.members = {{0, kHere, 0, 0}, {1, kThere, 0, 0}};
            (void)sequence.commit(view, own_services->self);
            sequence.begin();
        }

        std::unique_ptr<transports::MemoryTransport> transport;
        Peers peers{*transport};
        Counters counters;
        std::unique_ptr<Services> own_services;
        SilentJob port;
        JobState job;
        Sequence sequence{job.view};
        LastResult result{job, sequence};
    };

    static control::JobOptions top_k() {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.compression = control::Compression::spardl;
        return options;
    }
    static control::JobOptions quorum() {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.quorum = control::Quorum::solo;
        return options;
    }

    explicit TwoNodesOfAJob(const control::JobOptions& options = {}) : options_(options) {
        (void)here_.peers.know(kThere, "there", there_.transport->address());
        (void)there_.peers.know(kHere, "here", here_.transport->address());
    }
    ~TwoNodesOfAJob() override {
        for (Node* node : {&here_, &there_}) {
            loop_->remove_poller(node->transport.get());
            node->transport->end();
        }
    }

    // Memory with these floats.
    static Scratch memory_of(const std::vector<float>& values) {
        Scratch memory;
        const auto bytes = std::as_bytes(std::span(values));
        EXPECT_TRUE(memory.reserve(bytes.size()));
        std::ranges::copy(bytes, memory.data());
        return memory;
    }
    static std::vector<float> floats_in(const Scratch& memory, size_t count) {
        const auto* const first = reinterpret_cast<const float*>(memory.data());
        return {first, first + count};
    }
    static collectives::Layout layout_of(size_t count) {
        return collectives::Layout({{protocol::DType::f32, count}});
    }
    // The round ends with this result, which the other node may lack.
    static void end_round(Node& node, const std::vector<float>& values) {
        node.result.keep(values.size() * sizeof(float), kCheck);
        node.result.put_back(memory_of(values));
        (void)node.sequence.end();
    }
    template <typename Condition>
    bool until(Condition condition) {
        const base::TimePoint deadline = base::now() + std::chrono::seconds(20);
        while (!condition() && base::now() < deadline) loop_->turn(false);
        return condition();
    }
    void all_arrives() {
        for (int quiet = 0; quiet < 10; ++quiet)
            if (loop_->turn(false)) quiet = 0;
    }
    bool is_given() {
        return until([this] { return !there_.result.is_giving(); });
    }

    const control::JobOptions options_;
    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    transports::MemoryNetwork network_;
    kernels::WorkerPool pool_{0};
    base::BackgroundThread disk_;
    AbsentController controller_;
    GpuGroups gpu_groups_{*loop_, 0};
    Node here_{*this, kHere, options_};
    Node there_{*this, kThere, options_};
};

}  // namespace pace::daemon
