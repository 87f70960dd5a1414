// Journal records: the controller's hard state, made durable one change at a time.
//
// A record is its version (1 byte), its kind (1 byte) and the fields of its struct below in order.
// Integers are little-endian; a string is its length (2 bytes) and its bytes. A job's options are
// names and values, so that records stay valid when options change. The shell adds framing and
// checksums. Bytes that are no record give ErrorKind::corrupt, or ErrorKind::version if another
// version of Pace wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// A record has the version that introduced its kind, so that the previous release can read a
// journal without new kinds.
inline constexpr uint8_t kJournalVersion = 10;
inline constexpr uint8_t kJournalVersionOldest = 7;

// A node's name was given an id.
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

// The run of the job. Follows JobRecord.
struct RunRecord {
    JobId job = 0;
    Run run;
    uint64_t before = 0;  // when the previous run of this name began; 0: none
    bool operator==(const RunRecord&) const = default;
};

// A job ended or was dropped.
struct JobEndRecord {
    JobId job = 0;
    bool operator==(const JobEndRecord&) const = default;
};

// The job's epoch was raised. The first such record means that the job has started, with all placed
// workers as members.
struct EpochRecord {
    JobId job = 0;
    uint64_t epoch = 0;
    bool operator==(const EpochRecord&) const = default;
};

enum class Placement : uint8_t {
    joined = 1,  // attached; member when the job starts, or newcomer if it has started
    member = 2,  // admitted
    left = 3,    // left in order
    lost = 4,    // its node was lost
    died = 5,    // its process died
};

struct PlacementRecord {
    JobId job = 0;
    Rank rank = 0;
    NodeId node = 0;
    Placement placement = Placement::joined;
    bool operator==(const PlacementRecord&) const = default;
};

// An operator began or ended draining a node. Since version 8.
struct DrainRecord {
    NodeId node = 0;
    bool draining = false;
    bool operator==(const DrainRecord&) const = default;
};

// The job was under way before its JobRecord: an earlier journal, which had its token, is lost.
// Nodes keep data of the job under that token. Follows JobRecord. Since version 9.
struct NewTokenRecord {
    JobId job = 0;
    bool operator==(const NewTokenRecord&) const = default;
};

// Nobody was left who had a model of this averaging job, and newly opened workers began it anew,
// with the view of this epoch. Follows EpochRecord. Since version 10.
struct AnewRecord {
    JobId job = 0;
    uint64_t epoch = 0;
    bool operator==(const AnewRecord&) const = default;
};

using JournalRecord = std::variant<NodeRecord, JobRecord, RunRecord, JobEndRecord, EpochRecord,
                                   PlacementRecord, DrainRecord, NewTokenRecord, AnewRecord>;

std::vector<std::byte> encode(const JournalRecord& record);
base::Result<JournalRecord> decode(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::controller
