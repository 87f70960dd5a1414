// field<&JobOptions::density>(): a Field that reads and writes one member of JobOptions.
#pragma once

#include <type_traits>

#include "protocol/options/option_table.h"

namespace pace::protocol {
namespace detail {

template <typename T>
T member_type_of(T JobOptions::*);

template <auto member>
using MemberType = decltype(member_type_of(member));

template <auto member>
bool write_word(JobOptions& options, const OptionValue& value) {
    using Choice = MemberType<member>;
    const auto choice = choice_of<Choice>(std::get<std::string>(value.value));
    if (!choice) return false;
    options.*member = *choice;
    return true;
}

// A list of ranks travels as bytes. The least byte of each rank comes first.
std::vector<uint8_t> bytes_of(const std::vector<uint32_t>& numbers);
std::vector<uint32_t> numbers_of(const std::vector<uint8_t>& bytes);

}  // namespace detail

template <auto member>
constexpr Field field() {
    using Member = detail::MemberType<member>;
    using Options = JobOptions;
    if constexpr (std::is_enum_v<Member>) {
        return {OptionKind::text,
                [](const Options& options, OptionValue& ret_value) {
                    ret_value.value = std::string(name_of(options.*member));
                },
                detail::write_word<member>, [] { return words_of(Member{}); }};
    } else if constexpr (std::is_floating_point_v<Member>) {
        return {OptionKind::real,
                [](const Options& options, OptionValue& ret_value) {
                    ret_value.value = options.*member;
                },
                [](Options& options, const OptionValue& value) {
                    options.*member = std::get<double>(value.value);
                    return true;
                }};
    } else if constexpr (std::is_integral_v<Member>) {
        return {OptionKind::integer,
                [](const Options& options, OptionValue& ret_value) {
                    ret_value.value = static_cast<int64_t>(options.*member);
                },
                [](Options& options, const OptionValue& value) {
                    options.*member = static_cast<Member>(std::get<int64_t>(value.value));
                    return true;
                }};
    } else {
        return {OptionKind::bytes,
                [](const Options& options, OptionValue& ret_value) {
                    ret_value.value = detail::bytes_of(options.*member);
                },
                [](Options& options, const OptionValue& value) {
                    options.*member =
                        detail::numbers_of(std::get<std::vector<uint8_t>>(value.value));
                    return true;
                }};
    }
}

}  // namespace pace::protocol
