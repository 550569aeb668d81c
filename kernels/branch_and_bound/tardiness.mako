// Total weighted tardiness on one machine: the last position is filled first, so that a job's completion time is the sum of all
// open jobs' times. An open job at one of the first positions is done no sooner than after itself and the shortest of the other
// open jobs; the least assignment of jobs to positions at these times is solved for each node, and a child's bound is that of
// the assignment in which its job takes the last position.
// table   times; weights; due dates; jobs by time
<% n = items %>
#define TIME(job) table[job]
#define COST(job, done) (table[${n} + (job)] * MAX(0, (done) - table[${2 * n} + (job)]))
#define SHORTER(place) table[${3 * n} + (place)]

typedef struct { i32 cost, left; } state_t;

${linear_assignment.functions(n)}

FUNCTION void init(state_t* state, table_t table) {
    state->cost = 0;
    state->left = 0;
    for (i32 job = 0; job < ITEMS; ++job)
        state->left += TIME(job);
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->cost += COST(item, state->left);
    state->left -= TIME(item);
}

FUNCTION void retract(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table) {
    state->left += TIME(item);
    state->cost -= COST(item, state->left);
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table) {
    i32 costs[${n * n}], u[${n}], v[${n}], row_of[${n}], growth[${n}];
    const i32 count = ITEMS - depth;
    i32 column = 0;
    for (mask_t left = open; left; left &= left - ONE, ++column) {
        const i32 job = INDEX_OF_LOWEST(left);
        i32 done = TIME(job), row = count - 1;
        costs[row * ${n} + column] = COST(job, done);
        for (i32 place = 0; place < ITEMS; ++place) {
            const i32 other = SHORTER(place);
            if (other != job && ((open >> other) & ONE)) {
                done += TIME(other);
                --row;
                costs[row * ${n} + column] = COST(job, done);
            }
        }
    }
${linear_assignment.keep_columns()}
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table) {
    const i32 job = INDEX_OF_LOWEST(open);
    return state->cost + COST(job, TIME(job));
}
