// Journal records: the controller's hard state, made durable one change at a time.
//
// A record is its version (1 byte), its kind (1 byte) and the fields of its struct below in order:
// integers little-endian, a string as its length (2 bytes) and its bytes. A job's options are names and values, so that a
// record outlives changes to them. The journal's own framing and checksums are the shell's. Bytes that are not a record give
// ErrorKind::corrupt, or ErrorKind::version if another Pace wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// A record is of the version that has brought its kind, so that the release before reads a journal without the new kinds.
inline constexpr uint8_t kJournalVersion = 8;
inline constexpr uint8_t kJournalVersionOldest = 7;

// A node's name has got an id.
struct NodeRecord {
    NodeId node = 0;
    std::string name;
    bool operator==(const NodeRecord&) const = default;
};

// A job was created.
struct JobRecord {
    JobId job = 0;
    uint32_t uid = 0;
    uint64_t token = 0;
    JobOptions options;
    bool operator==(const JobRecord&) const = default;
};

// The run that the job is. Follows JobRecord.
struct RunRecord {
    JobId job = 0;
    Run run;
    uint64_t before = 0;  // when the run began that this one has followed under its name; 0: none
    bool operator==(const RunRecord&) const = default;
};

// A job has ended, or was dropped.
struct JobEndRecord {
    JobId job = 0;
    bool operator==(const JobEndRecord&) const = default;
};

// The job's epoch was raised. The first one says that the job has started, with all workers that
// are placed as members.
struct EpochRecord {
    JobId job = 0;
    uint64_t epoch = 0;
    bool operator==(const EpochRecord&) const = default;
};

enum class Placement : uint8_t {
    joined = 1,  // attached; a member when the job starts, a newcomer if it has started already
    member = 2,  // admitted
    left = 3,    // left in order
    lost = 4,    // its node was lost
    died = 5,    // its process has died
};

struct PlacementRecord {
    JobId job = 0;
    Rank rank = 0;
    NodeId node = 0;
    Placement placement = Placement::joined;
    bool operator==(const PlacementRecord&) const = default;
};

// An operator drains a node, or does not any more. Since version 8.
struct DrainRecord {
    NodeId node = 0;
    bool draining = false;
    bool operator==(const DrainRecord&) const = default;
};

using JournalRecord = std::variant<NodeRecord, JobRecord, RunRecord, JobEndRecord, EpochRecord,
                                   PlacementRecord, DrainRecord>;

std::vector<std::byte> encode(const JournalRecord& record);
base::Result<JournalRecord> decode(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::controller
