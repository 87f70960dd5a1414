// The choices of a job that are one of a few words. Each enumeration is declared once, beside its words; a policy and a
// compression have a row that says what they are, so that no meaning lies in the order of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pace::protocol {

using Words = std::span<const std::string_view>;

// ------------------------------------------------------------------------------------------ policies

// What a job's buffers hold, and with which verbs they are exchanged: gradients (pace_reduce), parameters (pace_average),
// updates (pace_push, pace_pull).
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

// Who forms the groups of workers that average: nobody, the controller, or every node by the same computation.
enum class Groups : uint8_t { none, ordered, computed };

// Options that not every policy of a family knows (option_table.cpp), as bits.
inline constexpr uint32_t kTakesWeights = 1U << 0U;
inline constexpr uint32_t kTakesGroupSize = 1U << 1U;
inline constexpr uint32_t kTakesGroupWait = 1U << 2U;
inline constexpr uint32_t kTakesProgressGap = 1U << 3U;
inline constexpr uint32_t kTakesEdges = 1U << 4U;
inline constexpr uint32_t kTakesStaleness = 1U << 5U;

// How many workers its groups have: as asked for, else so many.
enum class GroupSize : uint8_t { asked, two, world };

// All that there is to say of a policy apart from its code: service/controller/policies has that, and the one line of its
// factory (policy.cpp).
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

// Null for a number that is no policy.
const PolicyRow* find(Policy policy);
const PolicyRow* find_policy(std::string_view word);

Family family_of(Policy policy);

// Whether the controller forms the groups that workers average in.
bool forms_groups(Policy policy);

// -------------------------------------------------------------------------------------- compressions

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

// What of a gradient travels between nodes: all elements as they are, all of them in fewer bytes, or the largest of them.
enum class Travels : uint8_t { everything, rounded, largest };

struct CompressionRow {
    Compression compression = Compression::off;
    std::string_view word;
    Travels travels = Travels::everything;
};

std::span<const CompressionRow> compressions();

// Whether less than the gradients as they are travels.
bool is_compressed(Compression compression);

// Whether only the largest elements of the gradients travel, so that the rest is owed.
bool is_top_k(Compression compression);

// ------------------------------------------------------------------------------------ plain choices

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

// By number, from 1.
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

// "?" for a number that is none.
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

// "all-reduce, partial-reduce or full"
std::string listed(Words words);

}  // namespace pace::protocol
