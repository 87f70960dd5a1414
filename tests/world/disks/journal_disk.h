// JournalDisk: the controller's journal on its disk, in the journal's own format.
//
// A record is durable a while after it was appended. A death leaves any part of what was not
// durable yet, which was one write: whole records, a part of the next one, zeros where the file has
// grown without its contents, and zeros between two parts.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "tests/world/clockwork.h"

namespace pace::world {

class JournalDisk {
  public:
    explicit JournalDisk(Clockwork& clockwork) : clockwork_(clockwork) {}

    // While the disk fails, the writer tries again until it can be written.
    void set_fails(bool fails) { fails_ = fails; }
    bool fails() const { return fails_; }

    void append(std::vector<std::byte> record);
    // The controller dies. file() is what is left.
    void die();
    // What is left after die() is lost too.
    void lose();
    const std::vector<std::byte>& file() const { return file_; }
    // How many of the records a death has left durable.
    size_t durable() const { return durable_; }
    // The next controller has read these records from the file, and cuts off the rest. Returns what
    // is wrong with them; empty: nothing is.
    std::string take_up(std::span<const std::span<const std::byte>> records);
    // These records take the place of all.
    void replace(std::vector<std::vector<std::byte>> records);

  private:
    struct Record {
        std::vector<std::byte> bytes;
        TimePoint durable;
    };
    std::vector<std::byte> last_write(size_t end) const;
    void tear(size_t end);

    Clockwork& clockwork_;
    bool fails_ = false;
    std::deque<Record> records_;
    size_t durable_ = 0;
    std::vector<std::byte> file_;
};

}  // namespace pace::world
