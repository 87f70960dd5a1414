// LinkFixture: shared by the link's tests: a loop that is turned until a condition holds, a
// controller, daemons.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "base/random.h"
#include "daemon/control/controller_link.h"
#include "service/controller/shell/controller_server.h"

namespace pace::daemon {

// A daemon reduced to its link. It records what it is told, and answers views at once.
class TestDaemon final : public ControlHandler {
  public:
    TestDaemon(base::EventLoop& loop, ControllerLinkConfig config) {
        auto made = ControllerLink::create(loop, std::move(config));
        const base::Result<> begun = made ? (*made)->begin(*this) : base::Result<>(made.error());
        if (begun)
            link = std::move(*made);
        else
            error = begun.error();
    }

    void on_attached(control::NodeId /*self*/) override {
        ++attachments;
        if (announce) announce();
    }
    void on_detached(bool excluded, const std::string& reason) override {
        ++detachments;
        exclusions += excluded ? 1 : 0;
        detached_because = reason;
    }
    void on_refused(const base::Error& refusal) override { refusals.push_back(refusal); }
    void on_not_attached(const base::Error& because, base::Duration /*since*/) override {
        obstacles.push_back(because);
    }
    void report(control::Heartbeat& ret_heartbeat) override { ret_heartbeat.workers = workers; }
    void on_message(const control::FromController& message) override {
        std::visit([this](const auto& said) { on(said); }, message);
    }
    void on(const control::JoinAccepted& said) { accepted.push_back(said); }
    void on(const control::JoinRefused& said) { refused.push_back(said); }
    void on(const control::PrepareView& view) const {
        link->send(control::ViewPrepared{.job = view.job, .epoch = view.epoch, .completed = 0});
    }
    void on(const control::CommitView& view) { views.push_back(view); }
    void on(const control::GroupOrder& order) {
        orders.push_back(order);
        if (on_order) on_order(order);
    }
    void on(const control::GroupAbort& /*said*/) { ++aborts; }
    void on(const control::JobDeleted& said) { deleted.push_back(said.request); }
    void on(const control::WorkerLeft& said) { left.push_back(said.request); }
    void on(const control::Withdrawn& /*said*/) { ++withdrawn; }
    void on(const control::NodeGone& node) { gone.push_back(node); }
    void on(const control::NodeKnown& node) { known.push_back(node); }
    void on(const control::StatusReply& reply) { status.push_back(reply); }
    void on(const control::RecordingWanted& wanted) { recordings_wanted.push_back(wanted); }
    void on(const control::RecordingReply& reply) { recordings.push_back(reply); }
    template <typename Other>
    void on(const Other& /*said*/) const {}

    std::function<void()> announce;
    std::function<void(const control::GroupOrder&)> on_order;
    std::vector<control::WorkerReport> workers;

    int attachments = 0;
    int detachments = 0;
    int exclusions = 0;
    int aborts = 0;
    int withdrawn = 0;
    std::string detached_because;
    std::vector<base::Error> refusals;
    std::vector<base::Error> obstacles;
    std::vector<control::JoinAccepted> accepted;
    std::vector<control::JoinRefused> refused;
    std::vector<uint64_t> left;     // requests
    std::vector<uint64_t> deleted;  // requests
    std::vector<control::CommitView> views;
    std::vector<control::GroupOrder> orders;
    std::vector<control::NodeGone> gone;
    std::vector<control::NodeKnown> known;
    std::vector<control::StatusReply> status;
    std::vector<control::RecordingWanted> recordings_wanted;
    std::vector<control::RecordingReply> recordings;
    base::Error error;
    std::unique_ptr<ControllerLink> link;  // last, so that it is destroyed first
};

class LinkFixture : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "pace-link-XXXXXX");
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override {
        server_.reset();
        std::filesystem::remove_all(folder_);
    }

    // Turns the loop until `holds()`. Returns false after a generous deadline.
    bool until(const std::function<bool()>& holds,
               base::Duration limit = std::chrono::seconds(20)) {
        const auto deadline = base::now() + limit;
        // Keeps a turn from sleeping past the deadline.
        const base::Timer alarm = loop_->run_at(deadline, [] {});
        bool held = holds();
        while (!held && base::now() < deadline) {
            loop_->turn(true);
            held = holds();
        }
        return held;
    }

    void serve(controller::ControllerConfig config,
               const std::shared_ptr<control_zmq::Context>& context = nullptr) {
        if (config.listen.empty()) config.listen = {"tcp://127.0.0.1:0"};
        // ZeroMQ releases an endpoint a moment after its socket was closed.
        auto server = controller::ControllerServer::create(*loop_, context, config);
        const auto deadline = base::now() + std::chrono::seconds(20);
        while (!server && server.error().kind == base::ErrorKind::taken && base::now() < deadline)
            server = controller::ControllerServer::create(*loop_, context, config);
        ASSERT_TRUE(server) << server.error().message;
        server_ = std::move(*server);
        endpoint_ = server_->endpoints().front();
    }

    ControllerLinkConfig daemon_config(const std::string& name) const {
        ControllerLinkConfig config;
        config.endpoint = endpoint_;
        config.name = name;
        config.generation = base::random_token();
        config.address = {std::byte{1}, std::byte{2}};
        config.host = "machine";
        config.processors = 2;
        return config;
    }

    std::unique_ptr<TestDaemon> start_daemon(const std::string& name) {
        auto daemon = std::make_unique<TestDaemon>(*loop_, daemon_config(name));
        EXPECT_NE(daemon->link, nullptr) << daemon->error.message;
        return daemon;
    }

    std::unique_ptr<TestDaemon> attached_daemon(const std::string& name) {
        auto daemon = start_daemon(name);
        EXPECT_TRUE(until([&] { return daemon->link->attached(); }));
        return daemon;
    }

    static control::WorkerJoin join(uint32_t rank, uint32_t world = 2) {
        control::WorkerJoin message;
        message.request = 100 + rank;
        message.rank = rank;
        message.options = control::AskedOptions("fashion", world, "partial-reduce");
        message.options.values = {{"group.size", int64_t{2}}};
        message.uid = 1000;
        return message;
    }

    static void expect_words(const std::string& text, const std::string& words) {
        EXPECT_NE(text.find(words), std::string::npos) << text;
    }

    // The daemon's first reason for not being attached.
    std::string obstacle_of(const TestDaemon& daemon) {
        EXPECT_TRUE(until([&] { return !daemon.obstacles.empty(); }));
        return daemon.obstacles.empty() ? "" : daemon.obstacles.front().message;
    }

    std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
    std::string folder_;
    std::string endpoint_;
    std::unique_ptr<controller::ControllerServer> server_;
};

}  // namespace pace::daemon
