// pacectl: status, jobs, live view, doctor, keys. Only the command line; each command has its file.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "service/pacectl/commands.h"
#include "service/pacectl/output.h"

namespace {

using namespace pace;
using protocol::client::Missing;
using protocol::client::Policy;
using protocol::client::Weights;

template <typename Choice>
struct Word {
    const char* word;
    Choice choice;
};
constexpr Word<Policy> kPolicies[] = {{"partial-reduce", Policy::partial_reduce},
                                      {"all-reduce", Policy::all_reduce}};
constexpr Word<Weights> kWeights[] = {{"constant", Weights::constant},
                                      {"dynamic", Weights::dynamic}};
constexpr Word<Missing> kMissing[] = {{"closest", Missing::closest}, {"initial", Missing::initial}};

// An option whose value is one of a few words.
template <typename Choice, size_t count>
void add_choice(CLI::App& app, const std::string& name, Choice& choice,
                const Word<Choice> (&words)[count], const std::string& help) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : ", ") + std::string(word.word);
    app.add_option_function<std::string>(
           name,
           [name, all, &choice, &words](const std::string& given) {
               for (const auto& word : words) {
                   if (given != word.word) continue;
                   choice = word.choice;
                   return;
               }
               throw CLI::ValidationError(name, "'" + given + "' is none of " + all);
           },
           help + ": " + all + ".")
        ->type_name("WORD");
}

void add_job_options(CLI::App& create, client::JobOptions& job) {
    create.add_option("name", job.name, "Letters, digits, '.', '_', '-'; at most 63.")->required();
    create.add_option("--world", job.world, "Workers of the job.")->required();
    add_choice(create, "--policy", job.policy, kPolicies, "Who exchanges with whom");
    create.add_option("--group-size", job.group_size, "Workers of a group.");
    create.add_option("--group-min", job.group_min,
                      "The smallest group that is closed when waiting has lasted long enough.");
    add_choice(create, "--weights", job.weights, kWeights, "Of a group's models");
    add_choice(create, "--missing", job.missing, kMissing,
               "Who stands in for an iteration that no member has");
    create.add_option("--alpha", job.alpha, "Decay of dynamic weights, 0 <= alpha < 1.");
    create.add_option("--group-wait-ms", job.group_wait_ms, "0: adaptive.");
    create.add_option("--history-window", job.history_window, "Groups that must connect everyone.");
    create.add_option("--worker-timeout-ms", job.worker_timeout_ms,
                      "A worker later than this is suspended. 0: adaptive.");
}

struct Arguments {
    std::string endpoint;
    bool json = false;
    double interval_s = 1;
    std::string name;
    std::string prefix;
    client::JobOptions job;
};

struct Commands {
    CLI::App* status = nullptr;
    CLI::App* daemon = nullptr;
    CLI::App* top = nullptr;
    CLI::App* job = nullptr;
    CLI::App* create = nullptr;
    CLI::App* list = nullptr;
    CLI::App* show = nullptr;
    CLI::App* doctor = nullptr;
    CLI::App* keygen = nullptr;
};

Commands declare(CLI::App& app, Arguments& arguments) {
    app.set_version_flag("--version", "pacectl " PACE_VERSION);
    app.add_option("--endpoint", arguments.endpoint,
                   "The daemon: unix:PATH. Default: PACE_ENDPOINT, else this node's.");
    app.require_subcommand(1);
    app.fallthrough();

    Commands commands;
    commands.status = app.add_subcommand("status", "Nodes, jobs, workers, groups, who is slow.");
    commands.status->add_flag("--json", arguments.json, "The controller's document itself.");
    commands.daemon = app.add_subcommand("daemon", "This node's daemon and its clients.");
    commands.daemon->add_flag("--json", arguments.json, "The daemon's document itself.");
    commands.top = app.add_subcommand("top", "The status, live. q ends.");
    commands.top->add_option("--interval", arguments.interval_s, "Seconds between looks.")
        ->check(CLI::Range(0.1, 3600.0));
    commands.job = app.add_subcommand("job", "Jobs.")->require_subcommand(1);
    commands.create = commands.job->add_subcommand("create", "Creates a job without workers yet.");
    add_job_options(*commands.create, arguments.job);
    commands.list = commands.job->add_subcommand("list", "One line a job.");
    commands.show = commands.job->add_subcommand("show", "One job with its options.");
    commands.show->add_option("name", arguments.name, "The job's name.")->required();
    commands.doctor =
        app.add_subcommand("doctor", "Checks what commonly goes wrong, says what to do.");
    commands.keygen = app.add_subcommand("keygen", "A key pair for the control plane.");
    commands.keygen
        ->add_option("prefix", arguments.prefix, "Writes PREFIX.secret and PREFIX.public.")
        ->required();
    return commands;
}

int run(const Commands& commands, const Arguments& arguments) {
    if (commands.keygen->parsed()) return pacectl::generate_keys(arguments.prefix);
    const auto endpoint =
        client::resolve_endpoint(arguments.endpoint.empty() ? nullptr : arguments.endpoint.c_str());
    if (!endpoint) {
        pacectl::say_error(endpoint.error());
        return 2;
    }
    if (commands.status->parsed()) return pacectl::show_status(*endpoint, arguments.json);
    if (commands.daemon->parsed()) return pacectl::show_daemon(*endpoint, arguments.json);
    if (commands.top->parsed()) return pacectl::run_top(*endpoint, arguments.interval_s);
    if (commands.create->parsed()) return pacectl::create_job(*endpoint, arguments.job);
    if (commands.list->parsed()) return pacectl::list_jobs(*endpoint);
    if (commands.show->parsed()) return pacectl::show_job(*endpoint, arguments.name);
    return pacectl::run_doctor(*endpoint);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Looks at Pace and talks to it: through this node's daemon, with the whole cluster.",
        "pacectl"};
    Arguments arguments;
    const Commands commands = declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return run(commands, arguments);
}
