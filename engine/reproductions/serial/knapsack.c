/* Algorithm 1 of Boyer, El Baz and Elkihel: Bellman's recurrence with Toth's rule, in place from the largest capacity on.
 *
 * Items first to last - 1 of n; f holds C + 1 values, all 0 before item 0. Returns f(C).
 */
#include <stdint.h>

int32_t dynamic_program(int n, const int32_t *w, const int32_t *p, int32_t C, int first, int last, int32_t *f) {
    int64_t later = 0;
    for (int k = first; k < n; k++) later += w[k];
    for (int k = first; k < last; k++) {
        later -= w[k];
        int32_t weight = w[k], profit = p[k];
        int64_t low = C - later > weight ? C - later : weight;
        for (int64_t c = C; c >= low; c--)
            if (f[c] < f[c - weight] + profit) f[c] = f[c - weight] + profit;
    }
    return f[C];
}
