#include "service/http/credentials.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "service/http/secret.h"

namespace pace::http {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

std::string machine_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string{};
}

}  // namespace

Result<TlsTexts> read_tls(const Options& options) {
    if (options.tls_certificate.empty() != options.tls_key.empty())
        return make_error(ErrorKind::invalid,
                          "http_tls_certificate and http_tls_key mean nothing without each other; "
                          "set both or none");
    if (options.tls_certificate.empty()) return TlsTexts{};
    PACE_TRY_ASSIGN(certificate, read_small_file("http_tls_certificate", options.tls_certificate));
    PACE_TRY_ASSIGN(key, read_secret_file("http_tls_key", options.tls_key));
    return TlsTexts{std::move(certificate), std::move(key)};
}

Result<Gate::Rules> read_rules(const Options& options, const Address& address) {
    PACE_TRY_ASSIGN(users, LocalUsers::from(options.users));
    Gate::Rules rules{.is_on_loopback = address.is_loopback(),
                      .own_name = machine_name(),
                      .users = std::move(users),
                      .token = {},
                      .operator_token = {},
                      .body_bytes_max = options.limits.body_bytes_max,
                      .query_names_max = options.limits.query_names_max};
    if (!options.token_file.empty()) {
        PACE_TRY_ASSIGN(token, read_token("http_token_file", options.token_file));
        rules.token = token;
    }
    if (!options.operator_token_file.empty()) {
        PACE_TRY_ASSIGN(token, read_token("http_operator_token_file", options.operator_token_file));
        rules.operator_token = token;
    }
    if (!rules.is_on_loopback && rules.token.empty() && options.tls_certificate.empty())
        return make_error(ErrorKind::denied,
                          "http_listen {} is not loopback: whoever reaches it could read the "
                          "state of all jobs. Set http_token_file, or http_tls_certificate and "
                          "http_tls_key, or listen at 127.0.0.1",
                          address.text());
    return rules;
}

}  // namespace pace::http
