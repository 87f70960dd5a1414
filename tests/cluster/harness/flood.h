// Flood: a client that asks for buffers and frees them again, over and over. The client waits for
// no answer.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "libclient/link/link.h"
#include "protocol/option_codec.h"
#include "protocol/version.h"
#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {

class Flood {
  public:
    explicit Flood(const Cluster& cluster)
        : link_(client::Link::connect(cluster.socket(0), base::now() + std::chrono::seconds(20))) {
        EXPECT_TRUE(link_) << link_.error().message;
        flatbuffers::FlatBufferBuilder hello;
        client::finish_packet(
            hello, protocol::client::CreateHelloDirect(hello, protocol::kVersion, "flood"));
        send(hello);
        flatbuffers::FlatBufferBuilder join;
        const auto options =
            protocol::write_job_options(join, protocol::AskedOptions("flood", 1, "partial-reduce"));
        client::finish_packet(join, protocol::client::CreateJoin(join, 1, 0, options));
        send(join);
        for (int i = 0; i < 2; ++i) EXPECT_TRUE(link_->receive(soon()));
        reader_ = std::thread([this] {
            while (link_->receive(soon())) ++answers_;
        });
        writer_ = std::thread([this] { write(); });
    }
    ~Flood() {
        over_ = true;
        writer_.join();
        shutdown(link_->fd(), SHUT_RDWR);
        reader_.join();
    }
    Flood(const Flood&) = delete;
    Flood& operator=(const Flood&) = delete;
    uint64_t answers() const { return answers_; }

  private:
    static constexpr uint64_t kFloats = uint64_t{4} << 20U;  // the size of each buffer

    bool send(const flatbuffers::FlatBufferBuilder& packet) {
        return link_->send(packet, -1, soon()).ok();
    }
    void write() {
        for (uint64_t request = 2; !over_; request += 2) {
            flatbuffers::FlatBufferBuilder create;
            client::finish_packet(create,
                                  protocol::client::CreateBufferCreate(
                                      create, request, protocol::client::DType::f32, kFloats));
            flatbuffers::FlatBufferBuilder free;
            client::finish_packet(free, protocol::client::CreateBufferFree(free, request + 1, 0));
            if (!send(create) || !send(free)) return;
        }
    }

    base::Result<client::Link> link_;
    std::atomic<bool> over_ = false;
    std::atomic<uint64_t> answers_ = 0;
    std::thread reader_;
    std::thread writer_;
};

}  // namespace pace::cluster
