// ClientRing: the trainer's side of the rings of protocol/ring.h: produces submissions, consumes
// completions.
//
// The daemon's bytes are not believed: indices are kept here and only published there, an entry is
// copied once and then checked. `corrupt` means that the connection must be severed.
//
// Threads: one at a time, except has_completions().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/memfd.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/ring.h"

namespace pace::client {

// More slots than a request id has room for would be a daemon gone mad.
inline constexpr uint32_t kRingSlotsMax = 4096;

// A completion as checked, with its member list.
struct Completion {
    protocol::CompletionEntry entry;
    std::vector<protocol::MemberEntry> members;  // capacity is kept from one use to the next
};

class ClientRing {
  public:
    // Takes what came with Joined. Refuses memory that is too small, unsealed or says otherwise in
    // its header, and sizes out of bounds.
    static base::Result<ClientRing> adopt(base::UniqueFd memory, base::UniqueFd submission_bell,
                                          base::UniqueFd completion_bell,
                                          const protocol::RingLayout& told, uint32_t version);

    uint32_t slots() const { return layout_.slots; }

    // The next submission, zero but for its slices, for the caller to fill in. Fails with `corrupt` if
    // the daemon has not taken a submission whose end it has told.
    base::Result<protocol::SubmissionEntry*> next_submission();

    // Publishes it, and wakes the daemon if that sleeps.
    void submit();
    // Pushes a note of this verb. Fails with `limit` if the ring is full.
    base::Result<> note(protocol::Verb verb, uint64_t iteration, uint64_t id = 0);

    // Cheap; any thread.
    bool has_completions() const;

    // The next completion into `ret_completion`; false if there is none.
    base::Result<bool> take_completion(Completion* ret_completion);

    // Whether the daemon must ring the bell at each completion. After `true`, look at
    // has_completions() once more before sleeping on the bell.
    void set_sleeping(bool sleeping);

    // Empties the bell. Do it before taking completions, never after.
    void clear_bell();

    // What the buffers of a request hold whose end the daemon has not told and will not. A word that is none counts
    // as writing.
    protocol::WriteState written(uint64_t request) const;

    // What the daemon says that a request in flight waits for; empty if it says nothing. Not to be believed, nor shown as it is.
    std::string awaited(uint64_t request) const;

    int completion_bell() const { return completion_bell_.get(); }

  private:
    ClientRing() = default;

    protocol::RingHeader& header() const;
    base::Result<> check_header(uint32_t version) const;
    std::byte* slot(size_t part, uint32_t stride, uint32_t index) const;
    base::Result<> check(const protocol::CompletionEntry& entry) const;

    protocol::RingLayout layout_;
    base::MappedMemfd memory_;
    std::unique_ptr<protocol::SubmissionEntry> next_;  // until it is submitted
    base::UniqueFd submission_bell_;
    base::UniqueFd completion_bell_;
    uint32_t submission_tail_ = 0;
    bool noted_ = false;  // what the daemon has not taken may be notes
    // Atomic because a thread that waits for completions looks at it while another takes them.
    // Behind a pointer so that the ring can move.
    std::unique_ptr<std::atomic<uint32_t>> completion_head_;
};

}  // namespace pace::client
