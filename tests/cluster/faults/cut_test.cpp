// Cut tests: check what must hold when the network is cut. The cut is between a node and all
// others, between two nodes that both reach the controller, or in one direction. The tests are
// skipped where no network can be made.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/cluster/harness/faults.h"
#include "tests/cluster/harness/network.h"

namespace pace::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// TCP sends again at doubling intervals. Data that was sent into a cut of this length is sent again
// 5 s after the end of the cut.
constexpr seconds kCut{8};
// The promised times are 3 s and 1 s. The rest is for a machine that does much else.
constexpr double kStallDuringMs = 4500;
constexpr double kStallAfterMs = 2500;

uint64_t now_us() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

std::vector<std::string> endless(const std::string& mode) {
    std::vector<std::string> flags{"--steps",    "1000000000", "--step-us",    "2000",
                                   "--elements", "20000",      "--connect-ms", "1000"};
    if (mode == "majority") {
        flags.insert(flags.end(), {"--mode", "partial", "--quorum", "majority"});
    } else if (mode == "prague_static") {
        flags.insert(flags.end(), {"--mode", "average", "--policy", "prague-static"});
    } else if (mode != "reduce") {
        flags.insert(flags.end(), {"--mode", mode});
    }
    return flags;
}

class Cuts : public testing::TestWithParam<const char*> {
  protected:
    static constexpr size_t kNodes = 3;

    void SetUp() override {
        if (const auto absence = Network::absence()) GTEST_SKIP() << *absence;
        network_.emplace(kNodes + 1);
        cluster_.emplace(Cluster::Options{.nodes = kNodes, .network = &*network_});
        ASSERT_FALSE(testing::Test::HasFailure());
        trainers_ = cluster_->trainers(kNodes, endless(GetParam()));
        for (Process& trainer : trainers_) let_step(trainer, 20, *cluster_);
    }

    // Reads the trainers' output meanwhile, so that no trainer waits for the test.
    void pass(Deadline until) {
        while (std::chrono::steady_clock::now() < until) {
            trainers_[0].read_line(std::min(until, within(milliseconds(100))));
            for (Process& trainer : trainers_)
                while (trainer.read_line(within(milliseconds(0)))) {
                }
        }
    }

    void begin_cut() {
        begun_us_ = now_us();
        cut_end_ = within(kCut);
    }

    void mend() {
        pass(cut_end_);
        network_->mend();
        mended_us_ = now_us();
        // All trainers are back.
        for (Process& trainer : trainers_) let_step_after(trainer, mended_us_);
        pass(within(seconds(3)));
        for (Process& trainer : trainers_) let_step(trainer, 2, *cluster_);
    }

    void let_step_after(Process& trainer, uint64_t time_us) {
        while (const auto line = let_say(trainer, "step ", *cluster_))
            if (std::stoull(line->substr(line->find(' '))) > time_us) return;
    }

    // Returns the longest time without a step that begins in the interval.
    static double stall_ms(Process& trainer, uint64_t from_us, uint64_t to_us) {
        uint64_t longest = 0;
        uint64_t before = from_us;
        for (const std::string& line : trainer.lines()) {
            if (!line.starts_with("step ")) continue;
            const uint64_t time = std::stoull(line.substr(line.find(' ', 5)));
            if (time <= before) continue;
            if (before >= from_us && before < to_us) longest = std::max(longest, time - before);
            before = time;
        }
        return static_cast<double>(longest) / 1000;
    }

    void expect_short_stalls(const std::vector<size_t>& ranks) {
        for (const size_t rank : ranks) {
            const double during = stall_ms(trainers_[rank], begun_us_, mended_us_);
            const double after = stall_ms(trainers_[rank], mended_us_, ~uint64_t{0});
            std::printf("rank %zu: longest stall %.0f ms during the cut, %.0f ms after\n", rank,
                        during, after);
            EXPECT_LT(during, kStallDuringMs) << "rank " << rank << "\n" << cluster_->logs();
            EXPECT_LT(after, kStallAfterMs) << "rank " << rank << "\n" << cluster_->logs();
        }
    }

    std::optional<Network> network_;
    std::optional<Cluster> cluster_;
    std::vector<Process> trainers_;
    Deadline cut_end_{};
    uint64_t begun_us_ = 0;
    uint64_t mended_us_ = 0;
};

std::string name_of(const testing::TestParamInfo<const char*>& info) {
    return info.param;
}

// All families rely on the same watch. Where a model is on the nodes, a lost node takes its part of
// the model along. Other tests are about that.
class CutsOfANode : public Cuts {};
INSTANTIATE_TEST_SUITE_P(Families, CutsOfANode, testing::Values("reduce"), name_of);
class CutsOfALink : public Cuts {};
INSTANTIATE_TEST_SUITE_P(Families, CutsOfALink,
                         testing::Values("reduce", "average", "sparse", "prague_static", "served"),
                         name_of);
class CutsOneWay : public Cuts {};
INSTANTIATE_TEST_SUITE_P(Families, CutsOneWay, testing::Values("reduce", "majority"), name_of);

TEST_P(CutsOfANode, OneThatNobodyReachesHoldsNobodyUpAndComesBack) {
    begin_cut();
    network_->isolate(2);
    mend();
    expect_short_stalls({0, 1});
}

TEST_P(CutsOfALink, OfTwoNodesThatMissEachOtherOneIsLeftOutUntilTheyMeetAgain) {
    begin_cut();
    network_->cut(0, 2);
    pass(within(seconds(5)));
    const std::string status = cluster_->state();
    mend();
    EXPECT_NE(status.find("cut_links"), std::string::npos) << status;
    const std::string logs = cluster_->logs();
    EXPECT_NE(logs.find("no bytes from a node"), std::string::npos) << logs;
    EXPECT_NE(logs.find("bytes come from a node again"), std::string::npos) << logs;
    // Each of the two nodes has a part of the model that the other node's worker cannot reach. The
    // third worker reaches all parts.
    const bool is_served = GetParam() == std::string("served");
    expect_short_stalls(is_served ? std::vector<size_t>{1} : std::vector<size_t>{0, 1});
    expect_no_line(trainers_, "wrong");
}

TEST_P(CutsOneWay, ACutInOneDirectionIsACut) {
    begin_cut();
    network_->cut_one_way(0, 2);
    mend();
    // Which of the two reports the cut alone, and leaves, depends on what TCP has under way.
    const bool is_first_out = cluster_->said("controller", "goes on without node 'node0'") > 0;
    expect_short_stalls(is_first_out ? std::vector<size_t>{1, 2} : std::vector<size_t>{0, 1});
}

}  // namespace
}  // namespace pace::cluster
