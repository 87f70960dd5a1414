#include "service/controller/core/journal_record.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;

enum class Kind : uint8_t { node = 1, job = 2, job_end = 3, epoch = 4, placement = 5, run = 6 };

class Writer {
  public:
    explicit Writer(Kind kind) {
        put(kJournalVersion);
        put(kind);
    }

    template <std::unsigned_integral T>
    void put(T value) {
        for (size_t i = 0; i < sizeof(T); ++i) {
            bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
        }
    }
    template <typename E>
        requires std::is_enum_v<E>
    void put(E value) {
        put(static_cast<uint8_t>(value));
    }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    void put(const std::string& text) {
        put(static_cast<uint16_t>(text.size()));
        for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    }

    void put(const std::vector<uint32_t>& numbers) {
        put(static_cast<uint32_t>(numbers.size()));
        for (const uint32_t number : numbers) put(number);
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

// Reads fields; after the first one that is not there everything reads as zero and ok() is false.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) { get(version_); }

    // Of the record, whose first byte it is.
    uint8_t version() const { return version_; }

    template <std::unsigned_integral T>
    void get(T& ret_value) {
        ret_value = 0;
        if (!has(sizeof(T))) return;
        uint64_t value = 0;
        for (size_t i = 0; i < sizeof(T); ++i) {
            value |= static_cast<uint64_t>(bytes_[i]) << (8 * i);
        }
        ret_value = static_cast<T>(value);
        bytes_ = bytes_.subspan(sizeof(T));
    }
    void get(std::string& ret_text) {
        uint16_t size = 0;
        get(size);
        ret_text.clear();
        if (!has(size)) return;
        for (const std::byte b : bytes_.first(size)) ret_text.push_back(static_cast<char>(b));
        bytes_ = bytes_.subspan(size);
    }
    // An enumeration whose last value is `last`, the first being 1.
    template <typename E>
    void get(E& ret_value, E last) {
        uint8_t number = 0;
        get(number);
        if (number == 0 || number > static_cast<uint8_t>(last)) ok_ = false;
        ret_value = ok_ ? static_cast<E>(number) : last;
    }

    // The same, or none of its values, which is 0.
    template <typename E>
    void get_or_none(E& ret_value, E last) {
        uint8_t number = 0;
        get(number);
        if (number > static_cast<uint8_t>(last)) ok_ = false;
        ret_value = ok_ ? static_cast<E>(number) : E{};
    }

    void get(std::vector<uint32_t>& ret_numbers) {
        uint32_t size = 0;
        get(size);
        ret_numbers.clear();
        if (!has(size_t{size} * sizeof(uint32_t))) return;
        ret_numbers.resize(size);
        for (uint32_t& number : ret_numbers) get(number);
    }

    void get(double& ret_value) {
        uint64_t bits = 0;
        get(bits);
        ret_value = std::bit_cast<double>(bits);
        if (!std::isfinite(ret_value)) ok_ = false;
    }
    void get(bool& ret_value) {
        uint8_t number = 0;
        get(number);
        if (number > 1) ok_ = false;
        ret_value = number == 1;
    }

    bool ok() const { return ok_; }
    bool is_at_end() const { return bytes_.empty(); }

  private:
    bool has(size_t size) {
        if (bytes_.size() < size) ok_ = false;
        return ok_;
    }

    std::span<const std::byte> bytes_;
    bool ok_ = true;
    uint8_t version_ = 0;
};

// ---------------------------------------------------------------------------------------- encoding

void put_collective_options(Writer& out, const JobOptions& o) {
    out.put(o.quorum);
    out.put(o.quorum_count);
    out.put(o.late);
    out.put(o.staleness_max);
    out.put(o.divide_by);
    out.put(o.resync_every);
    out.put(o.compression);
    out.put(o.density);
    out.put(o.residuals);
    out.put(o.teams);
    out.put(o.team_gather);
    out.put(o.indices);
    out.put(o.values);
    out.put(o.hierarchy);
    out.put(o.dense_fallback);
    out.put(static_cast<uint8_t>(o.reject_nonfinite ? 1 : 0));
}

void put_options(Writer& out, const JobOptions& o) {
    out.put(o.name);
    out.put(o.world);
    out.put(o.policy);
    out.put(o.group_size);
    out.put(o.group_min);
    out.put(o.weights);
    out.put(o.missing);
    out.put(o.alpha);
    out.put(o.group_wait_ms);
    out.put(o.history_window);
    out.put(o.worker_timeout_ms);
    put_collective_options(out, o);
    out.put(o.progress_gap);
    out.put(o.edges);
    out.put(o.elements);
    out.put(o.rate);
    out.put(o.constant_rate);
    out.put(o.filter);
    out.put(o.shards);
    out.put(o.checkpoint_every_ms);
    out.put(o.checkpoint_copies);
    out.put(o.restore);
    out.put(o.unsynchronized);
}

void get_collective_options(Reader& in, JobOptions& ret_options) {
    in.get(ret_options.quorum, Quorum::count);
    in.get(ret_options.quorum_count);
    in.get(ret_options.late, Late::drop);
    in.get(ret_options.staleness_max);
    in.get(ret_options.divide_by, DivideBy::contributors);
    in.get(ret_options.resync_every);
    in.get(ret_options.compression, Compression::oktopk);
    in.get(ret_options.density);
    in.get(ret_options.residuals, Residuals::local);
    in.get(ret_options.teams);
    in.get(ret_options.team_gather, TeamGather::bruck);
    in.get(ret_options.indices, Indices::compressed);
    in.get(ret_options.values, Values::bf16);
    in.get(ret_options.hierarchy, Hierarchy::flat);
    in.get(ret_options.dense_fallback, DenseFallback::never);
    in.get(ret_options.reject_nonfinite);
}

void get_options(Reader& in, JobOptions& ret_options) {
    in.get(ret_options.name);
    in.get(ret_options.world);
    in.get(ret_options.policy, Policy::asp);
    in.get(ret_options.group_size);
    in.get(ret_options.group_min);
    in.get(ret_options.weights, Weights::dynamic);
    in.get(ret_options.missing, Missing::initial);
    in.get(ret_options.alpha);
    in.get(ret_options.group_wait_ms);
    in.get(ret_options.history_window);
    in.get(ret_options.worker_timeout_ms);
    if (in.version() >= 2) get_collective_options(in, ret_options);
    if (in.version() >= 3) in.get(ret_options.progress_gap);
    if (in.version() >= 4) in.get(ret_options.edges);
    if (in.version() < 5) return;
    in.get(ret_options.elements);
    in.get_or_none(ret_options.rate, Rate::dynamic);
    in.get(ret_options.constant_rate);
    in.get(ret_options.filter);
    in.get(ret_options.shards);
    if (in.version() < 6) return;
    in.get(ret_options.checkpoint_every_ms);
    in.get(ret_options.checkpoint_copies);
    in.get(ret_options.restore);
    in.get(ret_options.unsynchronized);
}

std::vector<std::byte> encode_one(const NodeRecord& record) {
    Writer out(Kind::node);
    out.put(record.node);
    out.put(record.name);
    return out.take();
}

std::vector<std::byte> encode_one(const JobRecord& record) {
    Writer out(Kind::job);
    out.put(record.job);
    out.put(record.uid);
    out.put(record.token);
    put_options(out, record.options);
    return out.take();
}

std::vector<std::byte> encode_one(const RunRecord& record) {
    Writer out(Kind::run);
    out.put(record.job);
    out.put(record.run.id);
    out.put(record.run.began);
    out.put(record.before);
    return out.take();
}

std::vector<std::byte> encode_one(const JobEndRecord& record) {
    Writer out(Kind::job_end);
    out.put(record.job);
    return out.take();
}

std::vector<std::byte> encode_one(const EpochRecord& record) {
    Writer out(Kind::epoch);
    out.put(record.job);
    out.put(record.epoch);
    return out.take();
}

std::vector<std::byte> encode_one(const PlacementRecord& record) {
    Writer out(Kind::placement);
    out.put(record.job);
    out.put(record.rank);
    out.put(record.node);
    out.put(record.placement);
    return out.take();
}

// ---------------------------------------------------------------------------------------- decoding

NodeRecord decode_node(Reader& in) {
    NodeRecord record;
    in.get(record.node);
    in.get(record.name);
    return record;
}

JobRecord decode_job(Reader& in) {
    JobRecord record;
    in.get(record.job);
    in.get(record.uid);
    in.get(record.token);
    get_options(in, record.options);
    return record;
}

RunRecord decode_run(Reader& in) {
    RunRecord record;
    in.get(record.job);
    in.get(record.run.id);
    in.get(record.run.began);
    in.get(record.before);
    return record;
}

JobEndRecord decode_job_end(Reader& in) {
    JobEndRecord record;
    in.get(record.job);
    return record;
}

EpochRecord decode_epoch(Reader& in) {
    EpochRecord record;
    in.get(record.job);
    in.get(record.epoch);
    return record;
}

PlacementRecord decode_placement(Reader& in) {
    PlacementRecord record;
    in.get(record.job);
    in.get(record.rank);
    in.get(record.node);
    in.get(record.placement, Placement::died);
    return record;
}

Result<JournalRecord> decode_kind(uint8_t kind, Reader& in) {
    switch (static_cast<Kind>(kind)) {
        case Kind::node:
            return JournalRecord(decode_node(in));
        case Kind::job:
            return JournalRecord(decode_job(in));
        case Kind::run:
            return JournalRecord(decode_run(in));
        case Kind::job_end:
            return JournalRecord(decode_job_end(in));
        case Kind::epoch:
            return JournalRecord(decode_epoch(in));
        case Kind::placement:
            return JournalRecord(decode_placement(in));
    }
    return make_error(ErrorKind::corrupt, "a journal record has kind {}, which does not exist",
                      kind);
}

}  // namespace

std::vector<std::byte> encode(const JournalRecord& record) {
    return std::visit([](const auto& r) { return encode_one(r); }, record);
}

Result<JournalRecord> decode(std::span<const std::byte> bytes_untrusted) {
    Reader in(bytes_untrusted);
    uint8_t kind = 0;
    in.get(kind);
    if (!in.ok()) {
        return make_error(ErrorKind::corrupt,
                          "a journal record of {} bytes is too short for its head",
                          bytes_untrusted.size());
    }
    if (in.version() < kJournalVersionOldest || in.version() > kJournalVersion) {
        return make_error(
            ErrorKind::version,
            "a journal record has version {}; this controller reads up to {}: run the "
            "version of Pace that wrote the journal",
            in.version(), kJournalVersion);
    }
    Result<JournalRecord> record = decode_kind(kind, in);
    if (!record) return record;
    if (!in.ok() || !in.is_at_end()) {
        return make_error(ErrorKind::corrupt,
                          "a journal record of kind {} has {} bytes, which do not parse", kind,
                          bytes_untrusted.size());
    }
    return record;
}

}  // namespace pace::controller
