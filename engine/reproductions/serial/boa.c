/* The Bayesian optimization algorithm on sums of 5-bit traps, serially.
 *
 * sBOA: the greedy search adds the best of all edges that close no cycle (Pelikan's simple BOA).
 * pBOA: an edge may only go from an earlier to a later gene of a random permutation (Ocenasek and Schwarz), as on the GPU.
 * Both maximize the K2 metric, with at most k edges into a gene.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PARENTS = 6, MOST_COUNTS = 2 << (MOST_PARENTS + 1) };

static uint64_t state;

static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(void) { return (double)(draw() >> 11) * 0x1p-53; }

/* K2 of one gene: counts come in pairs, of its zeros and its ones, one pair for each configuration of its parents. */
static double metric(const int *counts, int configurations, const double *log_factorial) {
    double sum = 0;
    for (int c = 0; c < configurations; c++) {
        int zeros = counts[2 * c], ones = counts[2 * c + 1];
        sum += log_factorial[zeros] + log_factorial[ones] - log_factorial[zeros + ones + 1];
    }
    return sum;
}

typedef struct {
    int n, S, k;
    const uint8_t *x;    /* the selected individuals, gene by gene: n x S */
    uint8_t *code;       /* n x S: the gene's own bit, then one bit for each of its parents */
    int *parents, *used; /* n x k, n */
    double *now, *log_factorial;
} Network;

static double gain(const Network *net, int gene, int parent) {
    int counts[MOST_COUNTS] = {0}, shift = net->used[gene] + 1;
    const uint8_t *code = net->code + (size_t)gene * net->S, *x = net->x + (size_t)parent * net->S;
    for (int s = 0; s < net->S; s++) counts[code[s] | x[s] << shift]++;
    return metric(counts, 1 << shift, net->log_factorial) - net->now[gene];
}

static void add_edge(Network *net, int gene, int parent, double raised) {
    int shift = net->used[gene] + 1;
    uint8_t *code = net->code + (size_t)gene * net->S;
    const uint8_t *x = net->x + (size_t)parent * net->S;
    for (int s = 0; s < net->S; s++) code[s] |= x[s] << shift;
    net->parents[gene * net->k + net->used[gene]++] = parent;
    net->now[gene] += raised;
}

static int has_parent(const Network *net, int gene, int parent) {
    for (int e = 0; e < net->used[gene]; e++)
        if (net->parents[gene * net->k + e] == parent) return 1;
    return 0;
}

static void learn_under_permutation(Network *net, const int *order) {
    for (int rank = 1; rank < net->n; rank++) {
        int gene = order[rank];
        while (net->used[gene] < net->k) {
            double best = 1e-9;
            int found = -1;
            for (int r = 0; r < rank; r++) {
                if (has_parent(net, gene, order[r])) continue;
                double raised = gain(net, gene, order[r]);
                if (raised > best) best = raised, found = order[r];
            }
            if (found < 0) break;
            add_edge(net, gene, found, best);
        }
    }
}

static void learn_without_cycles(Network *net) {
    int n = net->n;
    double *gains = malloc(sizeof(double) * n * n);
    uint8_t *reach = calloc((size_t)n * n, 1); /* [a n + b]: a path leads from a to b */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) gains[i * n + j] = i == j ? 0 : gain(net, i, j);
    for (;;) {
        double best = 1e-9;
        int gene = -1, parent = -1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && net->used[i] < net->k; j++)
                if (gains[i * n + j] > best && !reach[i * n + j]) best = gains[i * n + j], gene = i, parent = j;
        if (gene < 0) break;
        add_edge(net, gene, parent, best);
        for (int a = 0; a < n; a++)
            if (a == parent || reach[a * n + parent])
                for (int b = 0; b < n; b++) reach[a * n + b] |= b == gene || reach[gene * n + b];
        if (net->used[gene] < net->k)
            for (int j = 0; j < n; j++)
                gains[gene * n + j] = j == gene || has_parent(net, gene, j) ? 0 : gain(net, gene, j);
    }
    free(gains);
    free(reach);
}

static Network empty_network(int n, int S, int k, const uint8_t *x, int *parents, int *used) {
    Network net = {n, S, k, x, malloc((size_t)n * S), parents, used, malloc(sizeof(double) * n),
                   malloc(sizeof(double) * (S + 2))};
    net.log_factorial[0] = 0;
    for (int i = 1; i < S + 2; i++) net.log_factorial[i] = net.log_factorial[i - 1] + log(i);
    memcpy(net.code, x, (size_t)n * S);
    for (int i = 0; i < n; i++) {
        int counts[2] = {0, 0};
        for (int s = 0; s < S; s++) counts[x[(size_t)i * S + s]]++;
        used[i] = 0;
        net.now[i] = metric(counts, 1, net.log_factorial);
    }
    return net;
}

static void release(Network *net) {
    free(net->code);
    free(net->now);
    free(net->log_factorial);
}

/* Learns a network from x (n x S bytes): under the permutation `order`, or, if it is NULL, with a check for cycles.
 * Fills parents (n x k) and used (n); returns the K2 metric. */
double learn(int n, int S, int k, const uint8_t *x, const int *order, int *parents, int *used) {
    Network net = empty_network(n, S, k, x, parents, used);
    if (order) learn_under_permutation(&net, order);
    else learn_without_cycles(&net);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += net.now[i];
    release(&net);
    return sum;
}

/* Genes with all parents before their children; they go to `order`. */
static void sort_topologically(int n, int k, const int *parents, const int *used, int *order) {
    uint8_t *done = calloc(n, 1);
    for (int placed = 0; placed < n;)
        for (int i = 0; i < n; i++) {
            int ready = !done[i];
            for (int e = 0; e < used[i] && ready; e++) ready = done[parents[i * k + e]];
            if (ready) done[i] = 1, order[placed++] = i;
        }
    free(done);
}

static int trap(const uint8_t *bits, int n, int N, int individual) {
    int sum = 0;
    for (int g = 0; g < n; g += 5) {
        int ones = 0;
        for (int b = g; b < g + 5; b++) ones += bits[(size_t)b * N + individual];
        sum += ones == 5 ? 5 : 4 - ones;
    }
    return sum;
}

static const int *sorting;
static int better_first(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    return sorting[i] != sorting[j] ? sorting[j] - sorting[i] : i - j;
}

static void shuffle(int *items, int n) {
    for (int i = 0; i < n; i++) items[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(draw() % (uint64_t)(i + 1)), kept = items[i];
        items[i] = items[j], items[j] = kept;
    }
}

/* Runs generations with N individuals, of which the best S are learned from and kept; the others are sampled anew.
 * edges: 0 under a new permutation in each generation, 1 with a check for cycles, 2 under one permutation for all.
 * seconds: of the CPU, [0] for the networks and [1] for all. Returns the best fitness. */
int run(int n, int N, int S, int k, int generations, int edges, uint64_t seed, double *seconds) {
    uint8_t *bits = malloc((size_t)n * N), *chosen = malloc((size_t)n * S);
    int *fitness = malloc(sizeof(int) * N), *place = malloc(sizeof(int) * N), *order = malloc(sizeof(int) * n);
    int *parents = malloc(sizeof(int) * n * k), *used = malloc(sizeof(int) * n), best = 0;
    clock_t began = clock(), learning = 0;
    state = seed;
    for (size_t b = 0; b < (size_t)n * N; b++) bits[b] = draw() >> 63;
    for (int i = 0; i < N; i++) fitness[i] = trap(bits, n, N, i);
    for (int generation = 0; generation < generations; generation++) {
        for (int i = 0; i < N; i++) place[i] = i;
        sorting = fitness;
        qsort(place, N, sizeof(int), better_first);
        for (int g = 0; g < n; g++)
            for (int s = 0; s < S; s++) chosen[(size_t)g * S + s] = bits[(size_t)g * N + place[s]];
        if (!generation || edges != 2) shuffle(order, n);
        clock_t at = clock();
        learn(n, S, k, chosen, edges == 1 ? NULL : order, parents, used);
        learning += clock() - at;
        if (edges == 1) sort_topologically(n, k, parents, used, order);
        for (int r = 0; r < n; r++) {
            int g = order[r], counts[MOST_COUNTS] = {0};
            for (int s = 0; s < S; s++) {
                int code = chosen[(size_t)g * S + s];
                for (int e = 0; e < used[g]; e++) code |= chosen[(size_t)parents[g * k + e] * S + s] << (e + 1);
                counts[code]++;
            }
            for (int i = S; i < N; i++) {
                int code = 0;
                for (int e = 0; e < used[g]; e++) code |= bits[(size_t)parents[g * k + e] * N + place[i]] << e;
                double ones = counts[2 * code + 1], both = counts[2 * code] + ones;
                bits[(size_t)g * N + place[i]] = uniform() < (ones + 1) / (both + 2);
            }
        }
        for (int i = S; i < N; i++) fitness[place[i]] = trap(bits, n, N, place[i]);
    }
    for (int i = 0; i < N; i++) best = fitness[i] > best ? fitness[i] : best;
    seconds[0] = (double)learning / CLOCKS_PER_SEC;
    seconds[1] = (double)(clock() - began) / CLOCKS_PER_SEC;
    free(bits), free(chosen), free(fitness), free(place), free(order), free(parents), free(used);
    return best;
}
