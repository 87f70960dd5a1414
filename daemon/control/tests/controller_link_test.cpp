// ControllerLink tests: the link and the real controller in one process, over TCP loopback and
// inproc.

#include "daemon/control/controller_link.h"

#include <string>

#include "daemon/control/tests/link_fixture.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

// Runs over both transports: "tcp" as between processes, "inproc" as embedded.
class ControllerLinkTest : public LinkFixture, public testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        LinkFixture::SetUp();
        if (std::string(GetParam()) == "inproc") context_ = control_zmq::Context::create().value();
        start({});
    }

    void start(controller::ControllerConfig config) {
        if (context_) config.listen = {"inproc://pace-controller"};
        serve(std::move(config), context_);
    }

    ControllerLinkConfig config_of(const std::string& name) const {
        ControllerLinkConfig config = daemon_config(name);
        config.context = context_;
        return config;
    }

    std::unique_ptr<TestDaemon> daemon(const std::string& name) {
        auto made = std::make_unique<TestDaemon>(*loop_, config_of(name));
        EXPECT_NE(made->link, nullptr) << made->error.message;
        EXPECT_TRUE(until([&] { return made->link->attached(); }));
        return made;
    }

    // Puts one worker on each daemon, and waits for the job's first view.
    void start_job(TestDaemon& a, TestDaemon& b) {
        EXPECT_TRUE(a.link->send(join(0)));
        EXPECT_TRUE(b.link->send(join(1)));
        ASSERT_TRUE(until([&] { return !a.views.empty() && !b.views.empty(); }));
    }

    // When it is attached again, the daemon announces the job's worker.
    void resume(TestDaemon& daemon, uint32_t rank, uint64_t epoch) {
        daemon.announce = [&daemon, rank, epoch] {
            control::WorkerJoin again = join(rank);
            again.resume = true;
            again.epoch = epoch;
            again.iteration = 3;
            daemon.link->send(again);
        };
    }

    std::shared_ptr<control_zmq::Context> context_;
};

INSTANTIATE_TEST_SUITE_P(Wires, ControllerLinkTest, testing::Values("tcp", "inproc"),
                         [](const auto& wire) { return std::string(wire.param); });

TEST_P(ControllerLinkTest, DaemonsAttachAndLearnOfEachOther) {
    const auto a = daemon("a");
    const auto b = daemon("b");
    EXPECT_NE(a->link->self(), b->link->self());
    ASSERT_TRUE(until([&] { return !a->known.empty() && !b->known.empty(); }));
    EXPECT_EQ(a->known[0].name, "b");
    EXPECT_EQ(a->known[0].node, b->link->self());
    EXPECT_EQ(a->known[0].address, config_of("b").address);
    EXPECT_TRUE(a->link->controller_reachable());
}

TEST_P(ControllerLinkTest, ReadySignalsComeBackAsOneOrder) {
    const auto a = daemon("a");
    const auto b = daemon("b");
    start_job(*a, *b);
    const control::JobId job = a->accepted.at(0).job;
    EXPECT_EQ(protocol::read_options(a->accepted[0].options).value().group_size, 2U);
    EXPECT_NE(a->accepted[0].token, 0U);
    EXPECT_EQ(a->views[0].members,
              (std::vector<control::Member>{{0, a->link->self()}, {1, b->link->self()}}));

    for (uint64_t iteration = 0; iteration < 50; ++iteration) {
        a->orders.clear();
        b->orders.clear();
        ASSERT_TRUE(a->link->send(control::Ready{job, 0, iteration, 7}));
        ASSERT_TRUE(b->link->send(control::Ready{job, 1, iteration, 7}));
        ASSERT_TRUE(until([&] { return !a->orders.empty() && !b->orders.empty(); }));
        EXPECT_EQ(a->orders[0].group, b->orders[0].group);
        ASSERT_EQ(a->orders[0].members.size(), 2U);
        EXPECT_DOUBLE_EQ(a->orders[0].members[0].weight + a->orders[0].members[1].weight, 1.0);
        EXPECT_EQ(a->orders[0].digest, 7U);
        const control::GroupDone done{job, a->orders[0].group, false, 1000, 64};
        ASSERT_TRUE(a->link->send(done));
        ASSERT_TRUE(b->link->send(done));
    }
}

// Follows the version from one daemon's hello through the controller to the other daemon.
TEST_P(ControllerLinkTest, ViewsAndOrdersTellTheNcclOfEachMember) {
    ControllerLinkConfig with_nccl = config_of("a");
    with_nccl.nccl = 22105;
    TestDaemon a(*loop_, with_nccl);
    ASSERT_TRUE(until([&] { return a.link->attached(); }));
    const auto b = daemon("b");
    start_job(a, *b);
    EXPECT_EQ(b->views[0].members,
              (std::vector<control::Member>{{.rank = 0, .node = a.link->self(), .nccl = 22105},
                                            {.rank = 1, .node = b->link->self(), .nccl = 0}}));
    const control::JobId job = b->accepted.at(0).job;
    ASSERT_TRUE(a.link->send(control::Ready{job, 0, 1, 7}));
    ASSERT_TRUE(b->link->send(control::Ready{job, 1, 1, 7}));
    ASSERT_TRUE(until([&] { return !b->orders.empty(); }));
    ASSERT_EQ(b->orders[0].members.size(), 2U);
    EXPECT_EQ(b->orders[0].members[0].nccl, 22105U);
    EXPECT_EQ(b->orders[0].members[1].nccl, 0U);
}

TEST_P(ControllerLinkTest, AWrongJoinIsRefusedWithASentence) {
    const auto a = daemon("a");
    control::WorkerJoin wrong = join(0);
    wrong.options.values = {{"group.size", int64_t{9}}};
    ASSERT_TRUE(a->link->send(wrong));
    ASSERT_TRUE(until([&] { return !a->refused.empty(); }));
    EXPECT_EQ(a->refused[0].request, wrong.request);
    EXPECT_EQ(a->refused[0].error.kind, base::ErrorKind::invalid);
    EXPECT_NE(a->refused[0].error.message.find('9'), std::string::npos);
}

TEST_P(ControllerLinkTest, AJobCanBeCreatedWithoutAWorker) {
    const auto a = daemon("a");
    ASSERT_TRUE(a->link->send(control::JobCreate{5, join(0).options, 1000}));
    ASSERT_TRUE(until([&] { return !a->accepted.empty(); }));
    EXPECT_EQ(a->accepted[0].rank, control::kNoRank);
}

TEST_P(ControllerLinkTest, ALeaveIsAnsweredWhenTheRankIsFree) {
    const auto a = daemon("a");
    const auto b = daemon("b");
    ASSERT_TRUE(a->link->send(join(0)));
    ASSERT_TRUE(until([&] { return !a->accepted.empty(); }));
    ASSERT_TRUE(a->link->send(control::WorkerLeave{a->accepted[0].job, 0, true, 42}));
    ASSERT_TRUE(until([&] { return !a->left.empty(); }));
    EXPECT_EQ(a->left[0], 42U);
    ASSERT_TRUE(b->link->send(join(0)));
    ASSERT_TRUE(until([&] { return !b->accepted.empty() || !b->refused.empty(); }));
    EXPECT_TRUE(b->refused.empty());
}

TEST_P(ControllerLinkTest, StatusIsAnsweredToAnyoneConnected) {
    const auto a = daemon("a");
    ASSERT_TRUE(a->link->send(control::StatusRequest{42}));
    ASSERT_TRUE(until([&] { return !a->status.empty(); }));
    EXPECT_EQ(a->status[0].request, 42U);
    EXPECT_NE(a->status[0].json.find("\"name\":\"a\""), std::string::npos) << a->status[0].json;
}

TEST_P(ControllerLinkTest, HoweverManyAskForTheStatusEachGetsIt) {
    const auto a = daemon("a");
    for (int round = 0; round < 10; ++round) {
        a->status.clear();
        for (uint64_t request = 1; request <= 50; ++request)
            ASSERT_TRUE(a->link->send(control::StatusRequest{request}));
        ASSERT_TRUE(until([&] { return a->status.size() == 50; })) << a->status.size();
        for (uint64_t request = 1; request <= 50; ++request)
            EXPECT_EQ(a->status[request - 1].request, request);
    }
}

TEST_P(ControllerLinkTest, ASecondDaemonOfTheSameNameIsRefusedUntilTheFirstLeaves) {
    auto first = daemon("a");
    auto second = std::make_unique<TestDaemon>(*loop_, config_of("a"));
    ASSERT_TRUE(until([&] { return !second->refusals.empty(); }));
    EXPECT_EQ(second->refusals[0].kind, base::ErrorKind::taken);
    EXPECT_FALSE(second->link->attached());
    EXPECT_TRUE(first->link->attached());
    EXPECT_TRUE(first->link->send(control::Goodbye{"test"}));
    EXPECT_FALSE(first->link->attached());
    ASSERT_TRUE(until([&] { return second->link->attached(); }));
    EXPECT_EQ(second->refusals.size(), 1U) << "each different refusal is said once";
}

TEST_P(ControllerLinkTest, ADaemonThatDiedAndCameBackIsAttachedAtOnce) {
    auto first = daemon("a");
    const control::NodeId node = first->link->self();
    first.reset();
    const auto second = daemon("a");
    EXPECT_EQ(second->link->self(), node);
}

TEST_P(ControllerLinkTest, ARestartedControllerIsAttachedToAgain) {
    const std::string journal = folder_ + "/journal";
    server_.reset();
    controller::ControllerConfig config;
    config.journal = journal;
    if (!context_) config.listen = {endpoint_};
    start(config);
    const auto a = daemon("a");
    const auto b = daemon("b");
    start_job(*a, *b);
    const auto token = a->accepted.at(0).token;
    const auto epoch = a->views.back().epoch;
    resume(*a, 0, epoch);
    resume(*b, 1, epoch);

    server_.reset();
    ASSERT_TRUE(until([&] { return a->detachments == 1 && b->detachments == 1; }));
    EXPECT_FALSE(a->link->controller_reachable());
    EXPECT_EQ(a->exclusions, 0);
    EXPECT_FALSE(a->link->send(control::Ready{1, 0, 3, 7})) << "nothing is queued for the dead";

    a->accepted.clear();
    b->accepted.clear();
    start(config);
    ASSERT_TRUE(until([&] { return !a->accepted.empty() && !b->accepted.empty(); }));
    EXPECT_EQ(a->accepted[0].token, token) << "the job is the one from the journal";
    EXPECT_TRUE(a->link->controller_reachable());

    // The job goes on.
    const control::JobId job = a->accepted[0].job;
    a->link->send(control::Ready{job, 0, 3, 7});
    b->link->send(control::Ready{job, 1, 3, 7});
    ASSERT_TRUE(until([&] { return !a->orders.empty() && !b->orders.empty(); }));
}

TEST_P(ControllerLinkTest, AnExcludedDaemonAttachesAgainUnderANewNumber) {
    server_.reset();
    controller::ControllerConfig config;
    config.liveness_max_ms = 4000;
    config.liveness_min_ms = 3000;
    config.heartbeat_ms = 50;
    start(config);
    const auto a = daemon("a");
    const auto c = daemon("c");
    // In the loop of the others, this daemon's answer to the probe would come between their
    // reports.
    const auto busy = base::EventLoop::create().value();
    TestDaemon b(*busy, config_of("b"));
    ASSERT_NE(b.link, nullptr) << b.error.message;
    const auto with_b = [&](const std::function<bool()>& holds) {
        return until([&] {
            busy->turn(false);
            return holds();
        });
    };
    ASSERT_TRUE(with_b([&] { return b.link->attached(); }));
    const control::NodeId node = b.link->self();
    ASSERT_TRUE(a->link->send(control::PeerLost{node, "test"}));
    ASSERT_TRUE(c->link->send(control::PeerLost{node, "test"}));
    ASSERT_TRUE(until([&] { return !a->gone.empty(); }));
    EXPECT_EQ(a->gone[0].node, node);
    ASSERT_TRUE(with_b([&] { return b.exclusions == 1 && b.link->attached(); }));
    EXPECT_EQ(b.link->self(), node);
    EXPECT_EQ(b.attachments, 2);
}

TEST_P(ControllerLinkTest, HeartbeatsKeepAnIdleDaemonAttached) {
    server_.reset();
    controller::ControllerConfig config;
    config.liveness_max_ms = 800;
    config.liveness_min_ms = 500;
    config.heartbeat_ms = 20;
    start(config);
    const auto a = daemon("a");
    const uint64_t received = a->link->counters().received;
    ASSERT_TRUE(until([&] { return a->link->counters().received > received + 60; }));
    EXPECT_EQ(a->detachments, 0);
}

// ----------------------------------------------------------------------------------- TCP only

class ControllerLinkTcpTest : public LinkFixture {};

TEST_F(ControllerLinkTcpTest, ALinkWaitsForAControllerThatIsNotThereYet) {
    serve({});
    const std::string where = endpoint_;
    server_.reset();
    const auto early = start_daemon("a");
    ASSERT_FALSE(until([&] { return early->link->attached(); }, milliseconds(200)));
    EXPECT_FALSE(early->link->controller_reachable());
    EXPECT_FALSE(early->link->send(control::StatusRequest{1}));
    controller::ControllerConfig config;
    config.listen = {where};
    serve(config);
    EXPECT_TRUE(until([&] { return early->link->attached(); }));
}

TEST_F(ControllerLinkTcpTest, AFrozenControllerIsNoticedByItsSilence) {
    // A controller whose loop never runs: its sockets exist, but nothing answers.
    auto other = base::EventLoop::create().value();
    controller::ControllerConfig controller_config;
    controller_config.listen = {"tcp://127.0.0.1:0"};
    controller_config.heartbeat_ms = 20;
    auto frozen = controller::ControllerServer::create(*other, nullptr, controller_config);
    ASSERT_TRUE(frozen);
    endpoint_ = (*frozen)->endpoints().front();
    ControllerLinkConfig config = daemon_config("a");
    config.silence_max = milliseconds(300);
    TestDaemon a(*loop_, config);
    ASSERT_TRUE(until([&] {
        other->turn(false);
        return a.link->attached();
    }));
    ASSERT_TRUE(until([&] { return a.detachments == 1; }));
    EXPECT_FALSE(a.link->controller_reachable());
    EXPECT_NE(a.detached_because.find("nothing heard"), std::string::npos) << a.detached_because;
    // It wakes and serves the daemon again.
    ASSERT_TRUE(until([&] {
        other->turn(false);
        return a.link->attached();
    }));
    a.link.reset();
}

TEST_F(ControllerLinkTcpTest, TwoControllersOnOnePortAreRefused) {
    serve({});
    controller::ControllerConfig config;
    config.listen = {endpoint_};
    const auto second = controller::ControllerServer::create(*loop_, nullptr, config);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
}

TEST_F(ControllerLinkTcpTest, TwoControllersOnOneJournalAreRefused) {
    controller::ControllerConfig config;
    config.journal = folder_ + "/journal";
    serve(config);
    config.listen = {"tcp://127.0.0.1:0"};
    const auto second = controller::ControllerServer::create(*loop_, nullptr, config);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::taken);
}

TEST_F(ControllerLinkTcpTest, BadConfigurationsAreRefusedWithASentence) {
    serve({});
    for (const auto& spoil : std::vector<std::function<void(ControllerLinkConfig&)>>{
             [](auto& c) { c.endpoint = "controller.example:7411"; },
             [](auto& c) { c.endpoint = "inproc://nowhere"; },
             [](auto& c) { c.endpoint = "tcp://nohostnoport"; },
             [](auto& c) { c.name.clear(); },
             [](auto& c) { c.generation = 0; },
             [](auto& c) { c.zone = "rack 3"; },
             [](auto& c) { c.nccl = 1'000'000; },
             [](auto& c) { c.secret_key_file = "/nonexistent"; },
         }) {
        ControllerLinkConfig config = daemon_config("a");
        spoil(config);
        TestDaemon refused(*loop_, config);
        EXPECT_EQ(refused.link, nullptr);
        EXPECT_EQ(refused.error.kind, base::ErrorKind::invalid);
        EXPECT_FALSE(refused.error.message.empty());
    }
}

}  // namespace
}  // namespace pace::daemon
