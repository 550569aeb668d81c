<%doc>
Gains of functions of at most two genes: linear[i] + sum of couplings[j] over the neighbours j that are at one, or minus that.
</%doc>
<%def name="arguments()">
    const GLOBAL sum_t* RESTRICT linear, const GLOBAL i32* RESTRICT neighbour_starts, const GLOBAL i32* RESTRICT neighbours,
    const GLOBAL sum_t* RESTRICT couplings</%def>
<%def name="declarations(space)"></%def>
<%def name="compute_gains()">
        // In rounds that every work-item takes: if the loop began at LOCAL_ID, PoCL 3.0 would let the last work-item, which may
        // have no gene, decide for all whether to enter it.
        for (i32 base = 0; base < n; base += ${block}) {
            const i32 i = base + LOCAL_ID;
            if (i < n) {
                sum_t gain = linear[i];
                for (i32 at = neighbour_starts[i]; at < neighbour_starts[i + 1]; ++at)
                    gain += BIT_OF(bits, neighbours[at]) ? couplings[at] : 0;
                gains[i] = BIT_OF(bits, i) ? -gain : gain;
            }
        }
</%def>
<%def name="update_gains(space)">
                // Of the neighbours of `gene`, before its flip.
                const u32 old = BIT_OF(bits, gene);
                for (i32 at = neighbour_starts[gene] + LOCAL_ID; at < neighbour_starts[gene + 1]; at += ${block}) {
                    const i32 other = neighbours[at];
                    const sum_t coupling = couplings[at];
                    gains[other] += BIT_OF(bits, other) == old ? coupling : -coupling;
                }
</%def>
