// verbs: what a worker does with its buffers. Each begins an operation and gives a request; .wait()
// makes it blocking.
#pragma once

#include <pace/request.hpp>
#include <pace/verb_calls.hpp>

#include <cstdint>
#include <new>
#include <utility>

namespace pace {

// The verbs of a session; pace.h says in full what each does. All workers give buffers of equal
// types and lengths in equal order, 1 to 256 slices. The elements must stay untouched until the
// request has ended. Verbs are inlined, so that options which are as by default cost nothing:
// tests/overhead counts instructions.
//
// Threads: any. Blocks: no; if the session lost its daemon, until it has reconnected or its
// connect_timeout has passed. Each fails with: invalid, handle, unsupported (the device), verb
// (which one fits the policy is told), limit (64 requests are in flight or not collected), memory,
// and, where it had to reconnect, as session::open().
class verbs {
  public:
    // Averages parameters over a group of workers that are ready (averaging family). The info's
    // iteration is the group's newest.
    [[gnu::always_inline]] result<request> average(nothrow_t, const operands& what,
                                                   const average_options& how = {}) noexcept {
        return told<pace_average>(what, how);
    }

    // Reduces gradients over all members to their mean or sum (collective family); all get
    // bit-identical results.
    [[gnu::always_inline]] result<request> reduce(nothrow_t, const operands& what,
                                                  const reduce_options& how = {}) noexcept {
        return told<pace_reduce>(what, how);
    }

    // Gives everyone the buffers of worker `root`. A newcomer gets those of a healthy worker, and
    // the info's iteration says at which step. The request also fails with: not_found (no worker
    // has any).
    [[gnu::always_inline]] result<request> broadcast(nothrow_t, const operands& what,
                                                     const broadcast_options& how = {}) noexcept {
        return told<pace_broadcast>(what, how);
    }

    // Averages over all members with equal weights, whatever the family.
    [[gnu::always_inline]] result<request> sync(nothrow_t, const operands& what,
                                                const sync_options& how = {}) noexcept {
        return told<pace_sync>(what, how);
    }

    // Adds an update of this worker, of step how.iteration, to the served model (server family).
    [[gnu::always_inline]] result<request> push(nothrow_t, const operands& what,
                                                const push_options& how) noexcept {
        return told<pace_push>(what, how);
    }

    // Fills the buffers with the served model, for this worker's step how.iteration (server
    // family).
    [[gnu::always_inline]] result<request> pull(nothrow_t, const operands& what,
                                                const pull_options& how) noexcept {
        return told<pace_pull>(what, how);
    }

    // Writes what a top-k compression still owes to later rounds into float buffers, one for each
    // buffer of the reduce.
    [[gnu::always_inline]] result<request> residual_save(
        nothrow_t, const operands& what, const residual_options& how = {}) noexcept {
        return told<pace_residual_save>(what, how);
    }

    // Adds the buffers' contents to what is owed.
    [[gnu::always_inline]] result<request> residual_load(
        nothrow_t, const operands& what, const residual_options& how = {}) noexcept {
        return told<pace_residual_load>(what, how);
    }

    // Ends when every member has called it.
    result<request> barrier(nothrow_t, const plain_options& how = {}) noexcept {
        pace_barrier_options raw = PACE_BARRIER_OPTIONS_INIT;
        return told_plain<pace_barrier>(how, raw);
    }

    // Has the daemons save the served model to their disks; ends when that is durable. The request
    // also fails with: disk, stale.
    result<request> checkpoint(nothrow_t, const plain_options& how = {}) noexcept {
        pace_checkpoint_options raw = PACE_CHECKPOINT_OPTIONS_INIT;
        return told_plain<pace_checkpoint>(how, raw);
    }

    // Says at the start of a step that average() with this iteration comes next, so that its group
    // forms meanwhile. A hint.
    result<void> announce(nothrow_t, std::uint64_t iteration) noexcept {
        pace_error error;
        if (pace_announce(detail::raw_of(membership_), iteration, &error) != PACE_OK)
            return failure(error);
        return {};
    }

    // Takes the announcement back. Without one, does nothing.
    result<void> withdraw(nothrow_t) noexcept {
        pace_error error;
        if (pace_withdraw(detail::raw_of(membership_), &error) != PACE_OK) return failure(error);
        return {};
    }

#if defined(__cpp_exceptions)
    [[gnu::always_inline]] request average(const operands& what, const average_options& how = {}) {
        return thrown<pace_average>(what, how);
    }
    [[gnu::always_inline]] request reduce(const operands& what, const reduce_options& how = {}) {
        return thrown<pace_reduce>(what, how);
    }
    [[gnu::always_inline]] request broadcast(const operands& what,
                                             const broadcast_options& how = {}) {
        return thrown<pace_broadcast>(what, how);
    }
    [[gnu::always_inline]] request sync(const operands& what, const sync_options& how = {}) {
        return thrown<pace_sync>(what, how);
    }
    [[gnu::always_inline]] request push(const operands& what, const push_options& how) {
        return thrown<pace_push>(what, how);
    }
    [[gnu::always_inline]] request pull(const operands& what, const pull_options& how) {
        return thrown<pace_pull>(what, how);
    }
    [[gnu::always_inline]] request residual_save(const operands& what,
                                                 const residual_options& how = {}) {
        return thrown<pace_residual_save>(what, how);
    }
    [[gnu::always_inline]] request residual_load(const operands& what,
                                                 const residual_options& how = {}) {
        return thrown<pace_residual_load>(what, how);
    }
    request barrier(const plain_options& how = {}) { return barrier(nothrow, how).value(); }
    request checkpoint(const plain_options& how = {}) { return checkpoint(nothrow, how).value(); }
    void announce(std::uint64_t iteration) { announce(nothrow, iteration).value(); }
    void withdraw() { withdraw(nothrow).value(); }
#endif

  protected:
    verbs() noexcept = default;
    explicit verbs(pace_session* raw) noexcept
        : membership_(new(std::nothrow) detail::membership(raw)) {}
    verbs(verbs&&) noexcept = default;
    verbs& operator=(verbs&&) noexcept = default;
    ~verbs() = default;

    detail::reference<detail::membership> membership_;

  private:
    // Begins an operation for `begun`, which is empty.
    template <auto Verb, class Options>
    [[gnu::always_inline]] pace_status start(const operands& what, const Options& how,
                                             request& begun, pace_error& error) noexcept {
        auto raw = detail::raw_of(how);
        const pace_slice* slices = what.one();
        const span<const slice> results = detail::results_of(how);
        if (slices == nullptr || !results.empty()) {
            const detail::reference<detail::many_slices> many = what.gather(results);
            if (!many) {
                error = detail::no_memory();
                return error.status;
            }
            slices = many->raw();
            raw.call.results = results.empty() ? nullptr : slices + what.count();
            raw.call.result_count = results.size();
            begun.keeper_ = many;
        } else {
            begun.keeper_.set(what.memory());
        }
        begun.session_ = membership_.get();
        const pace_status outcome =
            Verb(detail::raw_of(membership_), slices, what.count(), &raw, &begun.raw_, &error);
        begun.is_collected_ = outcome != PACE_OK;
        return outcome;
    }

    template <auto Verb, class Options>
    [[gnu::always_inline]] result<request> told(const operands& what, const Options& how) noexcept {
        result<request> begun{std::in_place};
        pace_error error;
        if (start<Verb>(what, how, *begun, error) != PACE_OK) begun = failure(error);
        return begun;
    }

    template <auto Verb, class Raw>
    result<request> told_plain(const plain_options& how, Raw& raw) noexcept {
        raw.call.iteration = how.iteration;
        raw.call.user_data = how.user_data;
        request begun;
        pace_error error;
        if (Verb(detail::raw_of(membership_), &raw, &begun.raw_, &error) != PACE_OK)
            return failure(error);
        begun.keeper_ = membership_;
        begun.session_ = membership_.get();
        begun.is_collected_ = false;
        return begun;
    }

#if defined(__cpp_exceptions)
    template <auto Verb, class Options>
    [[gnu::always_inline]] request thrown(const operands& what, const Options& how) {
        request begun;
        pace_error error;
        if (start<Verb>(what, how, begun, error) != PACE_OK) detail::raise(error);
        return begun;
    }
#endif
};

}  // namespace pace
