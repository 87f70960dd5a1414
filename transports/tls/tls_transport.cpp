#include "transports/tls/tls_transport.h"

#include <cstring>
#include <utility>

#include "base/random.h"
#include "transports/tls/tls_engine.h"
#include "transports/tls/wire/sockets.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

base::Result<> check_times(const TlsOptions& options) {
    if (options.keepalive_interval < std::chrono::seconds(1))
        return make_error(ErrorKind::invalid, "keepalive_interval is {} s; at least 1 s",
                          options.keepalive_interval.count());
    for (const auto time : {options.unmoved_max, options.key_wait_max, options.handshake_max})
        if (time < std::chrono::milliseconds(1) || time > std::chrono::hours(24))
            return make_error(ErrorKind::invalid,
                              "unmoved_max, key_wait_max or handshake_max is {} ms; between 1 ms "
                              "and one day",
                              time.count());
    return {};
}

base::Result<> check_sizes(const TlsOptions& options) {
    if (options.segment_bytes < 4096 || options.segment_bytes > size_t{64} * 1024 * 1024)
        return make_error(ErrorKind::invalid, "segment_bytes is {}; between 4 KiB and 64 MiB",
                          options.segment_bytes);
    if (options.eager_bytes_max > options.segment_bytes)
        return make_error(ErrorKind::invalid, "eager_bytes_max is {}; at most segment_bytes ({})",
                          options.eager_bytes_max, options.segment_bytes);
    if (options.unexpected_bytes_max < options.eager_bytes_max)
        return make_error(ErrorKind::invalid,
                          "unexpected_bytes_max is {}; at least eager_bytes_max ({})",
                          options.unexpected_bytes_max, options.eager_bytes_max);
    if (options.strangers_max == 0 || options.strangers_of_source_max == 0)
        return make_error(ErrorKind::invalid,
                          "strangers_max is {}, strangers_of_source_max is {}; at least 1, because "
                          "every peer begins as a stranger",
                          options.strangers_max, options.strangers_of_source_max);
    return {};
}

base::Result<std::vector<tls::ListeningSocket>> listen(const TlsOptions& options) {
    if (options.listen.empty() || options.listen.size() > tls::kEndpointsMax)
        return make_error(ErrorKind::invalid, "{} addresses to listen on; name 1 to {}",
                          options.listen.size(), tls::kEndpointsMax);
    std::vector<tls::ListeningSocket> listening;
    for (const TlsOptions::Listen& each : options.listen) {
        PACE_TRY_ASSIGN(endpoint, tls::read_endpoint(each.ip, each.port));
        if (tls::is_wildcard(endpoint))
            return make_error(ErrorKind::invalid,
                              "{} means all addresses, and peers cannot connect to it; name the "
                              "addresses on which peers reach this node",
                              each.ip);
        PACE_TRY_ASSIGN(socket, tls::listen_on(endpoint));
        listening.push_back(std::move(socket));
    }
    return listening;
}

tls::InstanceId random_instance() {
    tls::InstanceId instance{};
    for (size_t at = 0; at < instance.size(); at += sizeof(uint64_t)) {
        const uint64_t token = base::random_token();
        std::memcpy(instance.data() + at, &token, sizeof(token));
    }
    return instance;
}

}  // namespace

base::Result<std::unique_ptr<TlsTransport>> TlsTransport::create(const TlsOptions& options) {
    PACE_TRY(check_times(options));
    PACE_TRY(check_sizes(options));
    PACE_TRY_ASSIGN(listening, listen(options));
    PACE_TRY_ASSIGN(readiness, tls::Readiness::create());
    auto keys = std::make_unique<tls::KeyRing>();
    PACE_TRY_ASSIGN(context, tls::TlsContext::create(*keys));
    std::vector<tls::IpEndpoint> endpoints;
    endpoints.reserve(listening.size());
    for (const tls::ListeningSocket& socket : listening) endpoints.push_back(socket.endpoint);
    auto engine =
        std::make_unique<tls::TlsEngine>(std::move(readiness), std::move(keys), std::move(context),
                                         options, random_instance(), std::move(endpoints));
    PACE_TRY(engine->open(std::move(listening)));
    return std::unique_ptr<TlsTransport>(std::move(engine));
}

}  // namespace pace::transports
