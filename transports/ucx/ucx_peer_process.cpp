// A process with a UcxTransport that tests kill and freeze (transports/testing/peer_process.h).
#include "transports/testing/peer_process.h"
#include "transports/ucx/ucx_process.h"
#include "transports/ucx/ucx_transport.h"

int main(int argc, char** argv) {
    using namespace pace::transports;
    restart_without_ucx_effects();
    auto created = UcxTransport::create(UcxOptions{});
    return run_peer_process(argc, argv, created ? std::move(*created) : nullptr,
                            [](Transport&, const Address&) { return true; });
}
