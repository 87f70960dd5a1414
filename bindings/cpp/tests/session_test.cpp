#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "sessions_fixture.h"

namespace pace_cpp {
namespace {

using SessionTest = SessionsFixture;

TEST_F(SessionTest, TellsOfItself) {
    pace::session session = open(1, 3);
    const pace::session_info told = session.info();
    EXPECT_EQ(told.rank, 1U);
    EXPECT_EQ(told.world, 3U);
    EXPECT_EQ(told.joined(), pace::run_state::is_new);
    EXPECT_EQ(std::string(told.job), "SessionTest.TellsOfItself");
}

TEST_F(SessionTest, AWrongArgumentIsNamed) {
    pace::session_options options = asked(0, 0);
    try {
        const pace::session session(options);
        FAIL() << "a world of no workers was opened";
    } catch (const pace::invalid_error& error) {
        EXPECT_STREQ(error.argument(), "world");
        EXPECT_EQ(error.status(), pace::status::invalid);
        EXPECT_NE(std::string(error.what()).find("PACE_E_INVALID"), std::string::npos);
    }
    const auto refused = pace::session::open(pace::nothrow, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.status(), pace::status::invalid);
    EXPECT_STREQ(refused.error().argument(), "world");
}

TEST_F(SessionTest, OptionsOfEveryKindReachTheJob) {
    pace::session_options options = asked(0, 4);
    options.options = {{"quorum", "count"}, {"quorum.count", 2}, {"reduce.reject_nonfinite", true}};
    const pace::session first(options);
    options.rank = 1;
    options.options[1] = {"quorum.count", 3};
    EXPECT_THROW(pace::session second(options), pace::mismatch_error);

    options = asked(0, 4, PACE_POLICY_AD_PSGD);
    options.job += ".edges";
    options.options = {pace::option::edges("group.edges", {{0, 1}, {1, 2}, {2, 3}})};
    const pace::session edges(options);

    options = asked(0, 4, PACE_POLICY_PARTIAL_REDUCE);
    options.job += ".weights";
    options.options = {{"average.weights", "dynamic"}, {"average.alpha", 0.5}};
    const pace::session dynamic(options);
    options.rank = 1;
    options.options[1] = {"average.alpha", 0.25};
    EXPECT_THROW(pace::session other(options), pace::mismatch_error);
}

TEST_F(SessionTest, AHintMayBeUnknown) {
    pace::session_options options = asked();
    options.options = {{"later.option", 3}};
    EXPECT_THROW(pace::session refused(options), pace::invalid_error);
    options.options = {pace::option("later.option", 3).as_hint()};
    const pace::session session(options);
    EXPECT_TRUE(session);
}

TEST_F(SessionTest, ANumberBeyondItsOptionIsRefused) {
    pace::session_options options = asked(0, 4, PACE_POLICY_PARTIAL_REDUCE);
    options.options = {{"group.size", ~std::uint64_t{0}}};
    EXPECT_THROW(pace::session session(options), pace::invalid_error);
}

TEST_F(SessionTest, WhoLeavesFreesItsRankAndIsOver) {
    pace::session session = open(0, 2);
    session.leave();
    EXPECT_THROW(session.barrier(), pace::closed_error);
    EXPECT_EQ(session.leave(pace::nothrow).status(), pace::status::closed);
    const pace::session again = open(0, 2);
    EXPECT_TRUE(again);
}

TEST_F(SessionTest, TheLastOfItsBuffersKeepsIt) {
    pace::buffer<float> buffer;
    {
        pace::session session = open();
        buffer = session.make_buffer<float>(4);
        buffer.elements()[3] = 7;
    }
    EXPECT_EQ(buffer.elements()[3], 7);
    // The rank stays in use as long as the buffer exists.
    pace::session_options options = asked();
    options.connect_timeout = std::chrono::milliseconds(0);
    EXPECT_EQ(pace::session::open(pace::nothrow, options).status(), pace::status::taken);
    buffer = {};
    EXPECT_TRUE(open());
}

TEST_F(SessionTest, FreeEndsItNowAndLeavesNothingThatPointsIntoIt) {
    pace::session session = open();
    pace::buffer<float> buffer = session.make_buffer<float>(4);
    pace::request request = session.barrier();
    session.free();
    EXPECT_FALSE(session);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_TRUE(buffer.elements().empty());
    EXPECT_EQ(request.wait(pace::nothrow).status(), pace::status::invalid);
    EXPECT_TRUE(open());
}

TEST_F(SessionTest, AnEmptyOneRefusesEveryCall) {
    pace::session session;
    pace::buffer<float> buffer;
    EXPECT_FALSE(session);
    EXPECT_THROW(session.barrier(), pace::invalid_error);
    EXPECT_THROW(session.average(buffer), pace::invalid_error);
    EXPECT_THROW(session.make_buffer<float>(1), pace::invalid_error);
    EXPECT_THROW(session.leave(), pace::invalid_error);
    EXPECT_THROW(pace::request().wait(), pace::invalid_error);
    EXPECT_THROW(buffer.info(), pace::invalid_error);
}

TEST_F(SessionTest, ItsDescriptorTellsOfAnEnd) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pollfd polled = {first.descriptor(), POLLIN, 0};
    pace::request request = first.barrier();
    EXPECT_EQ(::poll(&polled, 1, 0), 0);
    pace::request other = second.barrier();
    EXPECT_EQ(::poll(&polled, 1, 30000), 1);
    EXPECT_TRUE(request.test());
    other.wait();
}

TEST_F(SessionTest, AForkedChildIsToldAndLeavesTheParentAlone) {
    pace::session session = open();
    pace::buffer<float> buffer = session.make_buffer<float>(4);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_told = session.barrier(pace::nothrow).status() == pace::status::invalid;
        buffer = {};
        session = {};
        ::_exit(is_told ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    buffer.elements()[0] = 1;
    EXPECT_EQ(session.reduce(buffer).wait().member_count, 1U);
}

TEST_F(SessionTest, QueriesAreAnsweredInJson) {
    EXPECT_EQ(pace::query("options").at(0), '[');
    EXPECT_NE(pace::query("policies").find("partial-reduce"), std::string::npos);
    EXPECT_THROW(pace::query("nonsense"), pace::invalid_error);
    EXPECT_EQ(pace::header_version, pace::library_version());
    EXPECT_STREQ(pace::name(pace::status::taken), "PACE_E_TAKEN");
}

TEST_F(SessionTest, AnnouncementsAreForJobsThatAverage) {
    pace::session session = open();
    EXPECT_THROW(session.announce(1), pace::verb_error);
    pace::session_options options = asked(0, 2, PACE_POLICY_PARTIAL_REDUCE);
    options.job += ".average";
    pace::session averaging(options);
    averaging.announce(1);
    averaging.withdraw();
}

}  // namespace
}  // namespace pace_cpp
