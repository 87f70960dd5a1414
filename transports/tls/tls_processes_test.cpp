#include <gtest/gtest.h>

#include "transports/testing/processes.h"
#include "transports/tls/testing/nodes.h"
#include "transports/tls/testing/open_key.h"

namespace pace::transports::tls {
namespace {

class TlsProcesses : public Processes {
  protected:
    std::string program() const override { return PACE_TLS_PEER_PROCESS; }
    std::unique_ptr<Transport> make(std::chrono::seconds unmoved_max) override {
        TlsOptions options;
        options.unmoved_max = unmoved_max;
        return testing::make_node(options);
    }
    void meet(Transport& transport, const Address& other) override {
        EXPECT_TRUE(testing::add_open_key(transport, other));
    }
};

TEST_F(TlsProcesses, SurvivorsNoticeAtOnceThatAProcessIsKilledInTheMidstOfTransfers) {
    kill_in_the_midst();
}

TEST_F(TlsProcesses, AFrozenProcessBlocksNobodyAndDisconnectEndsWhatIsUnderWayWithIt) {
    freeze_in_the_midst();
}

}  // namespace
}  // namespace pace::transports::tls
