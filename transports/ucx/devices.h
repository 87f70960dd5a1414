// Which interfaces the data plane uses, from what an operator writes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::transports {

// The UcxOptions::net_devices for a comma-separated list of interface names ("eth0"), addresses
// ("10.77.0.3") and subnets ("10.77.0.0/24", "fd00::/64"). Empty means loopback alone. Never all interfaces.
//
// UCX listens on the first address of an interface (IPv4 before IPv6); an address or subnet that names another
// one is refused, because UCX would listen elsewhere than asked.
// Fails with ErrorKind::invalid for what is none of the three, ErrorKind::not_found, with the interfaces that
// exist, if nothing on this host fits. Any thread; asks the kernel, does not block.
base::Result<std::string> resolve_devices(std::string_view interface_or_subnet);

// Whether all of these, as resolve_devices() gives them, are loopback: nobody on another machine reaches them.
bool are_loopback(std::string_view devices);

}  // namespace pace::transports
