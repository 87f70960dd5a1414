// Reachability: a peer in another process may reach this one and not be reached from here.
#pragma once

#include "transports/conformance/fixture.h"

namespace pace::transports::conformance {

template <typename Fabric>
class Reachability : public Conformance<Fabric> {};

TYPED_TEST_SUITE_P(Reachability);

TYPED_TEST_P(Reachability, APeerThatHasNotAnsweredIsNotHeardThoughItSendsMessages) {
    this->add_connected(2);
    const auto sent = pattern(this->kSmall, 1);
    this->send(0, 1, {1, 0, 0}, sent);
    ASSERT_TRUE(this->await([&] { return this->node(1).counters().messages_unexpected == 1; }));
    EXPECT_EQ(this->node(1).heard(this->peer(1, 0)), base::TimePoint{});
    this->node(1).ping(this->peer(1, 0));
    EXPECT_TRUE(
        this->await([&] { return this->node(1).heard(this->peer(1, 0)) != base::TimePoint{}; }));
}

REGISTER_TYPED_TEST_SUITE_P(Reachability, APeerThatHasNotAnsweredIsNotHeardThoughItSendsMessages);

}  // namespace pace::transports::conformance
