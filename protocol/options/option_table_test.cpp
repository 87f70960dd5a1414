#include "protocol/options/option_table.h"

#include <set>

#include <gtest/gtest.h>

#include "protocol/options/asked_options.h"
#include "protocol/options/description.h"
#include "protocol/options/limits.h"

namespace pace::protocol {
namespace {

TEST(OptionTable, HasEachNameOnceWithinWhatTravels) {
    std::set<std::string_view> names;
    for (const OptionRow& row : option_table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_LE(row.name.size(), kOptionNameBytesMax);
        EXPECT_EQ(find_option(row.name), &row);
        EXPECT_FALSE(row.help.empty()) << row.name;
    }
    EXPECT_EQ(find_option("topk"), nullptr);
}

// Without a row nobody could ask for a member of JobOptions, and no comparison would see the
// member.
TEST(OptionTable, HasARowForEveryMember) {
    JobOptions all;
    for (const OptionRow& row : option_table()) {
        OptionValue value = value_of(row, all);
        if (row.field.kind == OptionKind::integer) value.value = int64_t{1};
        if (row.field.kind == OptionKind::real) value.value = 0.125;
        if (row.field.kind == OptionKind::text) value.value = std::string(row.field.words().back());
        if (row.field.kind == OptionKind::bytes) value.value = std::vector<uint8_t>(8);
        // The last word of a choice may be its default. Then the first word is another value.
        if (value == value_of(row, all) && row.field.kind == OptionKind::text)
            value.value = std::string(row.field.words().front());
        const JobOptions before = all;
        ASSERT_TRUE(row.field.write(all, value)) << row.name;
        EXPECT_EQ(value_of(row, all), value) << row.name;
        EXPECT_NE(all, before) << row.name;
    }
    // The line below compiles only if JobOptions has as many members as there are names. Three
    // members have no row.
    const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                 m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33,
                 m34, m35, m36, m37, m38, m39, m40] = all;
    EXPECT_EQ(m1 + option_table().size(), 41U - 3U);  // m1 is the world, which is 0
}

TEST(OptionTable, DefaultsAreAbsentOrWithinTheirBounds) {
    const JobOptions defaults;
    for (const OptionRow& row : option_table()) {
        const OptionValue value = value_of(row, defaults);
        // If the table tells the default in words, Pace chooses the value.
        EXPECT_EQ(is_absent(row, defaults), !row.initial.empty()) << row.name;
        if (is_absent(row, defaults)) continue;
        if (row.field.kind == OptionKind::integer) {
            EXPECT_LE(static_cast<double>(std::get<int64_t>(value.value)), row.greatest);
        }
        if (row.field.kind == OptionKind::real) {
            EXPECT_LE(std::get<double>(value.value), row.greatest);
        }
    }
}

TEST(OptionTable, TextsComeBackAsValues) {
    const auto back = [](std::string_view name, std::string_view text) {
        const auto value = value_from_text(*find_option(name), text);
        return value ? text_of(*value) : value.error().message;
    };
    EXPECT_EQ(back("group.size", "3"), "3");
    EXPECT_EQ(back("topk.density", "0.125"), "0.125");
    EXPECT_EQ(back("topk.density", "1"), "1");
    EXPECT_EQ(back("quorum", "solo"), "solo");
    EXPECT_EQ(back("group.edges", "0-1,1-22"), "0-1,1-22");
    EXPECT_EQ(back("group.size", "three"),
              "group.size is 'three'; give a whole number, 2 to 65536");
    EXPECT_EQ(back("group.size", ""), "group.size is ''; give a whole number, 2 to 65536");
    EXPECT_EQ(back("topk.density", "0.1x"),
              "topk.density is '0.1x'; give a number above 0 and at most 1");
    for (const char* wrong : {"0", "0-", "0-1,", "0-1-2", "a-b", "0-1 1-2"}) {
        EXPECT_NE(back("group.edges", wrong).find("give pairs of ranks"), std::string::npos)
            << wrong;
    }
}

TEST(OptionTable, RangesAreSaidInWords) {
    EXPECT_EQ(values_text(*find_option("average.alpha")), "a number at least 0 and below 1");
    EXPECT_EQ(values_text(*find_option("server.filter")), "a number at least 0");
    EXPECT_EQ(values_text(*find_option("server.restore")), "0 or 1");
    EXPECT_EQ(values_text(*find_option("quorum.late")), "accumulate or drop");
    EXPECT_EQ(initial_text(*find_option("topk.density")), "0.01");
    EXPECT_EQ(initial_text(*find_option("quorum")), "all");
}

TEST(OptionTable, IsDescribed) {
    const std::string json = options_json();
    const std::string page = options_page();
    for (const OptionRow& row : option_table()) {
        EXPECT_NE(json.find("\"" + std::string(row.name) + "\""), std::string::npos);
        EXPECT_NE(page.find("`" + std::string(row.name) + "`"), std::string::npos);
        EXPECT_NE(constants().find(" \"" + std::string(row.name) + "\"\n"), std::string::npos);
        EXPECT_NE(options_list_json().find("\"" + std::string(row.name) + "\""), std::string::npos);
    }
    for (const PolicyRow& row : policies())
        EXPECT_NE(json.find("\"" + std::string(row.word) + "\""), std::string::npos);
    EXPECT_NE(constants().find("#define PACE_OPT_TOPK_TEAM_GATHER \"topk.team_gather\"\n"),
              std::string::npos);
    EXPECT_NE(constants().find("#define PACE_POLICY_AD_PSGD \"ad-psgd\"\n"), std::string::npos);
    EXPECT_NE(policies_list_json().find("\"ad-psgd\""), std::string::npos);
}

TEST(Choices, ANumberThatIsNoneHasNoMeaning) {
    EXPECT_EQ(find(static_cast<Policy>(0)), nullptr);
    EXPECT_EQ(find(static_cast<Policy>(99)), nullptr);
    EXPECT_EQ(name_of(static_cast<Policy>(99)), "?");
    EXPECT_FALSE(is_top_k(static_cast<Compression>(99)));
    EXPECT_FALSE(is_compressed(static_cast<Compression>(0)));
    EXPECT_FALSE(forms_groups(static_cast<Policy>(99)));
}

TEST(Choices, RowsSayWhatAPolicyIs) {
    EXPECT_EQ(family_of(Policy::all_reduce), Family::collective);
    EXPECT_EQ(family_of(Policy::prague_static), Family::averaging);
    EXPECT_EQ(family_of(Policy::asp), Family::server);
    EXPECT_TRUE(forms_groups(Policy::automatic));
    EXPECT_FALSE(forms_groups(Policy::prague_static));
    EXPECT_FALSE(forms_groups(Policy::all_reduce));
    EXPECT_TRUE(is_top_k(Compression::gtopk));
    EXPECT_FALSE(is_top_k(Compression::bf16));
    EXPECT_TRUE(is_compressed(Compression::bf16));
    EXPECT_FALSE(is_compressed(Compression::off));
}

}  // namespace
}  // namespace pace::protocol
