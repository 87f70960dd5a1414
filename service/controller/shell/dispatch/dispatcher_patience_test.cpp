// Dispatcher patience: peers that did not read, or were not heard, for long.
#include "service/controller/shell/dispatch/dispatcher_fixture.h"

namespace pace::controller {
namespace {

TEST_F(DispatcherTest, AfterAStandstillEveryDaemonAttachesAnewAndNoWorkerIsANewcomer) {
    const std::vector<std::string> routes{"ra", "rb"};
    std::vector<uint32_t> nodes;
    for (uint32_t i = 0; i < 2; ++i) {
        nodes.push_back(attach(routes[i], 11 + i, routes[i]));
        join(routes[i], nodes[i], 11 + i, i, 7);
    }
    dispatcher_.begin_anew("it did not run for 10.0 s", now_);
    for (uint32_t i = 0; i < 2; ++i) {
        const Copy told = recorder_.take(routes[i], wire::Body::NotAttached);
        EXPECT_FALSE(told.envelope().body_as_NotAttached()->excluded());
        EXPECT_EQ(told.envelope().attachment(), 11 + i);
        EXPECT_NE(told.envelope().body_as_NotAttached()->reason()->str().find("10.0 s"),
                  std::string::npos);
    }
    recorder_.sent.clear();
    for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(attach(routes[i], 21 + i, routes[i]), nodes[i]);
        resume(routes[i], nodes[i], 21 + i, i, 8);
        const Copy accepted = recorder_.take(routes[i], wire::Body::JoinAccepted);
        EXPECT_FALSE(accepted.envelope().body_as_JoinAccepted()->under_way());
    }
}

TEST_F(DispatcherTest, WhoDoesNotReadTheStatusGetsItOnlyAFewTimes) {
    for (int i = 0; i < 1000; ++i)
        say("rx", 0, 0, [](auto& builder) { return wire::CreateStatusRequest(builder, 1, 77); });
    EXPECT_EQ(recorder_.count("rx", wire::Body::StatusReply), StatusWindow::kUnreadMax);
    EXPECT_EQ(dispatcher_.counters().unread, 1000 - StatusWindow::kUnreadMax);
    // After the peer has read one, it gets the next.
    const uint64_t number =
        recorder_.take("rx", wire::Body::StatusReply).envelope().body_as_StatusReply()->number();
    say("rx", 0, 0, [&](auto& builder) { return wire::CreateStatusRequest(builder, 2, number); });
    EXPECT_EQ(recorder_.count("rx", wire::Body::StatusReply), StatusWindow::kUnreadMax);
}

}  // namespace
}  // namespace pace::controller
