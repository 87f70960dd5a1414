// Core run: successive runs of one name: who returns to a run, and who begins the next.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using JobRun = Run;  // GoogleTest has a Run too

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreRunTest : public ::testing::Test, public CoreFixture {
  protected:
    // A worker opens its session.
    void open(NodeId node, Rank rank, const JobOptions& options, const std::string& run,
              Rerun rerun = Rerun::when_all_died) {
        clear();
        auto join = from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0});
        join.run.id = run;
        join.opened = ++clock_;
        join.rerun = rerun;
        send(join);
    }
    // Joins a worker whose daemon says that it was in `run`.
    void return_to(NodeId node, Rank rank, const JobOptions& options, const JobRun& run) {
        clear();
        auto join = from(node, WorkerJoin{rank + 100, rank, options, 1000, false, 0, 0, 0});
        join.run = run;
        join.opened = ++clock_;
        send(join);
    }
    To<JoinAccepted> accepted() {
        const auto all = sent<JoinAccepted>();
        EXPECT_EQ(all.size(), 1U) << (sent<JoinRefused>().empty()
                                          ? std::string()
                                          : sent<JoinRefused>().front().error.message);
        return all.empty() ? To<JoinAccepted>{} : all.front();
    }
    base::Error refused() {
        const auto all = sent<JoinRefused>();
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? base::Error{} : all.front().error;
    }
    bool noted(const std::string& event) const {
        const auto notes = sent<Note>();
        return std::any_of(notes.begin(), notes.end(),
                           [&](const Note& note) { return note.event == event; });
    }
    // Workers without an identity, one on each node; all their daemons and the controller stop at
    // once.
    void lose_power(const std::string& run = "", Rerun rerun = Rerun::when_all_died) {
        for (Rank rank = 0; rank < 2; ++rank)
            open(attach("node" + std::to_string(rank)), rank, averaging(2), run, rerun);
        begun_ = accepted().run;
        restart();
        replay_journal();
        nodes_ = {attach("node0"), attach("node1")};
    }
    void wait(Duration duration) { pass_hearing(duration, nodes_); }
    bool said(const std::string& event, const std::string& words) const {
        const auto notes = sent<Note>();
        return std::any_of(notes.begin(), notes.end(), [&](const Note& note) {
            return note.event == event && note.detail.find(words) != std::string::npos;
        });
    }
    void expect_new_run() {
        EXPECT_FALSE(accepted().under_way);
        EXPECT_GT(accepted().run.began, begun_.began);
        EXPECT_TRUE(noted("job-rerun"));
        EXPECT_TRUE(sent<CommitView>().empty()) << "it does not train alone";
    }
    void kill(NodeId node, JobId job, Rank rank) {
        send(from(node, WorkerLeave{job, rank, false}));
    }

    uint64_t clock_ = 1000;
    JobRun begun_;
    std::vector<NodeId> nodes_;
};

TEST_F(CoreRunTest, OfANameWhoseWorkersAllDiedBeginsAnewWithAllOfItsWorkers) {
    const NodeId node = attach("a");
    open(node, 0, averaging(2), "");
    const JobRun first = accepted().run;
    EXPECT_EQ(first.began, 1001U);
    open(node, 1, averaging(2), "");
    EXPECT_EQ(accepted().run, first);
    for (Rank rank = 0; rank < 2; ++rank) kill(node, 1, rank);
    open(node, 0, averaging(2), "");
    EXPECT_FALSE(accepted().under_way);
    EXPECT_GT(accepted().run.began, first.began);
    EXPECT_NE(accepted().token, 0U);
    EXPECT_TRUE(noted("job-rerun"));
    EXPECT_TRUE(sent<CommitView>().empty()) << "it does not train alone";
    open(node, 1, averaging(2), "");
    const auto views = sent<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].members.size(), 2U);
}

TEST_F(CoreRunTest, MayHaveOtherOptionsThanTheOneBefore) {
    const NodeId node = attach("a");
    open(node, 0, averaging(1), "");
    kill(node, 1, 0);
    open(node, 0, reducing(3), "");
    EXPECT_EQ(accepted().options.world, 3U);
}

TEST_F(CoreRunTest, TakesAWorkerBackWhileAnotherLives) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) open(node, rank, averaging(2), "");
    kill(node, 1, 1);
    open(node, 1, averaging(2), "");
    EXPECT_TRUE(accepted().under_way);
    EXPECT_FALSE(accepted().deserted);
    EXPECT_EQ(accepted().run.began, 1001U);
}

// Their trainers may live, and their sessions may reconnect by themselves.
TEST_F(CoreRunTest, IsNotOverWhenItsDaemonsAreLost) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) open(node, rank, averaging(2), "");
    const JobRun run = accepted().run;
    send(NodeLost{node, "killed"});
    attach("a");
    open(node, 1, averaging(2), "");
    EXPECT_TRUE(accepted().under_way);
    EXPECT_FALSE(accepted().deserted) << "its trainers may live";
    EXPECT_TRUE(noted("job-resumed"));
    return_to(node, 0, averaging(2), run);
    EXPECT_TRUE(accepted().under_way);
    EXPECT_EQ(accepted().run, run);
}

// Such a daemon dies together with its trainer.
TEST_F(CoreRunTest, IsOverWhenTheProcessesThatHostTheirDaemonsAreLost) {
    const std::vector<NodeId> nodes{attach_hosted("a"), attach_hosted("b")};
    for (Rank rank = 0; rank < 2; ++rank) open(nodes[rank], rank, averaging(2), "");
    begun_ = accepted().run;
    for (const NodeId node : nodes) send(NodeLost{node, "killed"});
    open(attach_hosted("c"), 0, averaging(2), "");
    expect_new_run();
}

TEST_F(CoreRunTest, IsKnownToBeOverAfterARestartIfItsHostsWereLostBefore) {
    const std::vector<NodeId> nodes{attach_hosted("a"), attach_hosted("b")};
    for (Rank rank = 0; rank < 2; ++rank) open(nodes[rank], rank, averaging(2), "");
    begun_ = accepted().run;
    for (const NodeId node : nodes) send(NodeLost{node, "killed"});
    restart();
    replay_journal();
    open(attach_hosted("c"), 0, averaging(2), "");
    expect_new_run();
}

// The host was frozen or cut off, and nobody has opened the job anew meanwhile.
TEST_F(CoreRunTest, TakesAHostBackThatWasNotGone) {
    const NodeId node = attach_hosted("a");
    open(node, 0, averaging(1), "");
    const JobRun run = accepted().run;
    send(NodeLost{node, "silent"});
    return_to(attach_hosted("a"), 0, averaging(1), run);
    EXPECT_EQ(accepted().run, run);
}

// A power failure: nobody saw the workers die, and nobody comes back.
TEST_F(CoreRunTest, IsOverWhenNobodyComesBackAfterTheControllersRestart) {
    lose_power();
    wait(seconds(11));
    open(nodes_[0], 0, averaging(2), "");
    expect_new_run();
    open(nodes_[1], 1, averaging(2), "");
    EXPECT_EQ(sent<CommitView>().at(0).members.size(), 2U);
}

TEST_F(CoreRunTest, OfALauncherIsOverWhenNobodyComesBackAfterTheControllersRestart) {
    lose_power("torchrun-x", Rerun::when_none_lives);
    wait(seconds(11));
    open(nodes_[0], 0, averaging(2), "torchrun-x", Rerun::when_none_lives);
    expect_new_run();
}

TEST_F(CoreRunTest, OfAnotherIdentityWaitsUntilNobodyComesBackAndIsToldHowToEndTheOneBefore) {
    lose_power("monday");
    open(nodes_[0], 0, averaging(2), "tuesday");
    EXPECT_EQ(refused().kind, base::ErrorKind::taken);
    EXPECT_NE(refused().message.find("`pacectl job delete job`"), std::string::npos)
        << refused().message;
    wait(seconds(11));
    open(nodes_[0], 0, averaging(2), "tuesday");
    expect_new_run();
}

// Whether a worker continues a run or begins a rerun is known only when the others are back or
// given up. Its client asks again.
TEST_F(CoreRunTest, TakesNobodyWhoOpensAnewBeforeItsOwnAreBackOrGivenUp) {
    for (const Rerun rerun : {Rerun::when_all_died, Rerun::when_none_lives}) {
        restart();
        forget_journal();
        lose_power();
        open(nodes_[0], 0, averaging(2), "", rerun);
        EXPECT_EQ(refused().kind, base::ErrorKind::no_controller);
        EXPECT_NE(refused().message.find("`pacectl job delete job`"), std::string::npos)
            << refused().message;
        return_to(nodes_[1], 1, averaging(2), begun_);
        EXPECT_EQ(accepted().run, begun_);
        open(nodes_[0], 0, averaging(2), "", rerun);
        EXPECT_TRUE(accepted().under_way);
        EXPECT_EQ(accepted().run, begun_);
    }
}

TEST_F(CoreRunTest, GoesOnWhenItsOwnAreBackHoweverLateIfNoOtherHasBegun) {
    lose_power();
    wait(seconds(60));
    return_to(nodes_[0], 0, averaging(2), begun_);
    EXPECT_EQ(accepted().run, begun_);
}

TEST_F(CoreRunTest, ThatAloneIsGoneOnWithSaysSo) {
    lose_power("mine", Rerun::never);
    open(nodes_[0], 0, averaging(2), "mine", Rerun::never);
    EXPECT_TRUE(accepted().under_way);
    EXPECT_TRUE(said("job-resumed", "rank 0"));
    EXPECT_TRUE(said("job-resumed", "`pacectl job delete job`"));
}

// The machine of all trainers fails, but not the controller's.
TEST_F(CoreRunTest, IsOverWhenItsDaemonsWereLostAndNobodyHasComeBackForLong) {
    nodes_ = {attach("a")};
    for (Rank rank = 0; rank < 2; ++rank) open(nodes_[0], rank, averaging(2), "");
    begun_ = accepted().run;
    send(NodeLost{nodes_[0], "power failure"});
    attach("a");
    wait(seconds(11));
    open(nodes_[0], 1, averaging(2), "");
    expect_new_run();
}

// When one worker dies, a launcher restarts all of its workers, on any nodes.
TEST_F(CoreRunTest, OfALauncherIsOverWhenNoWorkerLives) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank)
        open(node, rank, averaging(2), "torchrun-x", Rerun::when_none_lives);
    send(NodeLost{node, "killed"});
    attach("a");
    open(node, 1, averaging(2), "torchrun-x", Rerun::when_none_lives);
    EXPECT_FALSE(accepted().under_way);
    EXPECT_TRUE(sent<CommitView>().empty());
}

TEST_F(CoreRunTest, IsGoneOnWithByWhoNamesIt) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) open(node, rank, averaging(2), "mine", Rerun::never);
    const JobRun run = accepted().run;
    for (Rank rank = 0; rank < 2; ++rank) kill(node, 1, rank);
    open(node, 1, averaging(2), "mine", Rerun::never);
    EXPECT_TRUE(accepted().under_way);
    EXPECT_TRUE(accepted().deserted);
    EXPECT_EQ(accepted().run, run);
    EXPECT_TRUE(noted("job-resumed"));
    open(node, 0, averaging(2), "mine", Rerun::never);
    EXPECT_TRUE(accepted().deserted) << "the other has not begun yet";
    kill(node, 1, 0);
    // A worker that names another run does not resume it.
    kill(node, 1, 1);
    open(node, 1, averaging(2), "yours", Rerun::never);
    EXPECT_FALSE(accepted().under_way);
    EXPECT_EQ(accepted().run.id, "yours");
}

TEST_F(CoreRunTest, IsNotTakenOverWhileItsWorkersLive) {
    const NodeId node = attach("a");
    open(node, 0, averaging(2), "one");
    open(node, 1, averaging(2), "two");
    const base::Error error = refused();
    EXPECT_EQ(error.kind, base::ErrorKind::taken);
    EXPECT_NE(error.message.find("'one'"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("'two'"), std::string::npos) << error.message;
}

// Its daemon was cut off meanwhile, and does not know of the end.
TEST_F(CoreRunTest, ThatIsOverTakesNobodyBack) {
    const NodeId node = attach("a");
    open(node, 0, averaging(1), "", Rerun::when_none_lives);
    const JobRun first = accepted().run;
    send(NodeLost{node, "cut off"});
    const NodeId other = attach("b");
    open(other, 0, averaging(2), "", Rerun::when_none_lives);
    attach("a");
    return_to(node, 0, averaging(2), first);
    const base::Error error = refused();
    EXPECT_EQ(error.kind, base::ErrorKind::closed);
    EXPECT_NE(error.message.find("open another session"), std::string::npos) << error.message;
}

TEST_F(CoreRunTest, IsNamedByTheFirstWorkerOfAJobThatWasCreatedBeforehand) {
    const NodeId node = attach("a");
    send(from(node, JobCreate{1, averaging(2), 1000}));
    open(node, 0, averaging(2), "mine");
    EXPECT_EQ(accepted().run.id, "mine");
    EXPECT_NE(accepted().run.began, 0U);
    EXPECT_EQ(accepted().job, 1U);
}

TEST_F(CoreRunTest, OutlivesTheController) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 2; ++rank) open(node, rank, averaging(2), "mine");
    const JobRun run = accepted().run;
    for (Rank rank = 0; rank < 2; ++rank) kill(node, 1, rank);
    open(node, 0, averaging(2), "yours");
    restart();
    replay_journal();
    attach("a");
    return_to(node, 1, averaging(2), run);
    EXPECT_EQ(refused().kind, base::ErrorKind::closed);
}

// A new session opens before the first worker of the run is back, and counts as the first of
// another run.
TEST_F(CoreRunTest, GetsItsOwnBackWhenTheJournalIsLost) {
    const NodeId node = attach("a");
    for (Rank rank = 0; rank < 3; ++rank) open(node, rank, averaging(3), "");
    const JobRun run = accepted().run;
    restart();
    attach("a", node);
    open(node, 2, averaging(3), "");
    EXPECT_GT(accepted().run.began, run.began);
    for (Rank rank = 0; rank < 2; ++rank) {
        auto join = from(node, WorkerJoin{rank + 100, rank, averaging(3), 1000, true, 5, 3, 7});
        join.run = run;
        clear();
        send(join);
        EXPECT_EQ(accepted().run, run);
    }
    EXPECT_EQ(sent<PrepareView>().back().began, run.began);
}

// A controller that has lost the end of its journal knows the previous run.
TEST_F(CoreRunTest, ThatTheJournalDoesNotKnowIsLearntFromItsDaemons) {
    const NodeId node = attach("a");
    open(node, 0, averaging(1), "");
    kill(node, 1, 0);
    const size_t records = journal().size();
    open(node, 0, averaging(1), "");
    const JobRun second = accepted().run;
    restart();
    replay_journal(records);
    attach("a", node);
    auto join = from(node, WorkerJoin{100, 0, averaging(1), 1000, true, 5, 3, 7});
    join.run = second;
    clear();
    send(join);
    EXPECT_EQ(accepted().run, second);
    EXPECT_FALSE(accepted().under_way);
}

}  // namespace
}  // namespace pace::controller
