#include "daemon/exchange/handover.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "daemon/exchange/digest.h"

namespace pace::daemon {

using base::Result;

namespace {

constexpr uint32_t kCheck = 0x44454254;
constexpr size_t kDebtsMax = 16;
constexpr uint64_t kElementsMax = uint64_t{1} << 32U;

struct List {
    struct Entry {
        uint64_t counts = 0;
        uint64_t elements = 0;
    };
    uint64_t debts = 0;
    std::array<Entry, kDebtsMax> entries{};
};

// Of the view, the node with the next number.
NodeId heir_of(const View& view, NodeId leaver) {
    std::vector<NodeId> nodes = view.nodes();
    std::sort(nodes.begin(), nodes.end());
    const auto next = std::upper_bound(nodes.begin(), nodes.end(), leaver);
    if (nodes.empty()) return 0;
    return next == nodes.end() ? nodes.front() : *next;
}

}  // namespace

uint64_t Handover::number(uint64_t epoch, NodeId leaver, uint64_t part) const {
    return mix(exchange_number(job_.token, ExchangeKind::handover, epoch, leaver), part);
}

Handover::~Handover() {
    stop(base::make_error(base::ErrorKind::aborted, "the job is over on this node"));
}

void Handover::give(std::vector<Debt> debts) {
    const NodeId self = job_.services.self;
    const Leaving leaving = *std::exchange(leaving_, std::nullopt);
    debts.resize(std::min(debts.size(), kDebtsMax));
    List list;
    list.debts = debts.size();
    for (size_t i = 0; i < debts.size(); ++i)
        list.entries[i] = {debts[i].counts, debts[i].values.size()};
    const auto send = [&](uint64_t part, const void* data, size_t bytes) {
        (void)Gift::give_copy(job_.services, number(leaving.epoch, self, part), kCheck,
                              leaving.heir, {static_cast<const std::byte*>(data), bytes});
    };
    send(0, &list, sizeof(list));
    for (size_t i = 0; i < debts.size(); ++i)
        send(i + 1, debts[i].values.data(), debts[i].values.size() * sizeof(float));
}

void Handover::commit_view(const std::vector<NodeId>& leavers) {
    // It has come back before it could give: what it owes stays.
    if (leaving_) give({});
    for (const NodeId leaver : leavers) {
        const NodeId heir = heir_of(job_.view, leaver);
        if (leaver == job_.services.self) leaving_ = Leaving{job_.view.epoch, heir};
        if (heir == job_.services.self) take_list(leaver, job_.view.epoch);
    }
}

void Handover::stop(const base::Error& error) {
    leaving_.reset();
    const auto takings = std::exchange(takings_, {});
    for (const auto& weak : takings)
        if (const auto taking = weak.lock()) taking->abort(error);
}

void Handover::take(NodeId leaver, uint64_t epoch, uint64_t part, size_t bytes,
                    const std::function<void(std::span<const std::byte>)>& taken) {
    std::erase_if(takings_, [](const auto& weak) { return weak.expired(); });
    const auto taking =
        Taking::take(job_.services, number(epoch, leaver, part), kCheck, leaver, bytes,
                     [this, taken, alive = std::weak_ptr(alive_)](
                         const Result<std::span<const std::byte>>& result) {
                         if (alive.expired()) return;
                         if (result) taken(*result);
                         if (--takings_under_way_ == 0) events_.settled();
                     });
    takings_.push_back(taking);
    ++takings_under_way_;
}

void Handover::take_list(NodeId leaver, uint64_t epoch) {
    take(leaver, epoch, 0, sizeof(List), [this, leaver, epoch](std::span<const std::byte> list) {
        take_debts(leaver, epoch, list);
    });
}

void Handover::take_debts(NodeId leaver, uint64_t epoch,
                          std::span<const std::byte> list_untrusted) {
    List list;
    std::memcpy(&list, list_untrusted.data(), sizeof(list));
    for (size_t i = 0; i < std::min<size_t>(list.debts, kDebtsMax); ++i) {
        const List::Entry entry = list.entries[i];
        if (entry.elements > kElementsMax) return;
        take(leaver, epoch, i + 1, entry.elements * sizeof(float),
             [this, leaver, entry](std::span<const std::byte> bytes) {
                 Debt debt{entry.counts, std::vector<float>(entry.elements)};
                 std::memcpy(debt.values.data(), bytes.data(), bytes.size());
                 base::log_info("took over what a node owed",
                                {{"job", job_.options.name},
                                 {"node", job_.services.peers.name(leaver)},
                                 {"elements", entry.elements}});
                 events_.inherit(std::move(debt));
             });
    }
}

}  // namespace pace::daemon
