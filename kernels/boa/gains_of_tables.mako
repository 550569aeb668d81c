<%doc>
Gains of sums of tables: function f has the genes genes[scope_starts[f]] .. of its scope, and its table from table_starts[f] on.
incidents[at], from incident_starts[i] on, are the functions of gene i: 16 f + its place in the scope.
</%doc>
<%def name="arguments()">
    const GLOBAL i32* RESTRICT genes, const GLOBAL i32* RESTRICT scope_starts, const GLOBAL i32* RESTRICT table_starts,
    const GLOBAL sum_t* RESTRICT tables, const GLOBAL i32* RESTRICT incident_starts, const GLOBAL i32* RESTRICT incidents</%def>
<%def name="declarations(space)">
FUNCTION i32 table_index(const GLOBAL i32* RESTRICT scope, i32 width, const ${space} u32* bits) {
    i32 index = 0;
    for (i32 place = 0; place < width; ++place)
        index |= (i32)BIT_OF(bits, scope[place]) << place;
    return index;
}
</%def>
<%def name="compute_gains()">
        // In rounds that every work-item takes: if the loop began at LOCAL_ID, PoCL 3.0 would let the last work-item, which may
        // have no gene, decide for all whether to enter it.
        for (i32 base = 0; base < n; base += ${block}) {
            const i32 i = base + LOCAL_ID;
            if (i < n) {
                sum_t gain = 0;
                for (i32 at = incident_starts[i]; at < incident_starts[i + 1]; ++at) {
                    const i32 f = incidents[at] >> 4;
                    const i32 place = incidents[at] & 15;
                    const i32 start = scope_starts[f];
                    const i32 index = table_index(genes + start, scope_starts[f + 1] - start, bits);
                    gain += tables[table_starts[f] + (index ^ (1 << place))] - tables[table_starts[f] + index];
                }
                gains[i] = gain;
            }
        }
</%def>
<%def name="update_gains(space, then='')">
                // Of the genes that share a function with `gene`, before its flip.
                for (i32 at = incident_starts[gene] + LOCAL_ID; at < incident_starts[gene + 1]; at += ${block}) {
                    const i32 f = incidents[at] >> 4;
                    const i32 own_place = incidents[at] & 15;
                    const i32 start = scope_starts[f];
                    const i32 width = scope_starts[f + 1] - start;
                    const GLOBAL sum_t* table = tables + table_starts[f];
                    const i32 before = table_index(genes + start, width, bits);
                    const i32 after = before ^ (1 << own_place);
                    const sum_t change = table[before] - table[after];
                    for (i32 place = 0; place < width; ++place)
                        if (place != own_place) {
                            const sum_t added = change + table[after ^ (1 << place)] - table[before ^ (1 << place)];
                            if (added != 0)
                                ${add("&gains[genes[start + place]]", "added", space)};
                        }
                    ${then}
                }
</%def>
<%def name="add(pointer, value, space)">\
% if block == 1:
*(${pointer}) += ${value}\
% elif sum == "i64":
ATOMIC_ADD_U64((${space} u64*)(${pointer}), (u64)(${value}))\
% else:
ATOMIC_ADD_I32(${pointer}, ${value})\
% endif
</%def>
