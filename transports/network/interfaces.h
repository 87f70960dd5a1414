// Interfaces: the choice of the data plane's interfaces and addresses from an operator's text: a
// comma-separated list of interface names ("eth0"), addresses ("10.77.0.3") and subnets
// ("10.77.0.0/24", "fd00::/64"). An empty text means loopback alone. The result never means all
// interfaces.
//
// Any thread may call these functions. They ask the kernel and do not block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pace::transports {

// Returns the names of the interfaces, comma-separated, as UCX takes them.
//
// UCX listens on the first address of an interface (IPv4 before IPv6). An address or subnet that
// names another address of the interface is refused, because UCX would listen elsewhere than asked.
// Fails with ErrorKind::invalid if a word is none of the three. Fails with ErrorKind::not_found,
// and lists the existing interfaces, if nothing on this host fits.
base::Result<std::string> resolve_devices(std::string_view interface_or_subnet);

// Returns the addresses, as text: of an interface the first one (IPv4 before IPv6), of a subnet the
// one in it. Fails as resolve_devices() does, but takes every address of an interface.
base::Result<std::vector<std::string>> resolve_addresses(std::string_view interface_or_subnet);

// Whether all of these interfaces are loopback interfaces. `devices` is a result of
// resolve_devices(). Other machines cannot reach a loopback interface.
bool are_loopback(std::string_view devices);

}  // namespace pace::transports
