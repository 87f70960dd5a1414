#include "command.hpp"

#include <cstdio>
#include <sstream>

namespace spec {

Command::Command(const std::string& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) words_.push_back(word);
}

std::string Command::rest() const {
    std::string rest;
    for (std::size_t at = 2; at < words_.size(); ++at) rest += words_[at] + " ";
    return rest;
}

std::optional<std::string> Command::value(const std::string& key) const {
    for (const std::string& word : words_)
        if (word.size() > key.size() && word[key.size()] == '=' &&
            word.compare(0, key.size(), key) == 0)
            return word.substr(key.size() + 1);
    return std::nullopt;
}

std::string Command::needed(const std::string& key) const {
    if (std::optional<std::string> found = value(key)) return *found;
    throw Broken("no " + key + "= is given");
}

std::int64_t Command::integer(const std::string& key, std::int64_t otherwise) const {
    const std::optional<std::string> found = value(key);
    return found ? std::stoll(*found) : otherwise;
}

std::uint64_t Command::count(const std::string& key, std::uint64_t otherwise) const {
    const std::optional<std::string> found = value(key);
    return found ? std::stoull(*found) : otherwise;
}

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream text(list);
    for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
    return parts;
}

std::string text_of(double number, int digits) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*g", digits, number);
    return text;
}

}  // namespace spec
