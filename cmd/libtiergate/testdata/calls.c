/*
 * Calls the library as a program in C would: requests, threads, cancelling and freeing. Argument: a service's URL behind which
 * nobody answers, so that an admission waits until it is cancelled. Ends with 0, or says what was wrong.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tiergate.h"

#define THREADS 8
#define CALLS 200
#define MEASURED 20000

static const char facts[] = "{\"action\": \"facts\", \"env\": [\"TIERGATE_NODE=from-c\"]}";
static char admit[1024];

static void fail(const char *what, const char *answer) {
    fprintf(stderr, "%s: %s\n", what, answer ? answer : "(none)");
    exit(1);
}

static void call(const char *request, size_t length, const char *want) {
    char *answer = tiergate_call(tiergate_begin(), request, length);
    if (answer == NULL || strstr(answer, want) == NULL) fail(want, answer);
    tiergate_free(answer);
}

static void *many(void *unused) {
    for (int i = 0; i < CALLS; i++) call(facts, strlen(facts), "from-c");
    return unused;
}

static void *waits(void *id) {
    return tiergate_call(*(uint64_t *)id, admit, strlen(admit));
}

static void cancelled(int before) {
    uint64_t id = tiergate_begin();
    pthread_t thread;
    void *answer;
    if (before) tiergate_cancel(id);
    pthread_create(&thread, NULL, waits, &id);
    if (!before) {
        usleep(50 * 1000); /* usually under way by then; if it is not, it is cancelled before it begins */
        tiergate_cancel(id);
    }
    pthread_join(thread, &answer);
    if (answer == NULL || strstr(answer, "\"cancelled\"") == NULL) fail("cancelled", answer);
    tiergate_free(answer);
    answer = tiergate_call(id, facts, strlen(facts));
    if (strstr(answer, "\"cancelled\"") == NULL) fail("an id is for one call", answer);
    tiergate_free(answer);
}

static long resident(void) { /* KiB */
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmRSS: %ld", &kib);
    if (status != NULL) fclose(status);
    return kib;
}

/* An action that is unknown is repeated in the answer, so that an answer that is left behind is a kilobyte. */
static void measured(int calls) {
    char request[1100], action[1001];
    memset(action, 'a', 1000);
    action[1000] = 0;
    int length = snprintf(request, sizeof request, "{\"action\": \"%s\"}", action);
    for (int i = 0; i < calls; i++) call(request, length, "aaaa");
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc != 2) fail("usage", "calls URL");
    snprintf(admit, sizeof admit,
             "{\"action\": \"admit\", \"url\": \"%s\", \"engine_id\": \"c\", \"deadline_ms\": 60000, \"world_size\": 2, "
             "\"groups\": {\"tp\": [0, 1]}, \"engine\": {\"version\": \"0.33.0\", \"parallel\": {\"tensor\": 2}}, "
             "\"transfer\": \"{torn\"}", argv[1]);

    call("", 0, "\"request\"");
    call("{\"action\": \"facts\"} behind the length", 19, "\"facts\"");
    call("\0\0", 2, "\"request\"");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, many, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cancelled(1);
    cancelled(0);
    tiergate_cancel(0);
    tiergate_cancel(123456789);
    tiergate_free(NULL);

    measured(MEASURED); /* what the runtime keeps, it has by now */
    long before = resident();
    measured(MEASURED);
    long grown = resident() - before;
    if (grown > 4096) { /* answers left behind are 20 MiB, calls left open 6 MiB */
        fprintf(stderr, "%d calls left %ld KiB behind\n", MEASURED, grown);
        return 1;
    }
    printf("%d calls, %ld KiB more\n", MEASURED, grown);
    return 0;
}
