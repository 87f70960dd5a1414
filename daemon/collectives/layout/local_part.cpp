#include "daemon/collectives/layout/local_part.h"

#include <cstring>
#include <utility>

namespace pace::collectives {

LocalPart::LocalPart(Layout layout, std::vector<Member> members)
    : layout_(std::move(layout)),
      members_(std::move(members)),
      sources_(layout_.segments().size()) {
    for (size_t segment = 0; segment < sources_.size(); ++segment) {
        sources_[segment].reserve(members_.size());
        for (const Member& member : members_)
            sources_[segment].push_back({member.segments[segment], member.weight});
    }
}

void LocalPart::sum(ByteRange range, double scale, std::byte* out) const {
    layout_.for_each_piece(range, [&](const Piece& piece) {
        kernels::weighted_sum(piece.dtype, sources_[piece.segment], scale,
                              out + (piece.offset - range.begin), piece.count, piece.first);
    });
    layout_.zero_padding(range, out);
}

void LocalPart::copy(ByteRange range, std::byte* out) const {
    layout_.for_each_piece(range, [&](const Piece& piece) {
        const std::byte* from = members_.front().segments[piece.segment];
        std::memcpy(out + (piece.offset - range.begin),
                    from + piece.first * protocol::size_of(piece.dtype), piece.bytes());
    });
    layout_.zero_padding(range, out);
}

std::span<const std::byte> LocalPart::direct(ByteRange range) const {
    if (members_.size() != 1 || members_[0].weight != 1.0) return {};
    std::span<const std::byte> bytes;
    layout_.for_each_piece(range, [&](const Piece& piece) {
        if (piece.offset != range.begin || piece.bytes() != range.size()) return;
        const std::byte* segment = members_[0].segments[piece.segment];
        bytes = {segment + piece.first * protocol::size_of(piece.dtype), range.size()};
    });
    return bytes;
}

}  // namespace pace::collectives
