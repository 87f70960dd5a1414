// CURVE tests: which daemons may attach if the control plane has keys.
#include <algorithm>
#include <set>
#include <string>

#include "daemon/control/tests/link_fixture.h"
#include "service/controller/zmq/curve_keys.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

class ControllerLinkCurveTest : public LinkFixture {
  protected:
    void SetUp() override {
        LinkFixture::SetUp();
        for (const char* name : {"controller", "node", "intruder"})
            ASSERT_TRUE(control_zmq::generate_key_pair(folder_ + "/" + name));
        config_.curve_secret_file = folder_ + "/controller.secret";
    }

    ControllerLinkConfig keyed(const std::string& name, const std::string& controller,
                               const std::string& own) const {
        ControllerLinkConfig config = daemon_config(name);
        config.controller_key_file = folder_ + "/" + controller + ".public";
        config.secret_key_file = folder_ + "/" + own + ".secret";
        return config;
    }

    // From now on the controller admits the key "node" alone.
    void allow_node() {
        config_.curve_allowed_dir = folder_ + "/allowed";
        std::filesystem::create_directory(config_.curve_allowed_dir);
        std::filesystem::copy_file(folder_ + "/node.public",
                                   config_.curve_allowed_dir + "/node.public");
    }

    controller::ControllerConfig config_;
};

TEST_F(ControllerLinkCurveTest, TheRightKeysAttach) {
    serve(config_);
    TestDaemon a(*loop_, keyed("a", "controller", "node"));
    EXPECT_TRUE(until([&] { return a.link->attached(); }));
}

TEST_F(ControllerLinkCurveTest, WhoDoesNotAttachIsToldWhy) {
    allow_node();
    serve(config_);
    TestDaemon bare(*loop_, daemon_config("bare"));
    TestDaemon wrong(*loop_, keyed("wrong", "intruder", "node"));
    TestDaemon intruder(*loop_, keyed("intruder", "controller", "intruder"));
    expect_words(obstacle_of(bare), "it asks for keys, and this daemon has none");
    expect_words(obstacle_of(wrong), "it does not have the key of " + folder_ + "/intruder");
    expect_words(obstacle_of(intruder), "it does not let the key of " + folder_);
    // Each reason is reported once in the next ten seconds. The first one may be less exact.
    const auto is_repeated = [&] {
        std::set<std::string> reasons;
        return !std::all_of(
            bare.obstacles.begin(), bare.obstacles.end(),
            [&](const base::Error& obstacle) { return reasons.insert(obstacle.message).second; });
    };
    EXPECT_FALSE(until(is_repeated, milliseconds(1000))) << bare.obstacles.back().message;
}

TEST_F(ControllerLinkCurveTest, ADaemonWithKeysIsToldThatTheControllerHasNone) {
    serve({});
    TestDaemon keen(*loop_, keyed("keen", "controller", "node"));
    expect_words(obstacle_of(keen), "the controller has none");
}

TEST_F(ControllerLinkCurveTest, NoKeysOrTheWrongControllerKeyDoNot) {
    serve(config_);
    TestDaemon bare(*loop_, daemon_config("bare"));
    TestDaemon wrong(*loop_, keyed("wrong", "intruder", "node"));
    TestDaemon right(*loop_, keyed("right", "controller", "node"));
    ASSERT_TRUE(until([&] { return right.link->attached(); }));
    EXPECT_FALSE(
        until([&] { return bare.link->attached() || wrong.link->attached(); }, milliseconds(400)));
    EXPECT_FALSE(wrong.link->controller_reachable());
}

TEST_F(ControllerLinkCurveTest, OnlyAllowedKeysAttach) {
    allow_node();
    serve(config_);
    TestDaemon intruder(*loop_, keyed("intruder", "controller", "intruder"));
    TestDaemon node(*loop_, keyed("node", "controller", "node"));
    ASSERT_TRUE(until([&] { return node.link->attached(); }));
    EXPECT_FALSE(until([&] { return intruder.link->attached(); }, milliseconds(400)));
}

// The setting stands for missing keys, and not for keys that are there.
TEST_F(ControllerLinkCurveTest, KeysThatAreGivenCountAlsoWhereItIsInsecure) {
    allow_node();
    config_.insecure = true;
    serve(config_);
    const auto insecure = [](ControllerLinkConfig config) {
        config.insecure = true;
        return config;
    };
    TestDaemon bare(*loop_, insecure(daemon_config("bare")));
    TestDaemon wrong(*loop_, insecure(keyed("wrong", "intruder", "node")));
    TestDaemon intruder(*loop_, insecure(keyed("intruder", "controller", "intruder")));
    TestDaemon node(*loop_, insecure(keyed("node", "controller", "node")));
    ASSERT_TRUE(until([&] { return node.link->attached(); }));
    EXPECT_FALSE(until(
        [&] {
            return bare.link->attached() || wrong.link->attached() || intruder.link->attached();
        },
        milliseconds(400)));
}

TEST_F(ControllerLinkCurveTest, AnEmptyFolderOfAllowedKeysIsRefused) {
    const std::string allowed = folder_ + "/allowed";
    std::filesystem::create_directory(allowed);
    config_.curve_allowed_dir = allowed;
    config_.listen = {"tcp://127.0.0.1:0"};
    const auto server = controller::ControllerServer::create(*loop_, nullptr, config_);
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message.find(allowed), std::string::npos);
}

}  // namespace
}  // namespace pace::daemon
