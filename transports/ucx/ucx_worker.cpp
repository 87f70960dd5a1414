#include "transports/ucx/ucx_worker.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "transports/ucx/wire.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

// Room for UCX's own headers around a segment.
constexpr size_t kUcxHeaderBytesMax = 512;

// The UCX settings by their names without the UCX_ prefix. UCX 1.13 expects the settings of a
// transport without the transport's prefix, too (UCX_TCP_CONN_NB is CONN_NB here). Otherwise it
// says "invalid configuration".
std::vector<std::pair<const char*, std::string>> settings(const UcxOptions& options) {
    const std::string keepalive = fmt::format("{}s", options.keepalive_interval.count());
    const std::string segment = fmt::format("{}", options.segment_bytes + kUcxHeaderBytesMax);
    std::vector<std::pair<const char*, std::string>> settings = {
        {"TLS", options.tls},
        {"NET_DEVICES", options.net_devices},
        {"RNDV_THRESH", "inf"},  // rendezvous is ours, see wire.h
        {"KEEPALIVE_INTERVAL", keepalive},
    };
    if (options.tls == "tcp") {
        const std::initializer_list<std::pair<const char*, std::string>> tcp = {
            // A whole segment must go as what UCX calls short, see ucx_outbox.h. The segment is
            // written from where it lies, and the rest is copied.
            {"ZCOPY_THRESH", "inf"},
            {"TX_SEG_SIZE", segment},
            {"RX_SEG_SIZE", segment},
            // Without this setting, connecting to a host that does not answer would block the
            // thread.
            {"CONN_NB", "y"},
            // UCX's remote writes are not used.
            {"PUT_ENABLE", "n"},
            {"KEEPIDLE", keepalive},
            {"KEEPINTVL", keepalive},
            {"KEEPCNT", "3"},
        };
        settings.insert(settings.end(), tcp.begin(), tcp.end());
    }
    // A failure comes back as an Error. UCX would also print it on the host's standard output.
    if (std::getenv("UCX_LOG_LEVEL") == nullptr) settings.emplace_back("LOG_LEVEL", "fatal");
    return settings;
}

base::Result<> check(const UcxOptions& options) {
    if (options.net_devices.empty() || options.net_devices == "all") {
        return make_error(
            ErrorKind::invalid,
            "net_devices is \"{}\"; name the interfaces to listen on, lo for this machine",
            options.net_devices);
    }
    if (options.tls.empty())
        return make_error(ErrorKind::invalid, "tls is empty; name a UCX transport, such as tcp");
    if (options.keepalive_interval < std::chrono::seconds(1))
        return make_error(ErrorKind::invalid, "keepalive_interval is {} s; at least 1 s",
                          options.keepalive_interval.count());
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
    return {};
}

}  // namespace

base::Error make_ucx_error(ErrorKind kind, std::string_view what, ucs_status_t status) {
    return make_error(kind, "{}: {}", what, ucs_status_string(status));
}

base::Result<std::unique_ptr<UcxWorker>> UcxWorker::create(const UcxOptions& options) {
    PACE_TRY(check(options));
    std::unique_ptr<UcxWorker> worker(new UcxWorker());
    PACE_TRY(worker->open(options));
    PACE_TRY(worker->read_address());
    return worker;
}

UcxWorker::~UcxWorker() {
    destroy();
}

void UcxWorker::destroy() {
    if (worker_ != nullptr) ucp_worker_destroy(std::exchange(worker_, nullptr));
    if (context_ != nullptr) ucp_cleanup(std::exchange(context_, nullptr));
}

base::Result<> UcxWorker::open(const UcxOptions& options) {
    ucp_config_t* config = nullptr;
    ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK)
        return make_ucx_error(ErrorKind::internal, "read UCX's configuration", status);
    const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> owner(config,
                                                                             ucp_config_release);
    for (const auto& [name, value] : settings(options)) {
        status = ucp_config_modify(config, name, value.c_str());
        if (status != UCS_OK)
            return make_ucx_error(ErrorKind::invalid, fmt::format("set UCX_{}={}", name, value),
                                  status);
    }

    ucp_params_t context{};
    context.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    context.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    context.name = "pace";
    status = ucp_init(&context, config, &context_);
    const std::string what =
        fmt::format("open UCX transport {} on {}", options.tls, options.net_devices);
    if (status != UCS_OK) return make_ucx_error(ErrorKind::unavailable, what, status);

    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    status = ucp_worker_create(context_, &worker, &worker_);
    if (status != UCS_OK) return make_ucx_error(ErrorKind::unavailable, what, status);
    status = ucp_worker_get_efd(worker_, &event_fd_);
    if (status != UCS_OK) return make_ucx_error(ErrorKind::unavailable, what, status);
    return {};
}

base::Result<> UcxWorker::read_address() {
    ucp_address_t* address = nullptr;
    size_t length = 0;
    const ucs_status_t status = ucp_worker_get_address(worker_, &address, &length);
    if (status != UCS_OK)
        return make_ucx_error(ErrorKind::internal, "read UCX's worker address", status);
    address_.resize(length);
    std::memcpy(address_.data(), address, length);
    ucp_worker_release_address(worker_, address);
    return {};
}

}  // namespace pace::transports
