#include "libclient/requests/outside_memory.h"

#include <algorithm>

namespace pace::client {

namespace {

// The number of elements to add or copy between two looks at the clock. A piece takes well below a
// millisecond.
constexpr uint64_t kPieceElements = uint64_t{128} << 10U;

}  // namespace

std::vector<KeptBuffer> kept_buffers(BufferTable& buffers, const Request& request) {
    std::vector<KeptBuffer> kept;
    kept.reserve(request.given);
    for (const Part& part : request.inputs()) {
        Buffer& buffer = buffers.at(part.buffer);
        const size_t begin = part.first * size_of(buffer.type);
        kept.push_back({buffer.type, part.count, buffer.host_data() + begin,
                        buffers.at(buffer.copy.index).memory->data() + begin,
                        buffer.snapshot.get() + begin});
    }
    return kept;
}

std::vector<StagedPart> staged_parts(BufferTable& buffers, std::span<const Part> parts) {
    std::vector<StagedPart> staged;
    staged.reserve(parts.size());
    for (const Part& part : parts) {
        Buffer& buffer = buffers.at(part.buffer);
        const size_t bytes = size_of(buffer.type);
        StagedPart one{part.count, bytes, nullptr, nullptr};
        if (buffer.is_staged()) {
            one.outside = buffer.outside + part.first * bytes;
            one.shared = buffer.memory->data() + part.first * bytes;
        }
        staged.push_back(one);
    }
    return staged;
}

protocol::WriteState contents_left(const BufferTable& buffers, const Request& request,
                                   protocol::WriteState told) {
    using protocol::WriteState;
    if (request.keeps_local) return WriteState::untouched;
    // Staged memory gets the whole result or nothing.
    const std::span<const Part> written = request.results();
    const bool all_staged =
        request.stages && std::all_of(written.begin(), written.end(), [&](const Part& part) {
            return buffers.at(part.buffer).is_staged();
        });
    if (all_staged && told == WriteState::writing) return WriteState::untouched;
    return told != WriteState::untouched && request.gpu ? WriteState::writing : told;
}

OutsideResult::OutsideResult(BufferTable& buffers, const Request& request) : done_(request.added) {
    if (request.keeps_local) kept_ = kept_buffers(buffers, request);
    if (request.stages) staged_ = staged_parts(buffers, request.results());
}

bool OutsideResult::bring(base::TimePoint deadline, bool finishes) {
    for (;;) {
        const uint64_t piece = kept_.empty() ? copy_out(staged_, done_, kPieceElements)
                                             : add_change(kept_, done_, kPieceElements);
        done_ += piece;
        if (piece < kPieceElements) return true;
        if (!finishes && base::now() >= deadline) return false;
    }
}

}  // namespace pace::client
