#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of `word` if it is "name=value"; NULL if it is another word. */
static const char* value_of(const char* word, const char* name) {
    const size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

/* False if it does not fit. */
static bool join(char* target, size_t bytes, const char* first, const char* second) {
    const int length = snprintf(target, bytes, "%s%s", first, second);
    return length >= 0 && (size_t)length < bytes;
}

static bool read_endpoint(struct step_request* request, const char* value, char* problem,
                          size_t bytes) {
    if (strncmp(value, "unix:/", 6) != 0 ||
        !join(request->endpoint, sizeof request->endpoint, value, "")) {
        snprintf(problem, bytes, "endpoint is \"%.100s\"; name a daemon's socket as unix:/PATH",
                 value);
        return false;
    }
    request->has_endpoint = true;
    return true;
}

static bool read_wait(struct step_request* request, const char* value, char* problem,
                      size_t bytes) {
    char* end = NULL;
    errno = 0;
    const long seconds = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || seconds < 0 || seconds > WAIT_S_MAX) {
        snprintf(problem, bytes, "wait is \"%.100s\"; give whole seconds from 0 to %d", value,
                 WAIT_S_MAX);
        return false;
    }
    request->wait_s = seconds;
    return true;
}

static bool read_embedded(struct step_request* request, const char* file, char* problem,
                          size_t bytes) {
    request->may_embed = true;
    if (file == NULL) return true;
    /* A step's tasks may run in another folder than the command that started them. */
    if (*file != '/' || !join(request->embedded, sizeof request->embedded, "embedded:", file)) {
        snprintf(problem, bytes,
                 "embedded is \"%.100s\"; name the daemon's configuration by its full path", file);
        return false;
    }
    return true;
}

static bool read_word(struct step_request* request, const char* word, char* problem, size_t bytes) {
    const char* const endpoint = value_of(word, "endpoint");
    if (endpoint != NULL) return read_endpoint(request, endpoint, problem, bytes);
    const char* const wait = value_of(word, "wait");
    if (wait != NULL) return read_wait(request, wait, problem, bytes);
    const char* const embedded = value_of(word, "embedded");
    if (embedded != NULL || strcmp(word, "embedded") == 0)
        return read_embedded(request, embedded, problem, bytes);
    snprintf(problem, bytes,
             "there is no option \"%.100s\"; use endpoint=unix:/PATH, wait=SECONDS, embedded or "
             "embedded=/FILE.toml, separated by commas",
             word);
    return false;
}

bool step_request_read(struct step_request* request, const char* words, char* problem,
                       size_t problem_bytes) {
    while (words != NULL && *words != '\0') {
        char word[ENDPOINT_BYTES];
        const size_t length = strcspn(words, ",");
        if (length >= sizeof word) {
            snprintf(problem, problem_bytes, "an option has %zu bytes; give fewer than %zu", length,
                     sizeof word);
            return false;
        }
        memcpy(word, words, length);
        word[length] = '\0';
        if (!read_word(request, word, problem, problem_bytes)) return false;
        words += length;
        if (*words == ',') ++words;
    }
    return true;
}
