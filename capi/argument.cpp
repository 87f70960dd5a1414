#include "capi/argument.h"

#include <algorithm>
#include <iterator>

#include "protocol/options/option_table.h"

namespace pace::capi {
namespace {

// The parameters and fields of pace.h that a message may name.
constexpr std::string_view kNames[] = {"buffer",
                                       "buffers",
                                       "connect_ms",
                                       "count",
                                       "device",
                                       "device.id",
                                       "device.type",
                                       "elements",
                                       "endpoint",
                                       "entries",
                                       "fd",
                                       "first",
                                       "flags",
                                       "info",
                                       "iteration",
                                       "job",
                                       "keep_local",
                                       "local_iteration",
                                       "member_capacity",
                                       "members",
                                       "op",
                                       "option_count",
                                       "options",
                                       "order",
                                       "pointer",
                                       "policy",
                                       "rank",
                                       "request",
                                       "reserved",
                                       "result_count",
                                       "results",
                                       "ret_buffer",
                                       "ret_data",
                                       "ret_fd",
                                       "ret_info",
                                       "ret_json",
                                       "ret_managed_tensor",
                                       "ret_request",
                                       "ret_session",
                                       "root",
                                       "run",
                                       "session",
                                       "slices",
                                       "source",
                                       "sparse",
                                       "stream",
                                       "struct_size",
                                       "timeout_ms",
                                       "type",
                                       "what",
                                       "world"};

bool is_known(std::string_view word) {
    // The plain name of "buffers[3]" or of "options[2].name" is the part before the bracket.
    const std::string_view plain = word.substr(0, word.find('['));
    return std::find(std::begin(kNames), std::end(kNames), plain) != std::end(kNames) ||
           protocol::find_option(word) != nullptr;
}

}  // namespace

std::string_view argument_of(std::string_view message) noexcept {
    constexpr std::string_view kUnknown = "there is no option '";
    if (message.starts_with(kUnknown)) {
        message.remove_prefix(kUnknown.size());
        return message.substr(0, message.find('\''));
    }
    const size_t end = message.find(' ');
    if (end == std::string_view::npos) return {};
    std::string_view word = message.substr(0, end);
    const std::string_view rest = message.substr(end + 1);
    if (!rest.starts_with("is ") && !rest.starts_with("has ") && !rest.starts_with("names "))
        return {};
    if (const size_t arrow = word.find("->"); arrow != std::string_view::npos)
        word.remove_prefix(arrow + 2);
    if (word.starts_with("call.")) word.remove_prefix(sizeof("call.") - 1);
    return is_known(word) ? word : std::string_view();
}

}  // namespace pace::capi
