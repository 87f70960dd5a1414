// The driver of bindings/spec for C++. The driver reads the commands of the specification's runner
// from the standard input and carries them out through pace.hpp.
#include <csignal>
#include <cstdlib>
#include <future>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "handlers.hpp"

namespace {

// Commands that run in threads of their own.
class Threads {
  public:
    explicit Threads(spec::Objects& objects) : objects_(objects) {}

    std::string spawn(const spec::Command& command) {
        running_[command.name()] =
            std::async(std::launch::async, [this, inner = spec::Command(command.rest())] {
                return spec::answer_to(inner, objects_);
            });
        return "PACE_OK";
    }
    std::string join(const spec::Command& command) {
        const auto found = running_.find(command.name());
        if (found == running_.end()) return "broken there is no such thread";
        std::future<std::string> answer = std::move(found->second);
        running_.erase(found);
        return answer.get();
    }

  private:
    spec::Objects& objects_;
    std::map<std::string, std::future<std::string>> running_;
};

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);  // a read that a signal interrupts goes on
    struct sigaction action = {};
    action.sa_handler = [](int) {};  // without SA_RESTART: a signal ends waits
    ::sigaction(SIGUSR1, &action, nullptr);

    spec::Objects objects;
    Threads threads(objects);
    for (std::string line; std::getline(std::cin, line);) {
        const spec::Command command(line);
        if (command.verb() == "spawn")
            std::cout << threads.spawn(command);
        else if (command.verb() == "join")
            std::cout << threads.join(command);
        else
            std::cout << spec::answer_to(command, objects);
        std::cout << std::endl;
    }
    // The driver ends like a worker that dies: it waits for no request and leaves no job.
    std::_Exit(0);
}
