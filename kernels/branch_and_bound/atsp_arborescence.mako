// The minimum spanning arborescence of an assignment's subtours under the reduced costs; see atsp_assignment.mako.
<% n = cities %>
// Label the subtours of the assignment; how many there are.
FUNCTION i32 label_subtours(LOCAL group_t* group, i32 lane, i32 count) {
    for (i32 a = lane; a < count; a += ${lanes}) {
        const i32 i = group->city[a];
        group->label[i] = -1;
        group->shift[i] = 0;
    }
    SYNC();
    if (lane == 0) {
        i32 subtours = 0;
        group->label[group->last] = 0;
        for (i32 i = count ? group->column[group->last] : 0; i; i = group->column[i])
            group->label[i] = 0;
        for (i32 a = 0; a < count; ++a) {
            i32 i = group->city[a];
            if (group->label[i] < 0) {
                ++subtours;
                while (group->label[i] < 0) {
                    group->label[i] = subtours;
                    i = group->column[i];
                }
            }
        }
        group->values[0] = subtours;
    }
    SYNC();
    const i32 subtours = group->values[0];
    SYNC();
    return subtours;
}

// Value of the minimum spanning arborescence of the subtours, or a part of it that is at least `most`.
FUNCTION i32 arborescence(LOCAL group_t* group, i32 lane, i32 count, i32 most, table_t table) {
    const i32 subtours = label_subtours(group, lane, count);
    i32 total = 0;
    // source[c]: the city from which component c is entered, once it has been processed; components before `c` have been.
    for (i32 c = 1; c <= subtours && total < most;) {
        i32 best = UNBOUNDED, from = ${n};
        for (i32 b = lane; b <= count; b += ${lanes}) {
            const i32 i = b < count ? group->city[b] : group->last;
            if (group->label[i] != c) {
                for (i32 a = 0; a < count; ++a) {
                    const i32 j = group->city[a];
                    if (group->label[j] == c) {
                        const i32 value = REDUCED(i, j) - group->shift[j];
                        from = value < best ? i : from;
                        best = MIN(best, value);
                    }
                }
            }
        }
        least(group, lane, &best, &from);
        total += best;
        for (i32 a = lane; a < count; a += ${lanes}) {
            const i32 j = group->city[a];
            if (group->label[j] == c)
                group->shift[j] += best;
        }
        if (lane == 0)
            group->source[c] = from;
        SYNC();
        // Follow the entering arcs back; a cycle of components becomes one, which is entered anew.
        i32 x = group->label[from];
        while (x && x < c)
            x = group->label[group->source[x]];
        SYNC();
        if (x == c && lane == 0) {
            i32 merged = group->label[from];
            while (merged != c) {
                const i32 before = group->source[merged];
                for (i32 a = 0; a < count; ++a) {
                    const i32 j = group->city[a];
                    if (group->label[j] == merged)
                        group->label[j] = c;
                }
                merged = group->label[before];
            }
        }
        SYNC();
        c += x != c;
    }
    return total;
}
