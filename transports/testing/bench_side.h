// BenchSide: one of two processes that send each other messages, to measure a transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "transports/transport.h"

namespace pace::transports {

struct BenchWork {
    size_t size;
    uint64_t count;
    uint64_t in_flight;  // 1 is ping-pong
};

class BenchSide {
  public:
    // `idle` is called when the transport had nothing to do.
    BenchSide(Transport& transport, PeerId peer, bool first, void (*idle)(Transport&))
        : transport_(transport), peer_(peer), first_(first), idle_(idle) {}

    // Returns the seconds for all messages.
    double run(const BenchWork& work, uint64_t exchange) {
        exchange_ = exchange;
        work_ = work;
        started_ = ended_ = 0;
        buffers_.assign(work.in_flight, std::vector<std::byte>(work.size));
        wait_for_other();
        const auto begin = base::now();
        while (started_ < work.in_flight) start();
        while (ended_ < work.count) step();
        wait_for_other();
        return base::to_seconds(base::now() - begin);
    }

  private:
    void step() {
        if (!transport_.poll()) idle_(transport_);
    }

    void start() {
        const auto slot = static_cast<uint32_t>(started_++);
        const bool sends = work_.in_flight == 1 ? (slot % 2 == 0) == first_ : first_;
        auto& buffer = buffers_[slot % work_.in_flight];
        const Tag tag{exchange_, slot, 0};
        const auto done = [this](const base::Result<>& result) {
            if (!result) {
                std::fprintf(stderr, "%s\n", result.error().message.c_str());
                std::exit(1);
            }
            ++ended_;
            if (started_ < work_.count) start();
        };
        if (sends) {
            transport_.send(peer_, tag, buffer, done);
        } else {
            transport_.receive(peer_, tag, buffer, done);
        }
    }

    void wait_for_other() {
        int ended = 0;
        const auto done = [&](const base::Result<>&) { ++ended; };
        const Tag tag{~uint64_t{0}, barrier_++, 0};
        transport_.receive(peer_, tag, {}, done);
        transport_.send(peer_, tag, {}, done);
        while (ended < 2) step();
    }

    Transport& transport_;
    PeerId peer_;
    bool first_;
    void (*idle_)(Transport&);
    BenchWork work_{};
    uint64_t exchange_ = 0;
    uint64_t started_ = 0;
    uint64_t ended_ = 0;
    uint32_t barrier_ = 0;
    std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace pace::transports
