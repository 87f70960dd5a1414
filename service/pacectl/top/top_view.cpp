#include "service/pacectl/top/top_view.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/facts/node_names.h"
#include "service/pacectl/status/job_text.h"
#include "service/pacectl/status/machine_text.h"

namespace pace::pacectl {

namespace {

constexpr size_t kNodeColumns = 11;      // for a node's name, so that a line fits into 80
constexpr size_t kActivityColumns = 16;  // "computing 59.9 s" fits

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::string shortened(const std::string& text, size_t columns) {
    if (shown_width(text) <= columns) return text;
    size_t shown = 0;
    size_t end = 0;
    while (end < text.size()) {
        const bool starts_one = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
        if (starts_one && shown++ == columns - 1) break;
        ++end;
    }
    return text.substr(0, end) + "…";
}

// The worker's activity; its status if the activity is not reported or the status is unusual.
std::string doing_text(const Json& worker) {
    const std::string status = text(worker, "status");
    const std::string activity = activity_text(worker);
    const bool is_ordinary = status == "active" || status == "joined" || status == "late";
    return is_ordinary && activity != "-" ? activity : status;
}

Style style_of_worker(const Json& worker) {
    const std::string status = text(worker, "status");
    const std::string activity = text(worker, "activity");
    if (status == "left") return Style::faint;
    if (status == "missing" || status == "suspended" || status == "lost" || activity == "stopped" ||
        activity == "unreachable")
        return Style::bad;
    if (status == "late" || slow_of(worker)) return Style::warning;
    return Style::plain;
}

std::string slow_column(const Json& worker) {
    const auto slow = slow_of(worker);
    if (!slow) return {};
    return slow->factor > 0 ? fmt::format("{:.1f}x", slow->factor) : std::string("yes");
}

double waited_of(const Json& worker) {
    return number(member(worker, "waited"), "total_s", -1);
}

// Whether `a` comes before `b` by the key.
bool is_before(const Json& a, const Json& b, char key, const NodeNames& names) {
    switch (key) {
        case 's':
            return number(a, "step_median_ms") > number(b, "step_median_ms");
        case 'w':
            return waited_of(a) > waited_of(b);
        case 'n':
            return name_of_node(names, count(a, "node")) < name_of_node(names, count(b, "node"));
        case 'p':
            return progress_of(a) < progress_of(b);
        default:
            return count(a, "rank") < count(b, "rank");
    }
}

std::vector<const Json*> sorted_workers(const Json& job, const TopState& state,
                                        const NodeNames& names) {
    std::vector<const Json*> workers;
    for (const Json& worker : list(job, "workers")) workers.push_back(&worker);
    std::stable_sort(workers.begin(), workers.end(), [&](const Json* a, const Json* b) {
        return state.is_reversed ? is_before(*b, *a, state.sort_key, names)
                                 : is_before(*a, *b, state.sort_key, names);
    });
    return workers;
}

std::vector<std::string> cells_of(const Json& worker, const NodeNames& names) {
    const double step = number(worker, "step_median_ms");
    return {text(worker, "rank"),
            shortened(name_of_node(names, count(worker, "node")), kNodeColumns),
            shortened(doing_text(worker), kActivityColumns),
            step > 0 ? duration_text(step) : "-",
            total_text(worker, "waited"),
            total_text(worker, "exchanged"),
            fmt::format("{}", progress_of(worker)),
            slow_column(worker)};
}

bool matches(const std::vector<std::string>& cells, const std::string& job,
             const std::string& filter) {
    if (filter.empty()) return true;
    std::string all = job;
    for (const std::string& cell : cells) all += ' ' + cell;
    return lower(std::move(all)).find(lower(filter)) != std::string::npos;
}

std::string job_line(const Json& job) {
    std::string line =
        fmt::format("job {}: {}, {} of {} workers, {}", text(job, "name"), shape_of(job),
                    worker_count(job), text(member(job, "options"), "world"), state_of(job));
    const Json& progress = member(job, "progress");
    if (progress.is_object()) line += fmt::format(", {} apart", count(progress, "spread"));
    return line;
}

// Adds the lines of a text, each in the style.
void add_lines(std::string_view text, Style style, std::vector<StyledLine>& ret_lines) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        ret_lines.push_back({std::string(text.substr(0, end)), style});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void add_job(const Json& job, const TopState& state, const NodeNames& names,
             std::vector<StyledLine>& ret_lines) {
    const std::string state_now = job_state(job);
    const Style style = state_now == "running" ? Style::good : Style::faint;
    ret_lines.push_back({job_line(job), state_now == "joining" ? Style::warning : style});
    Columns columns(
        {">RANK", "NODE", "ACTIVITY", ">STEP", ">WAITED", ">EXCHANGE", ">PROGRESS", "SLOW"});
    std::vector<Style> styles{Style::heading};
    for (const Json* worker : sorted_workers(job, state, names)) {
        auto cells = cells_of(*worker, names);
        if (!matches(cells, text(job, "name"), state.filter)) continue;
        columns.add(std::move(cells));
        styles.push_back(style_of_worker(*worker));
    }
    if (columns.empty()) return;
    std::vector<StyledLine> rows;
    add_lines(columns.text(""), Style::plain, rows);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].style = styles[i];
    ret_lines.insert(ret_lines.end(), rows.begin(), rows.end());
    if (const uint64_t others = count(job, "workers_left_out"); others > 0)
        ret_lines.push_back({fmt::format("… and {} more workers", others), Style::faint});
}

void add_nodes(const Json& status, std::vector<StyledLine>& ret_lines) {
    const bool has_machines = tells_machines(status);
    std::vector<std::string> heads{"NODE", "STATUS", ">WORKERS", ">SILENT", "ZONE"};
    if (has_machines) heads.insert(heads.end(), {">MEMORY IN USE", "GPUS"});
    heads.emplace_back("HOST");
    Columns columns(heads);
    std::vector<Style> styles{Style::heading};
    for (const Json& node : list(status, "nodes")) {
        const std::string state = text(node, "status");
        std::vector<std::string> row{
            text(node, "name"), state + (truth(node, "draining") ? ", draining" : ""),
            text(node, "workers"), duration_text(number(node, "silent_ms", -1)),
            text(node, "zone", "")};
        if (has_machines) row.insert(row.end(), {memory_text(node), gpus_text(node)});
        row.push_back(text(node, "host", ""));
        columns.add(std::move(row));
        styles.push_back(state == "suspected"      ? Style::warning
                         : state == "gone"         ? Style::bad
                         : truth(node, "draining") ? Style::warning
                                                   : Style::plain);
    }
    if (columns.empty()) return;
    std::vector<StyledLine> rows;
    add_lines(columns.text(""), Style::plain, rows);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].style = styles[i];
    ret_lines.push_back({});
    ret_lines.insert(ret_lines.end(), rows.begin(), rows.end());
}

// "3 alive, 1 suspected (b)": names those that are not alive, as far as they fit on a line.
StyledLine nodes_line(const Json& status) {
    constexpr size_t kNamed = 4;
    std::map<std::string, std::pair<size_t, std::string>> by_status;
    size_t named = 0;
    for (const Json& node : list(status, "nodes")) {
        const std::string state = truth(node, "draining") ? "draining" : text(node, "status");
        auto& [nodes, names] = by_status[state];
        ++nodes;
        if (state != "alive" && ++named <= kNamed) names += " " + text(node, "name");
    }
    std::string line = "nodes:";
    for (const auto& [state, found] : by_status) {
        line += fmt::format("{} {} {}", line.size() > 6 ? "," : "", found.first, state);
        if (!found.second.empty()) line += fmt::format(" ({})", found.second.substr(1));
    }
    if (by_status.empty()) line += " none is attached";
    const bool all_alive = by_status.size() == 1 && by_status.contains("alive");
    return {line, all_alive ? Style::good : Style::warning};
}

std::string sort_text(const TopState& state) {
    for (const SortKey& key : sort_keys()) {
        if (key.key == state.sort_key)
            return fmt::format("by {}{}", key.name, state.is_reversed ? ", reversed" : "");
    }
    return {};
}

std::vector<StyledLine> head_of(const Json& status, const TopState& state,
                                const std::string& failure) {
    const size_t jobs = list(status, "jobs").size();
    size_t workers = 0;
    for (const Json& job : list(status, "jobs")) workers += worker_count(job);
    std::string title = fmt::format("pacectl top  controller {}, {} {}, {} {}, {}",
                                    text(status, "version"), jobs, jobs == 1 ? "job" : "jobs",
                                    workers, workers == 1 ? "worker" : "workers", sort_text(state));
    if (!state.job.empty()) title += ", job " + state.job;
    if (!state.filter.empty() || state.is_typing) title += ", filter " + state.filter;
    if (state.is_paused) title += "  PAUSED";
    std::vector<StyledLine> head{{title, Style::title}, nodes_line(status)};
    if (!failure.empty()) head.push_back({failure, Style::bad});
    return head;
}

std::vector<StyledLine> help_lines() {
    std::vector<StyledLine> lines{{"", Style::plain},
                                  {"Order of workers (again: reversed)", Style::heading}};
    for (const SortKey& key : sort_keys())
        lines.push_back({fmt::format("  {}          {}", key.key, key.help), Style::plain});
    add_lines(
        "\n"
        "Looking\n"
        "  up, down   scroll by a line; PgUp, PgDn by a screen; Home, End\n"
        "  j or Tab   the next job alone, and after the last one all\n"
        "  /          only workers with this text in their line; Enter keeps it, Esc ends it\n"
        "  space      pause, and go on\n"
        "  Ctrl-L     draw the screen anew\n"
        "  q          end\n"
        "\n"
        "Any key goes back.\n",
        Style::plain, lines);
    return lines;
}

}  // namespace

std::vector<std::string> job_names(const Json& status) {
    std::vector<std::string> names;
    for (const Json& job : list(status, "jobs")) names.push_back(text(job, "name"));
    return names;
}

TopView top_view(const Json& status, const TopState& state, const std::string& failure) {
    TopView view;
    view.head = head_of(status, state, failure);
    view.foot = {state.is_typing ? "/" + state.filter
                                 : "? keys  s w r n p order  / filter  j job  space pause  q ends",
                 Style::faint};
    if (state.shows_help) {
        view.body = help_lines();
        return view;
    }
    const NodeNames names = node_names(status);
    for (const Json& job : list(status, "jobs")) {
        if (!state.job.empty() && text(job, "name") != state.job) continue;
        view.body.push_back({});
        add_job(job, state, names, view.body);
    }
    if (view.body.empty())
        view.body = {{}, {state.job.empty() ? "no job" : "no job " + state.job, Style::faint}};
    if (state.job.empty()) add_nodes(status, view.body);
    return view;
}

std::vector<StyledLine> visible_lines(const TopView& view, TopState& state, size_t rows) {
    std::vector<StyledLine> lines(
        view.head.begin(),
        view.head.begin() + static_cast<std::ptrdiff_t>(std::min(view.head.size(), rows)));
    const size_t taken = lines.size() + 1;  // and the foot
    state.page = std::max<size_t>(rows > taken ? rows - taken : 0, 1);
    clamp_scroll(state, view.body.size());
    for (size_t i = 0; i < state.page && lines.size() + 1 < rows; ++i) {
        const size_t at = state.scroll + i;
        lines.push_back(at < view.body.size() ? view.body[at] : StyledLine{});
    }
    if (lines.size() < rows) lines.push_back(view.foot);
    return lines;
}

}  // namespace pace::pacectl
