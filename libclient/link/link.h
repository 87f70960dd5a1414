// Link: one SOCK_SEQPACKET connection to a daemon. The link carries one packet at a time.
//
// Errors: `unavailable` if the daemon has closed or does not answer in time, `corrupt` if what the
// daemon sent does not parse, `interrupted` if a signal has come to an interruptible call. After
// any of these errors the link is of no further use: sever() it.
//
// Threads: send, is_gone and sever may be used from any thread. One thread at a time may use
// receive.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "libclient/link/packet.h"

namespace pace::client {

class Link {
  public:
    // Connects to the socket at `path`. Waits until `deadline` while the daemon's backlog is full.
    // Fails with `not_found` or `unavailable` if nobody listens there. Fails with `denied` if this
    // user may not connect.
    static base::Result<Link> connect(const std::string& path, base::TimePoint deadline,
                                      bool interruptible = false);

    // Takes a connected socket. Refuses a socket that keeps no packet boundaries.
    static base::Result<Link> adopt(base::UniqueFd socket);

    // Sends one packet, with the descriptor `fd` beside the packet. An `fd` of -1 means no
    // descriptor.
    base::Result<> send(const flatbuffers::FlatBufferBuilder& packet, int fd,
                        base::TimePoint deadline);

    base::Result<Packet> receive(base::TimePoint deadline, bool interruptible = false);

    // Whether the daemon has closed its end or sever() was called. Answers that came before may
    // still be there to receive.
    bool is_gone() const;

    // Ends the connection for both sides and wakes every thread that polls it. The descriptor stays
    // open.
    void sever();

    int fd() const { return socket_.get(); }

  private:
    explicit Link(base::UniqueFd socket) : socket_(std::move(socket)) {}

    // Waits for `events` on the socket. `late` is the error if the deadline has passed.
    base::Result<> wait_for(short events, base::TimePoint deadline, bool interruptible,
                            std::string_view late) const;

    base::UniqueFd socket_;
};

// The error of a wait that a signal has ended.
base::Error interrupted_error();

}  // namespace pace::client
