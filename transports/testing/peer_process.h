// The main program of a process that tests kill and freeze. Usage: PROGRAM FD PEERS.
//
// The process writes its address to FD and reads the addresses of PEERS peers from it. It then
// exchanges messages with each peer without end: message n is exchange n with message_size(n)
// bytes, slot 0 from this process and slot 1 from the peer. The process ends when it has lost all
// peers, or when FD closes.
#pragma once

#include <poll.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "transports/testing/address_pipe.h"
#include "transports/testing/peer_traffic.h"
#include "transports/transport.h"

namespace pace::transports {

// `meet(transport, address)` tells the transport what it must know of a peer, and returns whether
// that worked.
template <typename Meet>
int run_peer_process(int argc, char** argv, std::unique_ptr<Transport> transport, Meet meet) {
    if (argc != 3) return 2;
    const int fd = std::atoi(argv[1]);
    const int peer_count = std::atoi(argv[2]);
    if (transport == nullptr) return 3;
    if (!write_address(fd, transport->address())) return 4;
    std::deque<PeerTraffic> traffic;
    for (int i = 0; i < peer_count; ++i) {
        const auto address = read_address(fd);
        if (!address || !meet(*transport, *address)) return 5;
        const auto peer = transport->connect(*address);
        if (!peer) return 6;
        traffic.emplace_back(*transport, *peer, PeerTraffic::Side::process);
    }
    int lost = 0;
    transport->set_peer_lost_handler([&](PeerId, const base::Error&) { ++lost; });
    for (PeerTraffic& each : traffic) each.start();
    pollfd pipe{fd, POLLIN, 0};
    for (int turn = 0; lost < peer_count; ++turn) {
        if (transport->poll() && turn % 256 != 0) continue;
        if (poll(&pipe, 1, 0) > 0) break;
    }
    transport.reset();
    return 0;
}

}  // namespace pace::transports
