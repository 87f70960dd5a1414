#include "daemon/collectives/messages/communicator.h"

#include <utility>

#include "base/attempt.h"

namespace pace::collectives {

// UnderWay: the operations that the transport holds, by number. A completion only needs the number.
// So a completion is small and allocates nothing. UnderWay lives until the Communicator and the
// last of the operations have gone.
class UnderWay {
  public:
    explicit UnderWay(Communicator& communicator) : communicator_(&communicator) {}

    uint32_t add(Operation& operation) {
        if (free_.empty()) {
            free_.reserve(places_.size() + 1);
            places_.emplace_back();
            free_.push_back(static_cast<uint32_t>(places_.size() - 1));
        }
        const uint32_t number = free_.back();
        free_.pop_back();
        places_[number] = {&operation, operation.node_};
        ++count_;
        return number;
    }
    void end(uint32_t number, base::Result<> result) {
        const Place place = std::exchange(places_[number], {});
        free_.push_back(number);
        --count_;
        if (place.operation != nullptr)
            communicator_->end(*place.operation, place.node, std::move(result));
        else if (communicator_ != nullptr)
            --communicator_->pending_[place.node];
        else if (count_ == 0)
            delete this;
    }
    void give_up(uint32_t number) {
        const size_t node = places_[number].node;
        places_[number].operation = nullptr;
        communicator_->given_up(node);
    }
    void leave() {
        communicator_ = nullptr;
        if (count_ == 0) delete this;
    }

  private:
    struct Place {
        // Null means that the operation was destroyed before its end.
        Operation* operation = nullptr;
        size_t node = 0;
    };
    ~UnderWay() = default;

    // Null means that the communicator is destroyed.
    Communicator* communicator_;
    std::vector<Place> places_;
    std::vector<uint32_t> free_;
    size_t count_ = 0;
};

void Operation::give_up() {
    under_way_->give_up(number_);
}

Communicator::Communicator(transports::Transport& transport, Group group)
    : transport_(transport),
      group_(std::move(group)),
      pending_(group_.nodes.size(), 0),
      heard_(group_.nodes.size(), false),
      under_way_(new UnderWay(*this)),
      last_progress_(base::now()),
      met_(last_progress_) {}

Communicator::~Communicator() {
    if (!aborted()) transport_.close_exchange(group_.exchange);
    under_way_->leave();
}

void Communicator::given_up(size_t node) {
    if (!aborted()) abort(base::out_of_memory());
    transport_.give_up(group_.nodes[node],
                       {base::ErrorKind::unavailable, "no memory for what it sends"});
}

transports::Completion Communicator::completion(const Operation& operation) {
    return [under_way = under_way_, number = operation.number_](base::Result<> result) {
        under_way->end(number, std::move(result));
    };
}

void Communicator::post_send(Operation& operation, size_t node, uint32_t slot,
                             std::span<const std::byte> bytes) {
    if (!begin(operation, node, bytes.size(), true)) return;
    transport_.send(group_.nodes[node], tag(slot), bytes, completion(operation));
}

void Communicator::post_receive(Operation& operation, size_t node, uint32_t slot,
                                std::span<std::byte> bytes) {
    if (!begin(operation, node, bytes.size(), false)) return;
    transport_.receive(group_.nodes[node], tag(slot), bytes, completion(operation));
}

bool Communicator::begin(Operation& operation, size_t node, size_t bytes, bool is_send) {
    operation.result_ = status();
    if (aborted()) return false;
    operation.node_ = node;
    operation.bytes_ = bytes;
    operation.is_send_ = is_send;
    operation.under_way_ = under_way_;
    operation.number_ = under_way_->add(operation);
    operation.pending_ = true;
    ++pending_[node];
    return true;
}

void Communicator::end(Operation& operation, size_t node, base::Result<> result) {
    --pending_[node];
    last_progress_ = base::now();
    if (result && operation.is_send_) {
        ++counters_.messages_sent;
        counters_.bytes_sent += operation.bytes_;
    } else if (result) {
        ++counters_.messages_received;
        counters_.bytes_received += operation.bytes_;
        if (!heard_[node]) met_ = last_progress_;
        heard_[node] = true;
    }
    if (!result && result.error().kind == base::ErrorKind::mismatch && !unlike_)
        unlike_ = operation.node_;
    operation.pending_ = false;
    operation.result_ = std::move(result);
    // The waiter may end, and destroy the operation.
    if (operation.waiter_) std::exchange(operation.waiter_, nullptr).resume();
}

void Communicator::abort(base::Error error) {
    if (aborted()) return;
    error_ = std::move(error);
    transport_.close_exchange(group_.exchange);
}

void Communicator::note(const base::Result<>& result) {
    if (!result) abort(result.error());
}

void Communicator::peer_lost(transports::PeerId peer, const base::Error& error) {
    for (size_t node = 0; node < size(); ++node)
        if (node != self() && group_.nodes[node] == peer) abort(error);
}

base::Result<> Communicator::status() const {
    if (error_) return *error_;
    return {};
}

std::vector<size_t> Communicator::waiting_for() const {
    std::vector<size_t> nodes;
    for (size_t node = 0; node < pending_.size(); ++node)
        if (pending_[node] > 0) nodes.push_back(node);
    return nodes;
}

}  // namespace pace::collectives
