#include "libclient/link/endpoint.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "libclient/link/embedded.h"

namespace pace::client {
namespace {

using base::ErrorKind;

TEST(Endpoint, IsASocketOrAnEmbeddedDaemon) {
    EXPECT_EQ(parse_endpoint("unix:/run/x")->path, "/run/x");
    EXPECT_EQ(parse_endpoint("unix:/run/x")->kind, EndpointKind::unix_socket);
    EXPECT_EQ(parse_endpoint("embedded:")->kind, EndpointKind::embedded);
    EXPECT_EQ(parse_endpoint("embedded:")->path, "");
    EXPECT_EQ(parse_endpoint("embedded:a.toml")->path, "a.toml");
    EXPECT_EQ(parse_endpoint("embedded:a.toml")->text(), "embedded:a.toml");
}

TEST(Endpoint, OfAnotherShapeIsRefusedAndQuoted) {
    for (const std::string& text : {std::string("/run/x"), std::string("tcp://a:1"), std::string(),
                                    std::string("unix:"), "unix:/" + std::string(200, 'a')}) {
        auto endpoint = parse_endpoint(text);
        ASSERT_FALSE(endpoint) << text;
        EXPECT_EQ(endpoint.error().kind, ErrorKind::invalid);
    }
    EXPECT_NE(parse_endpoint("tcp://a:1").error().message.find("tcp://a:1"), std::string::npos);
}

TEST(Endpoint, ComesFromTheCallThenTheEnvironmentThenTheDefault) {
    setenv("PACE_ENDPOINT", "unix:/from/environment", 1);
    EXPECT_EQ(resolve_endpoint("unix:/from/call")->path, "/from/call");
    EXPECT_EQ(resolve_endpoint(nullptr)->path, "/from/environment");
    setenv("PACE_ENDPOINT", "nonsense", 1);
    EXPECT_NE(resolve_endpoint(nullptr).error().message.find("PACE_ENDPOINT"), std::string::npos);
    setenv("PACE_ENDPOINT", "", 1);
    EXPECT_EQ(resolve_endpoint(nullptr)->path, kDefaultSocket);
    unsetenv("PACE_ENDPOINT");
    EXPECT_EQ(resolve_endpoint(nullptr)->path, kDefaultSocket);
}

TEST(Embedded, AMissingLibraryIsNamedWithWhatToDo) {
    setenv("PACE_LIBPACED", "/nowhere/libpaced.so", 1);
    auto socket = connect_embedded("");
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().kind, ErrorKind::not_found);
    EXPECT_NE(socket.error().message.find("/nowhere/libpaced.so"), std::string::npos);
    EXPECT_NE(socket.error().message.find("PACE_LIBPACED"), std::string::npos);
}

TEST(Embedded, ALibraryOfAnotherKindIsRefused) {
    setenv("PACE_LIBPACED", "libm.so.6", 1);
    EXPECT_EQ(connect_embedded("").error().kind, ErrorKind::version);
}

TEST(Embedded, ConnectsThroughTheLibraryOrTellsItsMessage) {
    setenv("PACE_LIBPACED", FAKE_LIBPACED, 1);
    auto socket = connect_embedded("");
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_TRUE(socket->valid());
    auto refused = connect_embedded("bad.toml");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
    EXPECT_NE(refused.error().message.find("bad.toml is bad"), std::string::npos);
}

}  // namespace
}  // namespace pace::client
