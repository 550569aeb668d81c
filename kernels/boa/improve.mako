<%namespace name="philox" file="/common/philox.mako"/>
<%doc>
Local search: every work-group improves one individual after the other by flipping genes, and writes the best it has met
back (Lamarckian). The gain of a gene is what its flip adds to the key; gains are kept up to date after every flip.

rule      "steepest": the largest gain, until none is positive; "first": the first positive gain from a random gene on;
          "tabu": the largest gain of genes that are not tabu, up or down, until the flips are used up;
          "walk": a gene of a random function that is below its maximum, see choose_walk
form      "pairs": functions of at most two genes, as linear[i] + sum of coupling[j] over neighbours j at one; "tables"; or
          "autocorrelation": minus the sum of squares of a sequence's correlations, which are kept up to date (n steps a flip)
local_genes, local_functions  sizes of the arrays in local memory; 0: they are in the global array `scratch`
</%doc>
<%
    pairwise, correlated = form == "pairs", form == "autocorrelation"
    walk, tabu = rule == "walk", rule == "tabu"
    keeps_best = walk or tabu
    space = "LOCAL" if local_genes else "GLOBAL"
    state_header = 6
    fan = 1
    while fan * fan < block:
        fan *= 2
%>\
// improve: rows[i * row_words + g / 32] has gene g of individual i in bit g % 32; individuals first .. last - 1.
//
// A long search is a sequence of launches: this one makes flips first_flip .. last_flip - 1 of each individual. After each
// launch the rows hold the best individuals met so far.
% if keeps_best:
// states[(i - first) * state_words ...] is what an individual's next launch continues with: value and best value (i64), whether
// its row is better than its genes, the genes, and the flip from which each gene is no longer tabu. It is read if first_flip > 0
// and written if keeps_state.
% endif
//
// All is in whole numbers and every choice between equals is made by the group's own random words, so the result does
// not depend on the device. Source of the tabu rule: F. Glover, G. Kochenberger, B. Alidaee, "Adaptive memory tabu search
// for binary quadratic programs", Management Science 44 (1998) 336-345.
// Launch: any number of groups of ${block} work-items; group w takes the individuals first + w, first + w + GROUP_COUNT, ...
typedef ${sum} sum_t;
#define BIT_OF(words, gene) (((words)[(gene) >> 5] >> ((gene) & 31)) & 1u)
#define TIE_BITS 20
#define TIE_MASK 0xFFFFF
#define NO_CANDIDATE (-((i64)1 << 62))
${philox.functions()}
% if correlated:
// What flipping element i adds to the key: correlation k changes by -2 s_i (s_(i+k) + s_(i-k)). signs[n + i] is s_i, others 0.
FUNCTION i32 gain_of(const LOCAL i32* sums, const LOCAL i32* signs, i32 n, i32 i)
{
    const LOCAL i32* here = signs + n + i;
    const i32 own = here[0];
    i32 gain = 0;
    for (i32 k = 1; k < n; ++k) {
        const i32 both = here[k] + here[-k];
        gain += both * (own * sums[k] - both);
    }
    return 4 * gain;
}

% elif not pairwise:
FUNCTION i32 table_index(const GLOBAL i32* RESTRICT scope, i32 width, const ${space} u32* bits)
{
    i32 index = 0;
    for (i32 place = 0; place < width; ++place)
        index |= (i32)BIT_OF(bits, scope[place]) << place;
    return index;
}

% endif
KERNEL LAUNCH_BOUNDS(${block}, 1) improve(GLOBAL u32* RESTRICT rows, i32 n, i32 first, i32 last, i32 first_flip, i32 last_flip, i32 tenure,
    i32 tenure_spread,
% if pairwise:
    const GLOBAL sum_t* RESTRICT linear, const GLOBAL i32* RESTRICT neighbour_starts, const GLOBAL i32* RESTRICT neighbours,
    const GLOBAL sum_t* RESTRICT couplings,
% elif not correlated:
    const GLOBAL i32* RESTRICT genes, const GLOBAL i32* RESTRICT scope_starts, const GLOBAL i32* RESTRICT table_starts,
    const GLOBAL sum_t* RESTRICT tables, const GLOBAL i32* RESTRICT incident_starts, const GLOBAL i32* RESTRICT incidents,
% endif
% if walk:
    const GLOBAL sum_t* RESTRICT maxima, i32 functions,
% endif
% if keeps_best:
    GLOBAL u32* states, i32 state_words, i32 keeps_state,
% endif
% if not local_genes:
    GLOBAL u32* scratch, i32 scratch_words,
% endif
    u64 seed, u32 stream, u32 step, GLOBAL i64* status, i32 work_field)
{
    if (status[0] != 0)
        return;
    const i32 row_words = (n + 31) / 32;
% if walk:
    const i32 map_words = (functions + 31) / 32;
% endif
% if local_genes:
    LOCAL_ARRAY(sum_t, gains, ${local_genes});
    LOCAL_ARRAY(u32, bits, ${local_genes // 32});
% if keeps_best:
    LOCAL_ARRAY(u32, best_bits, ${local_genes // 32});
    LOCAL_ARRAY(i32, free_from, ${local_genes});
% endif
% if correlated:
    LOCAL_ARRAY(i32, sums, ${local_genes});
    LOCAL_ARRAY(i32, signs, ${3 * local_genes});
% endif
% if walk:
    LOCAL_ARRAY(u32, unsatisfied, ${local_functions // 32});
% endif
% else:
    GLOBAL u32* own = scratch + (i64)GROUP_ID * scratch_words;
    GLOBAL sum_t* gains = (GLOBAL sum_t*)own;
    own += (i64)n * ${2 if sum == "i64" else 1};
    GLOBAL u32* bits = own;
    own += row_words;
% if keeps_best:
    GLOBAL u32* best_bits = own;
    own += row_words;
    GLOBAL i32* free_from = (GLOBAL i32*)own;
    own += n;
% endif
% if walk:
    GLOBAL u32* unsatisfied = own;
% endif
% endif
% if block > 1:
    LOCAL_ARRAY(i64, part, ${block});
    LOCAL_ARRAY(i64, upper, ${fan});
% if walk:
    LOCAL_ARRAY(i64, choice, 2);
% endif
% endif
    i64 work = 0;
    for (i32 individual = first + GROUP_ID; individual < last; individual += GROUP_COUNT) {
        GLOBAL u32* row = rows + (i64)individual * row_words;
% if keeps_best:
        GLOBAL u32* state = states + (i64)(individual - first) * state_words;
        for (i32 w = LOCAL_ID; w < row_words; w += ${block}) {
            bits[w] = first_flip ? state[${state_header} + w] : row[w];
            best_bits[w] = row[w];
        }
% else:
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            bits[w] = row[w];
% endif
% if walk:
        for (i32 w = LOCAL_ID; w < map_words; w += ${block})
            unsatisfied[w] = 0;
% endif
        BARRIER();
% if correlated:
        for (i32 i = LOCAL_ID; i < 3 * n; i += ${block})
            signs[i] = i < n || i >= 2 * n ? 0 : 2 * (i32)BIT_OF(bits, i - n) - 1;
        BARRIER();
        for (i32 k = LOCAL_ID; k < n; k += ${block}) {
            i32 sum = 0;
            for (i32 i = 0; i + k < n; ++i)
                sum += signs[n + i] * signs[n + i + k];
            sums[k] = sum;
        }
        BARRIER();
% endif
        // In rounds that every work-item takes: if the loop began at LOCAL_ID, PoCL 3.0 would let the last work-item, which may
        // have no gene, decide for all whether to enter it.
        for (i32 base = 0; base < n; base += ${block}) {
            const i32 i = base + LOCAL_ID;
            if (i < n) {
                sum_t gain = 0;
% if pairwise:
                gain = linear[i];
                for (i32 at = neighbour_starts[i]; at < neighbour_starts[i + 1]; ++at)
                    gain += BIT_OF(bits, neighbours[at]) ? couplings[at] : 0;
                gain = BIT_OF(bits, i) ? -gain : gain;
% elif correlated:
                gain = gain_of(sums, signs, n, i);
% else:
                for (i32 at = incident_starts[i]; at < incident_starts[i + 1]; ++at) {
                    const i32 f = incidents[at] >> 4;
                    const i32 place = incidents[at] & 15;
                    const i32 start = scope_starts[f];
                    const i32 index = table_index(genes + start, scope_starts[f + 1] - start, bits);
                    gain += tables[table_starts[f] + (index ^ (1 << place))] - tables[table_starts[f] + index];
                }
% endif
                gains[i] = gain;
% if keeps_best:
                free_from[i] = first_flip ? (i32)state[${state_header} + row_words + i] : 0;
% endif
            }
        }
% if walk:
        for (i32 f = LOCAL_ID; f < functions; f += ${block}) {
            const i32 start = scope_starts[f];
            const i32 index = table_index(genes + start, scope_starts[f + 1] - start, bits);
            if (tables[table_starts[f] + index] < maxima[f])
                ATOMIC_OR_U32(&unsatisfied[f >> 5], 1u << (f & 31));
        }
% endif
        BARRIER();

% if keeps_best:
        i64 value = first_flip ? ((GLOBAL i64*)state)[0] : 0;
        i64 best_value = first_flip ? ((GLOBAL i64*)state)[1] : 0;
        i32 is_saved = first_flip ? (i32)state[4] : 0;
% endif
        for (i32 flip = first_flip; flip < last_flip; ++flip) {
            const philox_words_t words = philox_words(seed, stream, step, ((i64)individual << 24) + flip, 0);
% if walk:
${choose_walk()}
% else:
${choose_by_gain()}
% endif
% if tabu:
            // Without a candidate nothing is flipped, but every work-item goes on to the barrier below.
            const i32 flips = choice != NO_CANDIDATE;
            if (flips) {
% elif not walk:
            if (choice <= 0)
                break;
% endif
% if keeps_best:
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
% endif
% if not correlated:
            const u32 old = BIT_OF(bits, gene);
% endif
% if pairwise:
            for (i32 at = neighbour_starts[gene] + LOCAL_ID; at < neighbour_starts[gene + 1]; at += ${block}) {
                const i32 other = neighbours[at];
                const sum_t coupling = couplings[at];
                gains[other] += BIT_OF(bits, other) == old ? coupling : -coupling;
            }
% elif correlated:
            for (i32 k = LOCAL_ID; k < n; k += ${block})
                sums[k] -= k ? 2 * signs[n + gene] * (signs[n + gene + k] + signs[n + gene - k]) : 0;
% else:
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
                            ${add("&gains[genes[start + place]]", "added")};
                    }
% if walk:
                if ((table[before] < maxima[f]) != (table[after] < maxima[f]))
                    ATOMIC_XOR_U32(&unsatisfied[f >> 5], 1u << (f & 31));
% endif
            }
% endif
            // By the work-item that reads this gene's gain next.
            if (LOCAL_ID == gene % ${block}) {
                gains[gene] = -gains[gene];
% if tabu:
                free_from[gene] = flip + 1 + tenure + (i32)MULTIPLY_HIGH_U32(words.w1, (u32)tenure_spread);
% elif walk:
                free_from[gene] = flip + 1;
% endif
            }
% if tabu:
            }
% endif
% if block > 1:
            BARRIER();
% endif
            if (${"flips && " if tabu else ""}LOCAL_ID == 0)
                bits[gene >> 5] ^= 1u << (gene & 31);
            work += ${"flips" if tabu else "1"};
% if correlated:
            if (flips && LOCAL_ID == 0)
                signs[n + gene] = -signs[n + gene];
            BARRIER();
            for (i32 base = 0; base < n; base += ${block})
                if (base + LOCAL_ID < n)
                    gains[base + LOCAL_ID] = gain_of(sums, signs, n, base + LOCAL_ID);
% endif
        }
        BARRIER();
% if keeps_best:
        if (keeps_state) {
            for (i32 w = LOCAL_ID; w < row_words; w += ${block})
                state[${state_header} + w] = bits[w];
            for (i32 i = LOCAL_ID; i < n; i += ${block})
                state[${state_header} + row_words + i] = (u32)free_from[i];
            if (LOCAL_ID == 0) {
                ((GLOBAL i64*)state)[0] = value;
                ((GLOBAL i64*)state)[1] = best_value;
                state[4] = (u32)is_saved;
            }
        }
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            row[w] = is_saved ? best_bits[w] : bits[w];
% else:
        for (i32 w = LOCAL_ID; w < row_words; w += ${block})
            row[w] = bits[w];
% endif
        BARRIER();
    }
    if (LOCAL_ID == 0 && work)
        ATOMIC_ADD_U64((GLOBAL u64*)&status[work_field], (u64)work);
}
<%def name="add(pointer, value)">\
% if block == 1:
*(${pointer}) += ${value}\
% elif sum == "i64":
ATOMIC_ADD_U64((${space} u64*)(${pointer}), (u64)(${value}))\
% else:
ATOMIC_ADD_I32(${pointer}, ${value})\
% endif
</%def>
<%def name="eligible()">\
% if tabu:
free_from[i] <= flip || gains[i] > needed\
% elif rule == "first":
gains[i] > 0\
% else:
1\
% endif
</%def>
<%def name="choose_by_gain()">\
            // Of equal gains the first from a random gene on.
            const i32 origin = (i32)MULTIPLY_HIGH_U32(words.w0, (u32)n);
            i64 choice = NO_CANDIDATE;
% if tabu:
            const sum_t needed = (sum_t)(best_value - value);
% endif
% if block == 1:
% if rule == "first":
            i32 gene = 0;
            sum_t gain = 0;
            for (i32 turn = 0; turn < 2 && choice < 0; ++turn)
                for (i32 i = turn ? 0 : origin; i < (turn ? origin : n); ++i)
                    if (gains[i] > 0) {
                        gene = i;
                        gain = gains[i];
                        choice = 1;
                        break;
                    }
% else:
            const sum_t least = ${"-((sum_t)1 << 30) * 2 + 1" if sum == "i32" else "-((sum_t)1 << 62)"};
            sum_t gain = least;
            for (i32 i = 0; i < n; ++i) {
                const sum_t candidate = (${eligible()}) ? gains[i] : least;
                gain = MAX(gain, candidate);
            }
            i32 gene = 0;
            if (gain != least) {
                choice = gain;
                i32 i = origin;
                while (!(gains[i] == gain && (${eligible()})))
                    i = i + 1 == n ? 0 : i + 1;
                gene = i;
            }
% endif
% else:
            for (i32 i = LOCAL_ID; i < n; i += ${block})
                if (${eligible()}) {
                    const i32 distance = i >= origin ? i - origin : i - origin + n;
                    const i64 key = ${"0" if rule == "first" else "(i64)gains[i] * (TIE_MASK + 1)"} + (TIE_MASK - distance);
                    choice = MAX(choice, key);
                }
            part[LOCAL_ID] = choice;
            BARRIER();
            if (LOCAL_ID < ${fan}) {
                for (i32 i = LOCAL_ID + ${fan}; i < ${block}; i += ${fan})
                    choice = MAX(choice, part[i]);
                upper[LOCAL_ID] = choice;
            }
            BARRIER();
            choice = upper[0];
            for (i32 i = 1; i < ${fan}; ++i)
                choice = MAX(choice, upper[i]);
            i32 gene = origin + TIE_MASK - (i32)(choice & TIE_MASK);
            gene = gene >= n ? gene - n : gene;
% if rule == "first":
            choice = choice == NO_CANDIDATE ? 0 : 1;
% elif tabu:
            const i64 gain = choice >> TIE_BITS;
% else:
            choice >>= TIE_BITS;
% endif
% endif
</%def>
<%def name="choose_walk()">\
            // A function below its maximum: the first one from a random one on.
            const i32 origin = (i32)MULTIPLY_HIGH_U32(words.w0, (u32)functions);
            i32 chosen = functions;
% if block == 1:
            for (i32 turn = 0; turn <= map_words && chosen == functions; ++turn) {
                const i32 w = ((origin >> 5) + turn) % map_words;
                // The bits before the random one of its word come last.
                const u32 open = unsatisfied[w] & (turn == 0 ? 0xFFFFFFFFu << (origin & 31) : 0xFFFFFFFFu);
                if (open) {
                    const i32 f = 32 * w + COUNT_BITS_U32((open & (0u - open)) - 1u);
                    chosen = f >= origin ? f - origin : f - origin + functions;
                }
            }
% else:
            for (i32 w = LOCAL_ID; w < map_words; w += ${block}) {
                const u32 open = unsatisfied[w];
                if (open) {
                    const u32 later = w > origin >> 5 ? open : w < origin >> 5 ? 0u : open & (0xFFFFFFFFu << (origin & 31));
                    const u32 lowest = later ? later & (0u - later) : open & (0u - open);
                    const i32 f = 32 * w + COUNT_BITS_U32(lowest - 1u);
                    chosen = MIN(chosen, later ? f - origin : f - origin + functions);
                }
            }
            part[LOCAL_ID] = chosen;
            BARRIER();
            if (LOCAL_ID < ${fan}) {
                for (i32 i = LOCAL_ID + ${fan}; i < ${block}; i += ${fan})
                    chosen = MIN(chosen, (i32)part[i]);
                upper[LOCAL_ID] = chosen;
            }
            BARRIER();
            if (LOCAL_ID == 0) {
                for (i32 i = 1; i < ${fan}; ++i)
                    chosen = MIN(chosen, (i32)upper[i]);
                choice[0] = -1;
                if (chosen < functions) {
${choose_in_scope()}
                    choice[0] = gene;
                    choice[1] = gains[gene];
                }
            }
            BARRIER();
            const i32 gene = (i32)choice[0];
            const i64 gain = choice[1];
            if (gene < 0)
                break;
% endif
% if block == 1:
            if (chosen == functions)
                break;
${choose_in_scope()}
            const i64 gain = gains[gene];
% endif
</%def>
<%def name="choose_in_scope()">\
            const i32 f_chosen = origin + chosen >= functions ? origin + chosen - functions : origin + chosen;
            const GLOBAL i32* scope = genes + scope_starts[f_chosen];
            const i32 scope_width = scope_starts[f_chosen + 1] - scope_starts[f_chosen];
            // The largest gain, of equals the gene flipped longest ago; the second; and the gene flipped last.
            i32 gene = scope[0];
            i32 second = gene;
            i32 latest = gene;
            for (i32 place = 1; place < scope_width; ++place) {
                const i32 g = scope[place];
                if (gains[g] > gains[gene] || (gains[g] == gains[gene] && free_from[g] < free_from[gene])) {
                    second = gene;
                    gene = g;
                } else if (second == gene || gains[g] > gains[second]
                    || (gains[g] == gains[second] && free_from[g] < free_from[second])) {
                    second = g;
                }
                latest = free_from[g] > free_from[latest] ? g : latest;
            }
            if (words.w1 < ${int(0.01 * 2**32)}u)
                gene = scope[MULTIPLY_HIGH_U32(words.w2, (u32)scope_width)];
            else if (gene == latest && free_from[gene] > 0 && (words.w3 >> 31))
                gene = second;
</%def>
