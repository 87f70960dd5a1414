#include "daemon/server/checkpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "protocol/types.h"

namespace pace::server {

using base::ErrorKind;
using base::Result;

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

namespace {

constexpr std::string_view kMagic = "PACESHRD";
// The limit is more than any job has, because each version belongs to a running step of some
// worker.
constexpr uint64_t kVersionsMax = uint64_t{1} << 20U;
// The number of elements read at a time. It is limited so that a file cannot cause allocations much
// beyond its own size.
constexpr size_t kPieceElements = size_t{1} << 18U;

// ---------------------------------------------------------------------------------------- writing

template <typename Number>
Result<> put(PackedWriter& file, Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    return file.write(std::as_bytes(std::span(&number, 1)));
}

template <typename... Numbers>
Result<> put_all(PackedWriter& file, Numbers... numbers) {
    Result<> result;
    static_cast<void>(((result = put(file, numbers)).ok() && ...));
    return result;
}

template <typename Element>
Result<> put_elements(PackedWriter& file, std::span<const Element> elements) {
    return file.write(std::as_bytes(elements));
}

Result<> put_ledger(PackedWriter& file, const Ledger& ledger) {
    PACE_TRY(put_all(file, ledger.position, ledger.fastest, ledger.pushes,
                     static_cast<uint64_t>(ledger.workers.size())));
    for (const auto& [rank, worker] : ledger.workers)
        PACE_TRY(put_all(file, rank, worker.clock, worker.version, worker.prefetched));
    PACE_TRY(put(file, static_cast<uint64_t>(ledger.versions.size())));
    for (const auto& [version, updates] : ledger.versions)
        PACE_TRY(put_all(file, version, updates));
    return {};
}

Result<> put_sum(PackedWriter& file, uint64_t number, const Shard::Version& version) {
    const bool dense = version.sum.is_dense();
    PACE_TRY(put_all(file, number, version.rate, static_cast<uint64_t>(dense),
                     static_cast<uint64_t>(version.sum.size())));
    if (dense) return put_elements(file, version.sum.elements());
    const sparse::Entries& entries = version.sum.entries();
    PACE_TRY(put_elements(file, std::span<const uint32_t>(entries.indices)));
    return put_elements(file, std::span<const float>(entries.values));
}

// ---------------------------------------------------------------------------------------- reading

class Reader {
  public:
    explicit Reader(ByteReader& file) : file_(file) {}

    base::Error corrupt(const std::string& what) const {
        return base::make_error(ErrorKind::corrupt, "{}: {}; use an older checkpoint", file_.name(),
                                what);
    }

    template <typename Number>
    Result<> get(Number& ret_number) {
        return file_.read(std::as_writable_bytes(std::span(&ret_number, 1)));
    }
    template <typename... Numbers>
    Result<> get_all(Numbers&... ret_numbers) {
        Result<> result;
        static_cast<void>(((result = get(ret_numbers)).ok() && ...));
        return result;
    }
    // Reads a count of things that must not exceed `most`.
    Result<> get_count(uint64_t& ret_count, uint64_t most, std::string_view what) {
        PACE_TRY(get(ret_count));
        if (ret_count <= most) return {};
        return corrupt(
            fmt::format("it says {} {}, of which there can be {}", ret_count, what, most));
    }
    template <typename Element, typename Allocator>
    Result<> get_elements(std::vector<Element, Allocator>& ret_elements, size_t count) {
        while (ret_elements.size() < count) {
            const size_t have = ret_elements.size();
            ret_elements.resize(std::min(count, have + kPieceElements));
            PACE_TRY(file_.read(std::as_writable_bytes(std::span(ret_elements).subspan(have))));
        }
        return {};
    }

  private:
    ByteReader& file_;
};

Result<> get_about(Reader& reader, Checkpoint& ret_about) {
    std::array<char, kMagic.size()> magic{};
    uint32_t version = 0;
    uint32_t name_bytes = 0;
    PACE_TRY(reader.get_all(magic, version));
    if (std::string_view(magic.data(), magic.size()) != kMagic)
        return reader.corrupt("it is no checkpoint of a shard");
    if (version != kCheckpointVersion)
        return base::make_error(ErrorKind::version,
                                "the checkpoint was written in version {}, this daemon reads "
                                "version {}; load it with the one that wrote it",
                                version, kCheckpointVersion);
    PACE_TRY(reader.get(name_bytes));
    if (name_bytes == 0 || name_bytes > protocol::kNameBytesMax)
        return reader.corrupt(fmt::format("its job's name has {} bytes", name_bytes));
    std::vector<char> name;
    uint64_t elements = 0;
    PACE_TRY(reader.get_elements(name, name_bytes));
    PACE_TRY(reader.get_all(ret_about.token, ret_about.generation, elements, ret_about.shards,
                            ret_about.shard));
    if (ret_about.shard >= ret_about.shards)
        return reader.corrupt(
            fmt::format("it is shard {} of {}", ret_about.shard, ret_about.shards));
    ret_about.job.assign(name.begin(), name.end());
    ret_about.elements = elements;
    return {};
}

Result<> get_ledger(Reader& reader, Ledger& ret_ledger) {
    uint64_t workers = 0;
    uint64_t versions = 0;
    PACE_TRY(reader.get_all(ret_ledger.position, ret_ledger.fastest, ret_ledger.pushes));
    PACE_TRY(reader.get_count(workers, protocol::kWorldMax, "workers"));
    for (uint64_t i = 0; i < workers; ++i) {
        uint32_t rank = 0;
        WorkerClock worker;
        PACE_TRY(reader.get_all(rank, worker.clock, worker.version, worker.prefetched));
        if (rank >= protocol::kWorldMax || !ret_ledger.workers.try_emplace(rank, worker).second)
            return reader.corrupt(fmt::format("it names rank {} twice, or beyond all ranks", rank));
    }
    PACE_TRY(reader.get_count(versions, kVersionsMax, "versions"));
    for (uint64_t i = 0; i < versions; ++i) {
        uint64_t version = 0;
        uint64_t updates = 0;
        PACE_TRY(reader.get_all(version, updates));
        if (!ret_ledger.versions.try_emplace(version, updates).second)
            return reader.corrupt(fmt::format("it counts version {} twice", version));
    }
    return {};
}

Result<HybridVector> get_vector(Reader& reader, bool dense, size_t size, size_t length) {
    std::vector<float> values;
    if (dense) {
        if (size != length)
            return reader.corrupt(fmt::format("a version has {} elements of {}", size, length));
        PACE_TRY(reader.get_elements(values, size));
        return HybridVector::of(values);
    }
    sparse::Entries entries;
    PACE_TRY(reader.get_elements(entries.indices, size));
    PACE_TRY(reader.get_elements(entries.values, size));
    const auto& indices = entries.indices;
    const auto unsorted =
        std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>());
    if (unsorted != indices.end() || (!indices.empty() && indices.back() >= length))
        return reader.corrupt("a version's indices do not rise, or go beyond the shard");
    return HybridVector::of(length, std::move(entries));
}

Result<> get_sums(Reader& reader, size_t length, std::map<uint64_t, Shard::Version>& ret_versions) {
    uint64_t count = 0;
    PACE_TRY(reader.get_count(count, kVersionsMax, "versions"));
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t number = 0;
        double rate = 0;
        uint64_t dense = 0;
        uint64_t size = 0;
        PACE_TRY(reader.get_all(number, rate, dense));
        PACE_TRY(reader.get_count(size, length, "elements of a version"));
        if (dense > 1 || !std::isfinite(rate))
            return reader.corrupt(fmt::format("version {} has no rate, or no form", number));
        PACE_TRY_ASSIGN(sum, get_vector(reader, dense == 1, size, length));
        if (!ret_versions.try_emplace(number, Shard::Version{std::move(sum), rate}).second)
            return reader.corrupt(fmt::format("it has version {} twice", number));
    }
    return {};
}

}  // namespace

Result<> write_checkpoint(PackedWriter& file, const Checkpoint& about, const Shard& shard) {
    PACE_TRY(file.write(std::as_bytes(std::span(kMagic))));
    PACE_TRY(put_all(file, kCheckpointVersion, static_cast<uint32_t>(about.job.size())));
    PACE_TRY(file.write(std::as_bytes(std::span(about.job))));
    PACE_TRY(put_all(file, about.token, about.generation, static_cast<uint64_t>(about.elements),
                     about.shards, about.shard));
    PACE_TRY(put_ledger(file, about.ledger));
    PACE_TRY(put_elements(file, std::span<const float>(shard.base())));
    PACE_TRY(put(file, static_cast<uint64_t>(shard.versions().size())));
    for (const auto& [number, version] : shard.versions()) PACE_TRY(put_sum(file, number, version));
    return file.commit();
}

Result<Checkpoint> read_about(ByteReader& bytes_untrusted) {
    Reader reader(bytes_untrusted);
    Checkpoint about;
    PACE_TRY(get_about(reader, about));
    PACE_TRY(get_ledger(reader, about.ledger));
    return about;
}

Result<ReadCheckpoint> read_checkpoint(ByteReader& bytes_untrusted, size_t elements_max) {
    Reader reader(bytes_untrusted);
    ReadCheckpoint read;
    PACE_TRY(get_about(reader, read.about));
    const size_t length =
        Partition(read.about.elements, read.about.shards).range(read.about.shard).size();
    if (length > elements_max)
        return base::make_error(ErrorKind::limit,
                                "{} has {} elements, more than the {} that this daemon takes",
                                bytes_untrusted.name(), length, elements_max);
    PACE_TRY(get_ledger(reader, read.about.ledger));
    std::vector<float> base;
    PACE_TRY(reader.get_elements(base, length));
    std::map<uint64_t, Shard::Version> versions;
    PACE_TRY(get_sums(reader, length, versions));
    PACE_TRY(bytes_untrusted.finish());
    read.shard = Shard(std::move(base), std::move(versions));
    return read;
}

}  // namespace pace::server
