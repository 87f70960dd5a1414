#include "libclient/link/tool_link.h"

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;

class ToolLinkTest : public SessionFixture {};

// Answers queries with `document`, a few bytes in each packet.
Script answering(std::string document) {
    Script script;
    script.on_packet = [document = std::move(document)](Peer& peer, Packet& packet) {
        const auto* query = packet.body<wire::Query>();
        if (query == nullptr) return false;
        EXPECT_EQ(query->what()->string_view(), "status");
        for (size_t at = 0; at < document.size(); at += 5) {
            flatbuffers::FlatBufferBuilder builder;
            const std::string piece = document.substr(at, 5);
            peer.send(builder, wire::CreateDocumentDirect(builder, query->request(), piece.c_str(),
                                                          at + 5 >= document.size()));
        }
        return true;
    };
    return script;
}

TEST_F(ToolLinkTest, PutsTheDocumentTogether) {
    start(answering(R"({"jobs": ["fashion", "speech"]})"));
    auto link = ToolLink::open(endpoint(), kPatience);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->node(), "node-a");
    EXPECT_EQ(link->daemon_version(), "fake 1.0");
    EXPECT_EQ(*link->query("status"), R"({"jobs": ["fashion", "speech"]})");
    EXPECT_EQ(*link->query("status"), R"({"jobs": ["fashion", "speech"]})");
}

TEST_F(ToolLinkTest, CreatesJobs) {
    std::string created;
    Script script;
    script.on_packet = [&](Peer&, Packet& packet) {
        if (const auto* create = packet.body<wire::JobCreate>())
            created = create->options()->name()->str();
        return false;
    };
    start(std::move(script));
    auto link = ToolLink::open(endpoint(), kPatience);
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->create_job(job_options()));
    EXPECT_EQ(created, "job");
    JobOptions nameless = job_options();
    nameless.name = "";
    EXPECT_EQ(link->create_job(nameless).error().kind, ErrorKind::invalid);
}

TEST_F(ToolLinkTest, DrainsNodesAndPutsThemBack) {
    std::string said;
    Script script;
    script.on_packet = [&](Peer&, Packet& packet) {
        if (const auto* drain = packet.body<wire::NodeDrain>())
            said += (drain->undo() ? "undrain " : "drain ") + drain->name()->str() + ";";
        return false;
    };
    start(std::move(script));
    auto link = ToolLink::open(endpoint(), kPatience);
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->drain_node("node7", false));
    EXPECT_TRUE(link->drain_node("node7", true));
    EXPECT_EQ(said, "drain node7;undrain node7;");
}

TEST_F(ToolLinkTest, DeletesJobs) {
    std::string deleted;
    Script script;
    script.on_packet = [&](Peer&, Packet& packet) {
        if (const auto* deletion = packet.body<wire::JobDelete>())
            deleted = deletion->name()->str();
        return false;
    };
    start(std::move(script));
    auto link = ToolLink::open(endpoint(), kPatience);
    ASSERT_TRUE(link);
    EXPECT_TRUE(link->delete_job("old"));
    EXPECT_EQ(deleted, "old");
}

TEST_F(ToolLinkTest, TellsRefusalsDeathsAndAbsence) {
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        if (const auto* query = packet.body<wire::Query>()) {
            peer.send_failed(query->request(), ErrorKind::no_controller, "nobody home");
            return true;
        }
        if (packet.type() != wire::Body::JobCreate) return false;
        peer.close();
        return true;
    };
    start(std::move(script));
    auto link = ToolLink::open(endpoint(), kPatience);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->query("status").error().kind, ErrorKind::no_controller);
    EXPECT_EQ(link->create_job(job_options()).error().kind, ErrorKind::unavailable);
    daemon_->kill();
    EXPECT_EQ(ToolLink::open(endpoint(), kPatience).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace pace::client::testing
