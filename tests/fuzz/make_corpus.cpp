// Writes the first corpora, made of real messages of the two sides: make_corpus tests/fuzz/corpus.
// Run it again when a message changes. The files are checked in.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <protocol/client_generated.h>

#include "daemon/server/checkpoint.h"
#include "daemon/server/letter.h"
#include "daemon/sparse/residual/residual.h"
#include "daemon/sparse/wire/elias_fano.h"
#include "protocol/control_codec.h"
#include "protocol/ring.h"
#include "protocol/version.h"
#include "service/controller/core/journal/journal_record.h"
#include "service/controller/shell/journal/journal_format.h"
#include "tests/fuzz/corpus_writer.h"
#include "tests/fuzz/sparse_input.h"

namespace {

using namespace pace::fuzz;
namespace client = pace::protocol::client;
namespace control = pace::protocol::control;

template <typename Table>
void write_packet(const std::string& name, flatbuffers::FlatBufferBuilder& builder,
                  flatbuffers::Offset<Table> body) {
    builder.Finish(
        client::CreatePacket(builder, client::BodyTraits<Table>::enum_value, body.Union()));
    write("client_packet", name,
          pace::fuzz::bytes_of(builder.GetBufferPointer(), builder.GetSize()));
    builder.Clear();
}

auto quorum_options(flatbuffers::FlatBufferBuilder& builder) {
    pace::protocol::AskedOptions options("quorum", 3, "all-reduce");
    options.values = {{"quorum", std::string("count")},
                      {"quorum.count", int64_t{2}},
                      {"quorum.late", std::string("drop")},
                      {"quorum.staleness_max", int64_t{4}},
                      {"reduce.resync_every", int64_t{100}}};
    return pace::protocol::write_job_options(builder, options);
}

auto top_k_options(flatbuffers::FlatBufferBuilder& builder) {
    pace::protocol::AskedOptions options("sparse", 4, "all-reduce");
    options.values = {{"compression", std::string("spardl")},
                      {"topk.density", 0.01},
                      {"topk.teams", int64_t{2}},
                      {"topk.values", std::string("bf16")},
                      {"topk.hierarchy", std::string("flat")}};
    return pace::protocol::write_job_options(builder, options);
}

auto graph_options(flatbuffers::FlatBufferBuilder& builder) {
    pace::protocol::AskedOptions options("graph", 2, "ad-psgd");
    options.values = {{"group.edges", std::vector<uint8_t>{0, 0, 0, 0, 1, 0, 0, 0}},
                      {"later.hint", int64_t{1}, true}};
    return pace::protocol::write_job_options(builder, options);
}

void write_packets() {
    flatbuffers::FlatBufferBuilder b;
    write_packet("hello", b, client::CreateHello(b, 1, b.CreateString("c")));
    write_packet("join", b, client::CreateJoin(b, 1, 2, client_options(b)));
    write_packet("join_quorum", b, client::CreateJoin(b, 1, 2, quorum_options(b)));
    write_packet("join_top_k", b, client::CreateJoin(b, 1, 2, top_k_options(b)));
    write_packet("join_graph", b, client::CreateJoin(b, 1, 1, graph_options(b)));
    write_packet("buffer", b, client::CreateBufferCreate(b, 2, client::DType::f32, 1000, false));
    write_packet("query", b, client::CreateQuery(b, 3, b.CreateString("status")));
    write_packet("job", b, client::CreateJobCreate(b, 4, client_options(b)));
    write_packet("job_delete", b, client::CreateJobDelete(b, 5, b.CreateString("old")));
    write_packet("node_drain", b, client::CreateNodeDrain(b, 6, b.CreateString("node7"), true));
    // A packet without a body, which the schema allows.
    b.Finish(client::CreatePacket(b));
    write("client_packet", "no_body", pace::fuzz::bytes_of(b.GetBufferPointer(), b.GetSize()));
}

// Writes what the trainer writes: one entry, then the tail that announces the entry.
void write_ring(const std::string& name, pace::protocol::Verb verb) {
    pace::protocol::SubmissionEntry entry{};
    entry.id = 1;
    entry.iteration = 5;
    entry.verb = verb;
    entry.slice_count = 1;
    entry.slices[0] = {0, 1, 0, 1};
    const auto at = [](size_t offset) {
        return Bytes{static_cast<std::byte>(offset / 4 & 0xFFU),
                     static_cast<std::byte>(offset / 4 >> 8U)};
    };
    const pace::protocol::RingLayout layout{.slots = pace::protocol::kRingSlots};
    Bytes input;
    Bytes slot = at(layout.submissions());
    const auto* raw = reinterpret_cast<const std::byte*>(&entry);
    slot.insert(slot.end(), raw,
                raw + offsetof(pace::protocol::SubmissionEntry, slices) + sizeof(entry.slices[0]));
    append_chunk(input, slot);
    Bytes tail = at(offsetof(pace::protocol::RingHeader, submission) +
                    offsetof(pace::protocol::RingControl, tail));
    tail.insert(tail.end(), {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}});
    append_chunk(input, tail);
    write("ring", name, input);
}

void write_conversation() {
    Conversation talk;
    talk.say(0, 77, [](auto& b) {
        const std::vector<uint8_t> address{1, 2, 3};
        return control::CreateHello(b, pace::protocol::kVersion, b.CreateString("n1"), 5,
                                    b.CreateVector(address), b.CreateString("h"), 4, 0,
                                    b.CreateString("rack-3"), 22105);
    });
    for (uint32_t rank = 0; rank < 2; ++rank)
        talk.say(1, 77, [rank](auto& b) {
            return control::CreateWorkerJoin(b, rank + 1, rank, control_options(b), 1000);
        });
    for (uint32_t rank = 0; rank < 2; ++rank)
        talk.say(1, 77, [rank](auto& b) { return control::CreateReady(b, 1, rank, 3, 9); });
    talk.say(1, 77, [](auto& b) { return control::CreateGroupDone(b, 1, 1, false, 1000, 64); });
    for (const auto stage : {control::ReadyStage::announced, control::ReadyStage::arrived})
        talk.say(1, 77, [stage](auto& b) { return control::CreateReady(b, 1, 0, 4, 9, stage); });
    talk.say(1, 77, [](auto& b) { return control::CreateWithdraw(b, 1, 0, true); });
    talk.say(1, 77, [](auto& b) { return control::CreateViewPrepared(b, 1, 1, 0, 0, 0); });
    talk.say(1, 77, [](auto& b) { return control::CreateStatusRequest(b, 9); });
    talk.say(1, 77, [](auto& b) { return control::CreateWorkerLeave(b, 1, 0, true, 5); });
    talk.say(1, 77, [](auto& b) { return control::CreateGoodbye(b, b.CreateString("end")); });
    write("control_message", "a_short_life", talk.input);
}

// A controller that has lost its journal hears of a job that is under way.
void write_return() {
    Conversation talk;
    const auto options = [](auto& builder) {
        pace::protocol::AskedOptions made("quorum", 2, "all-reduce");
        made.values = {{"quorum", std::string("majority")},
                       {"quorum.divide_by", std::string("contributors")}};
        return pace::protocol::write_job_options(builder, made);
    };
    talk.say(0, 77, [](auto& b) {
        const std::vector<uint8_t> address{1, 2, 3};
        return control::CreateHello(b, pace::protocol::kVersion, b.CreateString("n1"), 5,
                                    b.CreateVector(address), b.CreateString("h"), 4, 3);
    });
    for (uint32_t rank = 0; rank < 2; ++rank)
        talk.say(3, 77, [&](auto& b) {
            return control::CreateWorkerJoin(b, rank + 1, rank, options(b), 1000, true, 40, 41, 6);
        });
    talk.say(3, 77, [](auto& b) { return control::CreateViewPrepared(b, 1, 7, 41, 6, 6); });
    talk.say(3, 77, [](auto& b) { return control::CreateStalled(b, 1); });
    talk.say(3, 77, [](auto& b) { return control::CreateLinkCut(b, 1, true, 2000); });
    talk.say(3, 77, [](auto& b) { return control::CreateLinkCut(b, 1, false, 0); });
    talk.say(3, 77, [](auto& b) { return control::CreateViewPrepared(b, 1, 8, 41, 7, 0); });
    write("control_message", "a_return", talk.input);
}

void write_journal() {
    using namespace pace::controller;
    JobOptions options;
    options.name = "fashion";
    options.world = 2;
    options.group_size = 2;
    JobOptions sparse;
    sparse.name = "sparse";
    sparse.policy = Policy::all_reduce;
    sparse.world = 4;
    sparse.compression = Compression::spardl;
    sparse.density = 0.01;
    sparse.teams = 2;
    const std::vector<JournalRecord> records{NodeRecord{1, "n1"},
                                             JobRecord{1, 1000, 4711, options},
                                             NewTokenRecord{1},
                                             PlacementRecord{1, 0, 1, Placement::joined},
                                             PlacementRecord{1, 1, 1, Placement::joined},
                                             EpochRecord{1, 1},
                                             PlacementRecord{1, 1, 1, Placement::lost},
                                             EpochRecord{1, 2},
                                             AnewRecord{1, 2},
                                             JobRecord{2, 1000, 4712, sparse}};
    Bytes file = journal_header();
    Bytes bare;
    for (const JournalRecord& record : records) {
        append_record(file, file.size(), encode(record), file.size());
        append_chunk(bare, encode(record));
    }
    write("journal", "a_file", file);
    write("journal", "bare_records", bare);
}

// Writes blocks in every format: full, with fewer entries than their frame, and with an Elias-Fano
// part alone.
void write_blocks() {
    using namespace pace::sparse;
    using pace::fuzz::Decoder;
    Entries entries;
    for (uint32_t i = 0; i < 12; ++i)
        entries.push_back(i * i * 7 + 1, 1.5F - static_cast<float>(i));
    pace::fuzz::SparseInput input;
    input.length = 1000;
    for (const Decoder decoder : {Decoder::framed, Decoder::counted})
        for (const IndexFormat index : {IndexFormat::plain, IndexFormat::elias_fano})
            for (const ValueFormat value :
                 {ValueFormat::f32, ValueFormat::f16, ValueFormat::bf16}) {
                input.decoder = decoder;
                input.format = {index, value};
                input.k = decoder == Decoder::framed ? 20 : 12;
                const Frame frame{input.length, input.k};
                input.message.assign(coded_bytes_max(input.format, frame), std::byte{0});
                encode(input.format, frame, entries, input.message);
                write("sparse_wire",
                      std::string(decoder == Decoder::framed ? "framed" : "counted") + "_" +
                          (index == IndexFormat::plain ? "plain" : "elias_fano") + "_" +
                          std::to_string(static_cast<int>(value)),
                      bytes_of(input));
            }
    input.decoder = Decoder::elias_fano;
    input.k = 20;
    input.count = 12;
    input.message.assign(elias_fano_bytes(input.length, input.k, input.count), std::byte{0});
    elias_fano_encode(input.length, input.k, entries.indices, input.message);
    write("sparse_wire", "indices_alone", bytes_of(input));
}

void write_residuals() {
    using pace::sparse::Residual;
    write("residual", "none", Residual().save());
    Residual residual(5);
    const std::vector<float> owed{1.5F, -2.0F, 0.0F, 1e-40F, 3e38F};
    (void)residual.absorb(owed);
    write("residual", "five", residual.save());
}

// Writes a shard with a dense and a sparse version, unpacked.
void write_checkpoints() {
    using pace::server::HybridVector;
    pace::server::Shard shard(8);
    pace::server::Checkpoint about{"job", 9, 7, 24, 3, 1, {}};
    for (uint64_t version = 0; version < 2; ++version) {
        shard.hold(0, version,
                   version == 0 ? HybridVector::of(std::vector<float>(8, 1.5F))
                                : HybridVector::of(8, {{2, 5}, {1, -1}}));
        pace::server::Entry entry;
        entry.position = version + 1;
        entry.clock = version;
        entry.version = version;
        entry.rate = 0.5;
        entry.worker = {version + 1, version + 1, 0};
        (void)shard.act(entry);
        about.ledger.add(entry);
    }
    const std::string path = corpus_root() / "checkpoint.packed";
    auto file = pace::server::PackedWriter::create(path);
    if (!file || !pace::server::write_checkpoint(**file, about, shard)) return;
    auto packed = pace::server::PackedReader::open(path);
    Bytes bytes;
    std::byte one{};
    while (packed && (*packed)->read({&one, 1})) bytes.push_back(one);
    std::filesystem::remove(path);
    write("checkpoint", "two_versions", bytes);
}

void write_letter(const std::string& name, const pace::server::HybridVector& vector) {
    pace::server::Letter letter;
    letter.shard = 2;
    letter.rank = 1;
    letter.generation = 1;
    letter.clock = 7;
    const auto elements = pace::server::write_elements(vector, letter);
    const auto head = pace::server::write_head(letter);
    Bytes bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), elements.begin(), elements.end());
    write("letter", name, bytes);
}

// Writes a copy of a checkpoint's file for another node. The head tells the size of the file.
void write_copy() {
    pace::server::Letter letter;
    letter.kind = pace::server::LetterKind::checkpoint;
    letter.shard = 2;
    letter.generation = 1;
    letter.position = 40;
    letter.bytes = 16;
    const auto head = pace::server::write_head(letter);
    Bytes bytes(head.begin(), head.end());
    bytes.resize(head.size() + letter.bytes);
    write("letter", "copy", bytes);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    corpus_root() = argv[1];
    write_packets();
    write_ring("one_submission", pace::protocol::Verb::average);
    write_ring("a_reduce", pace::protocol::Verb::reduce);
    write_ring("a_residual", pace::protocol::Verb::residual_save);
    write_ring("an_announcement", pace::protocol::Verb::announce);
    write_conversation();
    write_return();
    write_orders();
    write_trainers();
    write_peers();
    write_encrypted_data_plane();
    write_journal();
    write_blocks();
    write_residuals();
    write_checkpoints();
    write_letter("sparse", pace::server::HybridVector::of(1000, {{1, 30, 999}, {1, 2, 3}}));
    write_letter("dense", pace::server::HybridVector::of(std::vector<float>(1000, 0.5F)));
    write_copy();
    write_ring("a_push", pace::protocol::Verb::push);
    write_ring("a_pull", pace::protocol::Verb::pull);
    write_ring("a_checkpoint", pace::protocol::Verb::checkpoint);
    return 0;
}
