// Reason tests: what a daemon and its controller report, and how soon, if they cannot connect.
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "daemon/control/tests/link_fixture.h"
#include "protocol/control_codec.h"
#include "protocol/version.h"
#include "service/controller/zmq/curve_keys.h"
#include "service/controller/zmq/socket.h"

namespace pace::daemon {
namespace {

namespace wire = protocol::control;

// Less than the second probe of a controller's machine takes to come (obstacle.cpp). It is 2 s on
// an idle machine.
constexpr base::Duration kSoon = std::chrono::seconds(5);

// Redirects standard error to a file while this object lives.
class LogFile {
  public:
    explicit LogFile(std::string path) : path_(std::move(path)), before_(dup(STDERR_FILENO)) {
        const base::UniqueFd file(
            open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        dup2(file.get(), STDERR_FILENO);
    }
    ~LogFile() { dup2(before_.get(), STDERR_FILENO); }
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    std::string text() const {
        std::ostringstream text;
        text << std::ifstream(path_).rdbuf();
        return text.str();
    }

  private:
    std::string path_;
    base::UniqueFd before_;
};

class ControllerLinkReasonsTest : public LinkFixture {
  protected:
    void SetUp() override {
        LinkFixture::SetUp();
        for (const char* name : {"controller", "node", "intruder"})
            ASSERT_TRUE(control_zmq::generate_key_pair(folder_ + "/" + name));
        keys_.curve_secret_file = folder_ + "/controller.secret";
        log_ = std::make_unique<LogFile>(folder_ + "/log");
    }
    void TearDown() override {
        log_.reset();
        LinkFixture::TearDown();
    }

    ControllerLinkConfig keyed(const std::string& controller, const std::string& own) const {
        ControllerLinkConfig config = daemon_config("n1");
        config.controller_key_file = folder_ + "/" + controller + ".public";
        config.secret_key_file = folder_ + "/" + own + ".secret";
        return config;
    }

    // Expects the words in the daemon's problem, in its handler's report, and, with the address, in
    // the controller's log. Empty words: that side is absent.
    void expect_reasons(const ControllerLinkConfig& config, const std::string& daemons,
                        const std::string& controllers) {
        const auto began = base::now();
        TestDaemon daemon(*loop_, config);
        ASSERT_NE(daemon.link, nullptr) << daemon.error.message;
        const auto problem = [&] {
            const auto known = daemon.link->problem();
            return known ? known->message : std::string();
        };
        const auto are_told = [&] {
            const bool is_told = !daemon.obstacles.empty() || !daemon.refusals.empty();
            return is_told && problem().find(daemons) != std::string::npos &&
                   log_->text().find(controllers) != std::string::npos;
        };
        EXPECT_TRUE(until(are_told, kSoon)) << problem() << "\n" << log_->text();
        EXPECT_LT(base::now() - began, kSoon);
        const char* from = controllers.empty() ? "" : "from=127.0.0.1";
        EXPECT_NE(log_->text().find(from), std::string::npos) << log_->text();
        RecordProperty("milliseconds",
                       static_cast<int>((base::now() - began) / std::chrono::milliseconds(1)));
    }

    controller::ControllerConfig keys_;
    std::unique_ptr<LogFile> log_;
};

TEST_F(ControllerLinkReasonsTest, TheDaemonHasTheKeyOfAnotherController) {
    serve(keys_);
    expect_reasons(keyed("intruder", "node"), "it does not have the key of " + folder_,
                   "it expects a controller with another key");
}

TEST_F(ControllerLinkReasonsTest, TheDaemonsKeyIsNotAmongThoseThatAreAllowed) {
    keys_.curve_allowed_dir = folder_ + "/allowed";
    std::filesystem::create_directory(keys_.curve_allowed_dir);
    std::filesystem::copy_file(folder_ + "/node.public", keys_.curve_allowed_dir + "/node.public");
    serve(keys_);
    expect_reasons(keyed("controller", "intruder"), "it does not let the key of " + folder_,
                   "its key is not in curve_allowed_dir");
}

TEST_F(ControllerLinkReasonsTest, TheDaemonHasNoKey) {
    serve(keys_);
    expect_reasons(daemon_config("n1"), "it asks for keys, and this daemon has none",
                   "it has no keys, and this controller asks for them");
}

TEST_F(ControllerLinkReasonsTest, TheControllerHasNoKey) {
    serve({});
    expect_reasons(keyed("controller", "node"), "the controller has none",
                   "it has keys, and this controller has none");
}

TEST_F(ControllerLinkReasonsTest, TheKeyFileIsNotThere) {
    serve(keys_);
    std::filesystem::remove(folder_ + "/node.secret");
    const TestDaemon daemon(*loop_, keyed("controller", "node"));
    EXPECT_EQ(daemon.link, nullptr);
    expect_words(daemon.error.message, "open the secret key " + folder_ + "/node.secret");
}

TEST_F(ControllerLinkReasonsTest, TheNameIsTaken) {
    serve({});
    const auto first = attached_daemon("n1");
    expect_reasons(
        daemon_config("n1"), "the node name n1 is in use by a daemon on host machine",
        "a daemon was refused from=127.0.0.1 node=n1 detail=\"node 'n1' on host machine: ");
}

TEST_F(ControllerLinkReasonsTest, TheNameOfTheHostIsNotKnown) {
    endpoint_ = "tcp://no..such..host:7411";
    ControllerLinkConfig config = daemon_config("n1");
    config.insecure = true;
    expect_reasons(config, "the host \"no..such..host\" is not known here", "");
}

TEST_F(ControllerLinkReasonsTest, NobodyListens) {
    serve({});  // and stops, so that the port is free
    server_.reset();
    expect_reasons(daemon_config("n1"), "nothing listens on port", "");
}

// A network namespace without routes for this thread, and for threads that it starts.
class NoNetwork {
  public:
    NoNetwork() : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
        made_ = unshare(CLONE_NEWNET) == 0;
    }
    ~NoNetwork() {
        if (made_) setns(before_.get(), CLONE_NEWNET);
    }
    NoNetwork(const NoNetwork&) = delete;
    NoNetwork& operator=(const NoNetwork&) = delete;
    bool made() const { return made_; }

  private:
    base::UniqueFd before_;
    bool made_ = false;
};

TEST_F(ControllerLinkReasonsTest, NoWayLeadsThere) {
    const NoNetwork network;
    if (!network.made()) GTEST_SKIP() << "this user may not make a network namespace";
    // A loop created in this network namespace: its ZeroMQ thread starts there.
    endpoint_ = "tcp://10.1.2.3:7411";
    ControllerLinkConfig config = daemon_config("n1");
    config.insecure = true;
    expect_reasons(config, "10.1.2.3 cannot be reached (Network is unreachable)", "");
}

// Each side meets a later release that does not exist yet.
TEST_F(ControllerLinkReasonsTest, TheControllerSpeaksAnotherVersion) {
    auto context = control_zmq::Context::create().value();
    auto other = control_zmq::Socket::create(context, control_zmq::SocketType::router,
                                             protocol::kToControllerBytesMax, {1000, 1000});
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->bind("tcp://127.0.0.1:0"));
    endpoint_ = other->last_endpoint();
    ASSERT_TRUE(loop_->watch(other->fd(), EPOLLIN, [](uint32_t) {}));
    const auto began = base::now();
    const auto daemon = start_daemon("n1");
    control_zmq::Socket::Message said;
    protocol::EnvelopeWriter writer;
    const auto refuse = [&] {
        if (!other->receive(said)) return !daemon->refusals.empty();
        const auto* hello = wire::GetEnvelope(said.frames[1].data());
        const std::string route(reinterpret_cast<const char*>(said.frames[0].data()),
                                said.frames[0].size());
        other->send(route, writer.write(0, hello->attachment(),
                                        control::Refused{base::make_error(
                                            base::ErrorKind::version,
                                            "node n1 speaks protocol version 8, this controller "
                                            "speaks version 99; install the same Pace on both")}));
        return !daemon->refusals.empty();
    };
    EXPECT_TRUE(until(refuse, kSoon));
    EXPECT_LT(base::now() - began, kSoon);
    ASSERT_TRUE(daemon->link->problem());
    expect_words(daemon->link->problem()->message, "this controller speaks version 99");
    loop_->unwatch(other->fd());
}

TEST_F(ControllerLinkReasonsTest, TheDaemonSpeaksAnotherVersion) {
    serve({});
    auto context = control_zmq::Context::create().value();
    auto other = control_zmq::Socket::create(context, control_zmq::SocketType::dealer,
                                             protocol::kToDaemonBytesMax, {1000, 1000});
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->connect(endpoint_));
    ASSERT_TRUE(loop_->watch(other->fd(), EPOLLIN, [](uint32_t) {}));
    const auto began = base::now();
    protocol::EnvelopeWriter writer;
    const auto hello = writer.write(0, 1,
                                    control::Hello{.version = protocol::kVersion + 9,
                                                   .name = "n9",
                                                   .generation = 1,
                                                   .host = "machine",
                                                   .least = protocol::kVersion + 9});
    control_zmq::Socket::Message answer;
    bool is_sent = false;
    const auto answered = [&] {
        is_sent = is_sent || other->send(hello) == control_zmq::Sent::done;
        return other->receive(answer);
    };
    EXPECT_TRUE(until(answered, kSoon));
    EXPECT_LT(base::now() - began, kSoon);
    const auto* refused = wire::GetEnvelope(answer.frames[0].data())->body_as_Refused();
    ASSERT_NE(refused, nullptr);
    expect_words(log_->text(),
                 "from=127.0.0.1 detail=\"node 'n9' on host machine: node n9 speaks "
                 "protocol version 17");
    loop_->unwatch(other->fd());
}

TEST_F(ControllerLinkReasonsTest, NothingIsToldOfADaemonThatIsAttached) {
    serve(keys_);
    TestDaemon daemon(*loop_, keyed("controller", "node"));
    EXPECT_FALSE(daemon.link->problem());
    ASSERT_TRUE(until([&] { return daemon.link->attached(); }));
    EXPECT_FALSE(daemon.link->problem());
    EXPECT_EQ(log_->text().find("warning"), std::string::npos) << log_->text();
}

}  // namespace
}  // namespace pace::daemon
