// The C interface as a trainer uses it, against a scripted daemon.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "capi/tests/pace_fixture.h"

namespace pace::capi {
namespace {

class PaceTest : public PaceFixture {
  protected:
    void finish(pace_request request) {
        EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_),
                  PACE_OK);
    }
};

// Ends each request at once. `ret_seen` gets them.
Script ending_each(std::vector<SubmissionEntry>& ret_seen) {
    Script script;
    script.on_submission = [&ret_seen](Peer& peer, const SubmissionEntry& entry) {
        ret_seen.push_back(entry);
        peer.complete_done(entry.id);
    };
    return script;
}

void complete_average(Peer& peer, const SubmissionEntry& submission) {
    protocol::CompletionEntry entry{};
    entry.id = submission.id;
    entry.iteration = submission.iteration + 3;
    entry.group = 12;
    entry.bytes_sent = 100;
    entry.bytes_received = 200;
    entry.queued_ns = 5;
    entry.moving_ns = 6;
    entry.initial_weight = 0.125;
    entry.nodes = 2;
    entry.member_count = 2;
    entry.members_listed = 2;
    const std::array<protocol::MemberEntry, 2> members{{{2, 0, 3, 0.25}, {0, 0, 0, 0.625}}};
    peer.complete(entry, members);
}

TEST_F(PaceTest, AverageTellsTheWholeStory) {
    Script script;
    script.on_submission = complete_average;
    start(std::move(script));
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    ASSERT_EQ(pace_average(session_, Slices(&buffer, 1), 1, average_at(10), &request, &error_),
              PACE_OK);
    std::array<pace_member, 4> members{};
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.members = members.data();
    how.member_capacity = members.size();
    ASSERT_EQ(pace_request_wait(session_, request, PACE_FOREVER, &how, &info, &error_), PACE_OK);
    EXPECT_EQ(info.status, PACE_OK);
    EXPECT_EQ(info.iteration, 13U);
    EXPECT_EQ(info.group, 12U);
    EXPECT_EQ(info.round, 0U);
    EXPECT_EQ(info.bytes_sent, 100U);
    EXPECT_EQ(info.bytes_received, 200U);
    EXPECT_EQ(info.queued_ns, 5U);
    EXPECT_EQ(info.moving_ns, 6U);
    EXPECT_EQ(info.initial_weight, 0.125);
    EXPECT_EQ(info.node_count, 2U);
    EXPECT_EQ(info.member_count, 2U);
    ASSERT_EQ(info.member_listed, 2U);
    EXPECT_EQ(members[0].rank, 0U);
    EXPECT_EQ(members[1].rank, 2U);
    EXPECT_EQ(members[1].staleness, 3U);
    EXPECT_EQ(members[1].weight, 0.25);
    EXPECT_EQ(pace_request_wait(session_, request, 0, nullptr, &info, &error_), PACE_E_HANDLE);
    EXPECT_EQ(info.status, PACE_PENDING);
    EXPECT_EQ(pace_buffer_free(session_, buffer, &error_), PACE_OK);
}

void complete_reduce(Peer& peer, const SubmissionEntry& submission, uint32_t flags) {
    protocol::CompletionEntry entry{};
    entry.id = submission.id;
    entry.divisor = 6;
    entry.rounds = 3;
    entry.entries = 1000;
    entry.contributors = 5;
    entry.flags = flags;
    peer.complete(entry);
}

TEST_F(PaceTest, ReduceTellsWhatItCameTo) {
    uint32_t flags = 0;
    Script script;
    script.on_submission = [&flags](Peer& peer, const SubmissionEntry& submission) {
        complete_reduce(peer, submission, flags);
    };
    asked_.policy = PACE_POLICY_ALL_REDUCE;
    start(std::move(script));
    const pace_buffer buffer = make_buffer();
    const auto reduce = [&](uint32_t with_flags, pace_request_info info) {
        daemon_->with_peer([&](Peer&) { flags = with_flags; });
        pace_request request{};
        EXPECT_EQ(pace_reduce(session_, Slices(&buffer, 1), 1, nullptr, &request, &error_),
                  PACE_OK);
        EXPECT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_),
                  PACE_OK);
        daemon_->settle();  // the hook has read the flags
        return info;
    };
    pace_request_info info = reduce(protocol::kCompletionLate, PACE_REQUEST_INFO_INIT);
    EXPECT_EQ(info.divisor, 6);
    EXPECT_EQ(info.rounds, 3U);
    EXPECT_EQ(info.entries, 1000U);
    EXPECT_EQ(info.contributor_count, 5U);
    EXPECT_EQ(info.late, 1U);
    EXPECT_EQ(info.resync, 0U);
    EXPECT_EQ(info.dense, 0U);
    EXPECT_EQ(reduce(protocol::kCompletionResync, PACE_REQUEST_INFO_INIT).resync, 1U);
    info = reduce(protocol::kCompletionDense, PACE_REQUEST_INFO_INIT);
    EXPECT_EQ(info.late, 0U);
    EXPECT_EQ(info.dense, 1U);
    // If the caller's struct ends before these fields, the memory behind the struct stays as it
    // was.
    pace_request_info older = PACE_REQUEST_INFO_INIT;
    older.struct_size = offsetof(pace_request_info, divisor);
    older.divisor = -1;
    EXPECT_EQ(reduce(0, older).divisor, -1);
}

TEST_F(PaceTest, ResidualsAreSavedAndLoaded) {
    std::vector<SubmissionEntry> seen;
    asked_.policy = PACE_POLICY_ALL_REDUCE;
    asked_.set(PACE_OPT_COMPRESSION, "spardl");
    start(ending_each(seen));
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    ASSERT_EQ(pace_residual_save(session_, Slices(&buffer, 1), 1, nullptr, &request, &error_),
              PACE_OK);
    finish(request);
    ASSERT_EQ(pace_residual_load(session_, Slices(&buffer, 1), 1, nullptr, &request, &error_),
              PACE_OK);
    finish(request);
    daemon_->settle();
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].verb, protocol::Verb::residual_save);
    EXPECT_EQ(seen[1].verb, protocol::Verb::residual_load);
    EXPECT_EQ(seen[1].slice_count, 1);
}

TEST_F(PaceTest, ResidualsNeedATopKCompressionAndFloats) {
    asked_.policy = PACE_POLICY_ALL_REDUCE;
    asked_.set(PACE_OPT_COMPRESSION, "spardl");
    start();
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    pace_buffer halves{};
    void* data = nullptr;
    ASSERT_EQ(pace_buffer_create(session_, PACE_F16, 64, nullptr, &halves, &data, &error_),
              PACE_OK);
    expect_invalid(pace_residual_save(session_, Slices(&halves, 1), 1, nullptr, &request, &error_),
                   "slices[0]");
    expect_invalid(pace_residual_load(session_, nullptr, 1, nullptr, &request, &error_), "slices");
    expect_invalid(pace_residual_load(session_, Slices(&buffer, 1), 0, nullptr, &request, &error_),
                   "count");

    pace_session* dense = nullptr;
    asked_.set(PACE_OPT_COMPRESSION, "none");
    ASSERT_EQ(asked_.open(&dense, &error_), PACE_OK);
    EXPECT_EQ(pace_residual_save(dense, Slices(&buffer, 1), 1, nullptr, &request, &error_),
              PACE_E_VERB);
    EXPECT_EQ(pace_residual_load(dense, Slices(&buffer, 1), 1, nullptr, &request, &error_),
              PACE_E_VERB);
    pace_session_leave(dense, 1000, nullptr);
    pace_session_free(dense);
}

TEST_F(PaceTest, EachVerbArrivesAsItself) {
    std::vector<SubmissionEntry> seen;
    asked_.policy = PACE_POLICY_ALL_REDUCE;
    start(ending_each(seen));
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    pace_reduce_options reduce = PACE_REDUCE_OPTIONS_INIT;
    reduce.op = PACE_OP_SUM;
    reduce.call.iteration = 4;
    reduce.call.user_data = 9;
    ASSERT_EQ(pace_reduce(session_, Slices(&buffer, 1), 1, &reduce, &request, &error_), PACE_OK);
    finish(request);
    ASSERT_EQ(pace_broadcast(session_, Slices(&buffer, 1), 1, broadcast_from(3), &request, &error_),
              PACE_OK);
    finish(request);
    ASSERT_EQ(pace_sync(session_, Slices(&buffer, 1), 1, nullptr, &request, &error_), PACE_OK);
    finish(request);
    ASSERT_EQ(pace_barrier(session_, nullptr, &request, &error_), PACE_OK);
    finish(request);
    daemon_->settle();
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(seen[0].verb, protocol::Verb::reduce);
    EXPECT_EQ(seen[0].op, protocol::ReduceOp::sum);
    EXPECT_EQ(seen[0].iteration, 4U);
    EXPECT_EQ(seen[1].verb, protocol::Verb::broadcast);
    EXPECT_EQ(seen[1].root, 3U);
    EXPECT_EQ(seen[2].verb, protocol::Verb::sync);
    EXPECT_EQ(seen[3].verb, protocol::Verb::barrier);
    EXPECT_EQ(seen[3].slice_count, 0);
    EXPECT_EQ(pace_average(session_, Slices(&buffer, 1), 1, average_at(0), &request, &error_),
              PACE_E_VERB);
}

TEST_F(PaceTest, SessionInfoFitsCallersOfAnyAge) {
    start();
    pace_session_info info = PACE_SESSION_INFO_INIT;
    ASSERT_EQ(pace_session_get_info(session_, &info, &error_), PACE_OK);
    EXPECT_EQ(info.rank, 2U);
    EXPECT_STREQ(info.job, "fashion");
    EXPECT_STREQ(info.node, "node-a");
    pace_session_info older = PACE_SESSION_INFO_INIT;
    older.struct_size = offsetof(pace_session_info, generation);
    older.generation = 99;
    ASSERT_EQ(pace_session_get_info(session_, &older, &error_), PACE_OK);
    EXPECT_EQ(older.world, 4U);
    EXPECT_EQ(older.generation, 99U);
    EXPECT_EQ(older.struct_size, offsetof(pace_session_info, generation));
}

TEST_F(PaceTest, WrongArgumentsOfSessionsAndBuffersAreNamed) {
    start();
    pace_buffer buffer{};
    void* data = nullptr;
    int fd = -1;
    pace_session_info bad_info = PACE_SESSION_INFO_INIT;
    bad_info.struct_size = 0;
    pace_buffer_options bad_buffer = PACE_BUFFER_OPTIONS_INIT;
    bad_buffer.struct_size = 0;
    expect_invalid(pace_session_get_info(nullptr, &bad_info, &error_), "session");
    expect_invalid(pace_session_get_info(session_, nullptr, &error_), "info");
    expect_invalid(pace_session_get_info(session_, &bad_info, &error_), "PACE_SESSION_INFO_INIT");
    expect_invalid(pace_session_get_fd(session_, nullptr, &error_), "ret_fd");
    expect_invalid(pace_session_get_fd(nullptr, &fd, &error_), "session");
    expect_invalid(pace_buffer_create(session_, 9, 1, nullptr, &buffer, &data, &error_), "type");
    expect_invalid(pace_buffer_create(session_, PACE_F32, 0, nullptr, &buffer, &data, &error_),
                   "count");
    expect_invalid(pace_buffer_create(session_, PACE_F32, 1, nullptr, nullptr, &data, &error_),
                   "ret_buffer");
    expect_invalid(pace_buffer_create(session_, PACE_F32, 1, nullptr, &buffer, nullptr, &error_),
                   "ret_data");
    expect_invalid(pace_buffer_create(session_, PACE_F32, 1, &bad_buffer, &buffer, &data, &error_),
                   "PACE_BUFFER_OPTIONS_INIT");
    // None of these failures wrote an output.
    EXPECT_EQ(data, nullptr);
    EXPECT_EQ(fd, -1);
    pace_session_free(nullptr);
}

TEST_F(PaceTest, WrongArgumentsOfCallsAreNamed) {
    start();
    const pace_buffer buffer = make_buffer();
    const Slices slice(&buffer, 1);
    pace_request request{};
    pace_average_options bad_average = PACE_AVERAGE_OPTIONS_INIT;
    bad_average.call.struct_size = 0;
    pace_reduce_options bad_reduce = PACE_REDUCE_OPTIONS_INIT;
    bad_reduce.op = 5;
    pace_wait_options bad_wait = PACE_WAIT_OPTIONS_INIT;
    bad_wait.member_capacity = 3;
    expect_invalid(pace_average(session_, nullptr, 1, average_at(0), &request, &error_), "slices");
    expect_invalid(pace_average(session_, slice, 0, average_at(0), &request, &error_), "count");
    expect_invalid(pace_average(session_, slice, 257, average_at(0), &request, &error_), "count");
    expect_invalid(pace_average(session_, Slices(&buffer, 1), 1, average_at(0), nullptr, &error_),
                   "ret_request");
    expect_invalid(pace_average(session_, Slices(&buffer, 1), 1, &bad_average, &request, &error_),
                   "PACE_AVERAGE_OPTIONS_INIT");
    expect_invalid(pace_reduce(session_, Slices(&buffer, 1), 1, &bad_reduce, &request, &error_),
                   "op");
    expect_invalid(
        pace_broadcast(session_, Slices(&buffer, 1), 1, broadcast_from(4), &request, &error_),
        "root");
    expect_invalid(pace_request_wait(session_, request, 0, &bad_wait, nullptr, &error_), "members");
    expect_invalid(pace_request_cancel(nullptr, request, &error_), "session");

    // None of these failures wrote an output. The caller need not ask for the error.
    EXPECT_EQ(request.id, 0U);
    EXPECT_EQ(pace_barrier(nullptr, nullptr, &request, nullptr), PACE_E_INVALID);
}

}  // namespace
}  // namespace pace::capi
