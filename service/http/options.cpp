#include "service/http/options.h"

#include "settings/settings.h"

namespace pace::http {

Options options_from(const settings::Settings& settings) {
    Options options;
    options.listen = settings.text("http_listen");
    options.users = settings.list("http_users");
    options.token_file = settings.text("http_token_file");
    options.operator_token_file = settings.text("http_operator_token_file");
    options.tls_certificate = settings.text("http_tls_certificate");
    options.tls_key = settings.text("http_tls_key");
    return options;
}

}  // namespace pace::http
