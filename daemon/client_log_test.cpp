// Client log tests: the daemon logs which clients it refuses and why, but no clients that have
// left.
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/log/daemon_events.h"
#include "daemon/hostile_fixture.h"

namespace pace::daemon {
namespace {

class ClientLog : public HostileClients {
  protected:
    // Returns the log up to the time when the daemon has read all that the client has sent. How
    // slow the machine was is left out.
    template <typename Act>
    std::string logged(const Act& act) {
        base::set_log_level(base::LogLevel::info);
        testing::internal::CaptureStderr();
        act();
        for (int i = 0; i < 50; ++i) turn();
        base::set_log_level(base::LogLevel::none);
        std::istringstream lines(testing::internal::GetCapturedStderr());
        std::string kept;
        for (std::string line; std::getline(lines, line);)
            if (line.find(base::events::kLoopStoodStill.text) == std::string::npos)
                kept += line + '\n';
        return kept;
    }
    static void say_hello(int socket) {
        ASSERT_TRUE(send_body(socket, [](flatbuffers::FlatBufferBuilder& b) {
            return std::pair(fb::Body::Hello,
                             fb::CreateHelloDirect(b, protocol::kVersion, "hostile").Union());
        }));
    }
};

TEST_F(ClientLog, HasNothingOfAClientThatHasGoneBeforeItsAnswer) {
    const std::string log = logged([&] {
        const UniqueFd client = connect();
        say_hello(client.get());
    });
    EXPECT_EQ(log.find("client"), std::string::npos) << log;
    EXPECT_EQ(log.find("warning"), std::string::npos) << log;
}

TEST_F(ClientLog, HasWhoWasRefusedAndWhyAndWhatToDo) {
    UniqueFd client;
    const std::string log = logged([&] {
        client = connect();
        const std::string noise(100, 'x');
        ASSERT_EQ(send(client.get(), noise.data(), noise.size(), 0), 100);
    });
    for (const std::string& words :
         {std::string("client refused pid="), fmt::format(" uid={} ", getuid()),
          std::string("reason=\"a packet of 100 bytes does not parse\""), std::string("advice=")})
        EXPECT_NE(log.find(words), std::string::npos) << words << " in\n" << log;
}

TEST_F(ClientLog, HasAWorkerThatDiesWithItsJobAndRank) {
    auto client = std::make_unique<RingClient>(*this);
    ASSERT_TRUE(client->join("fashion", 0, 1, [](protocol::JobOptions&) {}));
    const std::string log = logged([&] { client.reset(); });
    EXPECT_NE(log.find("worker lost job=fashion rank=0 pid="), std::string::npos) << log;
}

}  // namespace
}  // namespace pace::daemon
