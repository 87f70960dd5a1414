// Options as people read and write them.
#include <algorithm>
#include <charconv>
#include <system_error>

#include "protocol/options/option_field.h"
#include "protocol/options/option_table.h"

namespace pace::protocol {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// Writes edges as text: "0-1,1-2".
std::string edges_text(const std::vector<uint32_t>& ranks) {
    std::string text;
    for (size_t i = 0; i + 1 < ranks.size(); i += 2)
        text += fmt::format("{}{}-{}", i == 0 ? "" : ",", ranks[i], ranks[i + 1]);
    return text;
}

base::Error not_edges(const OptionRow& row, std::string_view text) {
    return make_error(ErrorKind::invalid,
                      "{} is '{}'; give pairs of ranks with commas between them, as in 0-1,1-2",
                      row.name, text);
}

Result<std::vector<uint8_t>> edges_from(const OptionRow& row, std::string_view text) {
    std::vector<uint32_t> ranks;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        uint32_t pair[2] = {};
        for (const char separator : {'-', ','}) {
            const bool second = separator == ',';
            const auto [next, error] = std::from_chars(at, end, pair[second ? 1 : 0]);
            if (error != std::errc()) return not_edges(row, text);
            at = next;
            if (at == end && second) break;
            if (at == end || *at != separator) return not_edges(row, text);
            ++at;
            if (at == end) return not_edges(row, text);
        }
        ranks.insert(ranks.end(), std::begin(pair), std::end(pair));
    }
    return detail::bytes_of(ranks);
}

template <typename Number>
Result<OptionValue> number_from(const OptionRow& row, std::string_view text,
                                std::string_view what) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || next != end || text.empty())
        return make_error(ErrorKind::invalid, "{} is '{}'; give {}", row.name, text, what);
    return OptionValue{std::string(row.name), number};
}

// Describes a range: "a number above 0 and at most 1".
std::string real_range(double least, double greatest) {
    const std::string from =
        least > 0 && least < 1e-300 ? "above 0" : fmt::format("at least {}", least);
    if (greatest > 1e300) return "a number " + from;
    const bool is_open = greatest < 1 && greatest > 1 - 1e-12;
    return fmt::format("a number {} and {}", from,
                       is_open ? "below 1" : fmt::format("at most {}", greatest));
}

}  // namespace

std::string text_of(const OptionValue& value) {
    switch (value.kind()) {
        case OptionKind::integer:
            return fmt::format("{}", std::get<int64_t>(value.value));
        case OptionKind::real:
            return fmt::format("{}", std::get<double>(value.value));
        case OptionKind::text:
            return std::get<std::string>(value.value);
        case OptionKind::bytes:
            return edges_text(detail::numbers_of(std::get<std::vector<uint8_t>>(value.value)));
    }
    return "";
}

std::string initial_text(const OptionRow& row) {
    if (!row.initial.empty()) return std::string(row.initial);
    return text_of(value_of(row, JobOptions{}));
}

std::string values_text(const OptionRow& row) {
    if (row.field.words != nullptr) return listed(row.field.words());
    if (row.field.kind == OptionKind::bytes)
        return fmt::format("pairs of ranks, at most {:.0f}", row.greatest);
    if (is_switch(row)) return "0 or 1";
    return row.field.kind == OptionKind::integer
               ? fmt::format("a whole number, {:.0f} to {:.0f}", row.least, row.greatest)
               : real_range(row.least, row.greatest);
}

Result<OptionValue> value_from_text(const OptionRow& row, std::string_view text) {
    switch (row.field.kind) {
        case OptionKind::integer:
            return number_from<int64_t>(row, text, values_text(row));
        case OptionKind::real:
            return number_from<double>(row, text, values_text(row));
        case OptionKind::text: {
            const Words words = row.field.words();
            if (std::find(words.begin(), words.end(), text) == words.end())
                return make_error(ErrorKind::invalid, "{} is '{}'; use {}", row.name, text,
                                  values_text(row));
            return OptionValue{std::string(row.name), std::string(text)};
        }
        case OptionKind::bytes: {
            PACE_TRY_ASSIGN(bytes, edges_from(row, text));
            return OptionValue{std::string(row.name), std::move(bytes)};
        }
    }
    return make_error(ErrorKind::internal, "{} is of no kind", row.name);
}

namespace detail {

std::vector<uint8_t> bytes_of(const std::vector<uint32_t>& numbers) {
    std::vector<uint8_t> bytes;
    bytes.reserve(numbers.size() * sizeof(uint32_t));
    for (const uint32_t number : numbers) {
        for (size_t i = 0; i < sizeof(number); ++i)
            bytes.push_back(static_cast<uint8_t>(number >> (8 * i)));
    }
    return bytes;
}

std::vector<uint32_t> numbers_of(const std::vector<uint8_t>& bytes) {
    std::vector<uint32_t> numbers(bytes.size() / sizeof(uint32_t));
    for (size_t i = 0; i < numbers.size() * sizeof(uint32_t); ++i)
        numbers[i / sizeof(uint32_t)] |= uint32_t{bytes[i]} << (8 * (i % sizeof(uint32_t)));
    return numbers;
}

}  // namespace detail
}  // namespace pace::protocol
