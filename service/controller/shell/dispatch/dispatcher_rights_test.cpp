// What the dispatcher lets the holder of a key do.
#include <map>
#include <set>

#include "service/controller/shell/dispatch/dispatcher_fixture.h"

namespace pace::controller {
namespace {

// Keys of the test: each is the name of the node that it belongs to.
class TestRights final : public Rights {
  public:
    std::optional<base::Error> refusal(std::string_view key) const override {
        if (!removed.contains(std::string(key))) return {};
        return base::make_error(base::ErrorKind::denied, "removed");
    }
    std::optional<base::Error> refusal_of_name(std::string_view key,
                                               std::string_view name) const override {
        if (auto refused = refusal(key)) return refused;
        if (key == name) return {};
        return base::make_error(base::ErrorKind::denied, "the key of another node");
    }
    bool may_bring(std::string_view key, uint32_t uid) const override {
        return uid == 1000 || key == "a";
    }

    std::set<std::string> removed;
};

class DispatcherRightsTest : public DispatcherTest {
  protected:
    // Says hello over a connection that has this key.
    void hello_with(const std::string& key, const std::string& route, uint64_t number,
                    const std::string& name) {
        key_ = key;
        say(route, 0, number, [&](auto& builder) {
            const auto text = builder.CreateString(name);
            const auto address = builder.CreateVector(std::vector<uint8_t>{1, 2, 3});
            return wire::CreateHello(builder, protocol::kVersion, text, 1, address);
        });
    }
    uint32_t attach_with(const std::string& key, const std::string& route, uint64_t number) {
        hello_with(key, route, number, key);
        const Copy reply = recorder_.take(route, wire::Body::Attached);
        return reply.bytes.empty() ? 0 : reply.envelope().body_as_Attached()->node();
    }
    template <typename Build>
    void say(const std::string& route, uint32_t node, uint64_t number, Build build) {
        protocol::EnvelopeWriter writer;
        auto& builder = writer.begin();
        const auto body = build(builder);
        dispatcher_.receive(route, writer.finish(node, number, body), now_, key_);
    }
    void join_as(const std::string& route, uint32_t node, uint64_t number, uint32_t uid) {
        say(route, node, number, [&](auto& builder) {
            const auto table = protocol::write_job_options(builder, fashion(2));
            return wire::CreateWorkerJoin(builder, 9, 0, table, uid);
        });
    }

    TestRights rights_;
    std::string key_;
    Dispatcher dispatcher_{options(), make_token, recorder_, rights_};
};

TEST_F(DispatcherRightsTest, ADaemonMayNotTakeTheNameOfAnothersKey) {
    hello_with("a", "ra", 7, "b");
    const Copy refused = recorder_.take("ra", wire::Body::Refused);
    EXPECT_EQ(refused.envelope().body_as_Refused()->error()->kind(),
              static_cast<int>(base::ErrorKind::denied));
    EXPECT_EQ(dispatcher_.attachments().attached(), 0U);
    ASSERT_EQ(recorder_.notes.size(), 1U);
    EXPECT_NE(recorder_.notes[0].detail.find("the key of another node"), std::string::npos);
    EXPECT_NE(attach_with("b", "rb", 8), 0U) << "the name is still free for its own daemon";
}

TEST_F(DispatcherRightsTest, AnAttachedNodeDoesNotLoseItsPlaceToSomebodyWithAnotherKey) {
    const uint32_t b = attach_with("b", "rb", 8);
    hello_with("a", "ra", 7, "b");
    recorder_.take("ra", wire::Body::Refused);
    EXPECT_NE(dispatcher_.attachments().find(b), nullptr);
    EXPECT_EQ(recorder_.count("rb", wire::Body::NotAttached), 0U);
}

TEST_F(DispatcherRightsTest, ANodeWhoseKeyIsRemovedIsLostAndSaysNothingMore) {
    const uint32_t a = attach_with("a", "ra", 7);
    const uint32_t b = attach_with("b", "rb", 8);
    rights_.removed.insert("a");
    dispatcher_.rights_changed(now_);
    EXPECT_EQ(dispatcher_.attachments().find(a), nullptr);
    EXPECT_NE(dispatcher_.attachments().find(b), nullptr);
    EXPECT_EQ(recorder_.count("rb", wire::Body::NodeGone), 1U) << "its peers forget it";
    hello_with("a", "ra", 7, "a");
    EXPECT_EQ(recorder_.count("ra", wire::Body::Attached), 0U);
    EXPECT_EQ(dispatcher_.counters().without_right, 1U);
    rights_.removed.clear();
    EXPECT_EQ(attach_with("a", "ra", 9), a);
}

TEST_F(DispatcherRightsTest, ANodeBringsOnlyTheUsersThatTheControllerAllows) {
    const uint32_t b = attach_with("b", "rb", 8);
    join_as("rb", b, 8, 0);
    const Copy refused = recorder_.take("rb", wire::Body::JoinRefused);
    EXPECT_EQ(refused.envelope().body_as_JoinRefused()->request(), 9U);
    EXPECT_NE(refused.envelope().body_as_JoinRefused()->error()->message()->str().find(
                  "may not act for user 0"),
              std::string::npos);
    join_as("rb", b, 8, 1000);
    EXPECT_EQ(recorder_.count("rb", wire::Body::JoinAccepted), 1U);
}

TEST_F(DispatcherRightsTest, ANodeWithoutRootDrainsItselfAndNobodyElse) {
    attach_with("a", "ra", 7);
    const uint32_t b = attach_with("b", "rb", 8);
    const auto drain = [&](const char* name) {
        say("rb", b, 8, [&](auto& builder) {
            return wire::CreateNodeDrain(builder, 5, builder.CreateString(name));
        });
    };
    drain("a");
    recorder_.take("rb", wire::Body::JoinRefused);
    drain("b");
    recorder_.take("rb", wire::Body::NodeDrained);
}

}  // namespace
}  // namespace pace::controller
