// pacectl top: keys, what they choose, and the screen, without a terminal.
#include <algorithm>

#include <gtest/gtest.h>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/top/terminal.h"
#include "service/pacectl/top/top_view.h"

namespace pace::pacectl {
namespace {

using Kind = Key::Kind;

Json worker_at(unsigned rank, unsigned node, double step_ms, double waited_s, unsigned iteration) {
    return {{"rank", rank},
            {"node", node},
            {"status", "active"},
            {"activity", "computing"},
            {"activity_s", 1.5},
            {"iteration", iteration},
            {"step_median_ms", step_ms},
            {"waited", {{"total_s", waited_s}}},
            {"exchanged", {{"total_s", 1.0}}}};
}

Json small_cluster() {
    Json status{{"version", "1.0.0"},
                {"nodes",
                 {{{"node", 1U}, {"name", "alpha"}, {"status", "alive"}},
                  {{"node", 2U}, {"name", "beta"}, {"status", "suspected"}}}},
                {"jobs", Json::array()}};
    status["jobs"].push_back(
        {{"name", "first"},
         {"started", true},
         {"options", {{"policy", "all-reduce"}, {"world", 3U}}},
         {"workers",
          {worker_at(0, 2, 10, 5, 90), worker_at(1, 1, 30, 1, 80), worker_at(2, 1, 20, 9, 85)}}});
    status["jobs"].push_back({{"name", "second"},
                              {"started", true},
                              {"state", "finished"},
                              {"options", {{"policy", "ssp"}, {"world", 1U}}},
                              {"workers", Json::array()}});
    return status;
}

std::string body_of(const TopState& state, const Json& status = small_cluster()) {
    std::string text;
    for (const StyledLine& line : top_view(status, state, {}).body) text += line.text + "\n";
    return text;
}

// The ranks of the first job, from top to bottom.
std::string order_of(const TopState& state) {
    std::string ranks;
    bool is_table = false;
    for (const StyledLine& line : top_view(small_cluster(), state, {}).body) {
        if (is_table && line.text.empty()) break;
        if (is_table) ranks += line.text.substr(line.text.find_first_not_of(' '), 1);
        is_table |= line.text.find("RANK") != std::string::npos;
    }
    return ranks;
}

TopState after(std::string_view typed, TopState state = {}) {
    state.jobs = job_names(small_cluster());
    KeyReader reader;
    for (const Key& key : reader.read(typed)) press(state, key);
    return state;
}

TEST(TopKeys, AreReadFromWhatTerminalsSend) {
    KeyReader reader;
    const auto kinds = [&](std::string_view bytes) {
        std::vector<Kind> found;
        for (const Key& key : reader.read(bytes)) found.push_back(key.kind);
        return found;
    };
    using Kinds = std::vector<Kind>;
    EXPECT_EQ(kinds("\033[A\033[B\033OA"), (Kinds{Kind::up, Kind::down, Kind::up}));
    EXPECT_EQ(
        kinds("\033[5~\033[6~\033[H\033[F\033[1~\033[4~"),
        (Kinds{Kind::page_up, Kind::page_down, Kind::home, Kind::end, Kind::home, Kind::end}));
    EXPECT_EQ(kinds("\033[1;5C\033[200~a"), (Kinds{Kind::character})) << "unknown ones are skipped";
    EXPECT_EQ(kinds("\033["), Kinds{}) << "cut off";
    EXPECT_EQ(kinds("5"), Kinds{});
    EXPECT_EQ(kinds("~q"), (Kinds{Kind::page_up, Kind::character}));
    EXPECT_EQ(kinds("\033"), (Kinds{Kind::escape}));
    EXPECT_EQ(kinds("\r\177"), (Kinds{Kind::enter, Kind::erase}));
    EXPECT_EQ(kinds("\033[" + std::string(1000, '1')), Kinds{}) << "nobody waits for its end";
    EXPECT_EQ(kinds("q"), (Kinds{Kind::character}));
}

TEST(TopState, WorkersAreInTheOrderOfTheKey) {
    EXPECT_EQ(order_of(after("")), "012");
    EXPECT_EQ(order_of(after("s")), "120") << "the slowest first";
    EXPECT_EQ(order_of(after("w")), "201");
    EXPECT_EQ(order_of(after("n")), "120");
    EXPECT_EQ(order_of(after("p")), "120") << "the furthest behind first";
    EXPECT_EQ(order_of(after("ss")), "021") << "again: reversed";
    EXPECT_EQ(order_of(after("sss")), "120");
    EXPECT_EQ(order_of(after("sr")), "012");
    for (const SortKey& key : sort_keys()) EXPECT_EQ(sort_key_named(key.name), key.key);
}

TEST(TopState, JobsAreSelectedInTurn) {
    EXPECT_EQ(after("j").job, "first");
    EXPECT_EQ(after("jj").job, "second");
    EXPECT_EQ(after("jj\t").job, "");
    EXPECT_NE(body_of(after("j")).find("job first"), std::string::npos);
    EXPECT_EQ(body_of(after("j")).find("job second"), std::string::npos);
    EXPECT_EQ(body_of(after("j")).find("HOST"), std::string::npos);
    TopState lost = after("");
    lost.job = "gone";
    EXPECT_NE(body_of(lost).find("no job gone"), std::string::npos);
    EXPECT_EQ(after("j", lost).job, "");
}

TEST(TopState, AFilterIsTypedKeptAndEnded) {
    EXPECT_EQ(order_of(after("/BETA\r")), "0") << "in any case of letters";
    EXPECT_EQ(after("/sw\r").sort_key, 'r') << "what is typed is no key";
    EXPECT_EQ(order_of(after("/xbe\177\177\177beta")), "0");
    EXPECT_EQ(after("/beta\033").filter, "");
    EXPECT_EQ(after("/beta\r\033").filter, "");
    EXPECT_LE(after("/" + std::string(1000, 'x')).filter.size(), 64U);
    EXPECT_TRUE(after("/q").is_typing);
}

TEST(TopState, KeysEndPauseAndHelp) {
    TopState state;
    EXPECT_EQ(press(state, {Kind::character, 'q'}), TopWish::end);
    EXPECT_EQ(press(state, {Kind::character, 'x'}), TopWish::none);
    EXPECT_TRUE(after(" ").is_paused);
    EXPECT_FALSE(after("  ").is_paused);
    EXPECT_NE(body_of(after("?")).find("PgUp"), std::string::npos);
    EXPECT_EQ(body_of(after("??")).find("PgUp"), std::string::npos);
}

TEST(TopView, ScrollsBetweenHeadAndFootAndNoFurther) {
    TopState state = after("");
    const TopView view = top_view(small_cluster(), state, {});
    const auto shown = [&](std::string_view typed) {
        state = after(typed, state);
        return visible_lines(view, state, 6);
    };
    ASSERT_EQ(shown("").size(), 6U);
    EXPECT_NE(shown("")[0].text.find("pacectl top"), std::string::npos);
    EXPECT_EQ(shown("")[1].text, "nodes: 1 alive, 1 suspected (beta)");
    EXPECT_NE(shown("").back().text.find("q ends"), std::string::npos);
    EXPECT_EQ(shown("\033[B")[2].text, view.body[1].text);
    EXPECT_EQ(shown("\033[6~")[2].text, view.body[4].text);
    EXPECT_EQ(shown("\033[F")[4].text, view.body.back().text) << "the last line, and no empty ones";
    EXPECT_EQ(shown("\033[6~")[4].text, view.body.back().text);
    EXPECT_EQ(shown("\033[H")[2].text, view.body[0].text);
    for (size_t rows = 1; rows < 6; ++rows)
        EXPECT_EQ(visible_lines(view, state, rows).size(), rows);
}

TEST(TopView, FitsIntoEightyColumns) {
    Json status = small_cluster();
    Json& slow = status["jobs"][0]["workers"][1];
    slow["rank"] = 1023U;
    slow["activity"] = "unreachable";
    slow["activity_s"] = 119.9;
    slow["iteration"] = 1'000'000U;
    slow["step_median_ms"] = 119'900.0;
    slow["waited"]["total_s"] = 7000.0;
    slow["slow"] = {{"factor", 12.5}, {"why", "link"}};
    status["nodes"][0]["name"] = "a-node-with-a-long-name.example";
    TopState state = after("");
    for (const StyledLine& line : top_view(status, state, {}).body)
        EXPECT_LE(shown_width(line.text), 80U) << line.text;
    EXPECT_NE(body_of(state, status).find("12.5x"), std::string::npos);
    EXPECT_LE(shown_width(top_view(status, state, {}).foot.text), 80U);
}

TEST(TopView, StylesTellWhatIsWrong) {
    Json status = small_cluster();
    Json& workers = status["jobs"][0]["workers"];
    workers[0]["activity"] = "stopped";
    workers[1]["slow"] = {{"factor", 3.0}, {"why", "computing"}};
    const TopState state = after("");
    const TopView view = top_view(status, state, "the daemon is away");
    const auto style_of = [&](std::string_view part) {
        for (const auto* lines : {&view.head, &view.body}) {
            for (const StyledLine& line : *lines)
                if (line.text.find(part) != std::string::npos) return line.style;
        }
        return Style::title;
    };
    EXPECT_EQ(style_of("stopped"), Style::bad);
    EXPECT_EQ(style_of("3.0x"), Style::warning);
    EXPECT_EQ(style_of("suspected"), Style::warning);
    EXPECT_EQ(style_of("the daemon is away"), Style::bad);
    EXPECT_EQ(style_of("job first"), Style::good);
    EXPECT_EQ(style_of("job second"), Style::faint) << "it has finished";
}

// Some text is shown and nothing throws, whichever field is removed or replaced.
TEST(TopView, AnyFieldMayBeMissingOrOfAnotherKind) {
    const Json whole = small_cluster().flatten();
    for (const auto& [path, value] : whole.items()) {
        for (const Json& other : {Json(), Json("x"), Json(-1), Json::array(), Json::object()}) {
            Json broken = small_cluster();
            broken[Json::json_pointer(path)] = other;
            EXPECT_FALSE(body_of(after("s"), broken).empty()) << path;
        }
    }
    EXPECT_FALSE(body_of(after(""), Json::object()).empty());
}

TEST(Terminal, ShowsAsMuchOfEachLineAsFits) {
    const std::vector<StyledLine> lines{{"abcdef", Style::bad}, {"üöä+", Style::plain}};
    EXPECT_EQ(screen_text(lines, 3, false), "\033[Habc\033[K\r\nüöä\033[K\033[J");
    EXPECT_EQ(screen_text(lines, 3, true), "\033[H\033[31mabc\033[0m\033[K\r\nüöä\033[K\033[J");
    EXPECT_EQ(screen_text({}, 3, true), "\033[H\033[J");
}

TEST(Terminal, ColoursAreForTerminalsWhoseUserWantsThem) {
    EXPECT_TRUE(wants_colour(nullptr, "xterm"));
    EXPECT_TRUE(wants_colour("", "xterm"));
    EXPECT_FALSE(wants_colour("1", "xterm"));
    EXPECT_FALSE(wants_colour(nullptr, "dumb"));
    EXPECT_FALSE(wants_colour(nullptr, nullptr));
}

}  // namespace
}  // namespace pace::pacectl
