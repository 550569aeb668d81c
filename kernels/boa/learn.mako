<%doc>
Greedy edge addition, in lockstep over nodes; counts come from the counting kernels (see rows.mako).

Of a node: parents[node max_parents + i], parent_count[node], its score, and totals[node 2^(max_parents + 1) + m], the
individuals in each configuration m (bit 0 the node, bit i its i-th parent). active[0] nodes are still open; they are
active[1], active[2], ..., ascending, as slots from first_node on.

pair_table  whether `pairs` has the counts of all pairs; else it has those of single genes, and rows.mako says where pairs are
</%doc>
<% cells = 2 << level %>
// choose_parents: adds to each open node of ${level} parents the candidate that raises its score most, if any does.
//
// gain(j) = sum over configurations c of the parents and of j of L(zeros, ones) - score, the node's score so far
// L(a, b) = ln a! + ln b! - ln (a + b + 1)!; all modulo 2^32, as only differences matter. Equal gains: the lower rank.
// Launch: a group of ${block} work-items a node.
${status.declaration()}
#define L(a, b) (log_factorials[a] + log_factorials[b] - log_factorials[(a) + (b) + 1])
KERNEL LAUNCH_BOUNDS(${block}, 1) choose_parents(const GLOBAL i32* RESTRICT pairs, const GLOBAL i32* RESTRICT counts, i32 n,
    i32 rows, i32 first_node, i32 selected, const GLOBAL i32* RESTRICT active, GLOBAL i32* RESTRICT parents,
    GLOBAL i32* RESTRICT parent_count, GLOBAL u32* RESTRICT scores, GLOBAL i32* RESTRICT totals,
    const GLOBAL u32* RESTRICT log_factorials, const GLOBAL status_t* RESTRICT status) {
    LOCAL_ARRAY(i64, best_of, ${block});
    LOCAL_ARRAY(i32, whole, ${cells});
    LOCAL_ARRAY(i32, member, ${level + 1});
    LOCAL_ARRAY(u32, before, 1);
    if (status->reason != 0 || GROUP_ID >= active[0])
        return;
    const i32 slot = active[1 + GROUP_ID];
    const i32 node = first_node + slot;
    GLOBAL i32* own_totals = totals + (i64)node * ${2 << max_parents};
    if (LOCAL_ID == 0) {
% if level == 0:
        const i32 ones = ${ones('node')};
        own_totals[0] = selected - ones;
        own_totals[1] = ones;
        parent_count[node] = 0;
        before[0] = L(selected - ones, ones);
% else:
        before[0] = scores[node];
% endif
        for (i32 m = 0; m < ${cells}; ++m)
            whole[m] = own_totals[m];
        member[0] = node;
        for (i32 i = 0; i < ${level}; ++i)
            member[1 + i] = parents[(i64)node * ${max_parents} + i];
    }
% if block > 1:
    BARRIER();
% endif
    const GLOBAL i32* own = counts + (i64)slot * rows * n;
% for i in range(level + 1):
    const i32 member${i} = member[${i}];
% if pair_table:
    const GLOBAL i32* pair${i} = pairs + (i64)member${i} * n;
% endif
% endfor
    i64 best = 0;
    for (i32 j = LOCAL_ID; j < node; j += ${block}) {
% if level:
        if (${" || ".join(f"j == member{i}" for i in range(1, level + 1))})
            continue;
% endif
        i32 v[${cells}];
${counts_with_one()}
% for i in range(level + 1):
% for m in range(cells):
% if not m >> i & 1:
        v[${m}] -= v[${m + (1 << i)}];
% endif
% endfor
% endfor
        u32 score = 0;
% for m in range(0, cells, 2):
        score += L(v[${m}], v[${m + 1}]) + L(whole[${m}] - v[${m}], whole[${m + 1}] - v[${m + 1}]);
% endfor
        const i32 gain = (i32)(score - before[0]);
        if (gain > 0) {
            const i64 key = ((i64)gain << 32) | (u32)(n - j);
            best = MAX(best, key);
        }
    }
    ${reduce.group_reduce("best_of", "i64", block, [("best", "max")])}
    if (LOCAL_ID == 0 && best > 0) {
        const i32 j = n - (i32)(best & 0x7FFFFFFF);
        i32 v[${cells}];
${counts_with_one()}
        for (i32 i = 0; i <= ${level}; ++i)
            for (i32 m = 0; m < ${cells}; ++m)
                if (!(m >> i & 1))
                    v[m] -= v[m | 1 << i];
        for (i32 m = 0; m < ${cells}; ++m) {
            own_totals[m] = whole[m] - v[m];
            own_totals[${cells} + m] = v[m];
        }
        parents[(i64)node * ${max_parents} + ${level}] = j;
        parent_count[node] = ${level + 1};
        scores[node] = before[0] + (u32)(i32)(best >> 32);
    }
}

<%def name="ones(gene)">${f"pairs[(i64){gene} * n + {gene}]" if pair_table else f"pairs[{gene}]"}</%def>
<%def name="counts_with_one()">\
        v[0] = ${ones('j')};
% for m in range(1, cells):
<% top = m.bit_length() - 1 %>\
% if not pair_table:
        v[${m}] = own[(i64)${m - 1} * n + j];
% elif m == 1 << top:
        v[${m}] = pair${top}[j];
% else:
        v[${m}] = own[(i64)${(1 << top) - 1 - top + m - (1 << top) - 1} * n + j];
% endif
% endfor
</%def>
