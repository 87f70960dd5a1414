// Obstacle tests: the reported reasons why a daemon is not attached, without keys.
#include "daemon/control/obstacle.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>

#include "daemon/control/tests/link_fixture.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ObstacleTest : public LinkFixture {
  protected:
    ControllerLinkConfig config_to(const std::string& endpoint) {
        endpoint_ = endpoint;
        ControllerLinkConfig config = daemon_config("a");
        config.insecure = true;
        return config;
    }
    static bool says(const TestDaemon& daemon, const std::string& words) {
        return std::ranges::any_of(daemon.obstacles, [&](const base::Error& obstacle) {
            return obstacle.message.find(words) != std::string::npos;
        });
    }
};

// A loopback port on which connections wait for an accept() that never comes. Once closed, nothing
// listens there.
struct Port {
    Port() : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        endpoint = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    base::UniqueFd fd;
    sockaddr_in address{};
    std::string endpoint;
};

TEST_F(ObstacleTest, IsThatNothingListensThere) {
    const Port bound;  // does not listen
    TestDaemon daemon(*loop_, config_to(bound.endpoint));
    const std::string said = obstacle_of(daemon);
    expect_words(said, bound.endpoint);
    expect_words(said, "nothing listens on port");
    expect_words(said, "`controller`");
    EXPECT_EQ(daemon.obstacles.front().kind, base::ErrorKind::no_controller);
}

// ZeroMQ reports the beginning of a connection from a thread of its own, perhaps after a message.
TEST_F(ObstacleTest, IsTheRefusalUntilItsConnectionEnds) {
    using Kind = control_zmq::ConnectionEvent::Kind;
    const ControllerLinkConfig config = config_to("tcp://nobody.example:7411");
    const base::TimePoint now{seconds(100'000)};
    control::Obstacle obstacle(config);
    obstacle.begin(now);
    obstacle.on_refused(base::make_error(base::ErrorKind::version, "another version"), now);
    obstacle.on_event({Kind::connected}, now);
    obstacle.on_event({Kind::greeted}, now);
    ASSERT_TRUE(obstacle.problem(now));
    EXPECT_EQ(obstacle.problem(now)->message, "another version");
    obstacle.on_event({Kind::ended}, now);
    EXPECT_FALSE(obstacle.problem(now));
}

TEST_F(ObstacleTest, IsThatTheHostHasNoSuchName) {
    TestDaemon daemon(*loop_, config_to("tcp://no..such..host:7411"));
    expect_words(obstacle_of(daemon), "the host \"no..such..host\" is not known here");
}

TEST_F(ObstacleTest, IsThatWhatListensThereSaysNothing) {
    const Port silent;
    ASSERT_EQ(listen(silent.fd.get(), 16), 0);
    TestDaemon daemon(*loop_, config_to(silent.endpoint));
    expect_words(obstacle_of(daemon), "does not answer");
}

TEST_F(ObstacleTest, IsToldAgainAfterTheControllerIsLost) {
    serve({});
    const auto daemon = attached_daemon("a");
    EXPECT_TRUE(daemon->obstacles.empty());
    server_.reset();
    expect_words(obstacle_of(*daemon), "nothing listens on port");
}

TEST_F(ObstacleTest, OfANameThatIsTakenIsTheRefusal) {
    serve({});
    const auto first = attached_daemon("a");
    TestDaemon second(*loop_, daemon_config("a"));
    ASSERT_TRUE(until([&] { return !second.refusals.empty(); }));
    EXPECT_NE(second.refusals.front().message.find("in use"), std::string::npos);
}

TEST_F(ObstacleTest, OfANameThatIsTakenIsAnotherOnceTheControllerIsGone) {
    serve({});
    const auto first = attached_daemon("a");
    TestDaemon second(*loop_, daemon_config("a"));
    ASSERT_TRUE(until([&] { return !second.refusals.empty(); }));
    server_.reset();
    EXPECT_TRUE(until([&] { return says(second, "nothing listens on port"); }));
    // Another controller accepts the port anew.
    controller::ControllerConfig config;
    config.listen = {endpoint_};
    serve(config);
    const auto again = attached_daemon("b");
    EXPECT_TRUE(until([&] { return first->attachments + second.attachments == 2; }));
}

TEST_F(ObstacleTest, IsThatTheHostSwallowsWhatIsSentToIt) {
    const Port full;
    ASSERT_EQ(listen(full.fd.get(), 0), 0);
    // One connection waits in the queue; the kernel drops further ones silently.
    std::vector<base::UniqueFd> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&full.address),
                sizeof(full.address));
    }
    TestDaemon daemon(*loop_, config_to(full.endpoint));
    EXPECT_TRUE(until([&] { return says(daemon, "127.0.0.1 does not answer on port"); }));
}

TEST(ControllerLinkConfig, WithoutKeysLeadsToThisMachineUnlessItSaysInsecure) {
    ControllerLinkConfig config;
    config.name = "a";
    config.generation = 1;
    for (const char* elsewhere : {"tcp://10.0.0.1:7411", "tcp://controller.example:7411"}) {
        config.endpoint = elsewhere;
        config.insecure = false;
        const auto refused = check(config);
        ASSERT_FALSE(refused) << elsewhere;
        EXPECT_EQ(refused.error().kind, base::ErrorKind::denied);
        for (const char* word : {elsewhere, "pacectl keygen", "curve_secret_file", "insecure"})
            EXPECT_NE(refused.error().message.find(word), std::string::npos) << word;
        config.insecure = true;
        EXPECT_TRUE(check(config)) << elsewhere;
    }
    config.insecure = false;
    config.controller_key_file = config.secret_key_file = "/some/key";
    EXPECT_TRUE(check(config));
    config.controller_key_file = config.secret_key_file = "";
    for (const char* here : {"tcp://127.0.0.1:0", "tcp://localhost:0", "ipc:///run/control"}) {
        config.endpoint = here;
        EXPECT_TRUE(check(config)) << here;
    }
}

TEST(ControllerLinkConfig, ThatIsInsecureAllowsNothingElse) {
    ControllerLinkConfig good;
    good.name = "a";
    good.generation = 1;
    good.endpoint = "tcp://10.0.0.1:7411";
    good.insecure = true;
    ASSERT_TRUE(check(good));
    const auto refuses = [&good](auto change) {
        ControllerLinkConfig config = good;
        change(config);
        return !check(config);
    };
    EXPECT_TRUE(refuses([](auto& config) { config.secret_key_file = "/some/key"; }));
    EXPECT_TRUE(refuses([](auto& config) { config.controller_key_file = "/some/key"; }));
    EXPECT_TRUE(refuses([](auto& config) { config.endpoint = "udp://10.0.0.1:7411"; }));
    EXPECT_TRUE(refuses([](auto& config) { config.name = ""; }));
    EXPECT_TRUE(refuses([](auto& config) { config.zone = "no zone"; }));
    EXPECT_TRUE(refuses([](auto& config) { config.generation = 0; }));
}

}  // namespace
}  // namespace pace::daemon
