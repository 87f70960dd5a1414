// LastResult: the result of the last round that ended here, and the memory that it is in.
//
// If other nodes took part in the round, the result is kept for them until nobody can lack it any
// more. The next reduction forms in the same memory: nothing is written there before all nodes have
// begun that reduction, and a node that has begun it does not need this result any more. A node
// that has been in a group since does not need it either: an averaging job's first groups take the
// memory over. What is given to other nodes are copies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/giving.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class LastResult {
  public:
    LastResult(JobState& job, const Sequence& sequence) : job_(job), sequence_(sequence) {}

    // ---- the next result

    // Lends the memory to an exchange with this plan. Empty if the memory is still needed.
    Scratch lend(const Exchange::Plan& plan);
    // That exchange has not begun, and the memory is lost.
    void lose_lent();
    // That exchange has ended. Keeps its result, if it has one that others may lack.
    void keep(ExchangeOutcome& outcome);
    // The round that is about to end has a result of so many bytes, which put_back() brings.
    void keep(size_t bytes, uint32_t check);
    // Nobody needs the result any more, and something else forms in the memory.
    Scratch take_memory();
    // Also of another exchange: the memory is reused.
    void put_back(Scratch memory);
    // Nobody needs the result any more.
    void drop();
    // The members of a group have signalled since the last round, so these nodes have its result.
    void met(const std::vector<NodeId>& nodes);
    // The memory of a result that nobody needs any more; empty if there is none.
    Scratch spare_memory();

    // ---- what is known of it

    // Whether the last round's result is here, which other nodes may lack.
    bool is_here() const { return valid_ && round_ + 1 == sequence_.completed(); }
    // The epoch of the view of its round; 0: it is not here.
    uint64_t epoch() const { return is_here() ? epoch_ : 0; }
    std::span<const std::byte> bytes() const { return {memory_.data(), bytes_}; }
    // Which of its zeros top-k has chosen, and how many of its elements in all.
    std::span<const std::byte> hidden() const { return hidden_; }
    uint64_t chosen() const { return chosen_; }
    void hide(uint64_t chosen, std::span<const std::byte> hidden, std::shared_ptr<const void> keep);
    // In a job of partial rounds: what kind of round it was (told_round.h).
    void tell(std::vector<std::byte> told) { told_ = std::move(told); }

    // ---- for other nodes

    // Gives the result, and what is told ahead of it, to a node that lacks it.
    void serve(NodeId node);
    bool is_giving() const;
    void stop_giving(const base::Error& error);
    // The result on its way to or from `node`.
    Transfer::About about(NodeId node, int deadlines = 0) const;

  private:
    using Came = std::function<void(const base::Result<>&)>;

    bool may_form_here(const Exchange::Plan& plan) const;
    void give_few(uint64_t number, uint32_t check, NodeId node, std::span<const std::byte> bytes);
    void give_hidden(NodeId node);
    void give_result(NodeId node);
    void give_nothing(uint64_t number, NodeId node);
    void copy_here(const std::shared_ptr<Scratch>& copy, const Came& came);
    void copy_from_gpu(const std::shared_ptr<Scratch>& copy, const Came& came);
    std::shared_ptr<const bool> about_to_give();

    JobState& job_;
    const Sequence& sequence_;
    bool valid_ = false;
    uint64_t round_ = 0;  // the round's number, and its view's epoch
    uint64_t epoch_ = 0;
    size_t bytes_ = 0;
    uint32_t check_ = 0;
    Scratch memory_;
    bool lent_ = false;  // an exchange has the memory
    // The memory, while it is copied off the loop and must not be written to; else null.
    std::shared_ptr<Scratch> lent_out_;
    uint32_t borrowers_ = 0;
    std::shared_ptr<DeviceResult> on_device_;  // instead of the memory; may be null
    std::vector<NodeId> unmet_;                // nodes that may still need the result
    std::vector<std::byte> told_;
    std::shared_ptr<const void> hidden_keep_;
    std::span<const std::byte> hidden_;
    uint64_t chosen_ = 0;
    std::vector<std::weak_ptr<Transfer>> givings_;
    base::Scope giving_;                       // of copies that are about to be given
    std::weak_ptr<const bool> about_to_give_;  // held by these copies
};

}  // namespace pace::daemon
