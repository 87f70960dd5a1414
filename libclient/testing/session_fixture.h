// SessionFixture: a fake daemon, and the steps that tests of a session repeat.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "libclient/session/session.h"
#include "libclient/testing/fake_daemon.h"

namespace pace::client::testing {

// Long enough for a loaded machine, short enough for a test that fails.
inline constexpr std::chrono::seconds kPatience(20);

using protocol::JobOptions;

inline JobOptions job_options(protocol::Policy policy = protocol::Policy::partial_reduce) {
    JobOptions options;
    options.name = "job";
    options.world = 4;
    options.policy = policy;
    return options;
}

class SessionFixture : public ::testing::Test {
  protected:
    void start(Script script = {}) {
        // The daemon before this one, if any, gives up the socket first.
        daemon_.reset();
        daemon_ = std::make_unique<FakeDaemon>(folder_.file("socket"), std::move(script));
    }

    Endpoint endpoint() const { return {EndpointKind::unix_socket, folder_.file("socket")}; }

    base::Result<std::unique_ptr<Session>> try_open(
        protocol::Policy policy = protocol::Policy::partial_reduce,
        base::Duration connect = kPatience) {
        return Session::open(endpoint(), job_options(policy), 1, connect);
    }

    std::unique_ptr<Session> open(protocol::Policy policy = protocol::Policy::partial_reduce) {
        auto session = try_open(policy);
        if (session) return std::move(*session);
        ADD_FAILURE() << session.error().message;
        return nullptr;
    }

    static CreatedBuffer make_buffer(Session& session, uint64_t count = 16) {
        auto buffer = session.create_buffer(protocol::DType::f32, count);
        if (buffer) return *buffer;
        ADD_FAILURE() << buffer.error().message;
        return {};
    }

    // Returns slices of whole buffers.
    static std::vector<Slice> slices_of(std::span<const BufferHandle> buffers) {
        std::vector<Slice> slices;
        for (const BufferHandle buffer : buffers) slices.push_back({buffer});
        return slices;
    }

    static base::Result<RequestHandle> average(Session& session, const BufferHandle& buffer,
                                               uint64_t iteration = 0) {
        Operation operation;
        operation.verb = protocol::Verb::average;
        const Slice slice{buffer};
        operation.slices = {&slice, 1};
        operation.iteration = iteration;
        return session.submit(operation);
    }

    static RequestHandle barrier(Session& session) {
        auto request = session.submit({});
        if (request) return *request;
        ADD_FAILURE() << request.error().message;
        return {};
    }

    // Waits for the end of a request. The end must come.
    static RequestEnd wait(Session& session, RequestHandle request) {
        RequestEnd end;
        auto ended = session.wait(request, base::now() + kPatience, &end);
        if (!ended) ADD_FAILURE() << ended.error().message;
        if (ended && !*ended) ADD_FAILURE() << "the request has not ended";
        return end;
    }

    static bool is_gone(const RequestEnd& end) {
        return end.entry.outcome == protocol::Outcome::failed &&
               kind_of(end.entry.error_kind) == base::ErrorKind::unavailable;
    }

    base::testing::TemporaryFolder folder_;
    std::unique_ptr<FakeDaemon> daemon_;
};

inline bool says(const base::Error& error, const char* words) {
    return error.message.find(words) != std::string::npos;
}

}  // namespace pace::client::testing
