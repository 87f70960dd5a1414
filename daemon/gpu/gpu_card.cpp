#include "daemon/gpu/gpu_card.h"

#include <algorithm>
#include <cstring>

namespace pace::daemon {

using base::Result;
using base::cuda::CUuuid;

namespace {

// The format in which cards travel; the nodes of a cluster have one byte order.
struct Header {
    uint32_t able;
    uint32_t gpu_count;
    uint32_t known_count;
    uint32_t has_fresh;
};
struct WireKnown {
    uint64_t serial;
    uint64_t ready;
};
struct Wire {
    Header header;
    CUuuid boards[kGpusPerNodeMax];
    WireKnown known[kKnownPerCardMax];
    device::GroupId fresh;
};
static_assert(sizeof(Wire) == kCardBytes);

bool operator<(const CUuuid& a, const CUuuid& b) {
    return std::memcmp(&a, &b, sizeof(a)) < 0;
}

bool are_distinct(const std::vector<GpuCard>& cards) {
    std::vector<CUuuid> all;
    for (const GpuCard& card : cards) all.insert(all.end(), card.boards.begin(), card.boards.end());
    std::sort(all.begin(), all.end(), [](const CUuuid& a, const CUuuid& b) { return a < b; });
    for (size_t i = 1; i < all.size(); ++i)
        if (!(all[i - 1] < all[i])) return false;
    return all.size() > 1;
}

const GpuCard::Known* find_known(const GpuCard& card, uint64_t serial) {
    const auto found =
        std::find_if(card.known.begin(), card.known.end(),
                     [serial](const GpuCard::Known& known) { return known.serial == serial; });
    return found == card.known.end() ? nullptr : &*found;
}

// The verdict on one communicator: which nodes have it, and whether it is ready at all of them.
GpuVerdict of_one(const std::vector<GpuCard>& cards, uint64_t serial) {
    bool ready = true;
    for (const GpuCard& card : cards) {
        const GpuCard::Known* const known = find_known(card, serial);
        if (known == nullptr) return {GpuVerdict::Way::lacks, 0};
        ready = ready && known->ready;
    }
    if (ready) return {GpuVerdict::Way::use, serial};
    return {GpuVerdict::Way::wait, 0};
}

}  // namespace

GpuCardBytes bytes_of(const GpuCard& card) {
    GpuCardBytes bytes{};
    if (!card.able || card.boards.size() > kGpusPerNodeMax || card.known.size() > kKnownPerCardMax)
        return bytes;
    Wire wire{};
    wire.header = {1, static_cast<uint32_t>(card.boards.size()),
                   static_cast<uint32_t>(card.known.size()), card.fresh ? 1U : 0U};
    std::copy(card.boards.begin(), card.boards.end(), wire.boards);
    for (size_t i = 0; i < card.known.size(); ++i)
        wire.known[i] = {card.known[i].serial, card.known[i].ready ? 1U : 0U};
    if (card.fresh) wire.fresh = *card.fresh;
    std::memcpy(bytes.data(), &wire, sizeof(wire));
    return bytes;
}

Result<GpuCard> card_of(const GpuCardBytes& bytes) {
    Wire wire{};
    std::memcpy(&wire, bytes.data(), sizeof(wire));
    const Header& header = wire.header;
    if (header.able > 1 || header.has_fresh > 1 || header.gpu_count > kGpusPerNodeMax ||
        header.known_count > kKnownPerCardMax)
        return base::make_error(base::ErrorKind::corrupt,
                                "a node tells of {} GPUs and {} communicators; at most {} and {} "
                                "are expected",
                                header.gpu_count, header.known_count, kGpusPerNodeMax,
                                kKnownPerCardMax);
    GpuCard card;
    card.able = header.able != 0;
    card.boards.assign(wire.boards, wire.boards + header.gpu_count);
    for (size_t i = 0; i < header.known_count; ++i)
        card.known.push_back({wire.known[i].serial, wire.known[i].ready != 0});
    if (header.has_fresh != 0) card.fresh = wire.fresh;
    return card;
}

GpuVerdict verdict_of(const std::vector<GpuCard>& cards) {
    for (const GpuCard& card : cards)
        if (!card.able || card.boards.empty()) return {};
    if (!are_distinct(cards)) return {};
    GpuVerdict best{GpuVerdict::Way::lacks, 0};
    for (const GpuCard::Known& known : cards.front().known) {
        const GpuVerdict verdict = of_one(cards, known.serial);
        if (verdict.way == GpuVerdict::Way::use) return verdict;
        if (verdict.way == GpuVerdict::Way::wait) best = verdict;
    }
    if (best.way == GpuVerdict::Way::lacks && cards.front().fresh) best.way = GpuVerdict::Way::make;
    return best;
}

}  // namespace pace::daemon
