// Journal: the controller's hard state on disk, appended by a thread of its own.
//
// append() never waits for the disk: it hands the record to the writer, which writes and
// fdatasyncs whatever has gathered, in order. So a record is durable a few milliseconds after the
// decision that it belongs to has been sent; what is lost when the machine dies in between is
// announced again by the daemons (design, section 6).
//
// When the disk fails, or has no room for the reserve that is kept allocated ahead of the end, the
// journal is *failed*: the controller then refuses new jobs (failure()), goes on with the old
// ones, and the writer tries again every `retry`, with everything that is not yet durable, from the
// last offset that is. Nothing after a failed write is believed to have reached the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/condition.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::controller {

class Journal {
  public:
    struct Options {
        base::Duration retry = std::chrono::milliseconds(500);
        // Allocated ahead, so that a full disk is noticed before a record is accepted, not after.
        // A guess: some thousand membership changes.
        size_t reserve_bytes = size_t{256} << 10U;
        size_t compact_bytes = size_t{64} << 10U;
        // A file that is damaged in the middle is cut there, after a copy of it was made beside it; otherwise it is refused.
        bool cut_damaged = false;
    };

    struct Opened;

    // Creates or recovers the file, cutting what a crash has torn at its end. Fails with taken if another process holds
    // it, with corrupt or version as recover_journal does, with corrupt if it is damaged before its end, with disk or denied if it
    // cannot be opened. A full disk is no failure here: the journal then begins failed.
    static base::Result<Opened> open(const std::string& path, Options options);

    // Replaces everything with these records, if that is worth it: the file is longer than
    // `compact_bytes` and they take less than half of it. Before start() only. A failure leaves the
    // file as it was. True if it was replaced.
    base::Result<bool> compact(std::span<const std::vector<std::byte>> records);

    // Starts the writer. Before it, append() only gathers.
    void start();

    // It has grown to several times what it was when it was compacted last.
    bool is_long() const;
    // As compact(), while it is written: the writer does it when it comes to it. `records` are all that was appended so far; what is
    // appended from now on follows them. If the disk fails, the file stays as it was, and grows on.
    void replace(std::vector<std::vector<std::byte>> records);

    // Tries once to write what is left, then gives up and says nothing: see flush().
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // The record will be written. Never blocks on the disk. At most kRecordBytesMax.
    void append(std::vector<std::byte> record);

    // Why new hard state should not be accepted now; nothing if all is well. One atomic load
    // when it is.
    std::optional<base::Error> failure() const;

    // Waits until everything appended is durable, or `deadline`. True if it is. For the end of the
    // program and for tests, not for the loop.
    bool flush(base::TimePoint deadline);

    struct Status {
        uint64_t bytes = 0;    // durable, header included
        uint64_t records = 0;  // durable, those recovered included
        uint64_t waiting = 0;  // not yet durable
        std::optional<base::Error> failure;
    };
    Status status() const;
    const std::string& path() const { return path_; }

  private:
    Journal(std::string path, base::UniqueFd fd, uint64_t end, uint64_t records, Options options);

    void run();
    void write_waiting(std::unique_lock<std::mutex>& lock);
    void write_replacement(std::unique_lock<std::mutex>& lock);
    base::Result<base::UniqueFd> write_anew(std::span<const std::byte> bytes) const;
    base::Result<> reserve_after(uint64_t end);

    const std::string path_;
    const Options options_;
    base::UniqueFd fd_;

    // The writer's own.
    uint64_t reserved_to_ = 0;

    mutable std::mutex mutex_;
    base::Condition work_;
    base::Condition durable_;
    std::deque<std::vector<std::byte>> waiting_;
    std::optional<std::vector<std::vector<std::byte>>> replacement_;
    size_t replaced_ = 0;  // of waiting_, from the first on: these are in the replacement
    uint64_t compacted_bytes_ = 0;
    uint64_t end_ = 0;
    uint64_t records_ = 0;
    bool stopping_ = false;
    bool stuck_ = false;  // the last batch could not be written: only `retry` tries again
    std::optional<base::Error> error_;
    std::atomic<bool> failed_{false};

    std::thread writer_;
};

struct Journal::Opened {
    std::unique_ptr<Journal> journal;
    std::vector<std::vector<std::byte>> records;  // oldest first
    uint64_t cut_at = 0;                          // offset of the first byte not believed
    uint64_t cut_bytes = 0;
    std::string cut_because;  // empty: nothing was cut
};

}  // namespace pace::controller
