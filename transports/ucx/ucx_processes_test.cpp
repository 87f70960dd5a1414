#include <gtest/gtest.h>

#include "transports/testing/processes.h"
#include "transports/ucx/ucx_transport.h"

namespace pace::transports {
namespace {

class UcxProcesses : public Processes {
  protected:
    std::string program() const override { return PACE_UCX_PEER_PROCESS; }
    std::unique_ptr<Transport> make(std::chrono::seconds unmoved_max) override {
        UcxOptions options;
        options.unmoved_max = unmoved_max;
        auto created = UcxTransport::create(options);
        EXPECT_TRUE(created) << (created ? "" : created.error().message);
        return created ? std::move(*created) : nullptr;
    }
    void meet(Transport& /*transport*/, const Address& /*other*/) override {}
};

TEST_F(UcxProcesses, SurvivorsNoticeAtOnceThatAProcessIsKilledInTheMidstOfTransfers) {
    kill_in_the_midst();
}

TEST_F(UcxProcesses, AFrozenProcessBlocksNobodyAndDisconnectEndsWhatIsUnderWayWithIt) {
    freeze_in_the_midst();
}

}  // namespace
}  // namespace pace::transports
