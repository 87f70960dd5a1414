#include "daemon/exchange/adoption.h"

#include <algorithm>
#include <cstring>

#include "daemon/collectives/transfer.h"
#include "daemon/exchange/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// In front of the model. Its size keeps what follows on a cache line.
struct Header {
    uint64_t iteration = 0;
    uint64_t has_initial = 0;
    uint64_t round = 0;  // the model has the results of the rounds before
    uint64_t reserved[5] = {};
};
static_assert(sizeof(Header) == collectives::kCutBytes);

size_t packed_bytes(const collectives::Layout& layout, bool with_initial) {
    return sizeof(Header) + layout.bytes() * (with_initial ? 2 : 1);
}

}  // namespace

// The newcomer's end of a transfer. Frees itself when it has ended.
class Adoptions::Taking {
  public:
    Taking(Services& services, collectives::Group group)
        : communicator(services.transport, std::move(group)) {}
    Scratch memory;
    collectives::Communicator communicator;
};

uint64_t Adoptions::number(control::Rank newcomer) const {
    return exchange_number(job_.token, ExchangeKind::adoption, job_.view.epoch, newcomer);
}

void Adoptions::commit(const control::CommitView& view) {
    donations_.clear();
    for (const control::Adoption& adoption : view.adoptions) {
        const NodeId from = job_.view.node_of(adoption.donor);
        const NodeId to = job_.view.node_of(adoption.newcomer);
        if (to == job_.services.self) {
            const WorkerPtr newcomer = job_.find(adoption.newcomer);
            if (!newcomer || newcomer->state != Worker::State::adopting) {
                // It has its model already, or is gone: whatever the donor sends is dropped.
                job_.services.transport.close_exchange(number(adoption.newcomer));
                continue;
            }
            if (from != job_.services.self) take_from(newcomer, from);
        }
        if (from != job_.services.self) continue;
        donations_.push_back({adoption.donor, adoption.newcomer, to});
        const WorkerPtr donor = job_.find(adoption.donor);
        if (donor && donor->state != Worker::State::idle && donor->state != Worker::State::moving &&
            donor->head().is_made())
            at_boundary(donor);
    }
}

void Adoptions::stop(const base::Error& error) {
    donations_.clear();
    for (const auto& weak : gifts_) {
        if (const auto gift = weak.lock()) gift->abort(error);
    }
    gifts_.clear();
    const auto takings = std::move(takings_);
    takings_.clear();
    for (const auto& weak : takings) {
        if (const auto taking = weak.lock()) taking->communicator.abort(error);
    }
}

void Adoptions::at_boundary(const WorkerPtr& donor) {
    // Who waits for a model has none to give.
    if (donations_.empty() || donor->state == Worker::State::adopting) return;
    const auto round = job_.model_round(*donor);
    if (!round) return;  // with its next request
    Model model{model_of(*donor), {}, {donor->iteration, *round}};
    model.segments = segments_of(model.buffers);
    const bool on_gpu = common_device(model.buffers) != nullptr;
    // In the order of the request's stream; without one, with its next request.
    if (on_gpu && (!donor->head().contents ||
                   &donor->head().contents->lane->device() != common_device(model.buffers)))
        return;
    std::vector<Donation> due;
    std::copy_if(donations_.begin(), donations_.end(), std::back_inserter(due),
                 [&](const Donation& donation) { return donation.donor == donor->rank; });
    std::erase_if(donations_,
                  [&](const Donation& donation) { return donation.donor == donor->rank; });
    if (due.empty()) return;
    if (on_gpu) {
        donate_from_device(*donor->head().contents->lane, std::move(model), std::move(due));
        return;
    }
    for (const Donation& donation : due) donate(donation, model);
}

// The trainer may go on meanwhile, and its buffers' twins be used: the copy is another.
void Adoptions::donate_from_device(const DeviceLane& lane, Model model, std::vector<Donation> due) {
    const collectives::Layout layout = layout_of(model.buffers);
    auto memory = std::make_shared<Scratch>();
    const auto room = memory->reserve(layout.bytes());
    auto queued = room ? Result<>() : Result<>(room.error());
    if (room) {
        std::vector<std::byte*> to;
        for (size_t i = 0; i < model.buffers.size(); ++i)
            to.push_back(room->data() + layout.offset(i));
        model.segments.assign(to.begin(), to.end());
        queued = lane.copy_to_host(model.buffers, to);
    }
    const std::vector<BufferPtr> keep = model.buffers;
    lane.when_done(
        keep, [this, alive = std::weak_ptr<bool>(alive_), memory, queued, model = std::move(model),
               due = std::move(due), epoch = job_.view.epoch](const Result<>& copied) {
            if (alive.expired() || job_.view.epoch != epoch) return;
            for (const Donation& donation : due) {
                if (copied && queued) {
                    donate(donation, model);
                } else if (donation.node != job_.services.self) {
                    send_poison(job_.services, number(donation.newcomer), {donation.node});
                } else {
                    job_.wants_view = true;  // the next one names another donor
                }
            }
        });
}

// The buffers of its latest broadcast, or the copies of them that its request has.
std::vector<BufferPtr> Adoptions::model_of(const Worker& donor) {
    if (donor.queue.empty() || !donor.head().keeps_local) return donor.model;
    const std::vector<BufferPtr>& copies = donor.head().buffers;
    if (copies.size() < donor.model.size()) return donor.model;
    std::vector<BufferPtr> first(copies.begin(),
                                 copies.begin() + static_cast<ptrdiff_t>(donor.model.size()));
    return digest_of(first) == digest_of(donor.model) ? first : donor.model;
}

void Adoptions::donate(const Donation& donation, const Model& model) {
    ++job_.services.counters.adoptions;
    if (donation.node == job_.services.self) {
        const WorkerPtr newcomer = job_.find(donation.newcomer);
        if (newcomer && newcomer->state == Worker::State::adopting)
            take_here(newcomer, donation.donor, model);
        return;
    }
    size_t bytes = 0;
    auto packed = model.buffers.empty()
                      ? Result<Scratch>(base::make_error(ErrorKind::invalid, "no model"))
                      : pack(model, bytes);
    if (!packed) {
        send_poison(job_.services, number(donation.newcomer), {donation.node});
        return;
    }
    gifts_.push_back(Gift::give(job_.services, number(donation.newcomer), digest_of(model.buffers),
                                donation.node, std::move(*packed), bytes));
}

Result<Scratch> Adoptions::pack(const Model& model, size_t& ret_bytes) const {
    const collectives::Layout layout = layout_of(model.buffers);
    ret_bytes = packed_bytes(layout, job_.keeps_initial());
    Scratch scratch;
    PACE_TRY_ASSIGN(bytes, scratch.reserve(ret_bytes));
    Header header;
    header.iteration = model.origin.iteration;
    header.round = model.origin.round;
    header.has_initial = job_.keeps_initial() && job_.initial.valid ? 1 : 0;
    std::memcpy(bytes.data(), &header, sizeof(header));
    const collectives::LocalPart copy(layout, {{model.segments, 1.0}});
    copy.partial({0, layout.bytes()}, bytes.data() + sizeof(header));
    if (header.has_initial != 0)
        std::memcpy(bytes.data() + sizeof(header) + layout.bytes(), job_.initial.memory.data(),
                    layout.bytes());
    return scratch;
}

void Adoptions::take_here(const WorkerPtr& newcomer, control::Rank donor, const Model& model) {
    const auto& target = newcomer->head().buffers;
    if (model.buffers.empty() || digest_of(target) != digest_of(model.buffers)) {
        taken(newcomer, {},
              base::make_error(ErrorKind::mismatch,
                               "worker {} broadcasts other buffers than worker {} did: give equal "
                               "types and lengths",
                               newcomer->rank, donor));
        return;
    }
    for (size_t i = 0; i < target.size(); ++i)
        std::memcpy(target[i]->memory.data(), model.segments[i], target[i]->bytes());
    taken(newcomer, model.origin, {});
}

void Adoptions::take_from(const WorkerPtr& newcomer, NodeId node) {
    const auto peer = job_.services.peers.peer(node);
    if (!peer) return;  // the controller names another donor when it hears that the node is gone
    collectives::Group group;
    group.exchange = number(newcomer->rank);
    group.check = newcomer->head().digest;
    group.nodes = {*peer, 0};
    group.self = 1;
    auto taking = std::make_shared<Taking>(job_.services, std::move(group));
    const collectives::Layout layout = layout_of(newcomer->head().buffers);
    const auto bytes = taking->memory.reserve(packed_bytes(layout, job_.keeps_initial()));
    if (!bytes) {
        taken(newcomer, {}, bytes.error());
        return;
    }
    takings_.push_back(taking);
    auto task =
        collectives::transfer_from(taking->communicator, 0, *bytes, job_.services.options.transfer);
    base::spawn<Result<>>(
        std::move(task), [this, taking, newcomer, layout](const Result<>& result) {
            if (!result && result.error().kind != ErrorKind::mismatch) {
                // The next view names a donor again. It is on its way if this one was stopped for it.
                job_.wants_view = result.error().kind != ErrorKind::aborted;
                return;
            }
            if (newcomer->state != Worker::State::adopting) return;
            if (!result) {
                taken(newcomer, {}, result);
                return;
            }
            Header header;
            const std::byte* data = taking->memory.data();
            std::memcpy(&header, data, sizeof(header));
            const auto& target = newcomer->head().buffers;
            for (size_t i = 0; i < target.size(); ++i)
                std::memcpy(target[i]->memory.data(), data + sizeof(header) + layout.offset(i),
                            target[i]->bytes());
            if (header.has_initial != 0 && !job_.initial.valid) {
                const auto initial = job_.initial.memory.reserve(layout.bytes());
                if (initial) {
                    std::memcpy(initial->data(), data + sizeof(header) + layout.bytes(),
                                layout.bytes());
                    job_.initial.digest = newcomer->head().digest;
                    job_.initial.valid = true;
                }
            }
            taken(newcomer, {header.iteration, header.round}, {});
        });
}

void Adoptions::taken(const WorkerPtr& newcomer, Origin origin, const Result<>& result) {
    if (!result) {
        job_.end_head(newcomer, failed(result.error()));
        return;
    }
    newcomer->model = newcomer->head().buffers;
    newcomer->iteration = origin.iteration;
    job_.adopted(*newcomer, origin.round);
    Ending ending;
    ending.iteration = origin.iteration;
    ending.queued_ns = base::now_ns() - newcomer->head().submitted_ns;
    job_.end_head(newcomer, std::move(ending));
}

}  // namespace pace::daemon
