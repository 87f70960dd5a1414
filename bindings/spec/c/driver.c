/* driver: does what the specification's runner says on the standard input, through pace.h itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers.h"

typedef struct handler {
    const char* verb;
    void (*run)(command* command);
} handler;

enum { THREADS_MAX = 16 };

typedef struct thread {
    char name[32];
    pthread_t id;
    command command;
} thread;

static thread threads[THREADS_MAX];

static thread* thread_of(const char* name) {
    for (size_t at = 0; at < THREADS_MAX; ++at)
        if (strcmp(threads[at].name, name) == 0) return &threads[at];
    return NULL;
}

static void* run_in_thread(void* argument) {
    handle(argument);
    return NULL;
}

static void handle_spawn(command* told) {
    thread* made = thread_of("");
    if (made == NULL || told->word_count < 3) return command_broken(told, "no thread or command");
    snprintf(made->name, sizeof(made->name), "%s", command_name(told));
    char line[4096] = "";
    for (size_t word = 2; word < told->word_count; ++word) {
        strncat(line, told->words[word], sizeof(line) - strlen(line) - 1);
        strncat(line, " ", sizeof(line) - strlen(line) - 1);
    }
    command_parse(&made->command, strdup(line)); /* its words stay; so does the line */
    pthread_create(&made->id, NULL, run_in_thread, &made->command);
    command_add(told, "PACE_OK");
}

static void handle_join(command* told) {
    thread* found = thread_of(command_name(told));
    if (found == NULL) return command_broken(told, "no such thread");
    pthread_join(found->id, NULL);
    command_add(told, "%s", found->command.answer);
    found->name[0] = 0;
}

static void handle_drop(command* told) {
    command_unsupported(told, "C lets go of nothing by itself");
}

static const handler kHandlers[] = {
    {"open", handle_open},
    {"info", handle_info},
    {"leave", handle_leave},
    {"free", handle_free},
    {"fd", handle_fd},
    {"report", handle_report},
    {"fork", handle_fork},
    {"announce", handle_announce},
    {"withdraw", handle_withdraw},
    {"buffer", handle_buffer},
    {"describe", handle_describe},
    {"write", handle_write},
    {"fill", handle_fill},
    {"read", handle_read},
    {"free_buffer", handle_free_buffer},
    {"release_buffer", handle_release_buffer},
    {"tensor", handle_tensor},
    {"read_tensor", handle_read_tensor},
    {"average", handle_verb},
    {"free_tensor", handle_free_tensor},
    {"reduce", handle_verb},
    {"sync", handle_verb},
    {"broadcast", handle_verb},
    {"barrier", handle_verb},
    {"push", handle_verb},
    {"pull", handle_verb},
    {"checkpoint", handle_verb},
    {"residual_save", handle_verb},
    {"ready", handle_ready},
    {"residual_load", handle_verb},
    {"wait", handle_wait},
    {"test", handle_test},
    {"next", handle_next},
    {"wait_any", handle_wait_any},
    {"cancel", handle_cancel},
    {"query", handle_query},
    {"version", handle_version},
    {"name", handle_name},
    {"spawn", handle_spawn},
    {"join", handle_join},
    {"drop", handle_drop},
};

void handle(command* told) {
    const char* verb = told->word_count > 0 ? told->words[0] : "";
    for (size_t at = 0; at < sizeof(kHandlers) / sizeof(kHandlers[0]); ++at)
        if (strcmp(kHandlers[at].verb, verb) == 0) return kHandlers[at].run(told);
    command_broken(told, "no such command");
}

static void on_signal(int number) {
    (void)number;
}

int main(void) {
    const struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: waits end */
    sigaction(SIGUSR1, &action, NULL);
    static command told;
    char line[4096];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        command_parse(&told, line);
        handle(&told);
        puts(told.answer);
        fflush(stdout);
    }
    return 0;
}
