#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_parse(command* command, char* line) {
    char* rest = NULL;
    command->word_count = 0;
    command->answer[0] = 0;
    command->answer_length = 0;
    for (char* word = strtok_r(line, " \n", &rest); word != NULL && command->word_count < WORDS_MAX;
         word = strtok_r(NULL, " \n", &rest))
        command->words[command->word_count++] = word;
}

const char* command_name(const command* command) {
    return command->word_count > 1 ? command->words[1] : "";
}

const char* command_value(const command* command, const char* key) {
    const size_t length = strlen(key);
    for (size_t word = 1; word < command->word_count; ++word)
        if (strncmp(command->words[word], key, length) == 0 && command->words[word][length] == '=')
            return command->words[word] + length + 1;
    return NULL;
}

int64_t command_int(const command* command, const char* key, int64_t otherwise) {
    const char* value = command_value(command, key);
    return value == NULL ? otherwise : (int64_t)strtoll(value, NULL, 10);
}

void command_add(command* command, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t room = ANSWER_BYTES - command->answer_length;
    const int length = vsnprintf(command->answer + command->answer_length, room, format, arguments);
    va_end(arguments);
    if (length > 0) command->answer_length += (size_t)length < room ? (size_t)length : room - 1;
}

void command_status(command* command, pace_status status, const pace_error* error) {
    command_add(command, "%s", pace_status_name(status));
    if (status == PACE_OK || error == NULL) return;
    if (error->status != status)
        command_add(command, " error_status=%s", pace_status_name(error->status));
    if (error->argument[0] != 0) command_add(command, " argument=%s", error->argument);
    fprintf(stderr, "%s: %s\n", pace_status_name(status), error->message);
}

void command_broken(command* command, const char* reason) {
    command_add(command, "broken %s", reason);
}

void command_unsupported(command* command, const char* reason) {
    command_add(command, "unsupported %s", reason);
}
