#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sessions_fixture.h"

namespace pace_cpp {
namespace {

using std::chrono::milliseconds;
using RequestTest = SessionsFixture;

TEST_F(RequestTest, AnAverageGivesTheGroupsIteration) {
    pace::session_options options = asked(0, 2, PACE_POLICY_PARTIAL_REDUCE);
    options.options = {{"group.size", 2}};
    pace::session first(options);
    options.rank = 1;
    pace::session second(options);
    const pace::buffer<float> a = first.make_buffer<float>(2);
    const pace::buffer<float> b = second.make_buffer<float>(2);
    a.elements()[1] = 2;
    b.elements()[1] = 4;
    pace::request request = first.average(a, {3});
    pace::request other = second.average(b, {5});
    std::array<pace::member, 2> members{};
    pace::wait_options how;
    how.members = members;
    const pace::request_info info = request.wait(how);
    EXPECT_EQ(info.iteration, 5U);
    EXPECT_EQ(info.ended_as(), pace::status::ok);
    ASSERT_EQ(info.member_listed, 2U);
    EXPECT_EQ(members[1].rank, 1U);
    EXPECT_NEAR(members[0].weight + members[1].weight, 1, 1e-12);
    EXPECT_EQ(other.wait().member_count, 2U);
    EXPECT_EQ(a.elements()[1], b.elements()[1]);
}

TEST_F(RequestTest, ATimeThatPassesLeavesItInFlight) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pace::plain_options how;
    how.user_data = 5;
    pace::request request = first.barrier(how);
    EXPECT_FALSE(request.wait_for(milliseconds(10)));
    EXPECT_FALSE(request.wait_for(milliseconds(-10)));
    EXPECT_FALSE(request.test());
    EXPECT_EQ(request.wait_for(pace::nothrow, milliseconds(1)).status(), pace::status::timeout);
    EXPECT_EQ(request.test(pace::nothrow).status(), pace::status::pending);
    EXPECT_FALSE(first.next_for(milliseconds(0)));
    EXPECT_TRUE(request);
    pace::request other = second.barrier();
    const auto info = request.wait_for(std::chrono::hours(1000000000));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->user_data, 5U);
    EXPECT_FALSE(request);
    EXPECT_THROW(request.wait(), pace::handle_error);
    request.cancel();  // has no effect: the request has ended
    other.wait();
}

TEST_F(RequestTest, AnErrorCarriesTheEnd) {
    pace::session_options options = asked();
    options.options = {{"reduce.reject_nonfinite", true}};
    pace::session session(options);
    const pace::buffer<float> gradient = session.make_buffer<float>(2);
    gradient.elements()[1] = std::numeric_limits<float>::quiet_NaN();
    pace::reduce_options how;
    how.user_data = 7;
    pace::request request = session.reduce(gradient, how);
    try {
        request.wait();
        FAIL() << "a NaN was taken";
    } catch (const pace::refused_error& error) {
        EXPECT_TRUE(error.has_ended());
        EXPECT_EQ(error.info().user_data, 7U);
        EXPECT_EQ(error.info().ended_as(), pace::status::refused);
    }
    request = session.reduce(gradient, how);
    const auto end = request.wait(pace::nothrow);
    ASSERT_FALSE(end);
    EXPECT_TRUE(end.error().has_ended());
    EXPECT_EQ(end.error().info().user_data, 7U);
    gradient.elements()[1] = 1;
    EXPECT_EQ(session.reduce(gradient).wait().member_count, 1U);
}

TEST_F(RequestTest, ItsDestructorCancelsAndWaits) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pace::buffer<float> buffer = first.make_buffer<float>(2);
    { const pace::request request = first.reduce(buffer); }
    // No request is in flight, and the buffer is free.
    EXPECT_EQ(first.next(pace::nothrow).status(), pace::status::not_found);
    buffer.free();
    // An assignment also cancels the request and waits for its end.
    pace::request request = first.barrier();
    request = first.barrier();
    EXPECT_EQ(first.next_for(pace::nothrow, milliseconds(0)).status(), pace::status::timeout);
    request = {};
    EXPECT_EQ(first.next(pace::nothrow).status(), pace::status::not_found);
}

TEST_F(RequestTest, ACanceledOneIsToldSo) {
    pace::session session = open(0, 2);
    pace::request request = session.barrier();
    request.cancel();
    EXPECT_THROW(request.wait(), pace::canceled_error);
}

TEST_F(RequestTest, OneThatIsReleasedIsCollectedByNext) {
    pace::session session = open();
    pace::request request = session.barrier();
    const pace_request raw = request.release();
    EXPECT_FALSE(request);
    const pace::completion found = session.next();
    EXPECT_EQ(found.raw().id, raw.id);
    EXPECT_EQ(found.get().member_count, 1U);
}

TEST_F(RequestTest, NextGivesWhicheverHasEnded) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    const pace::buffer<float> a = first.make_buffer<float>(1);
    const pace::buffer<float> b = second.make_buffer<float>(1);
    pace::request barrier = first.barrier();
    pace::request reduce = first.reduce(a);
    pace::request other = second.barrier();
    EXPECT_TRUE(first.next().is_of(barrier));
    EXPECT_THROW(barrier.wait(), pace::handle_error);
    pace::request another = second.reduce(b);
    const auto found = first.next_for(kSoon);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_of(reduce));
    EXPECT_THROW(first.next(), pace::not_found_error);
    other.wait();
    another.wait();
}

TEST_F(RequestTest, NextGivesAnEndThatIsNotOkWithoutThrowing) {
    pace::session session = open(0, 2);
    pace::request request = session.barrier();
    request.cancel();
    const pace::completion found = session.next();
    EXPECT_TRUE(found.is_of(request));
    EXPECT_EQ(found.end().status(), pace::status::canceled);
    EXPECT_THROW(found.get(), pace::canceled_error);
}

TEST_F(RequestTest, ManyAreWaitedForAtOnce) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pace::session alone([] {
        auto options = asked();
        options.job += ".alone";
        return options;
    }());
    std::vector<pace::request> requests;
    requests.push_back(first.barrier());
    EXPECT_FALSE(pace::wait_any_for(requests, milliseconds(10)));
    requests.push_back(alone.barrier());
    pace::ended found = pace::wait_any_for(requests, milliseconds::max()).value();
    EXPECT_EQ(found.index, 1U);
    EXPECT_TRUE(found.end);
    pace::request other = second.barrier();
    found = pace::wait_any(requests);
    EXPECT_EQ(found.index, 0U);
    EXPECT_EQ(found.end->member_count, 2U);
    EXPECT_THROW(pace::wait_any(requests), pace::not_found_error);
    other.wait();
}

TEST_F(RequestTest, AWaitForSomeIsNotHeldUpByAnotherThatHasEnded) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pace::request ended = first.barrier();
    pace::request other = second.barrier();
    other.wait();
    std::vector<pace::request> requests;
    requests.push_back(first.barrier());
    std::thread thread([&] { second.barrier().wait(); });
    EXPECT_EQ(pace::wait_any(requests).index, 0U);
    thread.join();
    ended.wait();
}

TEST_F(RequestTest, AnotherThreadCancelsAWait) {
    pace::session session = open(0, 2);
    pace::request request = session.barrier();
    std::thread thread([&] { request.cancel(); });
    EXPECT_EQ(request.wait(pace::nothrow).status(), pace::status::canceled);
    thread.join();
}

TEST_F(RequestTest, ResultsComeOutOfPlace) {
    pace::session session = open();
    const pace::buffer<float> gradient = session.make_buffer<float>(2);
    const pace::buffer<float> result = session.make_buffer<float>(2);
    gradient.elements()[0] = 3;
    pace::reduce_options how;
    how.op = pace::op::sum;
    how.results = {result};
    session.reduce(gradient, how).wait();
    EXPECT_EQ(result.elements()[0], 3);
    how.results = {result.slice(0, 1)};
    EXPECT_THROW(session.reduce(gradient, how), pace::invalid_error);
}

TEST_F(RequestTest, AnOrderedAverageGoesOnAsElementsGetReady) {
    pace::session_options options = asked(0, 2, PACE_POLICY_PARTIAL_REDUCE);
    options.options = {{"group.size", 2}};
    pace::session first(options);
    options.rank = 1;
    pace::session second(options);
    const pace::buffer<float> a = first.make_buffer<float>(100);
    const pace::buffer<float> b = second.make_buffer<float>(100);
    pace::average_options how;
    how.iteration = 1;
    how.order = pace::order::backward;
    pace::request request = first.average(a, how);
    pace::request other = second.average(b, how);
    EXPECT_THROW(request.ready(101), pace::invalid_error);
    for (const std::uint64_t elements : {50U, 100U}) {
        request.ready(elements);
        other.ready(elements);
    }
    EXPECT_EQ(request.wait().member_count, 2U);
    EXPECT_EQ(other.wait().member_count, 2U);
}

TEST_F(RequestTest, AModelIsServed) {
    pace::session_options options = asked(0, 1, PACE_POLICY_ASP);
    options.options = {{"server.elements", 4}};
    pace::session session(options);
    const pace::buffer<float> update = session.make_buffer<float>(4);
    const pace::buffer<float> model = session.make_buffer<float>(4);
    update.elements()[2] = 1;
    EXPECT_EQ(session.push(update, {0}).wait().contributor_count, 1U);
    session.pull(model, {1}).wait();
    EXPECT_EQ(model.elements()[2], 1);

    const pace::buffer<std::uint32_t> indices = session.make_buffer<std::uint32_t>(2);
    const pace::buffer<float> values = session.make_buffer<float>(2);
    indices.elements()[0] = 3;
    values.elements()[0] = 5;
    pace::push_options how{1};
    how.is_sparse = true;
    how.entries = 1;
    session.push({indices, values}, how).wait();
    session.pull(model, {2}).wait();
    EXPECT_EQ(model.elements()[3], 5);
}

TEST_F(RequestTest, AVerbThatDoesNotFitIsRefused) {
    pace::session session = open();
    const pace::buffer<float> buffer = session.make_buffer<float>(1);
    EXPECT_THROW(session.average(buffer), pace::verb_error);
    EXPECT_THROW(session.checkpoint(), pace::verb_error);
    EXPECT_THROW(session.residual_save(buffer), pace::verb_error);
    EXPECT_EQ(session.sync(buffer).wait().member_count, 1U);
    EXPECT_EQ(session.broadcast(buffer).wait().member_count, 1U);
}

TEST_F(RequestTest, ThreadsExchangeAtOnce) {
    constexpr int kRounds = 50;
    std::array<std::vector<std::uint64_t>, 2> rounds;
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
        threads.emplace_back([&rounds = rounds[rank], options = asked(rank, 2)] {
            pace::session session(options);
            const pace::buffer<float> gradient = session.make_buffer<float>(1000);
            for (int round = 0; round < kRounds; ++round)
                rounds.push_back(session.reduce(gradient).wait().round);
            session.leave();
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(rounds[0].size(), static_cast<std::size_t>(kRounds));
    EXPECT_EQ(rounds[0], rounds[1]);
}

}  // namespace
}  // namespace pace_cpp
