#include "tests/world/disks/journal_disk.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "service/controller/shell/journal/journal_format.h"

namespace pace::world {

using std::chrono::microseconds;
using std::chrono::milliseconds;

void JournalDisk::append(std::vector<std::byte> record) {
    const Duration takes = clockwork_.uniform(microseconds(100), milliseconds(10));
    TimePoint durable = clockwork_.now() + takes;
    if (!records_.empty()) durable = std::max(durable, records_.back().durable);
    if (fails_) durable = std::max(durable, clockwork_.now() + std::chrono::seconds(1));
    records_.push_back({std::move(record), durable});
}

void JournalDisk::die() {
    const auto pending = std::find_if(records_.begin(), records_.end(), [this](const Record& one) {
        return one.durable > clockwork_.now();
    });
    durable_ = static_cast<size_t>(pending - records_.begin());
    file_ = controller::journal_header();
    for (auto record = records_.begin(); record != pending; ++record)
        controller::append_record(file_, file_.size(), record->bytes, file_.size());
    tear(file_.size());
}

void JournalDisk::lose() {
    records_.clear();
    durable_ = 0;
    file_ = controller::journal_header();
}

// The bytes after `end` of the write that was under way.
std::vector<std::byte> JournalDisk::last_write(size_t end) const {
    std::vector<std::byte> bytes;
    for (size_t i = durable_; i < records_.size(); ++i)
        controller::append_record(bytes, end + bytes.size(), records_[i].bytes, end);
    return bytes;
}

void JournalDisk::tear(size_t end) {
    const std::vector<std::byte> write = last_write(end);
    const size_t there = clockwork_.below(write.size() + 1);
    file_.insert(file_.end(), write.begin(), write.begin() + static_cast<ptrdiff_t>(there));
    if (clockwork_.below(2) == 0)
        file_.resize(file_.size() + clockwork_.below(write.size() - there + 1));
    if (there == 0 || clockwork_.below(4) != 0) return;
    const size_t first = end + clockwork_.below(there);
    const size_t last = first + clockwork_.below(end + there - first + 1);
    std::fill(file_.begin() + static_cast<ptrdiff_t>(first),
              file_.begin() + static_cast<ptrdiff_t>(last), std::byte{0});
}

std::string JournalDisk::take_up(std::span<const std::span<const std::byte>> records) {
    if (records.size() < durable_ || records.size() > records_.size())
        return fmt::format("{} records were read of {}, of which {} were durable", records.size(),
                           records_.size(), durable_);
    for (size_t i = 0; i < records.size(); ++i)
        if (!std::ranges::equal(records[i], records_[i].bytes))
            return fmt::format("record {} is not what was written", i);
    records_.resize(records.size());
    for (Record& record : records_) record.durable = std::min(record.durable, clockwork_.now());
    return {};
}

void JournalDisk::replace(std::vector<std::vector<std::byte>> records) {
    records_.clear();
    for (auto& record : records) records_.push_back({std::move(record), clockwork_.now()});
}

}  // namespace pace::world
