// JournalEntry: one entry in journald's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL), and the socket that takes it.
//
// libsystemd's sd_journal_sendv() is not used: it waits while the journal's queue is full, and an event loop must not.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace pace::base {

class JournalEntry {
  public:
    // What is longer is cut, so that an entry always fits into a datagram.
    static constexpr size_t kValueBytesMax = size_t{8} << 10U;

    // `field` is one of the journal's: capitals, digits and underscores. `value` may be any bytes.
    void add(std::string_view field, std::string_view value);
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

// The journal's name for a key of ours: those that operators ask for have names of their own, the others a prefix, so that no key is by
// chance a field with a meaning.
std::string journal_field(std::string_view key);

class JournalSocket {
  public:
    explicit JournalSocket(std::string path = "/run/systemd/journal/socket");

    enum class Sent {
        done,
        full,    // it does not read fast enough now: the entry is lost
        absent,  // nobody listens there
    };
    // Thread-safe, never waits.
    Sent send(const JournalEntry& entry) const;

  private:
    std::string path_;
    UniqueFd fd_;
};

}  // namespace pace::base
