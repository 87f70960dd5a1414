// ClientRing: the trainer's side of the rings of protocol/ring.h. A ClientRing produces submissions
// and consumes completions.
//
// The daemon's bytes are not trusted. Indices are kept here and only published in the shared
// memory. An entry is copied once and then checked. `corrupt` means that the connection must be
// severed.
//
// Threads: one thread at a time, except for has_completions().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/memory/memfd.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/ring.h"

namespace pace::client {

// A request id has no room for more slots. A daemon that offers more is faulty.
inline constexpr uint32_t kRingSlotsMax = 4096;

// A checked completion with its member list.
struct Completion {
    protocol::CompletionEntry entry;
    std::vector<protocol::MemberEntry> members;  // the capacity is kept from use to use
};

class ClientRing {
  public:
    // Takes the memory and bells that came with Joined. Refuses sizes that are out of bounds.
    // Refuses memory that is too small or unsealed, or whose header contradicts the message.
    static base::Result<ClientRing> adopt(base::UniqueFd memory, base::UniqueFd submission_bell,
                                          base::UniqueFd completion_bell,
                                          const protocol::RingLayout& told, uint32_t version);

    uint32_t slots() const { return layout_.slots; }

    // Returns the next submission for the caller to fill in. All fields except the slices are zero.
    // Fails with `corrupt` if the daemon has told the end of a submission that the daemon has not
    // taken. Fails with `limit` if notes were pushed and the ring is full.
    base::Result<protocol::SubmissionEntry*> next_submission();

    // Publishes the submission. Wakes the daemon if the daemon sleeps.
    void submit();
    // Pushes a note of this verb. Fails with `limit` if the ring is full.
    base::Result<> note(protocol::Verb verb, uint64_t iteration, uint64_t id = 0);

    // Cheap. Any thread may call this method.
    bool has_completions() const;

    // Copies the next completion into `ret_completion`. Returns false if there is none.
    base::Result<bool> take_completion(Completion* ret_completion);

    // Tells the daemon whether to ring the bell at each completion. After set_sleeping(true), look
    // at has_completions() once more before sleeping on the bell.
    void set_sleeping(bool sleeping);

    // Empties the bell. Call this method before taking completions, never after.
    void clear_bell();

    // Returns what the buffers of a request hold, if the daemon has not told the end of the request
    // and will not tell it. A state word that is not valid counts as writing.
    protocol::WriteState written(uint64_t request) const;

    // Returns what the daemon says that a request in flight waits for. Empty means that the daemon
    // says nothing. The text is not to be trusted, nor to be shown without making it printable.
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
    // The submission that is being filled in.
    std::unique_ptr<protocol::SubmissionEntry> next_;
    base::UniqueFd submission_bell_;
    base::UniqueFd completion_bell_;
    uint32_t submission_tail_ = 0;
    // Notes were pushed, so the entries that the daemon has not taken may be notes.
    bool noted_ = false;
    // The index is atomic because a thread that waits for completions reads the index while another
    // thread takes completions. The index is behind a pointer so that the ring can move.
    std::unique_ptr<std::atomic<uint32_t>> completion_head_;
};

}  // namespace pace::client
