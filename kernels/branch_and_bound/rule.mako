<%def name="functions()">
// Which side a node is branched on, and which children stay: `judge` takes the bounds of the children one after another.
// `branching` as in engine/solvers/branch_and_bound/problems/flowshop_tree.py.
typedef struct {
    mask_t kept_front, kept_back;
    i32 pruned, difference;
} rule_t;

FUNCTION void begin_rule(rule_t* rule) {
    rule->kept_front = NO_ITEMS;
    rule->kept_back = NO_ITEMS;
    rule->pruned = 0;
    rule->difference = 0;
}

FUNCTION void judge(rule_t* rule, mask_t item, i32 front, i32 back, i32 upper, i32 initial) {
    rule->kept_front |= front < upper ? item : NO_ITEMS;
% if branching != "forward":
    rule->kept_back |= back < upper ? item : NO_ITEMS;
    rule->pruned += (front >= initial) - (back >= initial);
    rule->difference += front - back;
% endif
}

FUNCTION i32 choose_side(i32 pruned, i32 difference, i32 depth) {
% if branching == "forward":
    return 0;
% elif branching == "backward":
    return 1;
% elif branching == "alternating":
    return depth & 1;
% elif branching == "max_sum":
    return difference < 0;
% elif branching == "max_sum_back":
    return difference <= 0;
% else:
    return pruned ? pruned < 0 : difference < 0;
% endif
}
</%def>
