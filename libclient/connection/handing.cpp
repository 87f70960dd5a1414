#include "libclient/connection/handing.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

Result<DaemonBuffer> hand_one(Connection& connection, const Handing& buffer, TimePoint deadline) {
    if (buffer.gpu_memory)
        return connection.hand_buffer(buffer.type, buffer.count, *buffer.gpu_memory, deadline);
    return connection.hand_buffer(buffer.type, buffer.count, buffer.memory, buffer.kind, deadline);
}

}  // namespace

Result<std::vector<Handing>> buffers_to_hand(const BufferTable& buffers) {
    std::vector<Handing> handings;
    for (const uint32_t index : buffers.in_use()) {
        const Buffer& buffer = buffers.at(index);
        // Some GPUs export no descriptors of their memory.
        if (buffer.gpu_memory && !buffer.gpu_memory->outlives_daemon())
            return make_error(ErrorKind::closed,
                              "a buffer was on a GPU whose memory goes with the daemon that made "
                              "it; open another session");
        const int memory = buffer.gpu_memory ? -1 : buffer.memory->fd();
        handings.push_back({buffer.type, buffer.count, memory, buffer.kind, buffer.gpu_memory});
    }
    return handings;
}

Result<std::vector<DaemonBuffer>> hand(Connection& connection, const std::vector<Handing>& buffers,
                                       TimePoint deadline) {
    std::vector<DaemonBuffer> handed;
    handed.reserve(buffers.size());
    for (const Handing& buffer : buffers) {
        PACE_TRY_ASSIGN(taken, hand_one(connection, buffer, deadline));
        handed.push_back(taken);
    }
    return handed;
}

}  // namespace pace::client
