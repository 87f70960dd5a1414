// The arguments of verbs: slices, results, options that all verbs have, and options of one verb.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "capi/tests/pace_fixture.h"

namespace pace::capi {
namespace {

class CallTest : public PaceFixture {};

TEST_F(CallTest, WhatDoesNotCountInAPushIsRefused) {
    start();
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    pace_push_options options = PACE_PUSH_OPTIONS_INIT;
    options.entries = 3;
    expect_invalid(pace_push(session_, Slices(&buffer, 1), 1, &options, &request, &error_),
                   "entries is 3");
    options.entries = 0;
    options.sparse = 1;
    options.first = 7;
    expect_invalid(pace_push(session_, Slices(&buffer, 1), 1, &options, &request, &error_),
                   "first is 7");
}

TEST_F(CallTest, ACallTellsItsSlicesAndGetsItsUserDataBack) {
    SubmissionEntry seen{};
    Script script;
    script.on_submission = keeping(seen);
    start(std::move(script));
    const pace_slice slices[] = {{make_buffer(), 3, 5}, PACE_WHOLE(make_buffer())};
    pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
    how.call.iteration = 8;
    how.call.user_data = 0xFEDCBA9876543210U;
    pace_request request{};
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    ASSERT_EQ(pace_average(session_, slices, 2, &how, &request, &error_), PACE_OK)
        << error_.message;
    ASSERT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_), PACE_OK);
    EXPECT_EQ(info.user_data, how.call.user_data);
    daemon_->settle();
    EXPECT_EQ(seen.iteration, 8U);
    ASSERT_EQ(seen.slice_count, 2);
    EXPECT_EQ(seen.slices[0].first, 3U);
    EXPECT_EQ(seen.slices[0].count, 5U);
    EXPECT_EQ(seen.slices[1].first, 0U);
    EXPECT_EQ(seen.slices[1].count, 64U);
}

TEST_F(CallTest, WhatAnAverageMayNotHaveIsRefusedByName) {
    start();
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    const auto expect_refused = [&](int order, uint32_t keep_local, const char* argument) {
        pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
        how.order = order;
        how.keep_local = keep_local;
        EXPECT_EQ(pace_average(session_, Slices(&buffer, 1), 1, &how, &request, &error_),
                  PACE_E_INVALID);
        EXPECT_STREQ(error_.argument, argument) << error_.message;
    };
    expect_refused(3, 0, "order");
    expect_refused(-1, 0, "order");
    expect_refused(PACE_ORDER_DEFAULT, 2, "keep_local");
    expect_refused(PACE_ORDER_FORWARD, 1, "keep_local");
    pace_reduce_options sum = PACE_REDUCE_OPTIONS_INIT;
    sum.reserved = 1;
    EXPECT_EQ(pace_reduce(session_, Slices(&buffer, 1), 1, &sum, &request, &error_),
              PACE_E_INVALID);
    EXPECT_STREQ(error_.argument, "reserved");
    pace_broadcast_options from = PACE_BROADCAST_OPTIONS_INIT;
    from.reserved = 1;
    EXPECT_EQ(pace_broadcast(session_, Slices(&buffer, 1), 1, &from, &request, &error_),
              PACE_E_INVALID);
    EXPECT_STREQ(error_.argument, "reserved");
    EXPECT_EQ(request.id, 0U);
}

TEST_F(CallTest, AllOfAnAverageWithoutOrderIsReady) {
    start(holding());
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    ASSERT_EQ(pace_average(session_, Slices(&buffer, 1), 1, average_at(0), &request, &error_),
              PACE_OK);
    EXPECT_EQ(pace_request_ready(session_, request, 1, &error_), PACE_E_INVALID);
    EXPECT_STREQ(error_.argument, "request") << error_.message;
}

TEST_F(CallTest, ACallTellsWhereItsResultGoes) {
    SubmissionEntry seen{};
    Script script;
    script.on_submission = keeping(seen);
    start(std::move(script));
    const pace_slice given = {make_buffer(), 3, 5};
    const pace_slice result = {make_buffer(), 9, 5};
    pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
    how.call.results = &result;
    how.call.result_count = 1;
    pace_request request{};
    ASSERT_EQ(pace_average(session_, &given, 1, &how, &request, &error_), PACE_OK)
        << error_.message;
    ASSERT_EQ(pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_),
              PACE_OK);
    daemon_->settle();
    EXPECT_EQ(seen.slice_count, 1);
    EXPECT_EQ(seen.out_of_place, 1);
    EXPECT_EQ(seen.slices[1].first, 9U);
}

TEST_F(CallTest, WhatACallMayNotHaveIsRefusedByName) {
    start();
    const pace_buffer buffer = make_buffer();
    pace_request request{};
    const auto refusal = [&](void (*spoil)(pace_sync_options&)) {
        pace_sync_options options = PACE_SYNC_OPTIONS_INIT;
        spoil(options);
        EXPECT_NE(pace_sync(session_, Slices(&buffer, 1), 1, &options, &request, &error_), PACE_OK);
        return std::string(pace_status_name(error_.status)) + " " + error_.argument;
    };
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.flags = 1; }), "PACE_E_INVALID flags");
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.reserved[1] = 1; }),
              "PACE_E_INVALID reserved");
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.stream = &o; }), "PACE_E_INVALID stream");
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.device.type = PACE_DEVICE_ROCM; }),
              "PACE_E_UNSUPPORTED device.type");
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.device.type = PACE_DEVICE_CUDA; }),
              "PACE_E_INVALID device")
        << "its buffer is on the host";
    static pace_slice results[] = {PACE_WHOLE(make_buffer()), PACE_WHOLE(make_buffer())};
    const std::string unlike = "PACE_E_INVALID results";
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.results = results; }), unlike);
    EXPECT_EQ(refusal([](pace_sync_options& o) { o.call.result_count = 1; }), unlike);
    EXPECT_EQ(refusal([](pace_sync_options& o) {
                  o.call.results = results;
                  o.call.result_count = 2;
              }),
              "PACE_E_INVALID result_count");
    EXPECT_EQ(refusal([](pace_sync_options& o) {
                  o.call.results = results;
                  o.call.result_count = SIZE_MAX;
              }),
              unlike);
    EXPECT_EQ(request.id, 0U);
    // A push without its step would count as a push that was taken before.
    EXPECT_EQ(pace_push(session_, Slices(&buffer, 1), 1, nullptr, &request, &error_),
              PACE_E_INVALID);
    EXPECT_STREQ(error_.argument, "options");
}

}  // namespace
}  // namespace pace::capi
