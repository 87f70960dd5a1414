// The job options whose values are one of a few words. Each enumeration is declared once, beside
// its words. A policy or a compression also has a row that says what it is, so that no meaning lies
// in the order of the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pace::protocol {

using Words = std::span<const std::string_view>;

// ---------------------------------------------------------------------------------------- policies

// The contents of a job's buffers, and the verbs that exchange them: gradients (pace_reduce),
// parameters (pace_average), updates (pace_push, pace_pull).
enum class Family : uint8_t { collective = 1, averaging = 2, server = 3 };

enum class Policy : uint8_t {
    all_reduce = 1,
    partial_reduce = 2,
    prague_random = 3,
    prague_smart = 4,
    ad_psgd = 5,
    full = 6,
    prague_static = 7,
    automatic = 8,
    bsp = 9,
    ssp = 10,
    asp = 11
};

// Who forms the groups of workers that average: nobody, the controller, or every node by the same
// computation.
enum class Groups : uint8_t { none, ordered, computed };

// Bits for the options that only some policies of a family know (option_table.cpp).
inline constexpr uint32_t kTakesWeights = 1U << 0U;
inline constexpr uint32_t kTakesGroupSize = 1U << 1U;
inline constexpr uint32_t kTakesGroupWait = 1U << 2U;
inline constexpr uint32_t kTakesProgressGap = 1U << 3U;
inline constexpr uint32_t kTakesEdges = 1U << 4U;
inline constexpr uint32_t kTakesStaleness = 1U << 5U;

// The number of workers in a policy's groups: the number that the job asks for, two, or all
// workers.
enum class GroupSize : uint8_t { asked, two, world };

// The properties of a policy, apart from its code. The code is in service/controller/policies, plus
// one line of the factory (policy.cpp).
struct PolicyRow {
    Policy policy = Policy::partial_reduce;
    std::string_view word;
    Family family = Family::averaging;
    Groups groups = Groups::none;
    uint32_t takes = 0;
    GroupSize group_size = GroupSize::asked;
    std::string_view help;
};

std::span<const PolicyRow> policies();

// Returns null for a number that is no policy.
const PolicyRow* find(Policy policy);
const PolicyRow* find_policy(std::string_view word);

Family family_of(Policy policy);

// Whether the controller forms the groups that average.
bool forms_groups(Policy policy);

// ------------------------------------------------------------------------------------ compressions

enum class Compression : uint8_t {
    off = 1,
    f16 = 2,
    bf16 = 3,
    spardl = 4,
    topka = 5,
    topkdsa = 6,
    gtopk = 7,
    oktopk = 8
};

// The part of a gradient that travels between nodes: all elements unchanged, all elements in fewer
// bytes, or only the largest elements.
enum class Travels : uint8_t { everything, rounded, largest };

struct CompressionRow {
    Compression compression = Compression::off;
    std::string_view word;
    Travels travels = Travels::everything;
};

std::span<const CompressionRow> compressions();

// Whether less than the unchanged gradients travels.
bool is_compressed(Compression compression);

// Whether only the largest elements of the gradients travel. The rest is kept as a residual.
bool is_top_k(Compression compression);

// ----------------------------------------------------------------------------------- plain choices

enum class Weights : uint8_t { constant = 1, dynamic = 2 };
enum class Missing : uint8_t { closest = 1, initial = 2 };
enum class Quorum : uint8_t { all = 1, solo = 2, majority = 3, majority_strict = 4, count = 5 };
enum class Late : uint8_t { accumulate = 1, drop = 2 };
enum class DivideBy : uint8_t { world = 1, contributors = 2 };
enum class Residuals : uint8_t { global = 1, partial = 2, local = 3 };
enum class TeamGather : uint8_t { automatic = 1, recursive = 2, bruck = 3 };
enum class Indices : uint8_t { plain = 1, compressed = 2 };
enum class Values : uint8_t { f32 = 1, f16 = 2, bf16 = 3 };
enum class Hierarchy : uint8_t { node = 1, flat = 2 };
enum class DenseFallback : uint8_t { automatic = 1, never = 2 };
enum class Rate : uint8_t { sum = 1, constant = 2, dynamic = 3 };

// The words of a choice, in the order of its numbers, from 1.
Words words_of(Policy);
Words words_of(Compression);
Words words_of(Weights);
Words words_of(Missing);
Words words_of(Quorum);
Words words_of(Late);
Words words_of(DivideBy);
Words words_of(Residuals);
Words words_of(TeamGather);
Words words_of(Indices);
Words words_of(Values);
Words words_of(Hierarchy);
Words words_of(DenseFallback);
Words words_of(Rate);

template <typename Choice>
concept HasWords = requires(Choice choice) { words_of(choice); };

// Returns "?" for a number that is no choice.
template <HasWords Choice>
std::string_view name_of(Choice choice) {
    const Words words = words_of(choice);
    const auto number = static_cast<size_t>(choice);
    return number >= 1 && number <= words.size() ? words[number - 1] : "?";
}

template <HasWords Choice>
std::optional<Choice> choice_of(std::string_view word) {
    const Words words = words_of(Choice{});
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == word) return static_cast<Choice>(i + 1);
    }
    return {};
}

// Returns the words as a list: "all-reduce, partial-reduce or full".
std::string listed(Words words);

}  // namespace pace::protocol
