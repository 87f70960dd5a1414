// A process that tests kill and freeze. Usage: ucx_peer_process FD PEERS.
//
// The process writes its address to FD and reads the addresses of PEERS peers from it. It then
// exchanges messages with each peer without end: message n is exchange n with message_size(n)
// bytes, slot 0 from this process and slot 1 from the peer. The process ends when it has lost all
// peers, or when FD closes.
#include <poll.h>

#include <cstdlib>
#include <deque>
#include <vector>

#include "transports/testing/address_pipe.h"
#include "transports/testing/peer_traffic.h"
#include "transports/ucx/ucx_process.h"
#include "transports/ucx/ucx_transport.h"

int main(int argc, char** argv) {
    using namespace pace::transports;
    restart_without_ucx_effects();
    if (argc != 3) return 2;
    const int fd = std::atoi(argv[1]);
    const int peer_count = std::atoi(argv[2]);
    auto created = UcxTransport::create(UcxOptions{});
    if (!created) return 3;
    Transport& transport = **created;
    if (!write_address(fd, transport.address())) return 4;
    std::deque<PeerTraffic> traffic;
    for (int i = 0; i < peer_count; ++i) {
        const auto address = read_address(fd);
        if (!address) return 5;
        const auto peer = transport.connect(*address);
        if (!peer) return 6;
        traffic.emplace_back(transport, *peer, PeerTraffic::Side::process);
    }
    int lost = 0;
    transport.set_peer_lost_handler([&](PeerId, const pace::base::Error&) { ++lost; });
    for (PeerTraffic& each : traffic) each.start();
    pollfd pipe{fd, POLLIN, 0};
    for (int turn = 0; lost < peer_count; ++turn) {
        if (transport.poll() && turn % 256 != 0) continue;
        if (poll(&pipe, 1, 0) > 0) break;
    }
    created->reset();
    return 0;
}
