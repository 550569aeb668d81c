/* n-queens by backtracking over bit sets, with the first queen in the left half: found[0] solutions of the whole board, and
 * found[1] decomposed nodes (the root, and boards with a queen in some rows but not in all).
 */
#include <stdint.h>

static int64_t place(uint32_t all, uint32_t columns, uint32_t down, uint32_t up, int64_t *nodes) {
    int64_t solutions = 0;
    if (columns == all) return 1;
    ++*nodes;
    for (uint32_t free = all & ~(columns | down | up); free; free &= free - 1) {
        uint32_t queen = free & -free;
        solutions += place(all, columns | queen, (down | queen) << 1, (up | queen) >> 1, nodes);
    }
    return solutions;
}

void count(int n, int64_t *found) {
    uint32_t all = (1u << n) - 1;
    found[0] = 0;
    found[1] = 1;
    for (int column = 0; 2 * column < n; column++) {
        uint32_t queen = 1u << column;
        found[0] += (2 * column + 1 == n ? 1 : 2) * place(all, queen, queen << 1, queen >> 1, &found[1]);
    }
}
