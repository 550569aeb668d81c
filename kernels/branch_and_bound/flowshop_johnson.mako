<%def name="function()">
// The two-machine bound: for machines u < v, the jobs in Johnson's order, each with its lag between the two; the largest
// over all pairs, or the first that reaches `enough`.
// done, after   when each machine is done with the front, and how long it needs for the back
FUNCTION i32 johnson(const i32* done, const i32* after, mask_t open, i32 enough, table_t table)
{
    table_t pair = table + ${johnson_at};
    i32 best = 0;
    for (i32 p = 0; p < ${pairs} && best < enough; ++p, pair += ${4 * (items + 1)}) {
        const i32 u = pair[0], v = pair[1];
        i32 at_u = done[u], at_v = done[v];
        table_t entry = pair + 4;
        for (i32 k = 0; k < ${items}; ++k, entry += 4) {
            if (HAS(open, entry[0])) {
                at_u += entry[2];
                const i32 ready = at_u + entry[1];
                at_v = MAX(at_v, ready) + entry[3];
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
FUNCTION i32 johnson(const i32* done, const i32* after, mask_t open, i32 enough, table_t table)
{
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
        entry += 2;
        for (i32 k = 0; k < ${items}; ++k, entry += ${3 + words}) {
            const int16 there = (${" | ".join(f"(entry[{3 + k}] & (int16)(i32)WORD(open, {k}))" for k in range(words))}) != 0;
            at_u += entry[1] & there;
            const int16 ready = (at_u + entry[0]) & there;
            at_v = MAX(at_v, ready);
            at_v += entry[2] & there;
        }
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
