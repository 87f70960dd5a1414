// The settings of the HTTP server. Both programs have them.
#pragma once

#include "settings/table.h"

namespace pace::settings {

inline constexpr Setting kHttpListen{
    .name = "http_listen",
    .kind = Kind::text,
    .initial = "",
    .help =
        "Where status page, metrics and health checks are served by HTTP, as address:port, for "
        "example 127.0.0.1:7412. Numeric or localhost; port 0 takes a free one and logs it. On "
        "loopback, without `http_token_file`, root, the program's own user and those of "
        "`http_users` can read what is served. An address other than loopback needs a token or "
        "TLS. Empty: nothing is served."};
inline constexpr Setting kHttpUsers{
    .name = "http_users",
    .kind = Kind::list,
    .initial = "",
    .help =
        "The users of this machine, by name or number, who may read on loopback without a token, "
        "besides root and the program's own user: for example `[\"prometheus\"]`. `[\"*\"]`: every "
        "user. Without meaning if `http_token_file` is set."};
inline constexpr Setting kHttpTokenFile{
    .name = "http_token_file",
    .kind = Kind::text,
    .initial = "",
    .help =
        "The file with the token that readers must send (Authorization: Bearer TOKEN): one "
        "line of 16 to 256 characters, which others cannot read. A credential of systemd may take "
        "its "
        "place, as for `curve_secret_file`. Health checks need none."};
inline constexpr Setting kHttpOperatorTokenFile{
    .name = "http_operator_token_file",
    .kind = Kind::text,
    .initial = "",
    .help =
        "A file of the same form with the token of operators, who may change something by HTTP: "
        "drain a node, delete a job. Empty: nobody may."};
inline constexpr Setting kHttpTlsCertificate{
    .name = "http_tls_certificate",
    .kind = Kind::text,
    .initial = "",
    .help =
        "The certificate (PEM, with its chain) with which HTTP is served by TLS. Read at "
        "start. Empty: without TLS."};
inline constexpr Setting kHttpTlsKey{
    .name = "http_tls_key",
    .kind = Kind::text,
    .initial = "",
    .help =
        "The certificate's key (PEM), which others cannot read. A credential of systemd may take "
        "its place, as for `curve_secret_file`. An ECDSA key costs the program less than an RSA "
        "key."};

}  // namespace pace::settings
