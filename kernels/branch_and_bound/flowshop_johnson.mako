<%def name="function()">
// A pair of machines is followed by the jobs in its order: job, lag, times on u and v.
typedef struct { i32 u, v, unused[2]; } machines_t;
typedef struct { i32 job, lag, on_u, on_v; } johnson_t;

// The two-machine bound: for machines u < v, the jobs in Johnson's order, each with its lag between the two; the largest
// over all pairs, or the first that reaches `enough`.
// done, after   when each machine is done with the front, and how long it needs for the back
FUNCTION i32 johnson(const i32* done, const i32* after, mask_t open, i32 enough, table_t table) {
    const TABLE_SPACE johnson_t* entry = (const TABLE_SPACE johnson_t*)(table + ${johnson_at});
    i32 best = 0;
    for (i32 p = 0; p < ${pairs} && best < enough; ++p) {
        const TABLE_SPACE machines_t* pair = (const TABLE_SPACE machines_t*)entry++;
        const i32 u = pair->u, v = pair->v;
        i32 at_u = done[u], at_v = done[v];
        for (i32 k = 0; k < ${items}; ++k, ++entry) {
            if (HAS(open, entry->job)) {
                at_u += entry->on_u;
                const i32 ready = at_u + entry->lag;
                at_v = MAX(at_v, ready) + entry->on_v;
            }
        }
        at_v += after[v];
        at_u += after[u];
        best = MAX(best, at_v);
        best = MAX(best, at_u);
    }
    return best;
}
</%def>

<%def name="function_of_lanes()">
// The same, 16 pairs of machines at once, one a lane. Every job takes a step in every lane; one that is not open, or not
// there, adds nothing to both times and asks for nothing.
<% words = -(-items // 32) %>
typedef struct {
    int16 lag, on_u, on_v;
    int16 jobs[${words}]; // as sets
} johnson_t;

FUNCTION i32 johnson(const i32* done, const i32* after, mask_t open, i32 enough, table_t table) {
    const GLOBAL int16* entry = (const GLOBAL int16*)(table + ${johnson_at});
    i32 best = 0;
    for (i32 group = 0; group < ${groups} && best < enough; ++group) {
        const GLOBAL i32* u = (const GLOBAL i32*)entry;
        // Arrays that are read as vectors have the alignment of these.
% for name in ("start_u", "start_v", "stop_u", "stop_v"):
        i32 ${name}[16] __attribute__((aligned(64)));
% endfor
        for (i32 lane = 0; lane < 16; ++lane) {
            start_u[lane] = done[u[lane]];
            stop_u[lane] = after[u[lane]];
            start_v[lane] = done[u[lane + 16]];
            stop_v[lane] = after[u[lane + 16]];
        }
        int16 at_u = *(const int16*)start_u;
        int16 at_v = *(const int16*)start_v;
        const GLOBAL johnson_t* job = (const GLOBAL johnson_t*)(entry + 2);
        for (i32 k = 0; k < ${items}; ++k, ++job) {
            const int16 there = (${" | ".join(f"(job->jobs[{k}] & (int16)(i32)WORD(open, {k}))" for k in range(words))}) != 0;
            at_u += job->on_u & there;
            const int16 ready = (at_u + job->lag) & there;
            at_v = MAX(at_v, ready);
            at_v += job->on_v & there;
        }
        entry = (const GLOBAL int16*)job;
        at_u += *(const int16*)stop_u;
        at_v += *(const int16*)stop_v;
        const int16 whole = MAX(at_u, at_v);
        const int8 eight = MAX(whole.lo, whole.hi);
        const int4 four = MAX(eight.lo, eight.hi);
        const int2 two = MAX(four.lo, four.hi);
        best = MAX(best, two.x);
        best = MAX(best, two.y);
    }
    return best;
}
</%def>
