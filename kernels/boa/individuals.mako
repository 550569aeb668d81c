<%doc>
What local searches share: the individuals they improve, the arrays of a group, and the choice of a gene by its gain.

Every work-group improves one individual after the other by flipping genes, and writes the best it has met back (Lamarckian). The
gain of a gene is what its flip adds to the key; gains are kept up to date after every flip (gains_of_pairs, gains_of_tables).
rows[i * row_words + g / 32] has gene g of individual i in bit g % 32; a launch is for individuals first .. last - 1.

All is in whole numbers and every choice between equals is made by the group's own random words, so the result does not depend on
the device.

local_genes, local_functions  sizes of the arrays in local memory; 0: they are in the global array `scratch`
</%doc>
<%!
    def fan_of(block):
        """Work-items of the upper level of a reduction in two levels."""
        fan = 1
        while fan * fan < block:
            fan *= 2
        return fan

    searched = (("sum_t", "gains", "genes"), ("u32", "bits", "words"), ("u32", "best_bits", "words"), ("i32", "free_from", "genes"))
%>
<%def name="declarations()">
typedef ${sum} sum_t;
${status.declaration()}
#define BIT_OF(words, gene) (((words)[(gene) >> 5] >> ((gene) & 31)) & 1u)
#define TIE_BITS 20
#define TIE_MASK 0xFFFFF
#define NO_CANDIDATE (-((i64)1 << 62))
</%def>
<%def name="work_arrays(*arrays)">
<%
    lengths = {"genes": "n", "words": "row_words", "functions": "map_words"}
    local = {"genes": local_genes, "words": local_genes // 32, "functions": local_functions // 32}
%>
% if local_genes:
% for type, name, size in arrays:
    LOCAL_ARRAY(${type}, ${name}, ${local[size]});
% endfor
% else:
    GLOBAL u32* unused = scratch + (i64)GROUP_ID * scratch_words;
% for type, name, size in arrays:
    GLOBAL ${type}* ${name} = (GLOBAL ${type}*)unused;
    unused += (i64)${lengths[size]} * ${2 if (type, sum) == ("sum_t", "i64") else 1};
% endfor
% endif
% if block > 1:
    LOCAL_ARRAY(i64, part, ${block});
    LOCAL_ARRAY(i64, upper, ${fan_of(block)});
% endif
</%def>
<%def name="group_extreme(name, operation)">
            // In two levels, which take two barriers.
            part[LOCAL_ID] = ${name};
            BARRIER();
            if (LOCAL_ID < ${fan_of(block)}) {
                for (i32 i = LOCAL_ID + ${fan_of(block)}; i < ${block}; i += ${fan_of(block)})
                    ${name} = ${operation}(${name}, part[i]);
                upper[LOCAL_ID] = ${name};
            }
            BARRIER();
            ${name} = upper[0];
            for (i32 i = 1; i < ${fan_of(block)}; ++i)
                ${name} = ${operation}(${name}, upper[i]);
</%def>
<%def name="choose_largest(is_eligible)">
            // Of the genes i with ${is_eligible}: gene and gain of the largest; of equal gains the first from a random gene on.
            const i32 origin = (i32)MULTIPLY_HIGH_U32(words.w0, (u32)n);
% if block == 1:
            const sum_t least = ${"-((sum_t)1 << 30) * 2 + 1" if sum == "i32" else "-((sum_t)1 << 62)"};
            sum_t largest = least;
            for (i32 i = 0; i < n; ++i) {
                const sum_t candidate = (${is_eligible}) ? gains[i] : least;
                largest = MAX(largest, candidate);
            }
            const i32 is_found = largest != least;
            const i64 gain = largest;
            i32 gene = 0;
            if (is_found) {
                i32 i = origin;
                while (!(gains[i] == largest && (${is_eligible})))
                    i = i + 1 == n ? 0 : i + 1;
                gene = i;
            }
% else:
            i64 choice = NO_CANDIDATE;
            for (i32 i = LOCAL_ID; i < n; i += ${block})
                if (${is_eligible}) {
                    const i32 distance = i >= origin ? i - origin : i - origin + n;
                    const i64 key = (i64)gains[i] * (TIE_MASK + 1) + (TIE_MASK - distance);
                    choice = MAX(choice, key);
                }
            ${group_extreme("choice", "MAX")}
            const i32 is_found = choice != NO_CANDIDATE;
            const i64 gain = choice >> TIE_BITS;
            i32 gene = origin + TIE_MASK - (i32)(choice & TIE_MASK);
            gene = gene >= n ? gene - n : gene;
% endif
</%def>
<%def name="copy_words(target, source)">
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            ${target}[w] = ${source}[w];
</%def>
<%def name="restore_search()">
        // What a launch continues with: see tabu.mako.
        GLOBAL u32* state = states + (i64)(individual - first) * state_words;
        GLOBAL search_t* kept = (GLOBAL search_t*)state;
        GLOBAL u32* kept_bits = state + ${search.dtype.itemsize // 4};
        GLOBAL u32* kept_free = kept_bits + row_words;
        for (i32 w = LOCAL_ID; w < row_words; w += ${block}) {
            bits[w] = first_flip ? kept_bits[w] : row[w];
            best_bits[w] = row[w];
        }
        for (i32 base = 0; base < n; base += ${block})
            if (base + LOCAL_ID < n)
                free_from[base + LOCAL_ID] = first_flip ? (i32)kept_free[base + LOCAL_ID] : 0;
        i64 value = first_flip ? kept->value : 0;
        i64 best_value = first_flip ? kept->best_value : 0;
        i32 is_saved = first_flip ? kept->is_saved : 0;
</%def>
<%def name="count_flip()">
                // The best genes are saved before the first flip that does not improve on them.
                if (!is_saved && gain <= 0) {
                    for (i32 w = LOCAL_ID; w < row_words; w += ${block})
                        best_bits[w] = bits[w];
                    is_saved = 1;
                }
                value += gain;
                if (value > best_value) {
                    best_value = value;
                    is_saved = 0;
                }
</%def>
<%def name="keep_search()">
        if (keeps_state) {
            for (i32 w = LOCAL_ID; w < row_words; w += ${block})
                kept_bits[w] = bits[w];
            for (i32 i = LOCAL_ID; i < n; i += ${block})
                kept_free[i] = (u32)free_from[i];
            if (LOCAL_ID == 0) {
                kept->value = value;
                kept->best_value = best_value;
                kept->is_saved = is_saved;
            }
        }
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            row[w] = is_saved ? best_bits[w] : bits[w];
        BARRIER();
</%def>
<%def name="report_flips()">
    if (LOCAL_ID == 0 && work)
        ATOMIC_ADD_U64((GLOBAL u64*)&status->flips, (u64)work);
</%def>
