// Fuzzes the messages that a daemon, or a process that pretends to be one, may send to the
// controller. The input is a whole conversation of several envelopes, over two connections, through
// the dispatcher into the real core.
#include <chrono>
#include <cstdlib>

#include "service/controller/core/status/status.h"
#include "service/controller/shell/dispatch/dispatcher.h"
#include "tests/fuzz/chunks.h"

namespace {

using namespace pace::controller;

uint64_t make_token() {
    return 7;
}

void require(bool holds) {
    if (!holds) std::abort();
}

// Sends nothing. Each message must itself be an envelope.
class Checker final : public Outlet {
  public:
    bool send(std::string_view, std::span<const std::byte> message) override {
        const pace::fuzz::Bytes copy(message.begin(), message.end());
        require(pace::protocol::verify_envelope(copy).ok());
        return true;
    }
    void append(std::vector<std::byte> record) override { journal.push_back(std::move(record)); }
    std::optional<pace::base::Error> journal_failure() const override { return std::nullopt; }
    void note(const Note&) override {}
    std::string status_json() const override { return "{}"; }

    std::vector<std::vector<std::byte>> journal;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Checker checker;
    Dispatcher::Options options;
    options.nodes_max = 8;
    Dispatcher dispatcher(options, &make_token, checker);
    pace::base::TimePoint now{std::chrono::hours(1)};
    dispatcher.replay_finished(now);
    for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size))) {
        now += std::chrono::milliseconds(7);
        const bool second = !chunk.empty() && std::to_integer<unsigned>(chunk.back()) % 2 == 1;
        dispatcher.receive(second ? "b" : "a", chunk, now);
        if (const auto due = dispatcher.next_deadline(); due && *due <= now) dispatcher.tick(now);
    }
    (void)dispatcher.core().status(now);

    // A restarted controller must accept the journal.
    Checker ignored;
    Dispatcher restarted(options, &make_token, ignored);
    for (const auto& record : checker.journal) require(restarted.replay(record).ok());
    restarted.replay_finished(now);
    return 0;
}
