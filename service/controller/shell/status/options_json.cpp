#include "service/controller/shell/status/options_json.h"

#include "protocol/options/option_table.h"

namespace pace::controller {

using Json = nlohmann::json;
using protocol::OptionKind;
using protocol::OptionRow;
using protocol::OptionValue;

namespace {

Json json_of(const OptionRow& row, const OptionValue& value) {
    switch (row.field.kind) {
        case OptionKind::integer:
            if (is_switch(row)) return std::get<int64_t>(value.value) == 1;
            return std::get<int64_t>(value.value);
        case OptionKind::real:
            return std::get<double>(value.value);
        case OptionKind::text:
            return std::get<std::string>(value.value);
        case OptionKind::bytes:
            // The number of edges: the list of a large graph would take more room than the rest.
            return std::get<std::vector<uint8_t>>(value.value).size() / (2 * sizeof(uint32_t));
    }
    return {};
}

}  // namespace

Json options_json(const JobOptions& options) {
    Json json{{"world", options.world}, {"policy", name_of(options.policy)}};
    for (const OptionRow& row : protocol::option_table()) {
        if (protocol::counts(row, options) && !protocol::is_absent(row, options))
            json[std::string(row.name)] = json_of(row, protocol::value_of(row, options));
    }
    return json;
}

}  // namespace pace::controller
