// How top-k reductions travel where the job does not say: the choice follows from what all nodes
// know, and from nothing that is measured.
#include "daemon/families/rounds/top_k_options.h"
#include "daemon/jobs/tests/two_nodes_fixture.h"
#include "daemon/sparse/algorithms/cost_model.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

class TopKChoice : public TwoNodes, public testing::WithParamInterface<double> {
  protected:
    void SetUp() override {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.compression = control::Compression::spardl;
        options.density = GetParam();
        options.residuals = control::Residuals::global;
        open(options);
        commit(1);
    }
    bool is_dense_by_nominal_link(uint64_t elements) const {
        const sparse::Options options = top_k_options(job_->state().options);
        sparse::Problem problem;
        problem.P = 2;
        problem.n = elements;
        problem.format = options.format;
        problem.residuals = options.residuals;
        problem.k = static_cast<size_t>(GetParam() * static_cast<double>(elements));
        return sparse::should_go_dense(problem, sparse::Link{}).dense;
    }
};

TEST_P(TopKChoice, WaitsForNoMeasurement) {
    EXPECT_FALSE(services_.active.any()) << "a view measures its links";
    EXPECT_FALSE(other_services_.active.any());
}

TEST_P(TopKChoice, IsThatOfANominalLink) {
    for (const uint64_t elements : {uint64_t{100}, uint64_t{100'000}}) {
        const uint64_t ours = call(Verb::reduce, buffer_of(elements, 3));
        const uint64_t theirs = call_there(Verb::reduce, buffer_of(elements, 5));
        listen();
        ASSERT_TRUE(until([&] { return port_.ended(ours) && other_port_.ended(theirs); }));
        ASSERT_EQ(outcome_of(ours), Outcome::done) << port_.endings.at(ours).message;
        EXPECT_EQ(port_.endings.at(ours).dense, is_dense_by_nominal_link(elements)) << elements;
        EXPECT_EQ(other_port_.endings.at(theirs).dense, port_.endings.at(ours).dense);
    }
}

// What heartbeats tell of the only worker here.
control::WorkerReport told_by(Job& job) {
    control::Heartbeat heartbeat;
    job.report(heartbeat);
    EXPECT_EQ(heartbeat.workers.size(), 1U);
    return heartbeat.workers.empty() ? control::WorkerReport{} : heartbeat.workers[0];
}

TEST_P(TopKChoice, IsToldWithWhatItKeepsBack) {
    constexpr uint64_t kElements = 100'000;
    EXPECT_TRUE(told_by(*job_).has_residual);
    EXPECT_EQ(told_by(*job_).residual_bytes, 0U) << "nothing was reduced yet";
    listen();
    for (uint64_t round = 1; round <= 3; ++round) {
        const uint64_t ours = call(Verb::reduce, buffer_of(kElements, 3));
        const uint64_t theirs = call_there(Verb::reduce, buffer_of(kElements, 5));
        ASSERT_TRUE(until([&] { return port_.ended(ours) && other_port_.ended(theirs); }));
        const bool is_dense = is_dense_by_nominal_link(kElements);
        for (Job* job : {&*job_, &*other_job_}) {
            const control::WorkerReport told = told_by(*job);
            EXPECT_EQ(told.residual_bytes, is_dense ? 0 : kElements * sizeof(float));
            EXPECT_EQ(told.residual_exchanges, is_dense ? 0 : round);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Densities, TopKChoice, testing::Values(0.001, 0.01, 0.3, 1.0));

// ------------------------------------------------------------------------- what halves do not hold

class Halves : public TwoNodes {
  protected:
    void open_with(bool reject_nonfinite) {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.compression = control::Compression::f16;
        options.reject_nonfinite = reject_nonfinite;
        open(options);
        commit(1);
    }
};

TEST_F(Halves, AnElementThatIsInfiniteAsOneIsRefusedWhereInfinitiesAre) {
    open_with(true);
    const uint64_t id = call(Verb::reduce, buffer_of(10, 70000));
    ASSERT_TRUE(port_.ended(id));
    const Ending& ending = port_.endings.at(id);
    EXPECT_EQ(ending.outcome, Outcome::failed);
    EXPECT_EQ(ending.kind, base::ErrorKind::invalid);
    EXPECT_NE(ending.message.find("as f16"), std::string::npos) << ending.message;
}

TEST_F(Halves, KeepNothingBack) {
    open_with(false);
    EXPECT_FALSE(told_by(*job_).has_residual);
}

TEST_F(Halves, TheGreatestThatFitsTravels) {
    open_with(true);
    const BufferPtr buffer = buffer_of(10, 65504);
    const uint64_t ours = call(Verb::reduce, buffer);
    const uint64_t theirs = call_there(Verb::reduce, buffer_of(10, 65504));
    listen();
    ASSERT_TRUE(until([&] { return port_.ended(ours) && other_port_.ended(theirs); }));
    ASSERT_EQ(outcome_of(ours), Outcome::done) << port_.endings.at(ours).message;
    EXPECT_EQ(floats(*buffer).front(), 65504);
}

}  // namespace
}  // namespace pace::daemon
