#include "daemon/families/rounds/missed_round.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/log/training_events.h"
#include "daemon/families/rounds/round_plan.h"
#include "daemon/families/rounds/told_round.h"
#include "daemon/sparse/residual/chosen.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using partial::RoundOutcome;
using partial::Verdict;

void MissedRound::fetch(NodeId donor, const collectives::Layout& layout) {
    if (partial_) {
        fetch_told(donor);
    } else if (protocol::is_top_k(job_.options.compression)) {
        fetch_hidden(donor, sparse::Packed(layout).count());
    } else {
        port_.fetch_result(donor);
    }
}

void MissedRound::stop(const base::Error& error) {
    if (const auto taking = taking_.lock()) taking->abort(error);
}

// ------------------------------------------------------------------------------ what top-k has
// hidden

void MissedRound::fetch_hidden(NodeId donor, size_t count) {
    sequence_.wait();  // until all of the list has come
    // The donor gives as soon as it has the view, or has nothing to give and says nothing.
    taking_ = Taking::take(
        job_.scope, job_.services, result_.about(donor, 1),
        hidden_number(job_, job_.services.self, 0), 0, 2 * sizeof(uint64_t),
        [this, donor, count,
         epoch = job_.view.epoch](const Result<std::span<const std::byte>>& got) {
            // The next view names another donor, or has named one.
            if (sequence_.stopped() || job_.view.epoch != epoch) return;
            std::array<uint64_t, 2> head_untrusted{};
            if (got) std::memcpy(head_untrusted.data(), got->data(), sizeof(head_untrusted));
            const auto [size, chosen] = head_untrusted;
            if (!got || size > sparse::hidden_bytes_max(count) || chosen > count) {
                if (got) log_hidden_too_large(donor, size);
                port_.result_is_lost();
                return;
            }
            if (size != 0) {
                fetch_hidden_bytes(donor, size, chosen);
                return;
            }
            result_.hide(chosen, {}, {});
            came(donor);
        });
}

// Fetches at most as many bytes as a list of these elements may have. They are charged to the job's
// user.
void MissedRound::fetch_hidden_bytes(NodeId donor, size_t size, uint64_t chosen) {
    const auto charge = std::make_shared<const Charge>(job_.payer().count(size));
    taking_ = Taking::take_memory(
        job_.scope, job_.services, result_.about(donor, 1),
        hidden_number(job_, job_.services.self, 1), 0, size,
        [this, donor, size, chosen, charge, epoch = job_.view.epoch](Result<Scratch> memory) {
            if (sequence_.stopped() || job_.view.epoch != epoch) return;
            if (!memory) {
                port_.result_is_lost();
                return;
            }
            const auto kept =
                std::make_shared<const std::pair<Scratch, std::shared_ptr<const Charge>>>(
                    std::move(*memory), charge);
            result_.hide(chosen, {kept->first.data(), size}, kept);
            came(donor);
        });
}

void MissedRound::came(NodeId donor) {
    sequence_.go_on();
    port_.fetch_result(donor);
}

void MissedRound::log_hidden_too_large(NodeId donor, uint64_t size) const {
    base::log_event(
        base::events::kResultTooLarge,
        {{"job", job_.options.name}, {"peer", job_.services.peers.name(donor)}, {"bytes", size}});
}

// ---------------------------------------------------------------------------------- partial rounds

void MissedRound::run(Exchange::Plan plan, Scratch memory, Fetched fetched) {
    auto exchange = Exchange::start(
        job_.services, std::move(plan), std::move(memory),
        job_.scope.bind([this, fetched = std::move(fetched)](ExchangeOutcome& outcome) {
            exchange_.reset();
            fetched(outcome.result, std::move(outcome.scratch));
        }));
    if (!exchange->ended()) exchange_ = std::move(exchange);
}

void MissedRound::fetch_told(NodeId donor) {
    collectives::Layout layout(
        {{protocol::DType::f32,
          told_round_bytes(sequence_.round_view().roster()) / sizeof(float)}});
    run(plan_fetch(job_, sequence_.completed(), ExchangeKind::fetch_told, donor, kToldRoundCheck,
                   std::move(layout)),
        {}, [this, donor](const Result<>& result, const Scratch& memory) {
            told(donor, result, memory);
        });
}

// Where nobody here has called, the donor alone says how large the sum is.
Result<> MissedRound::check_size(const ToldRound& told) const {
    if (!told.terms) return {};
    const auto fits =
        job_.payer().accounts->check_possible(told.terms->layout.bytes(), "the result of a round");
    if (fits) return {};
    return base::make_error(ErrorKind::corrupt, "{}", fits.error().message);
}

void MissedRound::told(NodeId donor, const Result<>& result, const Scratch& memory) {
    if (!result) return failed(result.error());
    const partial::Roster roster = sequence_.round_view().roster();
    auto read = read_told_round(roster, {memory.data(), told_round_bytes(roster)});
    if (!read) return failed(read.error());
    if (const auto fits = check_size(*read); !fits) return failed(fits.error());
    if (read->terms && !partial_->terms()) partial_->agree(std::move(*read->terms));
    if (sequence_.stopped()) return port_.go_on();
    switch (read->outcome.verdict) {
        case Verdict::sum:
            fetch_sum(donor, read->outcome);
            return;
        case Verdict::everyone:
            partial_->put_back();
            port_.fetch_result(donor);
            return;
        case Verdict::disagree:
            partial_->used_up();
            break;
        case Verdict::nothing:
            partial_->put_back();
            break;
    }
    port_.skip(read->outcome);
    port_.go_on();
}

void MissedRound::fetch_sum(NodeId donor, const RoundOutcome& outcome) {
    run(plan_fetch(job_, sequence_.completed(), ExchangeKind::fetch, donor,
                   partial::digest_of(*partial_->terms()), partial_->terms()->layout),
        result_.take_memory(), [this, outcome](const Result<>& result, Scratch memory) {
            if (!result) {
                result_.put_back(std::move(memory));
                return failed(result.error());
            }
            partial_->used_up();
            port_.deliver(outcome, std::move(memory));
        });
}

// The next view names another donor, unless the last donor has nothing to give any more.
void MissedRound::failed(const base::Error& error) {
    if (error.kind == ErrorKind::mismatch || error.kind == ErrorKind::corrupt) {
        base::log_event(base::events::kRoundLost, {{"job", job_.options.name},
                                                   {"round", sequence_.completed()},
                                                   {"reason", error.message}});
        partial_->used_up();
        port_.skip({Verdict::nothing, {}, 1.0, {}});
        result_.drop();
    } else {
        port_.wait_for_view();
    }
    port_.go_on();
}

}  // namespace pace::daemon
