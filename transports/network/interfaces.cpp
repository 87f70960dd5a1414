#include "transports/network/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/ranges.h>

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

struct IpAddress {
    int family = AF_UNSPEC;
    std::array<uint8_t, 16> bytes{};
    unsigned bits() const { return family == AF_INET ? 32 : 128; }
};

struct Subnet {
    IpAddress address;
    unsigned prefix = 0;

    bool contains(const IpAddress& other) const {
        if (other.family != address.family) return false;
        for (unsigned bit = 0; bit < prefix; ++bit) {
            const auto mask = static_cast<uint8_t>(0x80U >> (bit % 8));
            if (((other.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
        }
        return true;
    }
};

struct Interface {
    std::string name;
    bool up = false;
    bool loopback = false;
    // IPv4 addresses come first, in the kernel's order. UCX takes the first address.
    std::vector<IpAddress> addresses;
};

std::string to_text(const IpAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(address.family, address.bytes.data(), text.data(), text.size());
    return text.data();
}

IpAddress from_socket_address(const sockaddr& address) {
    IpAddress ip;
    ip.family = address.sa_family;
    if (ip.family == AF_INET) {
        std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
    } else {
        std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
    }
    return ip;
}

std::optional<IpAddress> parse_ip(const std::string& text) {
    IpAddress ip;
    for (const int family : {AF_INET, AF_INET6}) {
        if (inet_pton(family, text.c_str(), ip.bytes.data()) == 1) {
            ip.family = family;
            return ip;
        }
    }
    return std::nullopt;
}

base::Result<std::vector<Interface>> list_interfaces() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return base::make_errno_error(errno, "list the interfaces");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    std::vector<Interface> interfaces;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const Interface& i) { return i.name == entry->ifa_name; });
        if (found == interfaces.end())
            found = interfaces.insert(found, Interface{.name = entry->ifa_name, .addresses = {}});
        found->up = (entry->ifa_flags & IFF_UP) != 0;
        found->loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
        if (entry->ifa_addr == nullptr) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family == AF_INET || family == AF_INET6)
            found->addresses.push_back(from_socket_address(*entry->ifa_addr));
    }
    for (Interface& interface : interfaces) {
        std::stable_sort(interface.addresses.begin(), interface.addresses.end(),
                         [](const auto& a, const auto& b) { return a.bits() < b.bits(); });
    }
    return interfaces;
}

// Returns a text like "lo (127.0.0.1, ::1), eth0 (10.77.0.3), eth1 (down)".
std::string describe(const std::vector<Interface>& interfaces) {
    std::vector<std::string> parts;
    for (const Interface& interface : interfaces) {
        std::vector<std::string> addresses;
        if (!interface.up) addresses.emplace_back("down");
        for (const IpAddress& address : interface.addresses) addresses.push_back(to_text(address));
        if (addresses.empty()) addresses.emplace_back("no address");
        parts.push_back(fmt::format("{} ({})", interface.name, fmt::join(addresses, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

base::Result<std::optional<Subnet>> parse_subnet(std::string_view text) {
    const size_t slash = text.find('/');
    const std::string host(text.substr(0, slash));
    const auto address = parse_ip(host);
    if (!address) {
        if (slash == std::string_view::npos) return std::optional<Subnet>();
        return make_error(ErrorKind::invalid, "\"{}\" is no subnet; write one as 10.77.0.0/24",
                          text);
    }
    Subnet subnet{*address, address->bits()};
    if (slash == std::string_view::npos) return std::optional(subnet);
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), subnet.prefix);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() ||
        subnet.prefix > address->bits()) {
        return make_error(ErrorKind::invalid, "\"{}\": the prefix length must be 0 to {}", text,
                          address->bits());
    }
    return std::optional(subnet);
}

// What a word names: an interface and one of its addresses.
struct Place {
    const Interface* interface = nullptr;
    IpAddress address;

    bool is_first() const { return to_text(address) == to_text(interface->addresses.front()); }
};

base::Result<Place> place_of_name(std::string_view name, const std::vector<Interface>& interfaces) {
    const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const Interface& i) { return i.name == name; });
    if (found == interfaces.end())
        return make_error(ErrorKind::not_found, "there is no interface \"{}\"; this host has {}",
                          name, describe(interfaces));
    if (!found->up || found->addresses.empty())
        return make_error(ErrorKind::not_found,
                          "interface \"{}\" is down or has no address; this host has {}", name,
                          describe(interfaces));
    return Place{&*found, found->addresses.front()};
}

base::Result<Place> place_of_subnet(std::string_view text, const Subnet& subnet,
                                    const std::vector<Interface>& interfaces) {
    for (const Interface& interface : interfaces) {
        const auto match = std::find_if(interface.addresses.begin(), interface.addresses.end(),
                                        [&](const auto& a) { return subnet.contains(a); });
        if (interface.up && match != interface.addresses.end()) return Place{&interface, *match};
    }
    return make_error(ErrorKind::not_found,
                      "no interface has an address in \"{}\"; this host has {}", text,
                      describe(interfaces));
}

// Returns the words between commas. An empty text is one empty word.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

base::Result<std::vector<Place>> places_of(std::string_view text,
                                           const std::vector<Interface>& interfaces) {
    std::vector<Place> places;
    for (const std::string_view word : words_of(text.empty() ? "lo" : text)) {
        if (word.empty())
            return make_error(ErrorKind::invalid, "\"{}\" names an empty interface", text);
        PACE_TRY_ASSIGN(subnet, parse_subnet(word));
        auto place =
            subnet ? place_of_subnet(word, *subnet, interfaces) : place_of_name(word, interfaces);
        if (!place) return std::move(place).error();
        places.push_back(*place);
    }
    return places;
}

void add_once(std::vector<std::string>& texts, std::string text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
        texts.push_back(std::move(text));
}

}  // namespace

base::Result<std::string> resolve_devices(std::string_view interface_or_subnet) {
    PACE_TRY_ASSIGN(interfaces, list_interfaces());
    PACE_TRY_ASSIGN(places, places_of(interface_or_subnet, interfaces));
    std::vector<std::string> devices;
    for (const Place& place : places) {
        if (!place.is_first())
            return make_error(
                ErrorKind::invalid,
                "{} is not the first address of {}, and UCX would listen on {}; name that one or "
                "another interface",
                to_text(place.address), place.interface->name,
                to_text(place.interface->addresses.front()));
        add_once(devices, place.interface->name);
    }
    return fmt::format("{}", fmt::join(devices, ","));
}

base::Result<std::vector<std::string>> resolve_addresses(std::string_view interface_or_subnet) {
    PACE_TRY_ASSIGN(interfaces, list_interfaces());
    PACE_TRY_ASSIGN(places, places_of(interface_or_subnet, interfaces));
    std::vector<std::string> addresses;
    for (const Place& place : places) add_once(addresses, to_text(place.address));
    return addresses;
}

bool are_loopback(std::string_view devices) {
    const auto interfaces = list_interfaces();
    if (!interfaces) return false;
    const auto words = words_of(devices);
    return std::all_of(words.begin(), words.end(), [&](std::string_view word) {
        return std::any_of(interfaces->begin(), interfaces->end(),
                           [&](const Interface& i) { return i.loopback && i.name == word; });
    });
}

}  // namespace pace::transports
