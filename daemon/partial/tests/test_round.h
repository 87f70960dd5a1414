// TestJob, for tests: the nodes of a job on an in-memory network, with stores and one round after
// the other.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/collectives/tests/test_data.h"
#include "daemon/partial/missed.h"
#include "daemon/partial/partial_round.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::partial {

using collectives::Bytes;

// `nodes` nodes with 1 to `each_max` workers. The ranks are given out in turn.
inline Roster make_roster(size_t nodes, size_t each_max) {
    Roster roster;
    roster.nodes.resize(nodes);
    Rank rank = 0;
    for (size_t turn = 0; turn < each_max; ++turn)
        for (size_t node = 0; node < nodes; ++node)
            if (turn == 0 || node % each_max >= turn) roster.nodes[node].push_back(rank++);
    return roster;
}

struct JobOptions {
    Quorum quorum;
    DivideBy divide_by = DivideBy::one;
    uint32_t staleness_max = kStalenessMaxDefault;
    Late late = Late::accumulate;
    collectives::Layout layout{{{protocol::DType::f32, 3}}};
    collectives::AllReduceOptions all_reduce;
    std::set<size_t> without_terms = {};  // nodes whose workers have not called yet
    // Does the work on gradients, at all nodes.
    std::shared_ptr<kernels::Strand> strand = std::make_shared<kernels::Strand>();
};

// A strand that tells of its work only when tell() is called.
class HeldStrand {
  public:
    std::shared_ptr<kernels::Strand> get() const { return strand_; }
    // Tells of one piece of work. Returns false if there is nothing more to tell.
    bool tell() {
        if (told_.empty()) return false;
        const auto next = std::move(told_.front());
        told_.pop_front();
        next();
        return true;
    }

  private:
    kernels::WorkerPool pool_{0};
    std::deque<kernels::WorkerPool::Callback> told_;
    std::shared_ptr<kernels::Strand> strand_ = std::make_shared<kernels::Strand>(kernels::Aside(
        pool_, [this](kernels::WorkerPool::Callback call) { told_.push_back(std::move(call)); },
        0));
};

class TestJob {
  public:
    TestJob(Roster roster, JobOptions options, std::optional<uint64_t> seed = std::nullopt)
        : roster_(std::move(roster)), options_(std::move(options)), network_(seed) {
        const size_t count = roster_.nodes.size();
        for (size_t i = 0; i < count; ++i) nodes_.push_back(std::make_unique<Node>(*this));
        for (size_t i = 0; i < count; ++i) {
            for (size_t j = 0; j < count; ++j)
                nodes_[i]->peers.push_back(
                    i == j
                        ? transports::PeerId{0}
                        : nodes_[i]->transport->connect(nodes_[j]->transport->address()).value());
            Node* node = nodes_[i].get();
            node->transport->set_peer_lost_handler(
                [node](transports::PeerId peer, const base::Error& error) {
                    if (node->round) node->round->peer_lost(peer, error);
                });
            for (const Rank rank : roster_.nodes[i]) node->store.join(rank, 0);
            node->store.when_made([node] {
                if (node->round) node->round->look_again();
            });
            if (!options_.without_terms.contains(i)) node->store.agree({options_.layout, true});
        }
    }

    ~TestJob() {
        for (const auto& node : nodes_)
            if (node->round && !node->outcome)
                node->round->abort({base::ErrorKind::canceled, "the test is over"});
        for (const auto& node : nodes_) {
            node->transport->set_peer_lost_handler({});
            if (node->outcome) node->round.reset();
        }
        for (const auto& node : nodes_) node->transport.reset();
        for (const auto& node : nodes_) node->round.reset();
    }
    TestJob(const TestJob&) = delete;
    TestJob& operator=(const TestJob&) = delete;

    size_t size() const { return nodes_.size(); }
    const Roster& roster() const { return roster_; }
    const JobOptions& options() const { return options_; }
    transports::MemoryNetwork& network() { return network_; }
    transports::MemoryTransport& transport(size_t node) { return *nodes_[node]->transport; }
    Store& store(size_t node) { return nodes_[node]->store; }
    Missed& missed(size_t node) { return nodes_[node]->missed; }
    PartialRound& round(size_t node) { return *nodes_[node]->round; }
    size_t node_of(Rank rank) const {
        for (size_t node = 0; node < roster_.nodes.size(); ++node)
            for (const Rank own : roster_.nodes[node])
                if (own == rank) return node;
        return SIZE_MAX;
    }

    // Begins a round at every node of `members`. Only these nodes take part. An empty list means
    // all nodes.
    void begin(uint64_t round, std::vector<size_t> members = {}) {
        if (members.empty())
            for (size_t node = 0; node < size(); ++node) members.push_back(node);
        ++attempt_;
        for (const size_t node : members) nodes_[node]->round.reset();
        for (const size_t node : members) begin_at(node, round, attempt_, members);
    }

    // Begins a round at one node. All nodes that take part must name the same attempt and members.
    void begin_at(size_t at, uint64_t round, uint64_t attempt, const std::vector<size_t>& members) {
        Node& node = *nodes_[at];
        node.round.reset();
        RoundPlan plan;
        plan.round = round;
        plan.quorum = options_.quorum;
        plan.divide_by = options_.divide_by;
        plan.staleness_max = options_.staleness_max;
        plan.group.exchange = 2 * attempt;
        plan.group.check = 1;
        plan.data_exchange = 2 * attempt + 1;
        plan.options = options_.all_reduce;
        for (const size_t member : members) {
            if (member == at) plan.group.self = plan.group.nodes.size();
            plan.roster.nodes.push_back(roster_.nodes[member]);
            plan.group.nodes.push_back(node.peers[member]);
        }
        node.outcome.reset();
        node.result.assign(options_.layout.bytes(), std::byte{0xA5});
        node.round = std::make_unique<PartialRound>(*node.transport, std::move(plan), node.store);
        Node* to = &node;
        base::spawn<base::Result<RoundOutcome>>(
            node.round->run([to](size_t) { return std::span<std::byte>(to->result); }),
            [to](base::Result<RoundOutcome> outcome) {
                const auto settled = outcome ? to->round->settle(*outcome) : base::Result<>();
                EXPECT_TRUE(settled);
                to->outcome = std::move(outcome);
            });
    }

    // The worker is dead. The rounds that begin from now on go without it.
    void leave(Rank rank) {
        const size_t node = node_of(rank);
        store(node).leave(rank);
        std::erase(roster_.nodes[node], rank);
    }

    // Makes a gradient whose elements are all `value`. A lent gradient lives as long as the
    // TestJob.
    Segments gradient(double value) {
        auto& worker = gradients_.emplace_back(std::make_unique<collectives::Worker>(
            collectives::make_worker(options_.layout, 1.0, [value](size_t) { return value; })));
        Segments segments;
        for (const Bytes& bytes : worker->segments) segments.push_back(bytes.data());
        return segments;
    }

    base::Result<HandIn> hand_in(Rank rank, double value) {
        return store(node_of(rank)).hand_in(rank, gradient(value), nullptr);
    }
    // Hands in as hand_in() does, then calls for the round.
    void arrive(Rank rank, double value) {
        ASSERT_TRUE(hand_in(rank, value).ok());
        round(node_of(rank)).arrived(rank);
    }

    void run() {
        while (network_.progress()) {
        }
    }

    bool ended(size_t node) const { return nodes_[node]->outcome.has_value(); }
    bool all_ended() const {
        for (size_t node = 0; node < size(); ++node)
            if (!ended(node)) return false;
        return true;
    }
    const base::Result<RoundOutcome>& outcome(size_t node) const { return *nodes_[node]->outcome; }
    const Bytes& result(size_t node) const { return nodes_[node]->result; }
    // Returns the first element of the result.
    double value(size_t node) const {
        return collectives::read_value(options_.layout.segments()[0].dtype, result(node).data(), 0);
    }

    // Expects that the round has ended well and alike on all nodes.
    void expect_well() const {
        for (size_t node = 0; node < size(); ++node) {
            ASSERT_TRUE(ended(node)) << "node " << node << " of " << size();
            ASSERT_TRUE(outcome(node).ok()) << outcome(node).error().message;
            ASSERT_TRUE(*outcome(node) == *outcome(0)) << "node " << node;
            ASSERT_TRUE(result(node) == result(0)) << "node " << node;
        }
    }

    // Returns the sum of the first elements of what the workers have in the stores. Empties the
    // stores.
    double stored_value(uint64_t round) {
        double sum = 0;
        for (size_t node = 0; node < size(); ++node)
            for (const Taken& one : store(node).take(round, roster_.nodes[node]))
                sum += collectives::read_value(options_.layout.segments()[0].dtype,
                                               one.contribution.segments()[0], 0);
        return sum;
    }

  private:
    struct Node {
        explicit Node(TestJob& job)
            : transport(job.network_.create()),
              store(job.options_.late, job.options_.strand),
              missed(job.options_.layout, job.options_.strand) {}
        std::unique_ptr<transports::MemoryTransport> transport;
        std::vector<transports::PeerId> peers;
        Store store;
        Missed missed;
        Bytes result;
        std::unique_ptr<PartialRound> round;
        std::optional<base::Result<RoundOutcome>> outcome;
    };

    Roster roster_;
    JobOptions options_;
    transports::MemoryNetwork network_;
    std::vector<std::unique_ptr<collectives::Worker>> gradients_;
    std::vector<std::unique_ptr<Node>> nodes_;
    uint64_t attempt_ = 0;
};

inline std::string kind_name(const Quorum& quorum) {
    switch (quorum.kind) {
        case Quorum::Kind::solo:
            return "solo";
        case Quorum::Kind::majority:
            return "majority";
        case Quorum::Kind::majority_strict:
            return "majority-strict";
        case Quorum::Kind::count:
            return "quorum " + std::to_string(quorum.count);
        case Quorum::Kind::all:
            return "all";
    }
    return "?";
}

inline std::vector<Quorum> all_quorums(size_t workers) {
    return {{Quorum::Kind::solo, 0, 0},
            {Quorum::Kind::majority, 0, 42},
            {Quorum::Kind::majority_strict, 0, 0},
            {Quorum::Kind::count, static_cast<uint32_t>(workers - workers / 4), 0},
            {Quorum::Kind::all, 0, 0}};
}

template <typename T>
void shuffle(std::vector<T>& values, base::Random& random) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace pace::partial
