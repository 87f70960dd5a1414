#include "service/http/uri.h"

#include <arpa/inet.h>
#include <strings.h>

#include <charconv>

namespace pace::http {

namespace {

bool is_same_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
}

bool is_loopback_address(std::string_view name) {
    const std::string text(name);
    in_addr ipv4{};
    if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return ntohl(ipv4.s_addr) >> 24U == 127;
    in6_addr ipv6{};
    return inet_pton(AF_INET6, text.c_str(), &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
}

}  // namespace

std::optional<std::string> decoded(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        char letter = text[i];
        if (letter == '%') {
            const std::string_view digits = text.substr(i + 1, 2);
            unsigned char value = 0;
            const auto [end, failed] =
                std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
            if (failed != std::errc{} || digits.size() != 2 || end != digits.data() + 2)
                return std::nullopt;
            letter = static_cast<char>(value);
            i += 2;
        }
        if (is_control(letter)) return std::nullopt;
        result += letter;
    }
    return result;
}

std::string_view host_name(std::string_view host_header) {
    if (host_header.starts_with('[')) {
        const size_t end = host_header.find(']');
        return end == std::string_view::npos ? std::string_view{} : host_header.substr(1, end - 1);
    }
    return host_header.substr(0, host_header.find(':'));
}

bool is_own_host(std::string_view host_header, std::string_view own_name) {
    const std::string_view name = host_name(host_header);
    if (name.empty()) return false;
    return is_same_name(name, "localhost") || is_loopback_address(name) ||
           is_same_name(name, own_name);
}

}  // namespace pace::http
