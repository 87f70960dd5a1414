#include "daemon/families/serving/model_letters.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/members/paid_update.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::Letter;
using server::LetterKind;

namespace {

// A node that lets others wait for so long may not be there any more.
constexpr base::Duration kSuspicious = std::chrono::milliseconds(100);
// Models of rounds that wait for the order. A guess: an honest node is rarely further ahead.
constexpr size_t kModelsFew = 2;

// A letter's elements, in the memory that they came in.
Result<server::Floats> floats_of(const Letter& letter, size_t length, Parcel parcel) {
    const auto kept = std::make_shared<const Parcel>(std::move(parcel));
    PACE_TRY_ASSIGN(elements, server::read_floats(letter, length, kept->bytes));
    return server::Floats{kept, elements};
}

}  // namespace

void ModelLetters::deliver(ShardHost::Part part) {
    const NodeId node = job_.view.node_of(part.rank);
    if (node == job_.services.self) {
        pulls_.add(std::move(part));
        return;
    }
    // The view has had the worker ask again.
    if (part.position <= view_position_) return;
    Letter letter;
    letter.kind = LetterKind::part;
    letter.shard = part.shard;
    letter.rank = part.rank;
    letter.generation = host_.generation();
    letter.clock = part.clock;
    letter.position = part.position;
    letter.slowest = part.slowest;
    const auto bytes = server::name_elements(part.elements.elements, letter);
    mail_.send(node, letter, {part.elements.keep, bytes});
}

// Each of the other nodes sends its shards of what a worker here has asked for, even if the worker
// does not wait any more.
void ModelLetters::expect_parts(const control::ServerEntry& entry) {
    if (job_.view.node_of(entry.worker.rank) != job_.services.self) return;
    const WorkerPtr worker = job_.find(entry.worker.rank);
    if (worker && worker->state == Worker::State::pulling)
        worker->times.begin_exchange(base::now());
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard) {
        const server::Range range = host_.partition().range(shard);
        const bool wanted = std::max<uint64_t>(range.begin, entry.first) <
                            std::min<uint64_t>(range.end, entry.first + entry.count);
        if (wanted) mail_.expect(host_.places()[shard]);
    }
}

ServerMail::Admission ModelLetters::admit(NodeId from, const Letter& letter) {
    using Admission = ServerMail::Admission;
    if (letter.generation != host_.generation()) return Admission::dropped;
    Result<> allowed = roles_.check(from, letter);
    if (allowed && letter.kind == LetterKind::checkpoint)
        allowed = saving_.check_copy(from, letter);
    if (!allowed) {
        makes_no_sense(from, allowed.error());
        return Admission::dropped;
    }
    const bool is_much = (letter.kind == LetterKind::update &&
                          letter.clock >= host_.next_clock(letter.rank) + Pushes::kWindow) ||
                         (letter.kind == LetterKind::model && host_.models_waiting() >= kModelsFew);
    return is_much || letter.kind == LetterKind::checkpoint ? Admission::if_it_fits
                                                            : Admission::in_any_case;
}

void ModelLetters::received(NodeId from, const Letter& letter, Parcel parcel) {
    if (letter.generation != host_.generation()) return;
    const auto taken = take(from, letter, std::move(parcel));
    if (!taken) makes_no_sense(from, taken.error());
}

// This node has no memory for the letter's content. For a copy of a checkpoint, and for more than
// an honest node sends ahead, its user's account may be full instead. Sent again, the letter would
// find no more room.
void ModelLetters::refused(NodeId from, const Letter& letter, const base::Error& error) {
    if (letter.generation != host_.generation()) return;
    if (letter.kind == LetterKind::checkpoint) {
        saving_.refuse_copy(from, letter, error);
        return;
    }
    if (error.kind == ErrorKind::limit) return makes_no_sense(from, error);
    if (letter.kind != LetterKind::part) {
        owner_.has_no_room(error);
        return;
    }
    const WorkerPtr worker = job_.find(letter.rank);
    if (!worker || worker->state != Worker::State::pulling || pulls_.is_writing(letter.rank) ||
        worker->head().iteration != letter.clock)
        return;
    pulls_.forget(letter.rank);
    job_.end_head(worker, failed(error));
}

void ModelLetters::makes_no_sense(NodeId from, const base::Error& error) {
    ++job_.services.counters.letters_refused;
    const std::string peer = job_.services.peers.name(from);
    const uint64_t times = nonsense_.is_due(peer, base::now());
    if (times == 0) return;
    base::log_event(
        base::events::kLetterNonsense,
        {{"job", job_.options.name}, {"peer", peer}, {"reason", error.message}, {"times", times}});
}

Result<> ModelLetters::take(NodeId from, const Letter& letter, Parcel parcel) {
    switch (letter.kind) {
        case LetterKind::held:
            pushes_.held(letter.shard, letter.rank, letter.clock, letter.position);
            if (const WorkerPtr worker = job_.find(letter.rank)) owner_.update_held(worker);
            return {};
        case LetterKind::part: {
            PACE_TRY_ASSIGN(values, floats_of(letter, letter.count, std::move(parcel)));
            pulls_.add({letter.shard, letter.rank, letter.clock, letter.position, letter.slowest,
                        std::move(values)});
            return {};
        }
        case LetterKind::checkpoint:
            saving_.take_copy(from, letter, std::move(parcel));
            return {};
        case LetterKind::kept:
            saving_.took_copy(from, letter);
            return {};
        case LetterKind::update:
        case LetterKind::model:
            break;
    }
    return take_for_shard(from, letter, std::move(parcel));
}

// A model, or an update.
Result<> ModelLetters::take_for_shard(NodeId from, const Letter& letter, Parcel parcel) {
    if (!host_.keeps(letter.shard))
        return base::make_error(ErrorKind::corrupt, "shard {} is not here", letter.shard);
    if (letter.kind == LetterKind::update) {
        read_update(from, letter, std::move(parcel));
        return {};
    }
    const size_t length = host_.partition().range(letter.shard).size();
    PACE_TRY_ASSIGN(model, floats_of(letter, length, std::move(parcel)));
    const auto held = host_.hold_model(letter.shard, letter.clock, std::move(model));
    if (!held) owner_.part_failed(held.error());
    return {};
}

void ModelLetters::read_update(NodeId from, const Letter& letter, Parcel parcel) {
    struct Reading {
        Parcel parcel;
        Result<server::Shard::Update> update{base::out_of_memory()};
    };
    const auto reading = std::make_shared<Reading>();
    reading->parcel = std::move(parcel);
    const size_t length = host_.partition().range(letter.shard).size();
    reading_.run(
        2 * letter.bytes,
        [reading, letter, length, payer = job_.payer()] {
            auto read = server::read_vector(letter, length, reading->parcel.bytes);
            reading->update = read ? Result(paid_update(std::move(*read), payer))
                                   : Result<server::Shard::Update>(read.error());
        },
        [this, from, letter, reading, epoch = job_.view.epoch,
         leaves = host_.leaves_of(letter.rank)](const Result<>&) {
            // A view that has committed since has the update sent again.
            if (letter.generation != host_.generation() || epoch != job_.view.epoch ||
                !host_.keeps(letter.shard))
                return;
            // The update's worker is gone, and the next worker of that rank counts anew.
            if (leaves != host_.leaves_of(letter.rank)) return;
            if (!reading->update) return makes_no_sense(from, reading->update.error());
            hold(from, letter, std::move(*reading->update));
        });
}

void ModelLetters::hold(NodeId from, const Letter& letter, server::Shard::Update update) {
    host_.hold(letter.shard, letter.rank, letter.clock, std::move(update));
    Letter answer;
    answer.kind = LetterKind::held;
    answer.shard = letter.shard;
    answer.rank = letter.rank;
    answer.generation = letter.generation;
    answer.clock = letter.clock;
    answer.position = letter.position;
    mail_.send(from, answer);
}

std::vector<NodeId> ModelLetters::look_for_late(base::TimePoint now) {
    std::vector<NodeId> waits_for;
    bool moving = false;
    for (const ServerMail::Overdue& overdue : mail_.overdue(now, kSuspicious)) {
        waits_for.push_back(overdue.node);
        moving = moving || overdue.moving;
        if (overdue.moving || overdue.silent < job_.services.options.answer_wait) continue;
        // That node may say that it is cut from this one. Then this node's word counts, too.
        if (!job_.wants_view) job_.services.control.send(control::Stalled{job_.id, {overdue.node}});
        want_view(job_.services.peers.name(overdue.node) + " does not answer", overdue.silent);
    }
    if (!host_.awaited_round() || moving) {
        awaits_model_since_.reset();
    } else if (!awaits_model_since_) {
        awaits_model_since_ = now;
    } else if (now - *awaits_model_since_ >= job_.services.options.answer_wait) {
        want_view("the model of a pace_broadcast does not come", now - *awaits_model_since_);
    }
    return waits_for;
}

void ModelLetters::want_view(const std::string& reason, base::Duration silent) {
    if (std::exchange(job_.wants_view, true)) return;
    base::log_event(base::events::kLettersLate,
                    {{"job", job_.options.name},
                     {"reason", reason},
                     {"silent_ms", silent / std::chrono::milliseconds(1)}});
}

}  // namespace pace::daemon
