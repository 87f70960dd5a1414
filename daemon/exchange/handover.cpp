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

NodeId heir_of(const View& view, NodeId leaver) {
    const std::vector<NodeId> nodes = view.nodes();
    const auto place = std::find(nodes.begin(), nodes.end(), leaver);
    if (place == nodes.end() || nodes.size() < 2) return 0;
    const auto next = std::next(place);
    return next == nodes.end() ? nodes.front() : *next;
}

}  // namespace

uint64_t Handover::number(uint64_t epoch, NodeId leaver, uint64_t part) const {
    return mix(exchange_number(job_.token, ExchangeKind::handover, epoch, leaver), part);
}

void Handover::give(std::vector<Debt> debts) {
    const View& view = job_.view;
    const NodeId self = job_.services.self;
    const NodeId heir = heir_of(view, self);
    if (heir == 0) return;
    debts.resize(std::min(debts.size(), kDebtsMax));
    List list;
    list.debts = debts.size();
    for (size_t i = 0; i < debts.size(); ++i)
        list.entries[i] = {debts[i].counts, debts[i].values.size()};
    const auto send = [&](uint64_t part, const void* data, size_t bytes) {
        (void)Gift::give_copy(job_.services, number(view.epoch, self, part), kCheck, heir,
                              {static_cast<const std::byte*>(data), bytes});
    };
    send(0, &list, sizeof(list));
    for (size_t i = 0; i < debts.size(); ++i)
        send(i + 1, debts[i].values.data(), debts[i].values.size() * sizeof(float));
}

void Handover::commit_view(const View& before) {
    for (const NodeId node : before.nodes()) {
        const bool is_mine = heir_of(before, node) == job_.services.self;
        if (is_mine && !job_.view.contains_node(node)) take_list(node, before.epoch);
    }
}

void Handover::stop(const base::Error& error) {
    const auto takings = std::exchange(takings_, {});
    for (const auto& weak : takings)
        if (const auto taking = weak.lock()) taking->abort(error);
}

void Handover::take(NodeId leaver, uint64_t epoch, uint64_t part, size_t bytes,
                    const std::function<void(std::span<const std::byte>)>& taken) {
    const auto taking =
        Taking::take(job_.services, number(epoch, leaver, part), kCheck, leaver, bytes,
                     [taken](const Result<std::span<const std::byte>>& result) {
                         if (result) taken(*result);
                     });
    if (taking) takings_.push_back(taking);
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
                 inherit_(std::move(debt));
             });
    }
}

}  // namespace pace::daemon
