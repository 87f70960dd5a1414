#include "daemon/families/rounds/handover.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "base/log/training_events.h"
#include "daemon/exchange/exchange.h"
#include "daemon/members/handover_list.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::Result;

namespace {

constexpr uint32_t kCheck = 0x44454254;

// The node of the view with the next number after the leaver's.
NodeId successor_of(const View& view, NodeId leaver) {
    std::vector<NodeId> nodes = view.nodes();
    std::sort(nodes.begin(), nodes.end());
    const auto next = std::upper_bound(nodes.begin(), nodes.end(), leaver);
    if (nodes.empty()) return 0;
    return next == nodes.end() ? nodes.front() : *next;
}

}  // namespace

uint64_t Handover::number(uint64_t epoch, NodeId leaver, uint64_t part) const {
    return part_number(exchange_number(job_.token, ExchangeKind::handover, epoch, leaver), part);
}

// The other node has exchanges of its own to end first.
Transfer::About Handover::about(NodeId other) const {
    constexpr int kDeadlines = 5;
    return {job_.id, "what a node owed", other, kDeadlines};
}

Handover::~Handover() {
    stop(base::make_error(base::ErrorKind::aborted, "the job is over on this node"));
}

void Handover::give(std::vector<Debt> debts) {
    const NodeId self = job_.services.self;
    const Leaving leaving = *std::exchange(leaving_, std::nullopt);
    if (job_.services.peers.is_cut(leaving.successor)) {
        // The residuals stay here, and come back with this node.
        for (Debt& debt : debts) events_.inherit(std::move(debt));
        return;
    }
    debts.resize(std::min(debts.size(), kDebtsMax));
    std::vector<DebtSize> sizes;
    for (const Debt& debt : debts) sizes.push_back({debt.counts, debt.values.size()});
    const std::vector<std::byte> list = write(sizes);
    const uint64_t number = this->number(leaving.epoch, self, 0);
    const auto giving =
        Giving::give_copy(job_.services, about(leaving.successor), number, kCheck, list);
    if (!giving) {
        base::log_event(base::events::kDebtNotGiven,
                        {{"job", job_.options.name},
                         {"successor", job_.services.peers.name(leaving.successor)},
                         {"reason", giving.error().message}});
        send_poison(job_.services, number, {leaving.successor});
        return;
    }
    for (size_t i = 0; i < debts.size(); ++i)
        (void)Giving::give_held(job_.services, about(leaving.successor),
                                this->number(leaving.epoch, self, i + 1), kCheck,
                                std::as_bytes(debts[i].values), debts[i].memory);
}

void Handover::commit_view(const std::vector<NodeId>& leavers) {
    // This node has come back before it could give: its residuals stay.
    if (leaving_) give({});
    for (const NodeId leaver : leavers) {
        const NodeId successor = successor_of(job_.view, leaver);
        if (leaver == job_.services.self) leaving_ = Leaving{job_.view.epoch, successor};
        if (successor == job_.services.self) take_list(leaver, job_.view.epoch);
    }
}

void Handover::stop(const base::Error& error) {
    leaving_.reset();
    const auto takings = std::exchange(takings_, {});
    for (const auto& weak : takings)
        if (const auto taking = weak.lock()) taking->abort(error);
}

void Handover::take(NodeId leaver, uint64_t epoch, uint64_t part, size_t bytes,
                    const std::function<void(Scratch)>& taken) {
    std::erase_if(takings_, [](const auto& weak) { return weak.expired(); });
    const auto taking =
        Taking::take_memory(scope_, job_.services, about(leaver), number(epoch, leaver, part),
                            kCheck, bytes, [this, taken](Result<Scratch> memory) {
                                if (memory) taken(std::move(*memory));
                                if (--takings_under_way_ == 0) events_.settled();
                            });
    takings_.push_back(taking);
    ++takings_under_way_;
}

void Handover::take_list(NodeId leaver, uint64_t epoch) {
    take(leaver, epoch, 0, kHandoverListBytes, [this, leaver, epoch](const Scratch& list) {
        take_debts(leaver, epoch, {list.data(), kHandoverListBytes});
    });
}

void Handover::refused(NodeId leaver, const base::Error& error) const {
    base::log_event(base::events::kDebtNotTaken, {{"job", job_.options.name},
                                                  {"node", job_.services.peers.name(leaver)},
                                                  {"reason", error.message}});
}

void Handover::take_debts(NodeId leaver, uint64_t epoch,
                          std::span<const std::byte> list_untrusted) {
    const auto list = read_handover_list(list_untrusted);
    if (!list) {
        refused(leaver, list.error());
        return;
    }
    for (size_t i = 0; i < list->size(); ++i) {
        const DebtSize entry = (*list)[i];
        const uint64_t bytes = entry.elements * sizeof(float);
        auto charge = job_.payer().charge(bytes, "what a node that leaves owes");
        if (!charge) {
            refused(leaver, charge.error());
            continue;
        }
        const auto paid = std::make_shared<Charge>(std::move(*charge));
        take(leaver, epoch, i + 1, bytes, [this, leaver, entry, paid](Scratch values) {
            auto* const floats = reinterpret_cast<float*>(values.data());
            const auto memory = std::make_shared<const std::pair<Scratch, std::shared_ptr<Charge>>>(
                std::move(values), paid);
            base::log_info("took over what a node owed",
                           {{"job", job_.options.name},
                            {"node", job_.services.peers.name(leaver)},
                            {"elements", entry.elements}});
            events_.inherit({entry.counts, {floats, entry.elements}, memory});
        });
    }
}

}  // namespace pace::daemon
