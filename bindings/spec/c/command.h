/* command: one line that a driver is told, and the line that it answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pace.h"

enum { WORDS_MAX = 64, ANSWER_BYTES = 1 << 16 };

typedef struct command {
    char* words[WORDS_MAX];
    size_t word_count;
    char answer[ANSWER_BYTES];
    size_t answer_length;
} command;

/* Cuts the line, which it changes, at its spaces. */
void command_parse(command* command, char* line);

/* The name of what is made or used: the word after the verb, or "". */
const char* command_name(const command* command);

/* The value of a key, or NULL. */
const char* command_value(const command* command, const char* key);
int64_t command_int(const command* command, const char* key, int64_t otherwise);

/* The answer: one of these begins it, and command_add goes on. */
void command_status(command* command, pace_status status, const pace_error* error);
void command_broken(command* command, const char* reason);
void command_unsupported(command* command, const char* reason);
__attribute__((format(printf, 2, 3))) void command_add(command* command, const char* format, ...);
