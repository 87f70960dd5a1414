#include "service/controller/core/journal/journal_record.h"

#include <utility>

#include "service/controller/core/journal/journal_fields.h"

namespace pace::controller {
namespace {

using base::ErrorKind;
using base::make_error;
using base::Result;
using protocol::OptionKind;
using protocol::OptionValue;

enum class Kind : uint8_t {
    node = 1,
    job = 2,
    job_end = 3,
    epoch = 4,
    placement = 5,
    run = 6,
    drain = 7,
    new_token = 8,
    anew = 9
};

uint8_t version_of(Kind kind) {
    switch (kind) {
        case Kind::anew:
            return 10;
        case Kind::new_token:
            return 9;
        case Kind::drain:
            return 8;
        default:
            return 7;
    }
}

class Writer : public FieldWriter {
  public:
    explicit Writer(Kind kind) {
        put(version_of(kind));
        put(kind);
    }
};

using Reader = FieldReader;

// ---------------------------------------------------------------------------------------- encoding

void put_value(Writer& out, const OptionValue& option) {
    out.put(option.name);
    out.put(option.kind());
    std::visit([&out](const auto& value) { out.put(value); }, option.value);
}

void put_options(Writer& out, const JobOptions& options) {
    const AskedOptions written = protocol::write_options(options);
    out.put(written.name);
    out.put(written.world);
    out.put(written.policy);
    out.put(static_cast<uint16_t>(written.values.size()));
    for (const OptionValue& value : written.values) put_value(out, value);
}

template <typename Value>
void get_value(Reader& in, OptionValue& ret_option) {
    Value value{};
    in.get(value);
    ret_option.value = std::move(value);
}

OptionValue get_option(Reader& in) {
    OptionValue option;
    in.get(option.name);
    OptionKind kind{};
    in.get(kind, OptionKind::bytes);
    if (kind == OptionKind::integer) get_value<int64_t>(in, option);
    if (kind == OptionKind::real) get_value<double>(in, option);
    if (kind == OptionKind::text) get_value<std::string>(in, option);
    if (kind == OptionKind::bytes) get_value<std::vector<uint8_t>>(in, option);
    return option;
}

void get_options(Reader& in, JobOptions& ret_options) {
    AskedOptions written;
    in.get(written.name);
    in.get(written.world);
    in.get(written.policy);
    uint16_t count = 0;
    in.get(count);
    for (; in.ok() && count > 0; --count) written.values.push_back(get_option(in));
    if (!in.ok()) return;
    const Result<JobOptions> read = protocol::read_options(written);
    if (read)
        ret_options = *read;
    else
        in.refuse(read.error().message);
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

std::vector<std::byte> encode_one(const DrainRecord& record) {
    Writer out(Kind::drain);
    out.put(record.node);
    out.put(static_cast<uint8_t>(record.draining ? 1 : 0));
    return out.take();
}

std::vector<std::byte> encode_one(const NewTokenRecord& record) {
    Writer out(Kind::new_token);
    out.put(record.job);
    return out.take();
}

std::vector<std::byte> encode_one(const AnewRecord& record) {
    Writer out(Kind::anew);
    out.put(record.job);
    out.put(record.epoch);
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

DrainRecord decode_drain(Reader& in) {
    DrainRecord record;
    in.get(record.node);
    uint8_t draining = 0;
    in.get(draining);
    if (draining > 1) in.refuse("it says neither that a node is drained nor that it is not");
    record.draining = draining == 1;
    return record;
}

NewTokenRecord decode_new_token(Reader& in) {
    NewTokenRecord record;
    in.get(record.job);
    return record;
}

AnewRecord decode_anew(Reader& in) {
    AnewRecord record;
    in.get(record.job);
    in.get(record.epoch);
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
        case Kind::drain:
            return JournalRecord(decode_drain(in));
        case Kind::job_end:
            return JournalRecord(decode_job_end(in));
        case Kind::anew:
            return JournalRecord(decode_anew(in));
        case Kind::epoch:
            return JournalRecord(decode_epoch(in));
        case Kind::placement:
            return JournalRecord(decode_placement(in));
        case Kind::new_token:
            return JournalRecord(decode_new_token(in));
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
            "a journal record has version {}; this controller reads versions {} to {}: run the "
            "version of Pace that wrote the journal, or move it away to begin with an empty one",
            in.version(), kJournalVersionOldest, kJournalVersion);
    }
    Result<JournalRecord> record = decode_kind(kind, in);
    if (!record) return record;
    if (!in.ok() || !in.is_at_end()) {
        return make_error(ErrorKind::corrupt, "a journal record of kind {} has {} bytes: {}", kind,
                          bytes_untrusted.size(), in.why());
    }
    return record;
}

}  // namespace pace::controller
