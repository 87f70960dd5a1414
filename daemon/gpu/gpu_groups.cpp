#include "daemon/gpu/gpu_groups.h"

#include <algorithm>
#include <cstring>

#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "daemon/device/nccl/nccl_library.h"
#include "daemon/runtime/mix.h"

namespace pace::daemon {

using base::Result;
using device::Device;
using device::GpuCommunicator;

namespace {

// Until all ranks have met. NCCL first looks at the machine's links, which takes seconds on large
// machines.
constexpr base::Duration kMakingDeadline = std::chrono::seconds(60);
// After a communicator could not be made, sums go by way of the hosts for so long.
constexpr base::Duration kRetryAfter = std::chrono::seconds(30);
// A communicator used so recently is not dropped for another one, which would be dropped as soon.
constexpr base::Duration kUsedLately = std::chrono::seconds(1);
// Unused memory that is kept on each GPU, besides memory in use. In turn there are the last result,
// the one before it until nothing reads it any more, and the next one.
constexpr size_t kSpareScratch = 1;

uint64_t serial_of(const device::GroupId& id) {
    uint64_t hash = id.bytes.size();
    for (const std::byte byte : id.bytes) hash = mix(hash, static_cast<uint64_t>(byte));
    return hash == 0 ? 1 : hash;
}

bool same_gpus(const std::vector<GpuCard>& a, const std::vector<GpuCard>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const GpuCard& one, const GpuCard& other) {
                          return one.boards.size() == other.boards.size() &&
                                 std::memcmp(one.boards.data(), other.boards.data(),
                                             one.boards.size() * sizeof(base::cuda::CUuuid)) == 0;
                      });
}

}  // namespace

GpuGroups::Turn::~Turn() {
    for (Device* const gpu : gpus_) std::erase(groups_.busy_, gpu);
}

std::unique_ptr<GpuGroups::Turn> GpuGroups::take_turn(const std::vector<Device*>& gpus) {
    for (Device* const gpu : gpus)
        if (std::find(busy_.begin(), busy_.end(), gpu) != busy_.end()) return nullptr;
    busy_.insert(busy_.end(), gpus.begin(), gpus.end());
    return std::make_unique<Turn>(*this, gpus);
}

bool GpuGroups::is_refused(const Key& key) {
    const auto found = refused_until_.find(key);
    if (found == refused_until_.end()) return false;
    if (base::now() < found->second) return true;
    refused_until_.erase(found);
    return false;
}

std::vector<const GpuGroups::Entry*> GpuGroups::latest_of(const Place& place) const {
    std::vector<const Entry*> found;
    for (const Entry& entry : entries_)
        if (entry.nodes == place.nodes && entry.gpus == place.gpus) found.push_back(&entry);
    std::sort(found.begin(), found.end(),
              [](const Entry* a, const Entry* b) { return a->used > b->used; });
    if (found.size() > kKnownPerCardMax) found.resize(kKnownPerCardMax);
    return found;
}

bool GpuGroups::may_be_able(const Place& place) {
    return !is_refused(Key{place.nodes, place.gpus}) && !place.gpus.empty() &&
           place.gpus.size() <= kGpusPerNodeMax;
}

bool GpuGroups::sends_fresh(const Place& place) const {
    if (place.self != 0) return false;
    const bool is_wanted = std::find(want_fresh_.begin(), want_fresh_.end(),
                                     Key{place.nodes, place.gpus}) != want_fresh_.end();
    return is_wanted || latest_of(place).empty();
}

bool GpuGroups::wants_id(const Place& place) {
    return !unused_id_ && may_be_able(place) && sends_fresh(place);
}

void GpuGroups::keep_id(const Place& place, const Result<device::GroupId>& id) {
    if (id)
        unused_id_ = *id;
    else
        refuse(place, id.error());
}

GpuCard GpuGroups::card_for(Place& place) {
    GpuCard card;
    card.able = may_be_able(place);
    if (!card.able) return card;
    for (const Device* const gpu : place.gpus) card.boards.push_back(gpu->facts().board);
    place.named.clear();
    for (const Entry* const entry : latest_of(place)) {
        card.known.push_back(
            {entry->serial, entry->communicator->state() == GpuCommunicator::State::ready});
        place.named.emplace_back(entry->serial, entry->communicator);
    }
    card.able = !card.known.empty() || has_room();
    if (!sends_fresh(place) || !card.able) return card;
    std::erase(want_fresh_, Key{place.nodes, place.gpus});
    card.fresh = std::exchange(unused_id_, std::nullopt);
    card.able = card.fresh.has_value();
    return card;
}

void GpuGroups::refuse(const Place& place, const base::Error& why) {
    refuse(Key{place.nodes, place.gpus}, why);
}

void GpuGroups::refuse(const Key& key, const base::Error& why) {
    base::log_event(base::events::kNcclRefused, {{"nodes", key.first.size()},
                                                 {"gpus_here", key.second.size()},
                                                 {"seconds", kRetryAfter / std::chrono::seconds(1)},
                                                 {"reason", why.message}});
    refused_until_[key] = base::now() + kRetryAfter;
}

std::shared_ptr<GpuCommunicator> GpuGroups::meet(const Place& place,
                                                 const std::vector<GpuCard>& cards) {
    const GpuVerdict verdict = verdict_of(cards);
    if (verdict.way == GpuVerdict::Way::make)
        make(place, cards);
    else if (place.self == 0 && cards.front().fresh)
        unused_id_ = cards.front().fresh;  // all nodes know that it was not used
    if (verdict.way == GpuVerdict::Way::lacks && place.self == 0)
        want_fresh_.emplace_back(place.nodes, place.gpus);
    if (verdict.way != GpuVerdict::Way::use) return nullptr;
    for (Entry& entry : entries_)
        if (entry.serial == verdict.serial) entry.used = base::now();
    for (const auto& [serial, communicator] : place.named)
        if (serial == verdict.serial) return communicator;
    return nullptr;  // cannot happen: this node's card has named it
}

bool GpuGroups::has_room() const {
    const base::TimePoint idle = base::now() - kUsedLately;
    return entries_.size() < communicators_max_ ||
           std::any_of(entries_.begin(), entries_.end(),
                       [idle](const Entry& entry) { return entry.used < idle; });
}

// Drops a communicator of the same members, and otherwise the least recently used ones.
void GpuGroups::make_room(const std::vector<GpuCard>& cards) {
    std::erase_if(entries_, [&](const Entry& entry) { return same_gpus(entry.cards, cards); });
    while (entries_.size() >= communicators_max_) {
        const auto oldest =
            std::min_element(entries_.begin(), entries_.end(),
                             [](const Entry& a, const Entry& b) { return a.used < b.used; });
        if (oldest->communicator->state() == GpuCommunicator::State::making)
            oldest->communicator->abort(
                base::make_error(base::ErrorKind::aborted, "others were used more lately"));
        entries_.erase(oldest);
    }
}

void GpuGroups::make(const Place& place, const std::vector<GpuCard>& cards) {
    const auto& library = device::NcclLibrary::get();
    if (!library) return;  // cannot happen: this node's card says that it is able
    make_room(cards);
    uint32_t world = 0;
    std::vector<GpuCommunicator::Rank> ranks;
    for (size_t node = 0; node < cards.size(); ++node) {
        for (size_t i = 0; i < cards[node].boards.size(); ++i, ++world)
            if (node == place.self) ranks.push_back({place.gpus[i], world});
    }
    const uint64_t serial = serial_of(*cards.front().fresh);
    auto communicator = GpuCommunicator::create(
        loop_, **library, *cards.front().fresh, world, std::move(ranks), kMakingDeadline,
        scope_.bind([this, key = Key{place.nodes, place.gpus}, serial](const Result<>& result) {
            made(key, serial, result);
        }));
    entries_.push_back(
        {place.nodes, place.gpus, cards, serial, base::now(), std::move(communicator)});
}

void GpuGroups::made(const Key& key, uint64_t serial, const Result<>& result) {
    if (result) {
        base::log_info("GPUs of a group are connected by NCCL",
                       {{"nodes", key.first.size()}, {"gpus_here", key.second.size()}});
        return;
    }
    // An entry that was dropped to make room is not refused.
    if (std::erase_if(entries_, [serial](const Entry& entry) { return entry.serial == serial; }) >
        0)
        refuse(key, result.error());
}

void GpuGroups::drop(const std::shared_ptr<GpuCommunicator>& communicator) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.communicator == communicator; });
}

void GpuGroups::forget(NodeId node) {
    const auto has = [node](const std::vector<NodeId>& nodes) {
        return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };
    std::erase_if(entries_, [&](const Entry& entry) { return has(entry.nodes); });
    std::erase_if(want_fresh_, [&](const Key& key) { return has(key.first); });
    std::erase_if(refused_until_, [&](const auto& refused) { return has(refused.first.first); });
}

std::shared_ptr<device::DeviceMemory> GpuGroups::spare_scratch(const Device& gpu, size_t bytes) {
    std::shared_ptr<device::DeviceMemory> taken;
    size_t spare = 0;
    std::erase_if(scratch_, [&](const auto& memory) {
        if (memory.use_count() > 1 || &memory->device() != &gpu) return false;
        if (!taken && memory->size() >= bytes) {
            taken = memory;
            return false;
        }
        return ++spare > kSpareScratch;
    });
    return taken;
}

std::shared_ptr<device::DeviceMemory> GpuGroups::keep_scratch(device::DeviceMemory made) {
    return scratch_.emplace_back(device::DeviceMemory::share(std::move(made)));
}

void GpuGroups::rest() {
    entries_.clear();
    scratch_.clear();
}

}  // namespace pace::daemon
