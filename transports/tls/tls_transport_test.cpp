#include "transports/tls/tls_transport.h"

#include <gtest/gtest.h>

#include "transports/conformance.h"
#include "transports/tls/testing/nodes.h"

PACE_INSTANTIATE_CONFORMANCE(Tls, pace::transports::tls::testing::Fabric);
