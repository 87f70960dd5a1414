// JournalEntry: one entry in journald's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL).
// JournalSocket: the socket that takes such entries.
//
// libsystemd's sd_journal_sendv() is not used: it waits while the journal's queue is full, and an
// event loop must not wait.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace pace::base {

class JournalEntry {
  public:
    // Longer values are cut, so that an entry always fits into a datagram.
    static constexpr size_t kValueBytesMax = size_t{8} << 10U;

    // `field` is a field name of the journal: capitals, digits and underscores. `value` may be any
    // bytes.
    void add(std::string_view field, std::string_view value);
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

// Returns the journal's field name for one of Pace's keys. The keys that operators search for have
// field names of their own. The other keys get a prefix, so that no key equals by chance a field
// that has a meaning.
std::string journal_field(std::string_view key);

class JournalSocket {
  public:
    explicit JournalSocket(std::string path = "/run/systemd/journal/socket");

    enum class Sent {
        done,
        // The journal does not read fast enough now: the entry is lost.
        full,
        // Nobody listens at the path.
        absent,
    };
    // Thread-safe. Never waits.
    Sent send(const JournalEntry& entry) const;

  private:
    std::string path_;
    UniqueFd fd_;
};

}  // namespace pace::base
