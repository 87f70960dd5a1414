#include "service/controller/zmq/endpoint.h"

#include <gtest/gtest.h>

namespace pace::control_zmq {
namespace {

TEST(Endpoint, OfThisMachineIsOneThatSaysSo) {
    for (const char* endpoint :
         {"tcp://127.0.0.1:0", "tcp://127.8.9.1:0", "tcp://localhost:0", "tcp://[::1]:0",
          "tcp://[::ffff:127.0.0.1]:0", "inproc://here", "ipc:///run/pace/control"})
        EXPECT_FALSE(is_off_loopback(endpoint)) << endpoint;
}

TEST(Endpoint, OfAnyOtherAddressOrNameMayBeElsewhere) {
    for (const char* endpoint : {"tcp://10.0.0.1:7411", "tcp://0.0.0.0:0", "tcp://*:0",
                                 "tcp://[2001:db8::1]:7411", "tcp://[::ffff:10.0.0.1]:1",
                                 "tcp://controller.example:7411", "tcp://127.0.0.1.example:0"})
        EXPECT_TRUE(is_off_loopback(endpoint)) << endpoint;
}

}  // namespace
}  // namespace pace::control_zmq
