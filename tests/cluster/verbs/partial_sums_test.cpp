// Partial sum tests: every contribution is applied exactly once, and replicas that add their
// results are equal. This holds for any quorum, any number of workers on any nodes, every type, and
// calls in any order. Every test prints its seed.
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/faults.h"
#include "tests/cluster/trainers/number_types.h"

namespace pace::cluster {
namespace {

struct Quorum {
    const char* name;
    Crew::Tune tune;
};
std::vector<Quorum> quorums(uint32_t world) {
    return {{"solo", solo},
            {"majority", majority},
            {"strict", majority_strict},
            {"most", quorum_of(world - world / 4)}};
}

// Workers that call at any time, without waiting for each other. Gradients are whole numbers.
class SummedTraining {
  public:
    SummedTraining(Crew& crew, base::Random& random)
        : crew_(crew), random_(random), workers_(crew.size()) {}

    // Makes `times` actions. Each action is a call, or a look at a worker that has called.
    void run(int times) {
        for (int i = 0; i < times; ++i) {
            const size_t rank = random_.below(workers_.size());
            if (workers_[rank].request) {
                look(rank, static_cast<int64_t>(random_.below(2)));
                continue;
            }
            const double gradient = static_cast<double>(random_.below(9)) - 4;
            given_ += gradient;
            call(rank, gradient);
        }
    }

    // The first round after a barrier has all contributions from before the barrier. A worker that
    // missed this round gets it with its call after the next barrier. A worker does not wait for
    // the others' calls before its own next one.
    void finish() {
        size_t finished = 0;
        const Deadline deadline = soon();
        while (finished < workers_.size()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << finished << " have finished";
            for (size_t rank = 0; rank < workers_.size(); ++rank) {
                if (workers_[rank].request) look(rank, 1);
                if (workers_[rank].request || workers_[rank].verbs_at_end == 5) continue;
                if (++workers_[rank].verbs_at_end == 5) ++finished;
                begin_verb_at_end(rank);
            }
        }
        for (size_t rank = 0; rank < workers_.size(); ++rank)
            while (workers_[rank].request) look(rank, 1000);
    }

    void expect_nothing_lost() const {
        for (size_t rank = 0; rank < workers_.size(); ++rank)
            EXPECT_EQ(workers_[rank].model, given_) << "worker " << rank;
    }

  private:
    struct State {
        std::optional<pace_request> request;
        bool reduces = false;
        int verbs_at_end = 0;
        double model = 0;
    };

    void call(size_t rank, double gradient) {
        workers_[rank].request = crew_.call(rank, gradient);
        workers_[rank].reduces = true;
    }

    // A barrier, a reduce, a barrier, a reduce, a barrier.
    void begin_verb_at_end(size_t rank) {
        if (workers_[rank].verbs_at_end % 2 == 0) {
            call(rank, 0);
            return;
        }
        workers_[rank].request = crew_.worker(rank).barrier();
        workers_[rank].reduces = false;
    }

    void look(size_t rank, int64_t timeout_ms) {
        State& state = workers_[rank];
        Worker& worker = crew_.worker(rank);
        const pace_status status = worker.wait(*state.request, timeout_ms);
        if (status == PACE_TIMEOUT) return;
        EXPECT_EQ(status, PACE_OK) << worker.complaint();
        state.request.reset();
        if (!state.reduces) return;
        state.model += crew_.value(rank);
        EXPECT_GE(worker.info().rounds, 1U);
        EXPECT_EQ(worker.info().member_count, crew_.size());
        uint32_t contributors = 0;
        for (const pace_member& member : worker.members())
            contributors += member.weight != 0 ? 1 : 0;
        EXPECT_EQ(contributors, worker.info().contributor_count);
    }

    Crew& crew_;
    base::Random& random_;
    std::vector<State> workers_;
    double given_ = 0;
};

void train(const Cluster& cluster, Crew::Options options, int times) {
    base::Random random(test_seed());
    Crew crew(cluster, std::move(options));
    SummedTraining training(crew, random);
    training.run(times);
    training.finish();
    training.expect_nothing_lost();
}

struct Place {
    size_t nodes;
    std::vector<size_t> of_worker;
};

TEST(PartialSums, EverythingThatWasHandedInIsAppliedOnce) {
    const std::vector<Place> places = {{1, {0}},
                                       {1, {0, 0, 0, 0, 0}},
                                       {2, {1, 0}},
                                       {2, {0, 1, 1, 1, 1}},
                                       {3, {0, 1, 2}},
                                       {3, {2, 2, 0, 0, 1, 2, 1}},
                                       {5, {0, 1, 2, 3, 4, 4, 4}}};
    for (const Place& place : places) {
        Cluster cluster({.nodes = place.nodes});
        for (const Quorum& quorum : quorums(static_cast<uint32_t>(place.of_worker.size()))) {
            SCOPED_TRACE(testing::Message() << quorum.name << ", " << place.nodes << " nodes, "
                                            << place.of_worker.size() << " workers");
            train(cluster, {.nodes = place.of_worker, .tune = quorum.tune, .job = quorum.name},
                  300);
        }
    }
}

// The buffers are too large to be delivered at once, and to be sent whole.
TEST(PartialSums, LargeBuffersToo) {
    for (const size_t nodes : {1U, 3U}) {
        Cluster cluster({.nodes = nodes});
        for (const Quorum& quorum : quorums(5)) {
            SCOPED_TRACE(quorum.name);
            train(cluster,
                  {.nodes = in_turn(5, nodes),
                   .tune = quorum.tune,
                   .elements = 500000,
                   .job = quorum.name},
                  60);
        }
    }
}

TEST(PartialSums, WorkersThatAreHeldUpForTheSlowToo) {
    Cluster cluster({.nodes = 3});
    for (const uint32_t staleness_max : {1U, 2U, 5U}) {
        const auto tune = [staleness_max](AskedSession& job) {
            solo(job);
            job.set(PACE_OPT_QUORUM_STALENESS_MAX, staleness_max);
        };
        train(cluster,
              {.nodes = in_turn(6, 3),
               .tune = tune,
               .job = "within-" + std::to_string(staleness_max)},
              400);
    }
}

// ---------------------------------------------------------------------- several buffers, all types

void write(int32_t type, double value, void* element) {
    const auto single = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof(bits));
    auto half = static_cast<uint16_t>(bits >> 16U);
    switch (type) {
        case PACE_F64:
            std::memcpy(element, &value, sizeof(value));
            return;
        case PACE_F32:
            std::memcpy(element, &single, sizeof(single));
            return;
        case PACE_F16:
            // Small whole numbers as halves: five bits of exponent with another bias, and ten bits
            // of fraction.
            if (value != 0)
                half = static_cast<uint16_t>(((bits >> 16U) & 0x8000U) |
                                             ((((bits >> 23U) & 0xFFU) - 127 + 15) << 10U) |
                                             ((bits >> 13U) & 0x3FFU));
            break;
        default:
            break;
    }
    std::memcpy(element, &half, sizeof(half));
}

// A worker with a buffer of each type.
struct Mixed {
    explicit Mixed(const WorkerOptions& options) : worker(options) {
        EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
        for (size_t i = 0; i < data.size(); ++i)
            data[i] = static_cast<std::byte*>(worker.add_buffer(kNumberTypes[i].type, counts[i]));
    }
    // Element j of buffer i is (gradient + i) * (j mod 3). The sum has the same form.
    pace_request call(double gradient) {
        for (size_t i = 0; i < data.size(); ++i)
            for (uint64_t j = 0; j < counts[i]; ++j)
                write(kNumberTypes[i].type, gradient * static_cast<double>((i + 1) * (j % 3)),
                      data[i] + j * kNumberTypes[i].bytes);
        return worker.reduce();
    }
    void expect(double sum) {
        for (size_t i = 0; i < data.size(); ++i) {
            int wrong = 0;
            for (uint64_t j = 0; j < counts[i] && wrong < 3; ++j) {
                const double expected = sum * static_cast<double>((i + 1) * (j % 3));
                const double value =
                    decode(kNumberTypes[i].type, data[i] + j * kNumberTypes[i].bytes);
                if (value == expected) continue;
                ++wrong;
                ADD_FAILURE() << kNumberTypes[i].name << " element " << j << " is " << value
                              << ", not " << expected;
            }
        }
    }

    // Returns the gradient that expect() would find, computed from one of the elements.
    double sum() const { return decode(kNumberTypes[0].type, data[0] + kNumberTypes[0].bytes); }

    static constexpr std::array<uint64_t, std::size(kNumberTypes)> counts = {1003, 70001, 17,
                                                                             50006};
    Worker worker;
    std::array<std::byte*, std::size(kNumberTypes)> data{};
};

TEST(PartialSums, SeveralBuffersOfAllTypesGoInOneCall) {
    for (const size_t nodes : {1U, 2U, 3U}) {
        Cluster cluster({.nodes = nodes});
        const auto member = [&](uint32_t rank) {
            return WorkerOptions{
                .endpoint = cluster.endpoint(rank % nodes), .rank = rank, .world = 3, .tune = solo};
        };
        Mixed first(member(0));
        Mixed second(member(1));
        Mixed third(member(2));
        for (const double gradient : {1, 2, 4}) {
            first.worker.finish(first.call(gradient));
            first.expect(gradient);
        }
        // The nodes of these workers may hear of the last round's end later than the first worker.
        // The last round then comes with the next result.
        const auto finish_late = [](Mixed& worker, double gradient) {
            worker.worker.finish(worker.call(gradient));
            EXPECT_TRUE(worker.sum() == 7 || worker.sum() == 3) << worker.sum();
            worker.expect(worker.sum());
        };
        finish_late(second, 3);
        const double early = second.sum();
        finish_late(third, 5);
        first.worker.finish(first.call(1));
        first.expect(9);
        second.worker.finish(second.call(0));
        second.expect(7 - early + 9);
    }
}

}  // namespace
}  // namespace pace::cluster
