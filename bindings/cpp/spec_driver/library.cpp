#include <string>

#include "handlers.hpp"

namespace spec {

std::string query(const Command& command, Objects&) {
    const std::string text = pace::query(command.name(), command.value("endpoint"));
    const std::size_t last = text.find_last_not_of('\n');
    const std::string ends = {text[0], last == std::string::npos ? ' ' : text[last]};
    return ends == "{}" || ends == "[]" ? " json=1" : " json=0";
}

std::string version(const Command&, Objects&) {
    return " header=" + std::to_string(pace::header_version) +
           " library=" + std::to_string(pace::library_version());
}

std::string name(const Command& command, Objects&) {
    const auto number = static_cast<pace::status>(std::stoi(command.name()));
    return std::string(" name=") + pace::name(number);
}

}  // namespace spec
