// Dispatcher fixture: the dispatcher around the real core, without a socket; what it sends is
// recorded.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/option_codec.h"
#include "protocol/version.h"
#include "service/controller/shell/dispatch/dispatcher.h"

namespace pace::controller {

namespace wire = protocol::control;

inline uint64_t make_token() {
    static uint64_t next = 1000;
    return ++next;
}

struct Copy {
    std::vector<std::byte> bytes;
    const wire::Envelope& envelope() const { return *wire::GetEnvelope(bytes.data()); }
};

class Recorder final : public Outlet {
  public:
    bool send(std::string_view route, std::span<const std::byte> message) override {
        if (std::exchange(starved, false)) throw std::bad_alloc();
        if (gone.contains(std::string(route))) return false;
        sent[std::string(route)].push_back({{message.begin(), message.end()}});
        return true;
    }
    void append(std::vector<std::byte> record) override { journal.push_back(std::move(record)); }
    std::optional<base::Error> journal_failure() const override { return failure; }
    void note(const Note& note) override { notes.push_back(note); }
    std::string status_json() const override { return "{}"; }

    // Takes the connection's first message of this type; fails the test if there is none.
    Copy take(const std::string& route, wire::Body type) {
        auto& queue = sent[route];
        for (auto it = queue.begin(); it != queue.end(); ++it) {
            if (it->envelope().body_type() != type) continue;
            Copy copy = *it;
            queue.erase(it);
            return copy;
        }
        ADD_FAILURE() << "no " << wire::EnumNameBody(type) << " for " << route;
        return {};
    }
    size_t count(const std::string& route, wire::Body type) const {
        const auto queue = sent.find(route);
        if (queue == sent.end()) return 0;
        return static_cast<size_t>(
            std::count_if(queue->second.begin(), queue->second.end(),
                          [type](const Copy& c) { return c.envelope().body_type() == type; }));
    }

    std::map<std::string, std::deque<Copy>> sent;
    std::set<std::string> gone;
    bool starved = false;  // the next send finds no memory
    std::vector<std::vector<std::byte>> journal;
    std::optional<base::Error> failure;
    std::vector<Note> notes;
};

class DispatcherTest : public testing::Test {
  protected:
    Dispatcher::Options options() const {
        Dispatcher::Options options;
        options.nodes_max = 4;
        return options;
    }

    template <typename Build>
    void say(const std::string& route, uint32_t node, uint64_t number, Build build) {
        protocol::EnvelopeWriter writer;
        auto& builder = writer.begin();
        const auto body = build(builder);
        const auto bytes = writer.finish(node, number, body);
        dispatcher_.receive(route, bytes, now_);
    }

    void hello(const std::string& route, uint64_t number, const std::string& name,
               uint64_t generation = 1, uint32_t version = protocol::kVersion,
               const std::string& zone = {}, uint32_t least = 0) {
        say(route, 0, number, [&](auto& builder) {
            const auto text = builder.CreateString(name);
            const auto address = builder.CreateVector(std::vector<uint8_t>{1, 2, 3});
            const auto host = builder.CreateString("machine");
            const auto where = builder.CreateString(zone);
            return wire::CreateHello(builder, version, text, generation, address, host, 2, 0, where,
                                     0, false, least);
        });
    }

    uint32_t attach(const std::string& route, uint64_t number, const std::string& name) {
        hello(route, number, name);
        const Copy reply = recorder_.take(route, wire::Body::Attached);
        if (reply.bytes.empty()) return 0;
        EXPECT_EQ(reply.envelope().attachment(), number);
        return reply.envelope().body_as_Attached()->node();
    }

    static JobOptions fashion(uint8_t policy) {
        JobOptions options;
        options.name = "fashion";
        options.world = 2;
        options.policy = static_cast<Policy>(policy);
        options.group_size = 2;
        return options;
    }

    void join(const std::string& route, uint32_t node, uint64_t number, uint32_t rank,
              uint64_t request, const std::string& job = "fashion", uint8_t policy = 2) {
        say(route, node, number, [&](auto& builder) {
            JobOptions options = fashion(policy);
            options.name = job;
            const auto table = protocol::write_job_options(builder, options);
            return wire::CreateWorkerJoin(builder, request, rank, table, 1000);
        });
    }

    // A member of the first view rejoins.
    void resume(const std::string& route, uint32_t node, uint64_t number, uint32_t rank,
                uint64_t request) {
        say(route, node, number, [&](auto& builder) {
            const auto table = protocol::write_job_options(builder, fashion(2));
            return wire::CreateWorkerJoin(builder, request, rank, table, 1000, true, 0, 0, 1);
        });
    }

    Recorder recorder_;
    TimePoint now_ = base::now();
    Dispatcher dispatcher_{options(), make_token, recorder_};
};

}  // namespace pace::controller
