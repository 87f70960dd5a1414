// Tests the generated codecs with texts, empty fields and values of a later version.
// message_reader_test tests messages field by field.
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/control_codec.h"

namespace pace::protocol::messages {
namespace {

// Returns the message as the other side reads it.
template <typename Message>
FromController heard(const Message& message) {
    EnvelopeWriter writer;
    FromController read_message;
    const auto envelope = verify_envelope(writer.write(1, 2, message));
    EXPECT_TRUE(envelope);
    const auto is_read = read(**envelope, read_message);
    EXPECT_TRUE(is_read && *is_read);
    return read_message;
}

TEST(ControlMessages, ReasonsAreCutAndPrintableAndDocumentsAreNeither) {
    const std::string text = std::string(kReasonBytesMax - 1, 'x') + "\n\x01tail";
    EXPECT_EQ(std::get<GroupAbort>(heard(GroupAbort{1, 2, text})).reason,
              std::string(kReasonBytesMax - 1, 'x') + "?");
    EXPECT_EQ(std::get<StatusReply>(heard(StatusReply{1, text, 3})).json, text);
    const auto refused =
        std::get<JoinRefused>(heard(JoinRefused{1, {base::ErrorKind::verb, text}}));
    EXPECT_EQ(refused.error.message.size(), kReasonBytesMax);
}

TEST(ControlMessages, WhatIsEmptyIsEmptyAgain) {
    EXPECT_EQ(heard(CommitView{}), FromController(CommitView{}));
    EXPECT_EQ(heard(ServerOrder{}), FromController(ServerOrder{}));
    EXPECT_EQ(heard(NodeKnown{}), FromController(NodeKnown{}));
}

TEST(ControlMessages, NothingOfTheMessageBeforeIsLeft) {
    EnvelopeWriter writer;
    FromController message =
        GroupOrder{1, 2, 3, {{0, 1, 5, 0.25, 0, 0}, {3, 2, 7, 0.75, 8, 22105}}};
    const auto envelope = verify_envelope(writer.write(1, 2, GroupOrder{.job = 4}));
    ASSERT_TRUE(read(**envelope, message));
    EXPECT_EQ(message, FromController(GroupOrder{.job = 4}));
}

TEST(ControlMessages, ErrorKindsOfLaterVersionsBecomeInternal) {
    for (const int32_t kind : {0, 12345, -1}) {
        const JoinRefused refused{1, {static_cast<base::ErrorKind>(kind), "new"}};
        EXPECT_EQ(std::get<JoinRefused>(heard(refused)).error,
                  (base::Error{base::ErrorKind::internal, "new"}));
    }
}

TEST(ControlMessages, WhatTheOtherSideSaysIsNone) {
    EnvelopeWriter writer;
    FromController message;
    const auto envelope = verify_envelope(writer.write(1, 2, Ready{}));
    const auto is_read = read(**envelope, message);
    ASSERT_TRUE(is_read);
    EXPECT_FALSE(*is_read);
}

TEST(ControlMessages, AStepThatIsNoneRefusesTheWholeOrder) {
    ServerOrder order{1, 2, {{.position = 3}}};
    for (const int step : {0, 7}) {
        order.entries[0].step = static_cast<ServerStep>(step);
        EnvelopeWriter writer;
        FromController message;
        EXPECT_FALSE(read(**verify_envelope(writer.write(1, 2, order)), message));
    }
}

// Makes a message of some kilobytes. All its `entries` are the same table, which has `expired`
// numbers.
std::vector<std::byte> order_of_one_entry(size_t entries, size_t expired) {
    EnvelopeWriter writer;
    auto& builder = writer.begin();
    const auto entry = write(builder, ServerEntry{.expired = std::vector<uint64_t>(expired, 7)});
    const auto all = builder.CreateVector(
        std::vector<flatbuffers::Offset<control::ServerEntry>>(entries, entry));
    control::ServerOrderBuilder order(builder);
    order.add_entries(all);
    const auto bytes = writer.finish(1, 2, order.Finish());
    return {bytes.begin(), bytes.end()};
}

TEST(ControlMessages, APartThatIsUsedAgainAndAgainTakesNoMoreThanThereIsRoom) {
    FromController message;
    const auto few = order_of_one_entry(3, 100);
    ASSERT_TRUE(read(**verify_envelope(few), message));
    EXPECT_EQ(std::get<ServerOrder>(message).entries.at(2).expired.size(), 100U);

    // 20,000 times 160,000 bytes, in a message of a quarter of a megabyte.
    const auto many = order_of_one_entry(20'000, 20'000);
    ASSERT_LT(many.size(), size_t{1} << 18U);
    const auto is_read = read(**verify_envelope(many), message);
    ASSERT_FALSE(is_read);
    EXPECT_EQ(is_read.error().kind, base::ErrorKind::corrupt);
}

}  // namespace
}  // namespace pace::protocol::messages
