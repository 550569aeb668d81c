// Makespan of a flowshop with blocking, branched from the front. A job leaves machine i when it is done there and the one before
// has left machine i + 1:
//   d_i = max(d_(i-1) + p_i, d_(i+1) of the job before), with d_(-1) = d_0 of the job before          (the last machine: the sum)
// A child's bound: the largest over all machines of d_i, the times of the other open jobs, and the least time behind the machine.
// table   times by job, ${machines} words each; then the least time of any job behind each machine
<% m = machines %>
#define TIME(job, machine) table[(job) * ${m} + (machine)]
#define BEHIND(machine) table[${items * m} + (machine)]

typedef struct { i32 left[${m}], rest[${m}]; } state_t;

FUNCTION void init(state_t* state, table_t table) {
% for i in range(m):
    state->left[${i}] = 0;
    state->rest[${i}] = 0;
% endfor
    for (i32 job = 0; job < ITEMS; ++job) {
% for i in range(m):
        state->rest[${i}] += TIME(job, ${i});
% endfor
    }
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    i32 at = state->left[0];
% for i in range(m):
    {
        const i32 time = TIME(item, ${i});
        at += time;
% if i + 1 < m:
        at = MAX(at, state->left[${i + 1}]);
% endif
        state->left[${i}] = at;
        state->rest[${i}] -= time;
    }
% endfor
}

${backtrack.state_as_words([pair for i in range(m) for pair in ((i, f"left[{i}]"), (m + i, f"rest[{i}]"))])}
FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    mask_t kept = NO_ITEMS;
    for (mask_t jobs = open; ANY(jobs); jobs = WITHOUT_LOWEST(jobs)) {
        const i32 job = INDEX_OF_LOWEST(jobs);
        i32 at = state->left[0], lb = 0;
% for i in range(m):
        {
            const i32 time = TIME(job, ${i});
            at += time;
% if i + 1 < m:
            at = MAX(at, state->left[${i + 1}]);
% endif
            const i32 value = at + state->rest[${i}] - time + BEHIND(${i});
            lb = MAX(lb, value);
        }
% endfor
        if (lb < upper)
            kept |= LOWEST(jobs);
    }
    return kept;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    state_t last = *state;
    place(&last, LEAF_DEPTH, INDEX_OF_LOWEST(open), -1, 0, table);
    return last.left[${m - 1}];
}
