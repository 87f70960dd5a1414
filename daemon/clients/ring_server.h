// RingServer: the daemon's ends of one session's rings (protocol/ring.h): consumer of submissions,
// producer of completions.
//
// The client can write to the shared memory at any moment. The daemon's own indices are therefore
// in private memory. Each submission is copied once, and only the copy is used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/memory/memfd.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/clients/wait_texts.h"
#include "daemon/clients/write_marks.h"
#include "daemon/members/request.h"
#include "protocol/ring.h"

namespace pace::daemon {

class RingServer {
  public:
    // `connection` stays open for as long as a request's mark is held (write_marks.h).
    static base::Result<RingServer> create(uint32_t version, uint32_t member_capacity,
                                           std::shared_ptr<const base::UniqueFd> connection);

    int memory_fd() const { return memory_->fd(); }
    int submission_doorbell() const { return submission_doorbell_.get(); }
    int completion_doorbell() const { return completion_doorbell_.get(); }
    const protocol::RingLayout& layout() const { return layout_; }

    // Takes the next submission into `ret_entry`. Returns whether there was one. Error: corrupt, if
    // the ring's tail is impossible.
    base::Result<bool> take(protocol::SubmissionEntry& ret_entry);

    // Publishes the end of request `id`. Overwrites an entry if more than ring_slots requests are
    // in flight.
    void complete(uint64_t id, const Ending& ending);

    // Returns a mark that tells the client what the buffers of request `id` hold, should this
    // daemon die before complete().
    WriteMarkPtr mark(uint64_t id) { return marks_.take(id); }

    // Publishes what the unfinished request `id` waits for, so that the client can report it.
    void tell_wait(uint64_t id, std::string_view text) { waits_.tell(id, text); }

    // Asks the client to ring the doorbell for its next submission. Returns false if one is there
    // already.
    bool arm();
    void disarm();
    // Empties the doorbell after it has rung.
    void drain_doorbell();

  private:
    protocol::RingHeader& header() const;
    protocol::SubmissionEntry& submission(uint32_t index) const;
    protocol::CompletionEntry& completion(uint32_t index) const;
    std::span<protocol::MemberEntry> members(uint32_t index) const;

    std::shared_ptr<base::MappedMemfd> memory_;
    WriteMarks marks_;
    WaitTexts waits_;
    base::UniqueFd submission_doorbell_;
    base::UniqueFd completion_doorbell_;
    protocol::RingLayout layout_;
    uint32_t submission_head_ = 0;
    uint32_t completion_tail_ = 0;
    bool armed_ = false;
};

}  // namespace pace::daemon
