#include "transports/ucx/ucx_transport.h"

#include <signal.h>

#include "transports/conformance.h"

namespace pace::transports {
namespace {

class UcxFabric {
  public:
    static std::unique_ptr<Transport> create() {
        auto transport = UcxTransport::create(UcxOptions{});
        EXPECT_TRUE(transport) << (transport ? "" : transport.error().message);
        return transport ? std::move(*transport) : nullptr;
    }
    static void vanish(std::unique_ptr<Transport>& transport) { transport.reset(); }
};

}  // namespace
}  // namespace pace::transports

PACE_INSTANTIATE_CONFORMANCE(Ucx, pace::transports::UcxFabric);
