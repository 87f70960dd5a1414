// Tests all algorithms among participants that partly share nodes. The results are the same bits as
// with one node for each participant. When a node dies, the exchange ends at every survivor.
#include <bit>

#include <gtest/gtest.h>

#include "daemon/sparse/exchange/flat_cluster.h"
#include "daemon/sparse/tests/reference.h"
#include "daemon/sparse/tests/test_run.h"

namespace pace::sparse {
namespace {

using base::ErrorKind;
using transports::PeerId;

constexpr size_t kFlatCount = 3000;

// Nodes with 1, 2 and 3 participants, side by side and mixed. Last, one node with all participants.
const std::vector<std::vector<size_t>> kPlaces = {
    {0, 1, 1, 2, 2, 2}, {2, 0, 1, 2, 1, 2}, {0, 0, 0, 0, 0, 0}};

std::vector<Options> flat_options() {
    std::vector<Options> all;
    for (const Algorithm algorithm : {Algorithm::spar_dl, Algorithm::topk_a, Algorithm::topk_dsa,
                                      Algorithm::g_topk, Algorithm::ok_topk, Algorithm::dense})
        for (const size_t teams : {1U, 2U, 3U, 6U}) {
            if (algorithm != Algorithm::spar_dl && teams != 1) continue;
            Options options;
            options.algorithm = algorithm;
            options.teams = teams;
            options.density = 0.6;  // so messages are too large to be copied
            all.push_back(options);
        }
    return all;
}

// One exchange of six participants.
class FlatTrial {
  public:
    FlatTrial(const std::vector<size_t>& places, const Options& options,
              const std::vector<Vector>& gradients, std::vector<SparseState>& states,
              std::optional<uint64_t> seed = std::nullopt)
        : options_(options),
          layout_(layout_of(kFlatCount)),
          pool_(0),
          results_(places.size(), std::vector<std::byte>(layout_.bytes())),
          reports_(places.size()),
          ends_(places.size(), 0),
          outcomes_(places.size()),
          cluster_(places, seed) {
        for (const Vector& gradient : gradients) parts_.push_back(part_of(layout_, gradient));
        for (size_t p = 0; p < places.size(); ++p) {
            collectives::Group group{
                .exchange = 7, .check = 1, .nodes = {}, .self = p, .contributes = {}};
            for (PeerId peer = 0; peer < places.size(); ++peer) group.nodes.push_back(peer);
            communicators_.push_back(std::make_unique<collectives::Communicator>(
                cluster_.transport(p), std::move(group)));
            collectives::Communicator* communicator = communicators_.back().get();
            cluster_.transport(p).set_peer_lost_handler(
                [communicator](PeerId peer, const base::Error& error) {
                    communicator->peer_lost(peer, error);
                });
        }
        for (size_t p = 0; p < places.size(); ++p)
            base::spawn<base::Result<Report>>(
                sparse_all_reduce(*communicators_[p], parts_[p], 1.0, results_[p], states[p],
                                  options_, pool_),
                [this, p](base::Result<Report> report) {
                    ++ends_[p];
                    if (report) reports_[p] = *report;
                    outcomes_[p] = std::move(report);
                });
    }

    ~FlatTrial() {
        for (size_t p = 0; p < ends_.size(); ++p)
            if (ends_[p] == 0)
                communicators_[p]->abort({ErrorKind::canceled, "the test is over"});
            else
                communicators_[p].reset();
        cluster_.end();
        for (const int ends : ends_) EXPECT_EQ(ends, 1);
    }
    FlatTrial(const FlatTrial&) = delete;
    FlatTrial& operator=(const FlatTrial&) = delete;

    FlatCluster& cluster() { return cluster_; }
    bool all_ended() const {
        return std::all_of(ends_.begin(), ends_.end(), [](int ends) { return ends > 0; });
    }
    int ends(size_t p) const { return ends_[p]; }
    const base::Result<Report>& outcome(size_t p) const { return *outcomes_[p]; }
    const Report& report(size_t p) const { return reports_[p]; }
    Vector result(size_t p) const { return unpacked(layout_, results_[p]); }

    void run_well() {
        cluster_.run();
        for (size_t p = 0; p < ends_.size(); ++p) {
            ASSERT_EQ(ends_[p], 1);
            ASSERT_TRUE(outcome(p).ok()) << outcome(p).error().message;
            ASSERT_TRUE(results_[p] == results_[0]) << "participant " << p;
        }
    }

  private:
    Options options_;
    collectives::Layout layout_;
    kernels::WorkerPool pool_;
    std::vector<collectives::LocalPart> parts_;
    std::vector<std::vector<std::byte>> results_;
    std::vector<Report> reports_;
    std::vector<int> ends_;
    std::vector<std::optional<base::Result<Report>>> outcomes_;
    std::vector<std::unique_ptr<collectives::Communicator>> communicators_;
    FlatCluster cluster_;
};

Vector values_of_state(const SparseState& state) {
    const auto values = state.residual().values();
    return {values.begin(), values.end()};
}

// SparDL's next exchange as the paper describes it. The residuals carry over.
Chosen reference_exchange(const Options& options, const std::vector<Vector>& gradients,
                          std::vector<CompressionRatio>& ratios, std::vector<Vector>& residuals) {
    std::vector<Vector> G = gradients;
    for (size_t w = 0; w < 6; ++w)
        for (size_t i = 0; i < kFlatCount; ++i) G[w][i] += residuals[w][i];
    const bool recursive =
        options.gather != TeamGather::bruck && std::has_single_bit(options.teams);
    std::vector<size_t> h;
    for (const CompressionRatio& ratio : ratios) h.push_back(ratio.h());
    Reference expected =
        ReferenceSparDL(G, options.density, options.teams, recursive, h, options.residuals).run();
    residuals = expected.residuals;
    for (size_t i = 0; i < expected.N.size(); ++i) ratios[i].adjust(expected.N[i]);
    return expected.total;
}

TEST(Flat, SparDLEqualsThePaperForEveryNumberOfTeams) {
    for (const std::vector<size_t>& places : kPlaces)
        for (const size_t teams : {1U, 2U, 3U, 6U})
            for (const TeamGather gather : {TeamGather::automatic, TeamGather::bruck}) {
                Options options;
                options.teams = teams;
                options.gather = gather;
                options.density = 0.06;
                const Division division(kFlatCount, 6 / teams, options.density);
                std::vector<CompressionRatio> ratios;
                for (size_t i = 0; i < division.blocks(); ++i)
                    ratios.emplace_back(division.block(i).k, teams);
                std::vector<Vector> residuals(6, Vector(kFlatCount, 0.0F));
                std::vector<SparseState> states(6, SparseState(kFlatCount));
                for (uint64_t iteration = 0; iteration < 3; ++iteration) {
                    const auto gradients = gradients_of(6, kFlatCount, iteration);
                    const Chosen expected =
                        reference_exchange(options, gradients, ratios, residuals);
                    FlatTrial trial(places, options, gradients, states, iteration);
                    ASSERT_NO_FATAL_FAILURE(trial.run_well());
                    const Vector result = trial.result(0);
                    for (size_t i = 0; i < kFlatCount; ++i) {
                        const auto found = expected.find(i);
                        ASSERT_EQ(result[i], found == expected.end() ? 0.0F : found->second) << i;
                    }
                    for (size_t p = 0; p < 6; ++p) {
                        states[p].commit();
                        ASSERT_EQ(values_of_state(states[p]), residuals[p]);
                    }
                }
            }
}

TEST(Flat, EveryAlgorithmGivesTheBitsOfANodeEach) {
    for (const std::vector<size_t>& places : kPlaces)
        for (Options options : flat_options())
            for (const double density : {0.01, 0.6}) {
                SCOPED_TRACE(fmt::format("{} d {}", name_of(options.algorithm), options.teams));
                options.density = density;
                SparseCluster apart(6, kFlatCount);
                std::vector<SparseState> states(6, SparseState(kFlatCount));
                for (uint64_t iteration = 0; iteration < 3; ++iteration) {
                    const auto gradients = gradients_of(6, kFlatCount, iteration, 20000);
                    const Vector expected = apart.exchange(options, gradients);
                    FlatTrial trial(places, options, gradients, states, iteration);
                    ASSERT_NO_FATAL_FAILURE(trial.run_well());
                    EXPECT_EQ(trial.result(0), expected);
                    for (size_t p = 0; p < 6; ++p) {
                        states[p].commit();
                        EXPECT_EQ(values_of_state(states[p]), apart.residual(p));
                        EXPECT_EQ(trial.report(p).bytes_sent, apart.report(p).bytes_sent);
                    }
                }
            }
}

TEST(Flat, AKilledNodeEndsTheExchangeOfEverySurvivorOnce) {
    base::Random random(3);
    for (const size_t places : {0U, 1U})
        for (const Options& options : flat_options())
            for (const size_t victim : {0U, 1U, 2U})
                for (size_t step = 0;; step += 1 + random.below(4)) {
                    SCOPED_TRACE(fmt::format("{} d {} victim {} step {}",
                                             name_of(options.algorithm), options.teams, victim,
                                             step));
                    std::vector<SparseState> states(6, SparseState(kFlatCount));
                    const auto gradients = gradients_of(6, kFlatCount, 1);
                    FlatTrial trial(kPlaces[places], options, gradients, states, random.next());
                    for (size_t i = 0; i < step; ++i) trial.cluster().progress();
                    if (trial.all_ended()) break;
                    trial.cluster().kill(victim);
                    trial.cluster().run();
                    for (size_t p = 0; p < 6; ++p) {
                        if (trial.cluster().place(p) == victim) continue;
                        ASSERT_EQ(trial.ends(p), 1) << "participant " << p;
                        if (trial.outcome(p)) continue;
                        ASSERT_EQ(trial.outcome(p).error().kind, ErrorKind::unavailable)
                            << trial.outcome(p).error().message;
                        states[p].commit();  // nothing to commit
                        ASSERT_EQ(values_of_state(states[p]), Vector(kFlatCount, 0.0F));
                    }
                }
}

}  // namespace
}  // namespace pace::sparse
