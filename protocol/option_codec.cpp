#include "protocol/option_codec.h"

#include <string_view>
#include <utility>
#include <vector>

#include "protocol/options/limits.h"
#include "protocol/options/printable.h"

namespace pace::protocol {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Keeps one byte more than is allowed, so that the later check of the name still refuses it.
std::string clipped(const flatbuffers::String& name, size_t bytes_max) {
    return printable(name.string_view().substr(0, bytes_max + 1));
}

Result<OptionValue> read_value(const wire::Option& table) {
    if (table.name()->size() > kOptionNameBytesMax)
        return make_error(ErrorKind::invalid, "an option's name has {} bytes; use at most {}",
                          table.name()->size(), kOptionNameBytesMax);
    OptionValue value{clipped(*table.name(), kOptionNameBytesMax), {}, table.hint()};
    const auto too_long = [&](size_t size, size_t most) {
        return make_error(ErrorKind::invalid, "{} has {} bytes; use at most {}", value.name, size,
                          most);
    };
    switch (static_cast<OptionKind>(table.kind())) {
        case OptionKind::integer:
            value.value = table.integer();
            return value;
        case OptionKind::real:
            value.value = table.real();
            return value;
        case OptionKind::text: {
            const std::string_view text =
                table.text() == nullptr ? std::string_view() : table.text()->string_view();
            if (text.size() > kOptionTextBytesMax)
                return too_long(text.size(), kOptionTextBytesMax);
            value.value = printable(text);
            return value;
        }
        case OptionKind::bytes: {
            const size_t size = table.bytes() == nullptr ? 0 : table.bytes()->size();
            if (size > kOptionBytesMax) return too_long(size, kOptionBytesMax);
            std::vector<uint8_t> bytes;
            if (size != 0) bytes.assign(table.bytes()->begin(), table.bytes()->end());
            value.value = std::move(bytes);
            return value;
        }
    }
    return make_error(ErrorKind::invalid, "{} is of kind {}, which is none", value.name,
                      table.kind());
}

flatbuffers::Offset<wire::Option> write_value(flatbuffers::FlatBufferBuilder& builder,
                                              const OptionValue& value) {
    const auto name = builder.CreateString(value.name);
    flatbuffers::Offset<flatbuffers::String> text;
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> bytes;
    if (const auto* given = std::get_if<std::string>(&value.value))
        text = builder.CreateString(*given);
    if (const auto* given = std::get_if<std::vector<uint8_t>>(&value.value))
        bytes = builder.CreateVector(*given);
    const auto* const integer = std::get_if<int64_t>(&value.value);
    const auto* const real = std::get_if<double>(&value.value);
    return wire::CreateOption(builder, name, static_cast<uint8_t>(value.kind()), value.hint,
                              integer == nullptr ? 0 : *integer, real == nullptr ? 0 : *real, text,
                              bytes);
}

}  // namespace

Result<AskedOptions> read_job_options(const wire::JobOptions& table_untrusted) {
    const wire::JobOptions& table = table_untrusted;
    AskedOptions options(clipped(*table.name(), kNameBytesMax), table.world(),
                         clipped(*table.policy(), kOptionNameBytesMax));
    if (table.values() == nullptr) return options;
    if (table.values()->size() > kOptionsMax)
        return make_error(ErrorKind::invalid, "{} options are given; give at most {}",
                          table.values()->size(), kOptionsMax);
    options.values.reserve(table.values()->size());
    for (const auto* one : *table.values()) {
        PACE_TRY_ASSIGN(value, read_value(*one));
        options.values.push_back(std::move(value));
    }
    return options;
}

flatbuffers::Offset<wire::JobOptions> write_job_options(flatbuffers::FlatBufferBuilder& builder,
                                                        const AskedOptions& options) {
    std::vector<flatbuffers::Offset<wire::Option>> values;
    values.reserve(options.values.size());
    for (const OptionValue& value : options.values) values.push_back(write_value(builder, value));
    const auto name = builder.CreateString(options.name);
    const auto policy = builder.CreateString(options.policy);
    return wire::CreateJobOptions(builder, name, options.world, policy,
                                  values.empty() ? 0 : builder.CreateVector(values));
}

}  // namespace pace::protocol
