// A process with a TlsTransport that tests kill and freeze (transports/testing/peer_process.h).
#include "transports/testing/peer_process.h"
#include "transports/tls/testing/open_key.h"
#include "transports/tls/tls_transport.h"

int main(int argc, char** argv) {
    using namespace pace::transports;
    auto created = TlsTransport::create(TlsOptions{});
    return run_peer_process(argc, argv, created ? std::move(*created) : nullptr,
                            [](Transport& transport, const Address& other) {
                                return tls::testing::add_open_key(transport, other).ok();
                            });
}
