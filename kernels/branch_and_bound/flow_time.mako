// Total flow time of a permutation flowshop, branched from the front. A child's bound: the flow time so far, and the largest over
// all machines of what the open jobs need in total, the shortest first, once the machine is done with the child,
//   (r - 1) C_i + sum over k of (r - k) p_(k) + sum of the times behind machine i          p_(1) <= p_(2) <= ...
// without the child's. The sum over all r open jobs is taken once; without the job at place k it is smaller by
// (r - k + 1) p_(k) + p_(1) + ... + p_(k-1).
// table   by machine, ${items} words each: times; then times behind the machine; then the jobs by time
<% n, m = items, machines %>
#define TIME(machine, job) table[(machine) * ${n} + (job)]
#define BEHIND(machine, job) table[${n * m} + (machine) * ${n} + (job)]
#define BY_TIME(machine, place) table[${2 * n * m} + (machine) * ${n} + (place)]

typedef struct { i32 done[${m}], total; } state_t;

FUNCTION void init(state_t* state, table_t table) {
% for i in range(m):
    state->done[${i}] = 0;
% endfor
    state->total = 0;
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    i32 at = 0;
% for i in range(m):
    at = MAX(at, state->done[${i}]) + TIME(${i}, item);
    state->done[${i}] = at;
% endfor
    state->total += at;
}

${backtrack.state_as_words([*((i, f"done[{i}]") for i in range(m)), (m, "total")])}
// One machine: the child's completion there into `at`, and the largest bound so far into `least`, both by job.
FUNCTION void pass_machine(i32 machine, i32 done, i32 count, mask_t open, i32* at, i32* least, table_t table) {
    i32 all = 0, behind = 0, left = count;
    for (i32 k = 0; k < ITEMS; ++k) {
        const i32 job = BY_TIME(machine, k);
        if (HAS(open, job)) {
            all += left * TIME(machine, job);
            behind += BEHIND(machine, job);
            --left;
        }
    }
    i32 shorter = 0;
    left = count;
    for (i32 k = 0; k < ITEMS; ++k) {
        const i32 job = BY_TIME(machine, k);
        if (HAS(open, job)) {
            const i32 time = TIME(machine, job);
            const i32 completion = MAX(at[job], done) + time;
            const i32 others = all - left * time - shorter + behind - BEHIND(machine, job);
            const i32 value = (count - 1) * completion + others;
            at[job] = completion;
            least[job] = MAX(least[job], value);
            shorter += time;
            --left;
        }
    }
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    i32 at[${n}], least[${n}];
    for (i32 job = 0; job < ITEMS; ++job) {
        at[job] = 0;
        least[job] = 0;
    }
% for i in range(m):
    pass_machine(${i}, state->done[${i}], ITEMS - depth, open, at, least, table);
% endfor
    mask_t kept = NO_ITEMS;
    for (mask_t left = open; ANY(left); left = WITHOUT_LOWEST(left)) {
        const i32 job = INDEX_OF_LOWEST(left);
        if (state->total + at[job] + least[job] < upper)
            kept |= LOWEST(left);
    }
    return kept;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    state_t last = *state;
    place(&last, LEAF_DEPTH, INDEX_OF_LOWEST(open), -1, 0, table);
    return last.total;
}
