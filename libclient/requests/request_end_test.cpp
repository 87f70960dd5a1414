// What a wait tells of a request that has ended.
#include "libclient/requests/request_end.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using protocol::WriteState;

Request kept_average(uint64_t iteration) {
    Request request;
    request.keeps_local = true;
    request.iteration = iteration;
    request.end.entry.outcome = protocol::Outcome::done;
    request.end.entry.iteration = iteration;
    return request;
}

TEST(RequestEnd, MembersAreListedByRankAsFarAsThereIsRoom) {
    Request request;
    request.user_data = 5;
    for (const uint32_t rank : {6U, 1U, 3U}) {
        protocol::MemberEntry member{};
        member.rank = rank;
        request.end.members.push_back(member);
    }
    std::vector<protocol::MemberEntry> room(2);
    RequestEnd end{.room = room};
    fill(end, request);
    EXPECT_EQ(end.user_data, 5U);
    ASSERT_EQ(end.listed, 2U);
    EXPECT_EQ(room[0].rank, 1U);
    EXPECT_EQ(room[1].rank, 3U);
    RequestEnd without;
    fill(without, request);
    EXPECT_EQ(without.listed, 0U);
}

TEST(RequestEnd, AnAverageOfCopiesIsAsStaleAsTheWorkerHasGoneOn) {
    Request request = kept_average(10);
    RequestEnd end;
    end.local_iteration = 13;
    fill(end, request);
    EXPECT_EQ(end.staleness, 3U);
    EXPECT_EQ(end.entry.iteration, 13U);

    request.end.entry.outcome = protocol::Outcome::failed;
    fill(end, request);
    EXPECT_EQ(end.staleness, 0U) << "nothing was added";
    EXPECT_EQ(end.entry.iteration, 10U);
}

TEST(RequestEnd, NoWorkerGoesBack) {
    const Request request = kept_average(10);
    EXPECT_TRUE(check_progress(request, nullptr));
    RequestEnd end;
    EXPECT_TRUE(check_progress(request, &end)) << "0 means the iteration of the call";
    end.local_iteration = 10;
    EXPECT_TRUE(check_progress(request, &end));
    end.local_iteration = 9;
    EXPECT_FALSE(check_progress(request, &end));
    EXPECT_TRUE(check_progress(Request(), &end)) << "only averages of copies have progress";
}

TEST(RequestEnd, ADeadDaemonsRequestSaysWhatItsMemoryHolds) {
    Request request;
    const auto text = [&](WriteState contents) {
        request.contents = contents;
        return gone_text(request, "killed");
    };
    const std::string begin =
        "the daemon is gone; the next verb or buffer call reconnects, and the ";
    EXPECT_EQ(text(WriteState::untouched), begin + "buffers are as they were (killed)");
    EXPECT_EQ(text(WriteState::writing),
              begin + "buffers hold part of the result: make their contents anew (killed)");
    EXPECT_EQ(text(WriteState::whole), begin + "buffers hold the whole result (killed)");
    request.parts.resize(2);
    request.given = 1;
    EXPECT_EQ(text(WriteState::writing),
              begin +
                  "results hold part of the result: call again, what was given is as it was "
                  "(killed)");
    EXPECT_EQ(text(WriteState::whole), begin + "results hold the whole result (killed)");
}

}  // namespace
}  // namespace pace::client
