#include "protocol/options/choices.h"

#include <algorithm>
#include <array>

namespace pace::protocol {
namespace {

constexpr uint32_t kTakesSizedGroups = kTakesWeights | kTakesGroupSize;

constexpr PolicyRow kPolicies[] = {
    {.policy = Policy::all_reduce,
     .word = "all-reduce",
     .family = Family::collective,
     .help = "Gradients of all members, in rounds. Everyone waits for all, unless quorum says "
             "otherwise."},
    {.policy = Policy::partial_reduce,
     .word = "partial-reduce",
     .groups = Groups::ordered,
     .takes = kTakesSizedGroups | kTakesGroupWait,
     .help = "Groups of the workers that are ready. Source: Miao et al., SIGMOD 2021."},
    {.policy = Policy::prague_random,
     .word = "prague-random",
     .groups = Groups::ordered,
     .takes = kTakesSizedGroups,
     .help = "A worker without a group gets one with others drawn from all. Source: Luo et al., "
             "Prague, ASPLOS 2020, section 4.1."},
    {.policy = Policy::prague_smart,
     .word = "prague-smart",
     .groups = Groups::ordered,
     .takes = kTakesSizedGroups | kTakesProgressGap,
     .help =
         "When a worker has no group, all workers without one are divided into groups, except for "
         "slow ones: first among the nodes, then within each node. Source: Luo et al., section 5."},
    {.policy = Policy::ad_psgd,
     .word = "ad-psgd",
     .groups = Groups::ordered,
     .takes = kTakesSizedGroups | kTakesEdges,
     .group_size = GroupSize::two,
     .help = "Pairs, also on a given communication graph. Source: Lian et al., ICML 2018."},
    {.policy = Policy::full,
     .word = "full",
     .groups = Groups::ordered,
     .takes = kTakesSizedGroups,
     .group_size = GroupSize::world,
     .help = "Everyone, as in local SGD: called every so many steps."},
    {.policy = Policy::prague_static,
     .word = "prague-static",
     .groups = Groups::computed,
     .help =
         "Groups that follow from the workers' nodes and from how often they have called, without "
         "the controller: for workers of equal speed. Source: Luo et al., section 4.2."},
    {.policy = Policy::automatic,
     .word = "auto",
     .groups = Groups::ordered,
     .takes = kTakesWeights,
     .help = "One of the policies with ordered groups, chosen from measured steps and exchanges, "
             "and changed as they change."},
    {.policy = Policy::bsp,
     .word = "bsp",
     .family = Family::server,
     .help = "A parameter server whose workers wait for the slowest. Source: Jiang et al., SIGMOD "
             "2017."},
    {.policy = Policy::ssp,
     .word = "ssp",
     .family = Family::server,
     .takes = kTakesStaleness,
     .help = "A parameter server whose workers are at most server.staleness steps ahead of the "
             "slowest."},
    {.policy = Policy::asp,
     .word = "asp",
     .family = Family::server,
     .help = "A parameter server whose workers wait for nobody."}};

constexpr CompressionRow kCompressions[] = {{Compression::off, "none", Travels::everything},
                                            {Compression::f16, "f16", Travels::rounded},
                                            {Compression::bf16, "bf16", Travels::rounded},
                                            {Compression::spardl, "spardl", Travels::largest},
                                            {Compression::topka, "topka", Travels::largest},
                                            {Compression::topkdsa, "topkdsa", Travels::largest},
                                            {Compression::gtopk, "gtopk", Travels::largest},
                                            {Compression::oktopk, "oktopk", Travels::largest}};

constexpr std::string_view kWeights[] = {"constant", "dynamic"};
constexpr std::string_view kMissing[] = {"closest", "initial"};
constexpr std::string_view kQuorums[] = {"all", "solo", "majority", "majority-strict", "count"};
constexpr std::string_view kLates[] = {"accumulate", "drop"};
constexpr std::string_view kDivideBys[] = {"world", "contributors"};
constexpr std::string_view kResiduals[] = {"global", "partial", "local"};
constexpr std::string_view kTeamGathers[] = {"automatic", "recursive", "bruck"};
constexpr std::string_view kIndices[] = {"plain", "compressed"};
constexpr std::string_view kValues[] = {"f32", "f16", "bf16"};
constexpr std::string_view kHierarchies[] = {"node", "flat"};
constexpr std::string_view kDenseFallbacks[] = {"automatic", "never"};
constexpr std::string_view kRates[] = {"sum", "constant", "dynamic"};

template <typename Row, size_t count>
constexpr std::array<std::string_view, count> words_in(const Row (&rows)[count]) {
    std::array<std::string_view, count> words;
    for (size_t i = 0; i < count; ++i) words[i] = rows[i].word;
    return words;
}

constexpr auto kPolicyWords = words_in(kPolicies);
constexpr auto kCompressionWords = words_in(kCompressions);

// A row stands at the position of its number, so that the number finds the row.
constexpr bool are_in_order() {
    for (size_t i = 0; i < std::size(kPolicies); ++i) {
        if (static_cast<size_t>(kPolicies[i].policy) != i + 1) return false;
    }
    for (size_t i = 0; i < std::size(kCompressions); ++i) {
        if (static_cast<size_t>(kCompressions[i].compression) != i + 1) return false;
    }
    return true;
}
static_assert(are_in_order());

Travels travels_of(Compression compression) {
    const auto number = static_cast<size_t>(compression);
    return number >= 1 && number <= std::size(kCompressions) ? kCompressions[number - 1].travels
                                                             : Travels::everything;
}

}  // namespace

std::span<const PolicyRow> policies() {
    return kPolicies;
}

const PolicyRow* find(Policy policy) {
    const auto number = static_cast<size_t>(policy);
    return number >= 1 && number <= std::size(kPolicies) ? &kPolicies[number - 1] : nullptr;
}

const PolicyRow* find_policy(std::string_view word) {
    const auto* const row = std::find_if(std::begin(kPolicies), std::end(kPolicies),
                                         [&](const PolicyRow& one) { return one.word == word; });
    return row == std::end(kPolicies) ? nullptr : row;
}

Family family_of(Policy policy) {
    const PolicyRow* const row = find(policy);
    return row == nullptr ? Family::averaging : row->family;
}

bool forms_groups(Policy policy) {
    const PolicyRow* const row = find(policy);
    return row != nullptr && row->groups == Groups::ordered;
}

std::span<const CompressionRow> compressions() {
    return kCompressions;
}

bool is_compressed(Compression compression) {
    return travels_of(compression) != Travels::everything;
}

bool is_top_k(Compression compression) {
    return travels_of(compression) == Travels::largest;
}

Words words_of(Policy) {
    return kPolicyWords;
}
Words words_of(Compression) {
    return kCompressionWords;
}
Words words_of(Weights) {
    return kWeights;
}
Words words_of(Missing) {
    return kMissing;
}
Words words_of(Quorum) {
    return kQuorums;
}
Words words_of(Late) {
    return kLates;
}
Words words_of(DivideBy) {
    return kDivideBys;
}
Words words_of(Residuals) {
    return kResiduals;
}
Words words_of(TeamGather) {
    return kTeamGathers;
}
Words words_of(Indices) {
    return kIndices;
}
Words words_of(Values) {
    return kValues;
}
Words words_of(Hierarchy) {
    return kHierarchies;
}
Words words_of(DenseFallback) {
    return kDenseFallbacks;
}
Words words_of(Rate) {
    return kRates;
}

std::string listed(Words words) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

}  // namespace pace::protocol
