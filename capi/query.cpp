// Documents for programs: the options and policies, the versions, and the state of the cluster.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "capi/guard.h"
#include "libclient/link/endpoint.h"
#include "libclient/link/tool_link.h"
#include "protocol/options/description.h"
#include "protocol/options/printable.h"
#include "protocol/version.h"

using pace::base::ErrorKind;
using pace::base::make_error;
using pace::base::Result;
namespace capi = pace::capi;
namespace client = pace::client;
namespace protocol = pace::protocol;

namespace {

constexpr std::chrono::seconds kPatience(10);

std::string versions_of_library() {
    return fmt::format(R"("library": "{}.{}.{}", "protocol": {{"least": {}, "greatest": {}}})",
                       PACE_VERSION_MAJOR, PACE_VERSION_MINOR, PACE_VERSION_PATCH,
                       protocol::kVersionLeast, protocol::kVersion);
}

Result<std::string> ask_library(std::string_view what) {
    if (what == "options") return protocol::options_list_json();
    if (what == "policies") return protocol::policies_list_json();
    if (what == "versions") return "{" + versions_of_library() + "}\n";
    return make_error(ErrorKind::invalid,
                      "endpoint is NULL, but \"{}\" is a daemon's to tell; name its endpoint, or "
                      "\"\" for this node's daemon",
                      what);
}

Result<std::string> ask_daemon(const char* text, std::string_view what) {
    PACE_TRY_ASSIGN(endpoint, client::resolve_endpoint(*text == '\0' ? nullptr : text));
    PACE_TRY_ASSIGN(link, client::ToolLink::open(endpoint, kPatience));
    if (what != "versions") return link.query(what);
    return fmt::format("{{{}, \"daemon\": {}, \"node\": {}}}\n", versions_of_library(),
                       protocol::quoted(link.daemon_version()), protocol::quoted(link.node()));
}

Result<> check_what(std::string_view what) {
    for (const std::string_view known : {"options", "policies", "status", "versions"})
        if (what == known) return {};
    return make_error(ErrorKind::invalid,
                      "what is \"{}\"; use \"options\", \"policies\", \"status\" or \"versions\"",
                      client::printable(what, 64));
}

}  // namespace

pace_status pace_query(const char* endpoint, const char* what, char** ret_json, pace_error* error) {
    return capi::guard(error, [&]() -> Result<> {
        PACE_TRY(capi::require(what, "what"));
        PACE_TRY(capi::require(ret_json, "ret_json"));
        PACE_TRY(check_what(what));
        PACE_TRY_ASSIGN(json, endpoint == nullptr ? ask_library(what) : ask_daemon(endpoint, what));
        // The caller frees the text through pace_text_free, whatever allocator the caller uses.
        char* const text = strdup(json.c_str());
        if (text == nullptr)
            return make_error(ErrorKind::memory, "this process has no memory left for {} bytes",
                              json.size());
        *ret_json = text;
        return {};
    });
}

void pace_text_free(char* text) {
    std::free(text);
}
