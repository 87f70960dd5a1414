#include <chrono>

#include "libclient/tool_link.h"
#include "protocol/options/description.h"
#include "protocol/options/option_table.h"
#include "service/pacectl/columns.h"
#include "service/pacectl/commands.h"
#include "service/pacectl/daemon_text.h"
#include "service/pacectl/job_text.h"
#include "service/pacectl/output.h"

namespace pace::pacectl {

int create_job(const client::Endpoint& endpoint, const protocol::AskedOptions& options) {
    auto link = client::ToolLink::open(endpoint, std::chrono::seconds(5));
    if (!link) return say_error(link.error());
    if (const auto created = link->create_job(options); !created) return say_error(created.error());
    return print(fmt::format("job {} of {} workers is there\n", options.name, options.world));
}

int list_options(bool json) {
    if (json) return print(protocol::options_json());
    Columns policies({"POLICY", ""});
    for (const protocol::PolicyRow& row : protocol::policies())
        policies.add({std::string(row.word), std::string(row.help)});
    std::string text = policies.text("") + "\n";
    for (const protocol::OptionRow& row : protocol::option_table())
        text += fmt::format("{}\n    {} {}; default: {}\n", row.name, row.help,
                            protocol::values_text(row), protocol::initial_text(row));
    return print(text);
}

int delete_job(const client::Endpoint& endpoint, const std::string& name) {
    auto link = client::ToolLink::open(endpoint, std::chrono::seconds(5));
    if (!link) return say_error(link.error());
    if (const auto deleted = link->delete_job(name); !deleted) return say_error(deleted.error());
    return print(fmt::format("job {} is deleted\n", name));
}

int list_jobs(const client::Endpoint& endpoint) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    return print(job_list_text(*status));
}

int show_job(const client::Endpoint& endpoint, const std::string& name) {
    const auto status = fetch_document(endpoint, "status");
    if (!status) return say_error(status.error());
    const Json* job = find_job(*status, name);
    if (job == nullptr)
        return say_error(base::make_error(base::ErrorKind::not_found,
                                          "there is no job '{}'; `pacectl job list` shows all",
                                          name));
    const auto daemon = fetch_document(endpoint, "daemon");
    return print(job_text(*status, *job, {.groups = 64}) +
                 (daemon ? waits_text(*daemon, name) : std::string()) + "\n" +
                 job_options_text(*job));
}

}  // namespace pace::pacectl
