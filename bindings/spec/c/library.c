/* library: what the library says of itself, without a session. */
#include <stdlib.h>
#include <string.h>

#include "handlers.h"

void handle_query(command* command) {
    pace_error error;
    char* text = NULL;
    const pace_status status =
        pace_query(command_value(command, "endpoint"), command_name(command), &text, &error);
    command_status(command, status, &error);
    if (status != PACE_OK) return;
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') --length;
    const bool is_json = length >= 2 && ((text[0] == '{' && text[length - 1] == '}') ||
                                         (text[0] == '[' && text[length - 1] == ']'));
    command_add(command, " json=%d", is_json);
    pace_text_free(text);
}

void handle_version(command* command) {
    command_add(command, "PACE_OK header=%d library=%u",
                10000 * PACE_VERSION_MAJOR + 100 * PACE_VERSION_MINOR + PACE_VERSION_PATCH,
                pace_library_version());
}

void handle_name(command* command) {
    const pace_status status = (pace_status)strtol(command_name(command), NULL, 10);
    command_add(command, "PACE_OK name=%s", pace_status_name(status));
}
