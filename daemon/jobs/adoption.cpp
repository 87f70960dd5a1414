#include "daemon/jobs/adoption.h"

#include <algorithm>
#include <cstring>

#include "base/log/training_events.h"
#include "daemon/collectives/messages/transfer.h"
#include "daemon/members/alike.h"
#include "daemon/members/digest.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// Stands in front of the model. Its size keeps the model on a cache line.
struct Header {
    uint64_t iteration = 0;
    uint64_t has_initial = 0;
    uint64_t round = 0;  // the model has the results of the rounds before this one
    uint64_t reserved[5] = {};
};
static_assert(sizeof(Header) == collectives::kCutBytes);

base::Error unlike_error(control::Rank newcomer, control::Rank donor) {
    return base::make_error(ErrorKind::mismatch,
                            "worker {} broadcasts other buffers than worker {} did: give equal "
                            "types and lengths",
                            newcomer, donor);
}

size_t packed_bytes(const collectives::Layout& layout, bool with_initial) {
    return sizeof(Header) + layout.bytes() * (with_initial ? 2 : 1);
}

}  // namespace

// The donor is at a boundary when its trainer calls, which may be long after. So the transfer waits
// as long as the donor's node answers.
Transfer::About Adoptions::about(control::Rank newcomer, NodeId other) const {
    return {job_.id, fmt::format("a model for worker {}", newcomer), other, 0};
}

uint64_t Adoptions::number(control::Rank newcomer) const {
    return exchange_number(job_.token, ExchangeKind::adoption, job_.view.epoch, newcomer);
}

void Adoptions::commit(const control::CommitView& view) {
    donations_.clear();
    donors_.clear();
    for (const control::Adoption& adoption : view.adoptions) {
        if (adoption.donor == control::kNoRank) continue;
        donors_[adoption.newcomer] = adoption.donor;
        const NodeId from = job_.view.node_of(adoption.donor);
        const NodeId to = job_.view.node_of(adoption.newcomer);
        if (to == job_.services.self) {
            const WorkerPtr newcomer = job_.find(adoption.newcomer);
            if (!newcomer || newcomer->state != Worker::State::adopting) {
                // The newcomer has a model, or is gone: whatever the donor sends is dropped.
                job_.services.transport.close_exchange(number(adoption.newcomer));
                continue;
            }
            if (from != job_.services.self) take_from(newcomer, adoption.donor, from);
        }
        if (from != job_.services.self) continue;
        donations_.push_back({adoption.donor, adoption.newcomer, to});
        const WorkerPtr donor = job_.find(adoption.donor);
        if (donor && donor->state != Worker::State::idle && donor->state != Worker::State::moving &&
            donor->state != Worker::State::taking && donor->head().is_made())
            at_boundary(donor);
    }
}

std::string Adoptions::awaited(const Worker& newcomer) const {
    const auto donor = donors_.find(newcomer.rank);
    if (donor == donors_.end()) return "a view that names a worker which gives it the model";
    const NodeId node = job_.view.node_of(donor->second);
    return fmt::format("the model of worker {} on {}, which gives it with its next call",
                       donor->second,
                       node == job_.services.self ? "this node" : job_.services.peers.name(node));
}

void Adoptions::stop(const base::Error& error) {
    donations_.clear();
    for (const auto& weak : givings_) {
        if (const auto giving = weak.lock()) giving->abort(error);
    }
    givings_.clear();
    const auto takings = std::move(takings_);
    takings_.clear();
    for (const auto& weak : takings) {
        if (const auto taking = weak.lock()) taking->communicator.abort(error);
    }
}

void Adoptions::at_boundary(const WorkerPtr& donor) {
    // A worker that waits for a model has none to give.
    if (donations_.empty() || donor->state == Worker::State::adopting ||
        donor->state == Worker::State::taking)
        return;
    const auto round = job_.port->model_round(*donor);
    if (!round) return;  // given with the donor's next request
    Model model{donor,   model_of(*donor),     {},
                nullptr, donor->head().serial, {donor->iteration, *round}};
    if (model.buffers.empty()) return;  // given with the donor's next average
    model.segments = segments_of(model.buffers);
    const bool on_gpu = common_device(model.buffers) != nullptr;
    // Copied in the order of the request's stream; without one, with the next request.
    if (on_gpu && (!donor->head().contents ||
                   &donor->head().contents->lane->device() != common_device(model.buffers)))
        return;
    std::vector<Donation> due;
    std::copy_if(donations_.begin(), donations_.end(), std::back_inserter(due),
                 [&](const Donation& donation) { return donation.donor == donor->rank; });
    std::erase_if(donations_,
                  [&](const Donation& donation) { return donation.donor == donor->rank; });
    if (due.empty()) return;
    if (donor->model_is_old && !do_meet(model.buffers, donor->head().buffers)) {
        for (const Donation& donation : due) cannot_give(donation, old_model());
        return;
    }
    if (on_gpu) {
        donate_from_device(*donor->head().contents->lane, std::move(model), std::move(due));
        return;
    }
    for (const Donation& donation : due) donate(donation, model);
}

// Copies to memory of its own, as the trainer may go on meanwhile and the buffers' twins be used.
void Adoptions::donate_from_device(const DeviceLane& lane, Model model, std::vector<Donation> due) {
    const collectives::Layout layout = layout_of(model.buffers);
    auto memory = std::make_shared<Scratch>();
    const auto room = memory->reserve(layout.bytes(), job_.payer());
    auto queued = room ? Result<>() : Result<>(room.error());
    if (room) {
        std::vector<std::byte*> to;
        for (size_t i = 0; i < model.buffers.size(); ++i)
            to.push_back(room->data() + layout.offset(i));
        model.segments.assign(to.begin(), to.end());
        model.copy = memory;
        queued = lane.copy_to_host(model.buffers, to);
    }
    const std::vector<BufferPtr> keep = model.buffers;
    lane.when_done(
        keep, job_.scope.bind([this, memory, queued, model = std::move(model), due = std::move(due),
                               epoch = job_.view.epoch](const Result<>& copied) {
            if (job_.view.epoch != epoch) return;
            for (const Donation& donation : due) {
                if (copied && queued) {
                    donate(donation, model);
                } else {
                    cannot_give(donation, copied ? queued.error() : copied.error());
                }
            }
        }));
}

// The buffers of its latest broadcast, or those that its request has in place of them. One that has
// made no broadcast with this daemon has its model in what it averages.
std::vector<BufferPtr> Adoptions::model_of(const Worker& donor) {
    if (donor.queue.empty()) return donor.model;
    if (donor.model.empty() && donor.head().verb == protocol::Verb::average)
        return donor.head().buffers;
    const Request& head = donor.head();
    const bool is_in_place = !head.keeps_local && head.results.empty();
    if (is_in_place || head.verb == protocol::Verb::reduce) return donor.model;
    // Buffers that are only read hold still, in contrast to buffers where a result forms.
    std::vector<BufferPtr> given = model_in(head.buffers, donor.model);
    if (do_meet(head.results, given)) given.clear();
    return given;
}

struct Adoptions::Packing {
    Donation donation;
    Model model;
    uint64_t epoch = 0;
    Header header;
    collectives::Layout layout;
    std::shared_ptr<Scratch> initial;  // null: there is none
    Scratch memory;
    size_t bytes = 0;

    // Any thread.
    void pack() {
        std::byte* const to = memory.data();
        std::memcpy(to, &header, sizeof(header));
        const collectives::LocalPart part(layout, {{model.segments, 1.0}});
        part.copy({0, layout.bytes()}, to + sizeof(header));
        if (initial)
            std::memcpy(to + sizeof(header) + layout.bytes(), initial->data(), layout.bytes());
    }
};

// Runs work that reads workers' buffers, or writes a newcomer's. The work owns what it works on:
// `done` is not called if this object is gone by then.
void Adoptions::copy_held(size_t bytes, std::function<void()> work, std::function<void()> done) {
    job_.hold->begin();
    job_.services.aside().run(bytes, std::move(work),
                              [hold = job_.hold, done = job_.scope.bind(std::move(done))] {
                                  done();
                                  hold->end();
                              });
}

void Adoptions::donate(const Donation& donation, const Model& model) {
    ++job_.services.counters.adoptions;
    if (donation.node != job_.services.self) return give(donation, model);
    const WorkerPtr newcomer = job_.find(donation.newcomer);
    if (newcomer && newcomer->state == Worker::State::adopting)
        take_here(newcomer, donation.donor, model);
}

// The newcomer's call ends: the next view would name the same donor, which could not give either.
void Adoptions::cannot_give(const Donation& donation, const base::Error& error) {
    base::log_event(base::events::kDonorCannotGive, {{"job", job_.options.name},
                                                     {"donor", donation.donor},
                                                     {"newcomer", donation.newcomer},
                                                     {"reason", error.message}});
    if (donation.node != job_.services.self) {
        send_poison(job_.services, number(donation.newcomer), {donation.node});
        return;
    }
    const WorkerPtr newcomer = job_.find(donation.newcomer);
    if (newcomer && newcomer->state == Worker::State::adopting)
        taken(newcomer, {},
              base::make_error(error.kind, "worker {} cannot give its model: {}", donation.donor,
                               error.message));
}

void Adoptions::give(const Donation& donation, const Model& model) {
    auto packing = std::make_shared<Packing>();
    packing->donation = donation;
    packing->model = model;
    packing->epoch = job_.view.epoch;
    packing->layout = layout_of(model.buffers);
    packing->bytes = packed_bytes(packing->layout, job_.keeps_initial());
    const InitialModel& initial = job_.initial;
    if (job_.keeps_initial() && initial.valid && initial.layout == packing->layout)
        packing->initial = initial.memory;
    packing->header.iteration = model.origin.iteration;
    packing->header.round = model.origin.round;
    packing->header.has_initial = packing->initial ? 1 : 0;
    if (const auto room = packing->memory.reserve(packing->bytes, job_.payer()); !room)
        return cannot_give(donation, room.error());
    copy_held(
        2 * packing->bytes, [packing] { packing->pack(); }, [this, packing] { packed(packing); });
}

void Adoptions::packed(const std::shared_ptr<Packing>& packing) {
    const Donation& donation = packing->donation;
    if (job_.view.epoch != packing->epoch) return;  // the view of this packing is over
    if (!packing->model.stands()) {
        // The next view names a donor again, and ends the newcomer's present wait.
        job_.wants_view = true;
        return;
    }
    givings_.push_back(Giving::give(job_.services, about(donation.newcomer, donation.node),
                                    number(donation.newcomer), digest_of(packing->model.buffers),
                                    std::move(packing->memory), packing->bytes));
}

void Adoptions::take_here(const WorkerPtr& newcomer, control::Rank donor, const Model& model) {
    const std::vector<BufferPtr> target = newcomer->head().buffers;
    if (model.buffers.empty() || !are_alike(target, model.buffers)) {
        taken(newcomer, {}, unlike_error(newcomer->rank, donor));
        return;
    }
    tell_writing(newcomer->head().mark);
    newcomer->state = Worker::State::taking;
    newcomer->times.begin_exchange(base::now());
    copy_held(
        2 * layout_of(target).bytes(),
        [target, model] {
            for (size_t i = 0; i < target.size(); ++i)
                std::memcpy(target[i]->memory.data(), model.segments[i], target[i]->bytes());
        },
        [this, newcomer, model] {
            if (model.stands()) {
                copied(newcomer, model.origin);
                return;
            }
            newcomer->state = Worker::State::adopting;
            job_.wants_view = true;
        });
}

void Adoptions::take_from(const WorkerPtr& newcomer, control::Rank donor, NodeId node) {
    const auto peer = job_.services.peers.peer(node);
    if (!peer) {
        // The next view names another donor.
        job_.services.transport.close_exchange(number(newcomer->rank));
        job_.wants_view = true;
        return;
    }
    collectives::Group group;
    group.exchange = number(newcomer->rank);
    group.check = newcomer->head().digest;
    group.nodes = {*peer, 0};
    group.self = 1;
    auto taking =
        std::make_shared<Transfer>(job_.services, std::move(group), about(newcomer->rank, node));
    const collectives::Layout layout = layout_of(newcomer->head().buffers);
    const auto bytes =
        taking->memory.reserve(packed_bytes(layout, job_.keeps_initial()), job_.payer());
    if (!bytes) {
        taken(newcomer, {}, bytes.error());
        return;
    }
    takings_.push_back(taking);
    taking->watch(taking);
    auto task =
        collectives::transfer_from(taking->communicator, 0, *bytes, job_.services.options.transfer);
    base::spawn<Result<>>(
        std::move(task),
        job_.scope.bind([this, taking, newcomer, donor, serial = newcomer->head().serial,
                         epoch = job_.view.epoch](const Result<>& result) {
            // Another view has named a donor since.
            if (job_.view.epoch != epoch || newcomer->state != Worker::State::adopting) return;
            transferred(taking, newcomer, donor, serial, result);
        }));
}

// `request` is the serial of the newcomer's request for the model.
void Adoptions::transferred(const std::shared_ptr<Transfer>& taking, const WorkerPtr& newcomer,
                            control::Rank donor, uint64_t request, const Result<>& result) {
    taking->log_failure(result);
    const bool is_unlike = !result && result.error().kind == ErrorKind::mismatch;
    const bool is_lost = !result && !is_unlike && result.error().kind != ErrorKind::memory;
    if (is_lost || newcomer->head().serial != request) {
        // The next view, which may be on its way, names a donor again.
        const bool stopped = !result && result.error().kind == ErrorKind::aborted;
        if (!stopped) job_.wants_view = true;
        return;
    }
    if (result) return arrived(taking, newcomer);
    // The transport knows only digests and lengths of what differs.
    taken(newcomer, {}, is_unlike ? unlike_error(newcomer->rank, donor) : result.error());
}

// Copies the model from the memory in which it has come to the newcomer's buffers.
void Adoptions::arrived(const std::shared_ptr<Transfer>& taking, const WorkerPtr& newcomer) {
    Header header;
    std::memcpy(&header, taking->memory.data(), sizeof(header));
    const std::vector<BufferPtr> target = newcomer->head().buffers;
    const collectives::Layout layout = layout_of(target);
    std::shared_ptr<Scratch> initial;
    if (header.has_initial != 0) initial = job_.place_for_initial(layout);
    newcomer->state = Worker::State::taking;
    newcomer->times.begin_exchange(base::now());
    tell_writing(newcomer->head().mark);
    copy_held(
        2 * packed_bytes(layout, initial != nullptr),
        [taking, target, layout, initial] {
            const std::byte* const model = taking->memory.data() + sizeof(Header);
            for (size_t i = 0; i < target.size(); ++i)
                std::memcpy(target[i]->memory.data(), model + layout.offset(i), target[i]->bytes());
            if (initial) std::memcpy(initial->data(), model + layout.bytes(), layout.bytes());
        },
        [this, newcomer, header, layout, initial] {
            if (initial) job_.initial_came(layout);
            copied(newcomer, {header.iteration, header.round});
        });
}

// The model is in the newcomer's buffers. Its place in the job may have been lost meanwhile.
void Adoptions::copied(const WorkerPtr& newcomer, Origin origin) {
    if (job_.find(newcomer->rank) != newcomer) return;
    if (newcomer->newcomer) {
        newcomer->state = Worker::State::idle;
        job_.port->advance(newcomer);
        return;
    }
    taken(newcomer, origin, {});
}

void Adoptions::taken(const WorkerPtr& newcomer, Origin origin, const Result<>& result) {
    if (!result) {
        // The newcomer is a member without a model. It makes its next calls as a newcomer, and must
        // call pace_broadcast before any verb for all members.
        newcomer->lose_place();
        job_.port->departed(*newcomer);
        job_.end_head(newcomer, failed(result.error()));
        return;
    }
    tell_whole(newcomer->head().mark);
    newcomer->model = newcomer->head().buffers;
    newcomer->lacks_model = false;
    newcomer->iteration = origin.iteration;
    job_.port->adopted(*newcomer, origin.round);
    Ending ending;
    ending.iteration = origin.iteration;
    ending.group = origin.round == 0 ? 0 : origin.round - 1;  // the last round that the model has
    ending.queued_ns = base::now_ns() - newcomer->head().submitted_ns;
    job_.end_head(newcomer, std::move(ending));
}

}  // namespace pace::daemon
