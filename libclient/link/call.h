// A call on a link: one message and its answer. The answer carries the request number of the
// message.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/link/link.h"
#include "libclient/link/packet.h"

namespace pace::client {

// The outcome of a call. `intact` means that the link may be used again. The error of an intact
// call, if there is one, is the daemon's own Failed message.
struct Answer {
    base::Result<Packet> packet;
    bool intact = false;
};

// Receives the answer to `request`. Fails with `corrupt` if the message is neither an `Expected`
// nor a Failed with that number: every call is answered before the next call is made.
template <typename Expected>
Answer receive_answer(Link& link, uint64_t request, base::TimePoint deadline,
                      bool interruptible = false) {
    auto packet = link.receive(deadline, interruptible);
    if (!packet) return {std::move(packet), false};
    // A Failed with number 0 answers no call. The daemon uses the message to say why it ends the
    // connection.
    if (const auto* failed = packet->template body<wire::Failed>();
        failed != nullptr && (failed->request() == request || failed->request() == 0))
        return {error_of(*failed), failed->request() != 0};
    const auto* body = packet->template body<Expected>();
    if (body == nullptr || body->request() != request)
        return {base::make_error(base::ErrorKind::corrupt,
                                 "the daemon answered with message {} out of turn",
                                 static_cast<int>(packet->type())),
                false};
    return {std::move(packet), true};
}

template <typename Expected>
Answer call(Link& link, const flatbuffers::FlatBufferBuilder& message, uint64_t request, int fd,
            base::TimePoint deadline, bool interruptible = false) {
    if (auto sent = link.send(message, fd, deadline); !sent)
        return {std::move(sent).error(), false};
    return receive_answer<Expected>(link, request, deadline, interruptible);
}

}  // namespace pace::client
