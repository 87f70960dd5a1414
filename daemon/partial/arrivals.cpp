#include "daemon/partial/arrivals.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "daemon/partial/agreement/slots.h"

namespace pace::partial {

using Kind = Quorum::Kind;

Arrivals::Arrivals(collectives::Communicator& communicator, const Quorum& quorum,
                   const Roster& roster, uint64_t round, Events events)
    : communicator_(communicator),
      roster_(roster),
      events_(std::move(events)),
      kind_(quorum.kind),
      living_(roster.workers()),
      needed_(arrivals_needed(quorum, living_)),
      counter_(counting_node(round, communicator.size())),
      messages_(new Messages[communicator.size()]) {
    if (kind_ != Kind::majority) return;
    const std::vector<Rank> living = roster.ranks();
    if (!living.empty()) initiator_ = initiator(quorum.seed, round, living);
}

void Arrivals::listen() {
    for (size_t node = 0; node < communicator_.size(); ++node) {
        const bool is_self = node == communicator_.self();
        if (counts_here() == is_self) continue;
        const size_t workers = roster_.nodes[node].size();
        messages_[node].by_arrival.reset(new Message[2 * workers]);
        if (is_self) continue;
        for (size_t i = 0; i < workers; ++i) listen_once_more(node);
    }
}

void Arrivals::listen_once_more(size_t node) {
    pending_.add();
    base::spawn(hear(node, messages_[node].posted++), [this] { pending_.done(); });
}

bool Arrivals::starts_alone(Rank rank) const {
    return kind_ == Kind::solo || (kind_ == Kind::majority && rank == initiator_);
}

void Arrivals::arrived(Rank rank, bool waits) {
    if (stopped_) return;
    if (!waits && starts_alone(rank)) {
        events_.start();
        return;
    }
    const bool is_initiator = kind_ == Kind::majority && rank == initiator_;
    say(!waits ? Arrival::gives : is_initiator ? Arrival::initiator_waits : Arrival::waits);
}

void Arrivals::gives_after_all(Rank rank) {
    if (stopped_) return;
    if (starts_alone(rank)) {
        events_.start();
    } else {
        say(Arrival::gives_after_all);
    }
}

void Arrivals::say(Arrival arrival) {
    if (counts_here()) {
        count(arrival);
        return;
    }
    Messages& own = messages_[communicator_.self()];
    if (own.posted == 2 * roster_.nodes[communicator_.self()].size()) return;
    own.by_arrival[own.posted].arrival = static_cast<std::byte>(arrival);
    pending_.add();
    base::spawn(tell(own.posted++), [this] { pending_.done(); });
}

void Arrivals::count(Arrival arrival) {
    const bool gives = arrival == Arrival::gives || arrival == Arrival::gives_after_all;
    ++(gives ? giving_ : waiting_);
    if (arrival == Arrival::gives_after_all && waiting_ > 0) --waiting_;
    if (arrival == Arrival::initiator_waits) initiator_waits_ = true;
    if (is_due()) events_.start();
}

bool Arrivals::is_due() const {
    if (waiting_ == living_) return true;
    if (giving_ == 0) return false;
    if (kind_ == Kind::majority) return initiator_waits_;
    return giving_ >= std::min(needed_, living_ - std::min(living_, waiting_));
}

base::Task<> Arrivals::ended() {
    // A named reference, because GCC 12 copies an awaited member.
    base::Counter& pending = pending_;
    co_await pending;
}

base::Task<> Arrivals::tell(size_t index) {
    Message& message = messages_[communicator_.self()].by_arrival[index];
    communicator_.post_send(message.operation, counter_, slot_of(Step::arrival, index),
                            std::span(&message.arrival, 1));
    const base::Result<> result = co_await message.operation.ended();
    if (result) co_return;
    communicator_.note(result);
    events_.failed();
}

base::Task<> Arrivals::hear(size_t node, size_t index) {
    Message& message = messages_[node].by_arrival[index];
    communicator_.post_receive(message.operation, node, slot_of(Step::arrival, index),
                               std::span(&message.arrival, 1));
    const base::Result<> result = co_await message.operation.ended();
    const auto arrival = static_cast<Arrival>(message.arrival);
    if (result && arrival >= Arrival::gives && arrival <= Arrival::gives_after_all) {
        const bool waits = arrival == Arrival::waits || arrival == Arrival::initiator_waits;
        if (waits && messages_[node].posted < 2 * roster_.nodes[node].size())
            listen_once_more(node);
        count(arrival);
        co_return;
    }
    communicator_.note(result ? base::make_error(base::ErrorKind::corrupt,
                                                 "a peer tells of an arrival of kind {}",
                                                 static_cast<unsigned>(message.arrival))
                              : result);
    events_.failed();
}

}  // namespace pace::partial
