// What both sides of the control plane say of a server job's model, between tables and structs. `Ledger`, `Entry` and `Report` are either
// side's ServerLedger, ServerEntry and ServerReport, which have the fields of the tables under the same names.
#pragma once

#include <vector>

#include <protocol/control_generated.h>

#include "base/result.h"

namespace pace::protocol {

template <typename Worker>
control::ServerClock write_clock(const Worker& worker) {
    return control::ServerClock(worker.rank, worker.clock, worker.version, worker.prefetched);
}

template <typename Ledger>
flatbuffers::Offset<control::ServerLedger> write_ledger(flatbuffers::FlatBufferBuilder& builder,
                                                        const Ledger& ledger) {
    const auto workers = builder.CreateVectorOfStructs<control::ServerClock>(
        ledger.workers.size(), [&ledger](size_t i, control::ServerClock* ret_clock) {
            *ret_clock = write_clock(ledger.workers[i]);
        });
    const auto versions = builder.CreateVectorOfStructs<control::ServerVersion>(
        ledger.versions.size(), [&ledger](size_t i, control::ServerVersion* ret_version) {
            *ret_version =
                control::ServerVersion(ledger.versions[i].version, ledger.versions[i].updates);
        });
    return control::CreateServerLedger(builder, ledger.position, ledger.fastest, ledger.pushes,
                                       workers, versions);
}

// An absent table is the ledger of an empty order.
template <typename Ledger>
Ledger read_ledger(const control::ServerLedger* table) {
    Ledger ledger;
    if (table == nullptr) return ledger;
    ledger.position = table->position();
    ledger.fastest = table->fastest();
    ledger.pushes = table->pushes();
    if (table->workers() != nullptr)
        for (const auto* clock : *table->workers())
            ledger.workers.push_back(
                {clock->rank(), clock->clock(), clock->version(), clock->prefetched()});
    if (table->versions() != nullptr)
        for (const auto* version : *table->versions())
            ledger.versions.push_back({version->version(), version->updates()});
    return ledger;
}

using EntryVector = flatbuffers::Vector<flatbuffers::Offset<control::ServerEntry>>;

template <typename Entry>
flatbuffers::Offset<EntryVector> write_entries(flatbuffers::FlatBufferBuilder& builder,
                                               const std::vector<Entry>& entries) {
    std::vector<flatbuffers::Offset<control::ServerEntry>> tables;
    tables.reserve(entries.size());
    for (const Entry& entry : entries) {
        const auto expired = entry.expired.empty() ? 0 : builder.CreateVector(entry.expired);
        const control::ServerClock worker = write_clock(entry.worker);
        tables.push_back(control::CreateServerEntry(
            builder, entry.position, static_cast<control::ServerStep>(entry.step), entry.clock,
            entry.version, entry.rate, expired, entry.slowest, &worker, entry.first, entry.count));
    }
    return builder.CreateVector(tables);
}

// ErrorKind::corrupt of an entry whose step is none. An absent vector has none.
template <typename Entry>
base::Result<std::vector<Entry>> read_entries(const EntryVector* tables) {
    std::vector<Entry> entries;
    if (tables == nullptr) return entries;
    entries.reserve(tables->size());
    for (const auto* table : *tables) {
        if (table->step() == control::ServerStep::none || table->step() > control::ServerStep::MAX)
            return base::make_error(base::ErrorKind::corrupt, "step {} of a model's order is none",
                                    static_cast<unsigned>(table->step()));
        Entry entry;
        entry.position = table->position();
        entry.step = static_cast<decltype(entry.step)>(table->step());
        entry.clock = table->clock();
        entry.version = table->version();
        entry.rate = table->rate();
        if (table->expired() != nullptr)
            entry.expired.assign(table->expired()->begin(), table->expired()->end());
        entry.slowest = table->slowest();
        if (const auto* worker = table->worker())
            entry.worker = {worker->rank(), worker->clock(), worker->version(),
                            worker->prefetched()};
        entry.first = table->first();
        entry.count = table->count();
        entries.push_back(std::move(entry));
    }
    return entries;
}

template <typename Saved>
flatbuffers::Offset<control::SavedModel> write_saved(flatbuffers::FlatBufferBuilder& builder,
                                                     const Saved& saved) {
    const auto there = builder.CreateVector(saved.there);
    const auto ledger = write_ledger(builder, saved.ledger);
    return control::CreateSavedModel(builder, saved.token, saved.generation, saved.shards, there,
                                     ledger);
}

// A model cannot be cut into more shards than that.
inline constexpr uint32_t kShardsMax = 4096;

// ErrorKind::corrupt if it is cut into no shards, or too many.
template <typename Saved>
base::Result<Saved> read_saved(const control::SavedModel& table) {
    if (table.shards() == 0 || table.shards() > kShardsMax)
        return base::make_error(base::ErrorKind::corrupt, "a checkpoint is cut into {} shards",
                                table.shards());
    Saved saved;
    saved.token = table.token();
    saved.generation = table.generation();
    saved.shards = table.shards();
    if (table.there() != nullptr) saved.there.assign(table.there()->begin(), table.there()->end());
    saved.ledger = read_ledger<decltype(saved.ledger)>(table.ledger());
    return saved;
}

template <typename Report>
flatbuffers::Offset<control::ServerReport> write_report(flatbuffers::FlatBufferBuilder& builder,
                                                        const Report& report) {
    const auto places = builder.CreateVector(report.places);
    const auto shards = builder.CreateVector(report.shards);
    const auto ledger = write_ledger(builder, report.ledger);
    const auto tail = write_entries(builder, report.tail);
    std::vector<flatbuffers::Offset<control::SavedModel>> saved;
    saved.reserve(report.saved.size());
    for (const auto& model : report.saved) saved.push_back(write_saved(builder, model));
    return control::CreateServerReport(builder, report.generation, places, shards, ledger, tail,
                                       builder.CreateVector(saved), report.model_lost);
}

// An absent table is the report of a node that knows nothing.
template <typename Report>
base::Result<Report> read_report(const control::ServerReport* table) {
    Report report;
    if (table == nullptr) return report;
    using Entry = typename decltype(report.tail)::value_type;
    PACE_TRY_ASSIGN(tail, read_entries<Entry>(table->tail()));
    report.generation = table->generation();
    if (table->places() != nullptr)
        report.places.assign(table->places()->begin(), table->places()->end());
    if (table->shards() != nullptr)
        report.shards.assign(table->shards()->begin(), table->shards()->end());
    report.ledger = read_ledger<decltype(report.ledger)>(table->ledger());
    report.tail = std::move(tail);
    report.model_lost = table->model_lost();
    if (table->saved() == nullptr) return report;
    for (const auto* model : *table->saved()) {
        using Saved = typename decltype(report.saved)::value_type;
        PACE_TRY_ASSIGN(saved, read_saved<Saved>(*model));
        report.saved.push_back(std::move(saved));
    }
    return report;
}

}  // namespace pace::protocol
