// Recordings, from daemon to daemon.
#include "service/controller/shell/dispatch/dispatcher_fixture.h"

namespace pace::controller {
namespace {

class DispatcherRecordingsTest : public DispatcherTest {
  protected:
    void SetUp() override {
        a_ = attach("ra", 11, "a");
        b_ = attach("rb", 22, "b");
    }
    void ask(const std::string& node, uint64_t request = 5, uint64_t seen = 0) {
        say("ra", a_, 11, [&](auto& builder) {
            return wire::CreateRecordingAsked(builder, request, builder.CreateString(node), 40,
                                              seen);
        });
    }
    void answer(const std::string& route, uint32_t node, uint64_t number, uint64_t ticket) {
        say(route, node, number, [&](auto& builder) {
            return wire::CreateRecordingMade(builder, ticket, builder.CreateString("{\"x\":1}"));
        });
    }
    uint64_t wanted() {
        const Copy copy = recorder_.take("rb", wire::Body::RecordingWanted);
        if (copy.bytes.empty()) return 0;
        EXPECT_EQ(copy.envelope().body_as_RecordingWanted()->from(), 40U);
        return copy.envelope().body_as_RecordingWanted()->ticket();
    }
    std::string refusal() {
        const Copy copy = recorder_.take("ra", wire::Body::JoinRefused);
        return copy.bytes.empty()
                   ? ""
                   : copy.envelope().body_as_JoinRefused()->error()->message()->str();
    }

    uint32_t a_ = 0;
    uint32_t b_ = 0;
};

TEST_F(DispatcherRecordingsTest, PassFromTheAskedToTheAsker) {
    ask("b", 5);
    answer("rb", b_, 22, wanted());
    const Copy reply = recorder_.take("ra", wire::Body::RecordingReply);
    ASSERT_FALSE(reply.bytes.empty());
    EXPECT_EQ(reply.envelope().body_as_RecordingReply()->request(), 5U);
    EXPECT_EQ(reply.envelope().body_as_RecordingReply()->json()->str(), "{\"x\":1}");
    EXPECT_NE(reply.envelope().body_as_RecordingReply()->number(), 0U);
}

TEST_F(DispatcherRecordingsTest, OfANodeThatIsNotThereAreRefused) {
    ask("c");
    EXPECT_NE(refusal().find("no daemon of a node named c"), std::string::npos);
    ask("no name \n");
    EXPECT_EQ(refusal(), "that is no node's name");
}

TEST_F(DispatcherRecordingsTest, ThatNobodyAskedForGoNowhere) {
    ask("b");
    const uint64_t ticket = wanted();
    answer("ra", a_, 11, ticket);
    answer("rb", b_, 22, ticket + 1);
    EXPECT_EQ(recorder_.count("ra", wire::Body::RecordingReply), 0U);
    EXPECT_EQ(recorder_.count("rb", wire::Body::RecordingReply), 0U);
}

TEST_F(DispatcherRecordingsTest, AnAskerThatDoesNotReadGetsFew) {
    uint64_t last = 0;
    for (uint64_t request = 0; request < 20; ++request) {
        ask("b", request);
        answer("rb", b_, 22, wanted());
    }
    EXPECT_EQ(recorder_.count("ra", wire::Body::RecordingReply), StatusWindow::kUnreadMax);
    for (size_t i = 0; i < StatusWindow::kUnreadMax; ++i)
        last = recorder_.take("ra", wire::Body::RecordingReply)
                   .envelope()
                   .body_as_RecordingReply()
                   ->number();
    ask("b", 21, last);
    answer("rb", b_, 22, wanted());
    EXPECT_EQ(recorder_.count("ra", wire::Body::RecordingReply), 1U);
}

TEST_F(DispatcherRecordingsTest, AStrangerGetsNone) {
    say("rx", 0, 33, [&](auto& builder) {
        return wire::CreateRecordingAsked(builder, 5, builder.CreateString("b"));
    });
    EXPECT_EQ(recorder_.count("rb", wire::Body::RecordingWanted), 0U);
}

}  // namespace
}  // namespace pace::controller
