<%def name="functions(size)">
// The linear assignment problem, by shortest augmenting paths, for one work-item: rows and columns 0 ... count - 1, and costs of
// at least 0 at row * ${size} + column.
//
// Reference: R. Jonker, A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
// Computing 38 (1987) 325-340.
#define FAR 0x3fffffff

// The least cost, with the duals u of rows and v of columns, and the row of every column; or some value of at least `enough`,
// without these, if the least cost is no smaller.
FUNCTION i32 assign_rows(const i32* costs, i32 count, i32 enough, i32* u, i32* v, i32* row_of) {
    i32 least[${size}], before[${size}], done[${size}];
    i32 value = 0;
    for (i32 j = 0; j < count; ++j) {
        v[j] = 0;
        row_of[j] = -1;
    }
    for (i32 first = 0; first < count; ++first) {
        i32 row = first, column = -1, reached = 0;
        for (i32 j = 0; j < count; ++j) {
            least[j] = FAR;
            done[j] = 0;
        }
        u[first] = 0;
        do {
            const i32 base = reached - u[row];
            i32 next = 0, nearest = FAR;
            for (i32 j = 0; j < count; ++j) {
                if (!done[j]) {
                    const i32 length = base + costs[row * ${size} + j] - v[j];
                    if (length < least[j]) {
                        least[j] = length;
                        before[j] = column;
                    }
                    if (least[j] < nearest) {
                        nearest = least[j];
                        next = j;
                    }
                }
            }
            column = next;
            reached = nearest;
            done[column] = 1;
            row = row_of[column];
        } while (row >= 0);
        u[first] += reached;
        for (i32 j = 0; j < count; ++j) {
            if (done[j]) {
                v[j] += least[j] - reached;
                if (row_of[j] >= 0)
                    u[row_of[j]] += reached - least[j];
            }
        }
        while (column >= 0) {
            const i32 other = before[column];
            row_of[column] = other >= 0 ? row_of[other] : first;
            column = other;
        }
        value += reached;
        if (value >= enough)
            return value;
    }
    return value;
}

// What the least cost grows by if row 0 takes each column: the reduced cost, and the shortest alternating path from the row that
// has the column to the column that row 0 leaves.
FUNCTION void cost_of_columns(const i32* costs, i32 count, const i32* u, const i32* v, const i32* row_of, i32* growth) {
    i32 length[${size}], done[${size}];
    i32 left = 0;
    for (i32 j = 0; j < count; ++j)
        left = row_of[j] == 0 ? j : left;
    for (i32 i = 1; i < count; ++i) {
        length[i] = costs[i * ${size} + left] - u[i] - v[left];
        done[i] = 0;
    }
    for (i32 step = 1; step < count; ++step) {
        i32 nearest = FAR, settled = 1;
        for (i32 i = 1; i < count; ++i) {
            if (!done[i] && length[i] < nearest) {
                nearest = length[i];
                settled = i;
            }
        }
        done[settled] = 1;
        i32 column = 0;
        for (i32 j = 0; j < count; ++j)
            column = row_of[j] == settled ? j : column;
        growth[column] = nearest;
        for (i32 i = 1; i < count; ++i) {
            if (!done[i]) {
                const i32 through = nearest + costs[i * ${size} + column] - u[i] - v[column];
                length[i] = MIN(length[i], through);
            }
        }
    }
    growth[left] = 0;
    for (i32 j = 0; j < count; ++j)
        growth[j] += costs[j] - u[0] - v[j];
}
</%def>
<%def name="keep_columns()">
    const i32 enough = upper - state->cost;
    const i32 value = assign_rows(costs, count, enough, u, v, row_of);
    if (value >= enough)
        return 0;
    cost_of_columns(costs, count, u, v, row_of, growth);
    mask_t kept = 0;
    column = 0;
    for (mask_t left = open; left; left &= left - ONE, ++column)
        if (value + growth[column] < enough)
            kept |= LOWEST(left);
    return kept;
</%def>
