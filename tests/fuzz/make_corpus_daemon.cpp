// Corpora of messages to a daemon.
#include "daemon/families/rounds/told_round.h"
#include "daemon/members/handover_list.h"
#include "protocol/version.h"
#include "tests/fuzz/corpus_writer.h"
#include "transports/ucx/wire.h"

namespace pace::fuzz {

// Writes the messages of a controller to a daemon in the life of a job.
void write_orders() {
    Conversation talk;
    talk.say(1, 77, [](auto& b) {
        return control::CreateJoinAccepted(b, 1, 4, 0, control_options(b), 99);
    });
    talk.say(1, 77, [](auto& b) { return control::CreatePrepareView(b, 4, 9, 99); });
    talk.say(1, 77, [](auto& b) {
        const std::vector<control::Member> members{control::Member(0, 5, 1, 22105),
                                                   control::Member(2, 6, 0, 0)};
        return control::CreateCommitView(b, 4, 9, 3, 0, 0, 0, b.CreateVectorOfStructs(members));
    });
    talk.say(1, 77, [](auto& b) {
        const std::vector<control::Part> parts{control::Part(0, 1, 5, 0.25, 0, 0),
                                               control::Part(3, 2, 7, 0.75, 8, 22105)};
        return control::CreateGroupOrder(b, 4, 99, 6, b.CreateVectorOfStructs(parts), 0.5, 7, 11);
    });
    talk.say(1, 77, [](auto& b) {
        return control::CreateWorkerSuspended(b, 4, 0, b.CreateString("late"));
    });
    talk.say(1, 77, [](auto& b) {
        const std::vector<uint8_t> address{1, 2, 3};
        return control::CreateNodeKnown(b, 2, b.CreateString("n2"), b.CreateVector(address));
    });
    talk.say(1, 77,
             [](auto& b) { return control::CreateNodeGone(b, 2, b.CreateString("silent")); });
    talk.say(1, 77, [](auto& b) { return control::CreateStatusReply(b, 9, b.CreateString("{}")); });
    talk.say(1, 77, [](auto& b) {
        return control::CreateJoinRefused(
            b, 2, control::CreateError(b, 6, b.CreateString("the rank is taken")));
    });
    write("controller_message", "a_life", talk.input);
}

namespace {

// A trainer's packets. Each has the kind of its descriptor in front (client.cpp).
class Trainer {
  public:
    template <typename Build>
    void say(uint8_t descriptor, Build build) {
        flatbuffers::FlatBufferBuilder b;
        finish(descriptor, b, build(b));
    }
    Bytes input;

  private:
    template <typename Table>
    void finish(uint8_t descriptor, flatbuffers::FlatBufferBuilder& b,
                flatbuffers::Offset<Table> body) {
        b.Finish(client::CreatePacket(b, client::BodyTraits<Table>::enum_value, body.Union()));
        Bytes chunk{std::byte{descriptor}};
        const auto packet = bytes_of(b.GetBufferPointer(), b.GetSize());
        chunk.insert(chunk.end(), packet.begin(), packet.end());
        append_chunk(input, chunk);
    }
};

void greet(Trainer& trainer) {
    trainer.say(0, [](auto& b) {
        return client::CreateHello(b, pace::protocol::kVersion, b.CreateString("fuzz"));
    });
}

}  // namespace

void write_trainers() {
    const auto join = [](auto& b, const std::string& policy, int64_t elements) {
        pace::protocol::AskedOptions options("alone", 1, policy);
        if (elements != 0) options.values = {{"server.elements", elements}};
        return client::CreateJoin(b, 1, 0, pace::protocol::write_job_options(b, options));
    };
    Trainer reduces;
    greet(reduces);
    reduces.say(0, [&](auto& b) { return join(b, "all-reduce", 0); });
    reduces.say(0, [](auto& b) {
        return client::CreateBufferCreate(b, 2, client::DType::f32, 1000, false);
    });
    for (const uint8_t descriptor : {1, 2, 3, 4, 5})
        reduces.say(descriptor, [](auto& b) {
            return client::CreateBufferCreate(b, 3, client::DType::f32, 1024, true);
        });
    reduces.say(0, [](auto& b) { return client::CreateBufferFree(b, 4, 0); });
    reduces.say(0, [](auto& b) { return client::CreateCancel(b, 9); });
    reduces.say(0, [](auto& b) { return client::CreateLeave(b, 5); });
    write("client", "reduces", reduces.input);
    Trainer serves;
    greet(serves);
    serves.say(0, [&](auto& b) { return join(b, "asp", 1000); });
    serves.say(0, [](auto& b) { return client::CreateQuery(b, 3, b.CreateString("daemon")); });
    serves.say(0, [](auto& b) { return client::CreateQuery(b, 4, b.CreateString("status")); });
    serves.say(0, [](auto& b) { return client::CreateJobCreate(b, 5, client_options(b)); });
    write("client", "serves", serves.input);
}

// Writes a peer's messages among this node's receives and sends (ucx_inbox.cpp).
void write_data_plane() {
    using pace::transports::wire::Kind;
    Bytes input;
    const auto act = [&input](uint8_t what, uint8_t numbers, std::span<const std::byte> rest = {}) {
        Bytes chunk{std::byte{what}, std::byte{numbers}};
        chunk.insert(chunk.end(), rest.begin(), rest.end());
        append_chunk(input, chunk);
    };
    const auto say = [&act](Kind kind, uint64_t exchange, uint64_t ticket, uint64_t size,
                            uint64_t argument, size_t bytes) {
        pace::transports::wire::Header header;
        header.kind = kind;
        header.instance = 2;
        header.exchange = exchange;
        header.size = size;
        header.ticket = ticket;
        header.argument = argument;
        const auto head = std::as_bytes(std::span(&header, 1));
        Bytes message(head.begin(), head.end());
        message.resize(message.size() + bytes);
        act(5, 0, message);
    };
    constexpr uint8_t kSixteenBytes = 32;
    say(Kind::hello, 0, 0, 0, 0, 0);
    act(0, kSixteenBytes);
    say(Kind::eager, 0, 0, 16, 0, 16);
    say(Kind::offer, 1, 3, 16, 0, 0);
    act(0, kSixteenBytes + 1);
    say(Kind::data, 1, 1, 0, 0, 8);
    say(Kind::data, 1, 1, 0, 8, 8);
    act(1, 15 * 16 + 2);
    say(Kind::accept, 2, 1, 0, 5, 0);
    act(1, 15 * 16 + 3);
    say(Kind::refuse, 3, 2, 0, 0, 0);
    say(Kind::credit, 0, 0, 0, 200, 0);
    act(2, 0);
    act(3, 0);
    write("ucx_inbox", "all_kinds", input);
}

void write_peers() {
    write_data_plane();
    write("handover_list", "two_debts", pace::daemon::write({{11, 1000}, {12, 5}}));
    pace::partial::Roster roster;
    roster.nodes = {{0, 1}, {2}, {}, {3}};
    pace::daemon::ToldRound told;
    told.outcome.divisor = 4.0;
    told.outcome.contributors = {{0, 0}, {2, 3}};
    told.terms =
        pace::partial::Terms{pace::collectives::Layout({{pace::protocol::DType::f32, 1000}}), true};
    Bytes input{std::byte{2}, std::byte{1}, std::byte{0}, std::byte{1}};
    const Bytes account = pace::daemon::write(told, roster);
    input.insert(input.end(), account.begin(), account.end());
    write("told_round", "a_sum", input);
}

}  // namespace pace::fuzz
