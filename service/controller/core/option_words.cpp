#include "service/controller/core/option_words.h"

#include <fmt/format.h>

namespace pace::controller {
namespace {

constexpr std::string_view kPolicies[] = {
    "all-reduce",    "partial-reduce", "prague-random", "prague-smart", "ad-psgd", "full",
    "prague-static", "auto",           "bsp",           "ssp",          "asp"};
constexpr std::string_view kWeights[] = {"constant", "dynamic"};
constexpr std::string_view kMissing[] = {"closest", "initial"};
constexpr std::string_view kQuorums[] = {"all", "solo", "majority", "majority-strict", "count"};
constexpr std::string_view kLates[] = {"accumulate", "drop"};
constexpr std::string_view kDivideBys[] = {"world", "contributors"};
constexpr std::string_view kCompressions[] = {"none",  "f16",     "bf16",  "spardl",
                                              "topka", "topkdsa", "gtopk", "oktopk"};
constexpr std::string_view kResiduals[] = {"global", "partial", "local"};
constexpr std::string_view kTeamGathers[] = {"automatic", "recursive", "bruck"};
constexpr std::string_view kIndices[] = {"plain", "compressed"};
constexpr std::string_view kValues[] = {"f32", "f16", "bf16"};
constexpr std::string_view kHierarchies[] = {"node", "flat"};
constexpr std::string_view kDenseFallbacks[] = {"automatic", "never"};
constexpr std::string_view kRates[] = {"sum", "constant", "dynamic"};

}  // namespace

Words words_of(Policy) {
    return kPolicies;
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
Words words_of(Compression) {
    return kCompressions;
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

std::string numbered(Words words) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i)
        text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", words[i], i + 1);
    return text;
}

}  // namespace pace::controller
