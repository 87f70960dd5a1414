#include "daemon/partial/arrivals.h"

#include <utility>
#include <vector>

#include "daemon/partial/slots.h"

namespace pace::partial {

using collectives::Operation;

Arrivals::Arrivals(collectives::Communicator& communicator, const Quorum& quorum,
                   const Roster& roster, uint64_t round, Events events)
    : communicator_(communicator),
      roster_(roster),
      events_(std::move(events)),
      counted_(is_counted(quorum)),
      needed_(arrivals_needed(quorum, roster.workers())),
      counter_(counting_node(round, communicator.size())),
      any_starts_(quorum.kind == Quorum::Kind::solo),
      messages_(new Messages[communicator.size()]) {
    if (quorum.kind != Quorum::Kind::majority) return;
    const std::vector<Rank> living = roster.ranks();
    if (!living.empty()) initiator_ = initiator(quorum.seed, round, living);
}

void Arrivals::listen() {
    if (!counted_) return;
    for (size_t node = 0; node < communicator_.size(); ++node) {
        const bool is_self = node == communicator_.self();
        if (counts_here() == is_self) continue;
        messages_[node].count = roster_.nodes[node].size();
        messages_[node].operations.reset(new Operation[messages_[node].count]);
        if (is_self) continue;
        for (size_t i = 0; i < messages_[node].count; ++i) {
            pending_.add();
            base::spawn(hear(node, i), [this] { pending_.done(); });
        }
    }
}

void Arrivals::arrived(Rank rank) {
    if (stopped_) return;
    if (!counted_) {
        if (any_starts_ || rank == initiator_) events_.start();
        return;
    }
    if (counts_here()) {
        count();
        return;
    }
    if (told_ == messages_[communicator_.self()].count) return;
    pending_.add();
    base::spawn(tell(told_++), [this] { pending_.done(); });
}

void Arrivals::count() {
    if (++count_ == needed_) events_.start();
}

base::Task<> Arrivals::ended() {
    // By a name, because GCC 12 copies an awaited member.
    base::Counter& pending = pending_;
    co_await pending;
}

base::Task<> Arrivals::tell(size_t index) {
    Operation& sent = messages_[communicator_.self()].operations[index];
    communicator_.post_send(sent, counter_, slot_of(Step::arrival, index), {});
    const base::Result<> result = co_await sent.ended();
    if (result) co_return;
    communicator_.note(result);
    events_.failed();
}

base::Task<> Arrivals::hear(size_t node, size_t index) {
    Operation& heard = messages_[node].operations[index];
    communicator_.post_receive(heard, node, slot_of(Step::arrival, index), {});
    const base::Result<> result = co_await heard.ended();
    if (result) {
        count();
        co_return;
    }
    communicator_.note(result);
    events_.failed();
}

}  // namespace pace::partial
