<%doc>
What the counting kernels share: which pairs of bit planes they count, and where the counts go.

Genes are numbered by rank here, so the candidate parents of node r are the ranks below r. Counts are kept for *subsets*
of {node, its parents so far}: how many individuals have a one in every member and in candidate j. Configurations
follow by inclusion and exclusion in choose_parents, so adding parent p_s needs the subsets that contain p_s only, and
of those, {p_s} alone is a row of the pair counts.

    pairs      pairs[r n + j] = ones of (plane r AND plane j), for all r and j
    subset m   bit 0 of m is the node, bit i its i-th parent. With at least two members and the highest member s, it
               is row (2^s - 1 - s) + (m - 2^s - 1) of its node's ${"rows"} rows, in `masks` and in `counts`.

A launch for level s takes every active node's 2^s - 1 rows of highest member s, one after the other: `per` rows a node, the
first of which is row `base` of its node.

Where the pair counts of many genes would take too much memory, there are none. A subset of one member has a row then,
too: subset m is row m - 1, `per` is 2^s, and the rows of level 0 are the nodes' own planes.
</%doc>
<%def name="row_arguments()">
    const GLOBAL u32* RESTRICT planes, i32 words, i32 n, GLOBAL i32* RESTRICT pairs, const GLOBAL u32* RESTRICT masks,
    GLOBAL i32* RESTRICT counts, const GLOBAL i32* RESTRICT active, i32 level, i32 per, i32 base, i32 rows, i32 first_node,
    const GLOBAL status_t* RESTRICT status</%def>
<%def name="tile_of_group(mode, edge)">
    // A group's tile of rows x candidates, numbered by rows of tiles; it leaves if no row of it has a candidate there.
    const i32 across = (n + ${edge - 1}) / ${edge};
    const i32 first_row = GROUP_ID / across * ${edge};
    const i32 first_candidate = GROUP_ID % across * ${edge};
% if mode == "pairs":
    const i32 total = n;
    const i32 last_node = MIN(first_row + ${edge - 1}, n - 1);
    const i32 needed = status->reason == 0 && first_candidate <= last_node;
% else:
    const i32 total = active[0] * per;
    const i32 last = MIN(first_row + ${edge - 1}, total - 1);
    const i32 needed = status->reason == 0 && first_row < total && first_candidate < first_node + active[1 + last / per];
% endif
    if (!needed)
        return;
</%def>
<%def name="target_of_row(mode)">
            // Where the counts of a row go, and how many candidates it has.
% if mode == "pairs":
            const i32 limit = row + 1;
            GLOBAL i32* target = pairs + (i64)row * n;
% else:
            const i32 slot = active[1 + row / per];
            const i32 limit = first_node + slot;
            GLOBAL i32* target = counts + ((i64)slot * rows + base + row % per) * n;
% endif
</%def>
