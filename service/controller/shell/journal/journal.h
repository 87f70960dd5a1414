// Journal: the controller's hard state on disk, appended by a writer thread.
//
// append() never waits for the disk. It hands the record to the writer, which writes the gathered
// records in order and calls fdatasync. So a record becomes durable a few milliseconds after its
// decision was sent. If the machine dies in between, the daemons announce the lost decisions again
// (design, section 6).
//
// If the disk fails, or has no room for the reserve allocated ahead of the end, the journal is
// *failed*. The controller then refuses new jobs (failure()) and continues the old ones. Every
// `retry` the writer tries again to write everything that is not durable, from the last durable
// offset. After a failed write nothing is assumed to have reached the disk.
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
        // Allocated ahead, so that a full disk is noticed before a record is accepted. A guess:
        // some thousand membership changes.
        size_t reserve_bytes = size_t{256} << 10U;
        size_t compact_bytes = size_t{64} << 10U;
        // If set, a file that is damaged in the middle is copied beside itself and cut there.
        // Otherwise the file is refused.
        bool cut_damaged = false;
    };

    struct Opened;

    // Creates or recovers the file and cuts a tail torn by a crash. Errors: taken if another
    // process holds the file; corrupt or version from recover_journal; corrupt if the file is
    // damaged before its end; disk or denied if the file cannot be opened. A full disk is no error
    // here: the journal then starts as failed.
    static base::Result<Opened> open(const std::string& path, Options options);

    // Replaces the content with these records if the file is longer than `compact_bytes` and the
    // records take less than half of it. Call before start() only. On failure the file is
    // unchanged. True if the content was replaced.
    base::Result<bool> compact(std::span<const std::vector<std::byte>> records);

    // Starts the writer. Before start(), append() only gathers.
    void start();

    // Whether the file has grown to several times its size after the last compaction.
    bool is_long() const;
    // Like compact(), but while the journal is written: the writer thread replaces the content.
    // `records` stand for all records appended so far; later records follow them. If the disk
    // fails, the file is unchanged and grows further.
    void replace(std::vector<std::vector<std::byte>> records);

    // Tries once to write the remaining records and reports no failure: see flush().
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // The record will be written. Never blocks on the disk. `record` has at most kRecordBytesMax.
    void append(std::vector<std::byte> record);

    // Why the controller should accept no new hard state now; nothing if all is well. In that case
    // the cost is one atomic load.
    std::optional<base::Error> failure() const;

    // Waits until all appended records are durable, or until `deadline`. True if they are durable.
    // For program exit and tests, not for the loop.
    bool flush(base::TimePoint deadline);

    struct Status {
        uint64_t bytes = 0;    // durable, header included
        uint64_t records = 0;  // durable, recovered ones included
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

    // Used by the writer thread only.
    uint64_t reserved_to_ = 0;

    mutable std::mutex mutex_;
    base::Condition work_;
    base::Condition durable_;
    std::deque<std::vector<std::byte>> waiting_;
    std::optional<std::vector<std::vector<std::byte>>> replacement_;
    size_t replaced_ = 0;  // the first so many of waiting_ are in replacement_
    uint64_t compacted_bytes_ = 0;
    uint64_t end_ = 0;
    uint64_t records_ = 0;
    bool stopping_ = false;
    bool stuck_ = false;  // the last batch failed: only `retry` tries again
    std::optional<base::Error> error_;
    std::atomic<bool> failed_{false};

    std::thread writer_;
};

struct Journal::Opened {
    std::unique_ptr<Journal> journal;
    std::vector<std::vector<std::byte>> records;  // oldest first
    uint64_t cut_at = 0;                          // offset of the first byte not trusted
    uint64_t cut_bytes = 0;
    std::string cut_because;  // empty: nothing was cut
};

}  // namespace pace::controller
