#include "service/controller/shell/dispatch/message_reader.h"

#include <utility>

#include "protocol/nccl.h"
#include "protocol/options/limits.h"
#include "protocol/options/names.h"
#include "protocol/version.h"
#include "protocol/zone.h"

namespace pace::controller {

namespace wire = protocol::control;

namespace {

constexpr size_t kAddressBytesMax = 4096;

base::Result<> check(const Hello& hello) {
    constexpr protocol::Versions ours;
    const auto theirs = protocol::told_versions(hello.version, hello.least);
    if (!protocol::common_version(ours, theirs))
        return base::make_error(base::ErrorKind::version,
                                "node {} speaks protocol version {}, this controller speaks "
                                "version {}; install the same Pace on both",
                                hello.name, in_words(theirs), in_words(ours));
    if (!protocol::is_name(hello.name))
        return base::make_error(base::ErrorKind::invalid,
                                "the node name \"{}\" is not 1 to {} letters, digits, '.', '_' or "
                                "'-'; set another",
                                hello.name, protocol::kNameBytesMax);
    if (!protocol::is_zone(hello.zone))
        return base::make_error(base::ErrorKind::invalid,
                                "the zone \"{}\" of node {} is not {}; set another", hello.zone,
                                hello.name, protocol::kZoneRule);
    if (hello.nccl > protocol::kNcclMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the NCCL version {} of node {} is none, they end at {}; set nccl "
                                "to off there",
                                hello.nccl, hello.name, protocol::kNcclMax);
    if (hello.address.size() > kAddressBytesMax)
        return base::make_error(base::ErrorKind::invalid,
                                "the data plane's address of node {} has {} bytes, at most {} are "
                                "allowed",
                                hello.name, hello.address.size(), kAddressBytesMax);
    return {};
}

base::Result<> check(const ViewPrepared& prepared) {
    for (const SavedModel& saved : prepared.server.saved) {
        if (saved.shards == 0 || saved.shards > protocol::kShardsMax)
            return base::make_error(base::ErrorKind::corrupt, "a checkpoint is cut into {} shards",
                                    saved.shards);
    }
    return {};
}

// For most messages the core accepts all values that their types allow.
template <typename Message>
base::Result<> check(const Message& /*message*/) {
    return {};
}

}  // namespace

base::Result<Hello> read_hello(const wire::Hello& table) {
    Hello hello;
    PACE_TRY(read(table, hello));
    PACE_TRY(check(hello));
    return hello;
}

base::Result<std::optional<Event>> read_event(const wire::Envelope& envelope, NodeId node) {
    using Read = std::optional<Event>;
    if (const auto* table = envelope.body_as_Goodbye()) {
        Goodbye goodbye;
        PACE_TRY(read(*table, goodbye));
        return Read(NodeLost{.node = node, .reason = "it said goodbye: " + goodbye.reason});
    }
    FromDaemon message;
    PACE_TRY_ASSIGN(is_read, read(envelope, message));
    if (!is_read) return Read(std::nullopt);
    return std::visit(
        [node](auto& said) -> base::Result<Read> {
            PACE_TRY(check(said));
            return Read(from(node, std::move(said)));
        },
        message);
}

std::optional<RequestId> request_of(const wire::Envelope& envelope) {
    if (const auto* join = envelope.body_as_WorkerJoin()) return join->request();
    if (const auto* create = envelope.body_as_JobCreate()) return create->request();
    if (const auto* deletion = envelope.body_as_JobDelete()) return deletion->request();
    if (const auto* drain = envelope.body_as_NodeDrain()) return drain->request();
    return std::nullopt;
}

}  // namespace pace::controller
