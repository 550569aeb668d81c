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
            if ((open >> entry[0]) & ONE) {
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

<%def name="side_rule()">
// The branching rule: `front` and `back` are the bounds of the open jobs' children (see FlowshopTree).
FUNCTION i32 choose_side(i32 pruned, i32 difference, i32 least_often)
{
% if branching == "forward":
    return 0;
% elif branching == "max_sum":
    return difference < 0;
% elif branching == "min_branch":
    return pruned ? pruned < 0 : difference < 0;
% else:
    return least_often ? least_often > 0 : pruned <= 0;
% endif
}
</%def>
