#include "service/pacectl/recordings/recording_rows.h"

namespace pace::pacectl {

const Json& RecordingRow::at(const char* column) const {
    static const Json kNothing;
    const auto found = columns_.find(column);
    const bool is_there =
        values_.is_array() && found != columns_.end() && found->second < values_.size();
    return is_there ? values_[found->second] : kNothing;
}

uint64_t RecordingRow::count(const char* column) const {
    const Json& value = at(column);
    return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

std::string RecordingRow::text(const char* column) const {
    const Json& value = at(column);
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : "";
}

namespace {

RecordingRow::Columns columns_of(const Json& recording) {
    RecordingRow::Columns columns;
    const Json& names = list(recording, "columns");
    for (size_t i = 0; i < names.size(); ++i)
        if (names[i].is_string()) columns[names[i].get<std::string>()] = i;
    return columns;
}

void take_members(const RecordingRow::Columns& columns, const Json& more, Json& ret_values) {
    const Json& members = RecordingRow(columns, more).at("members");
    if (!members.is_array() || !RecordingRow(columns, ret_values).at("members").is_array()) return;
    Json& all = ret_values[columns.at("members")];
    all.insert(all.end(), members.begin(), members.end());
}

}  // namespace

void for_each_row(const Json& recording, const std::function<void(const RecordingRow&)>& take) {
    const RecordingRow::Columns columns = columns_of(recording);
    const Json& rows = list(recording, "rows");
    for (size_t i = 0; i < rows.size(); ++i) {
        Json values = rows[i];
        while (i + 1 < rows.size() &&
               RecordingRow(columns, rows[i + 1]).text("kind") == "more-members")
            take_members(columns, rows[++i], values);
        take(RecordingRow(columns, values));
    }
}

std::string name_in(const Json& names, uint64_t number) {
    return text(names, std::to_string(number), fmt::format("#{}", number));
}

std::vector<std::string> member_names(const RecordingRow& row, const Json& nodes) {
    std::vector<std::string> names;
    const Json& members = row.at("members");
    if (!members.is_array()) return names;
    for (const Json& number : members)
        if (number.is_number_unsigned()) names.push_back(name_in(nodes, number.get<uint64_t>()));
    return names;
}

}  // namespace pace::pacectl
