// The files of the page. The build writes them into the program (embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace pace::page {

struct Asset {
    std::string_view name;  // "main.js"
    std::string_view bytes;
};

std::span<const Asset> assets();

}  // namespace pace::page
