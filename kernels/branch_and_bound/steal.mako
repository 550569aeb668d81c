// Optimised before it runs.
// Work stealing between the IVMs of one device, in launches of their own between those of explore.mako.
//
// A victim's interval [position, end) is cut at `middle` = (chosen ranks above level k, a rank at level k, zeros): the
// victim keeps [position, middle) with the open siblings below the cut, the thief takes [middle, end). Both stay aligned
// (see engine/solvers/branch_and_bound/intervals.py), and both have at least one open node.
// One thief a victim and one victim a thief in every launch, so nothing is written twice.
// Buffers as in ivm.mako.
${masks.declarations()}
<% deepest = max(items - 3, 0) %>
#define IVMS GLOBAL mask_t* rows, GLOBAL mask_t* sides, GLOBAL i32* depths, GLOBAL digit_t* begins, GLOBAL digit_t* ends

// Give [middle, end) to the thief: at level `level`, the open siblings `upper`, of which the cut comes before rank `rank`;
// above it, all open siblings but the chosen. Without any at `level`, the thief begins at its deepest open sibling above.
FUNCTION void split(IVMS, i32 slots, i32 victim, i32 thief, i32 level, i32 rank, mask_t upper) {
    mask_t free = ALL_ITEMS;
    i32 last = -1;
    for (i32 l = 0; l < level; ++l) {
        const i64 at = (i64)l * slots;
        const mask_t row = rows[at + victim];
        const mask_t chosen = LOWEST(row);
        const digit_t digit = (digit_t)COUNT(free & BELOW(chosen));
        rows[at + thief] = row;
        rows[at + victim] = chosen;
        if (ANY(row ^ chosen))
            last = l;
        free ^= chosen;
        begins[at + thief] = digit;
        ends[at + thief] = ends[at + victim];
        ends[at + victim] = digit;
    }
    const i64 at = (i64)level * slots;
    rows[at + thief] = upper;
    rows[at + victim] &= ~upper;
    begins[at + thief] = (digit_t)rank;
    ends[at + thief] = ends[at + victim];
    ends[at + victim] = (digit_t)rank;
    for (i32 l = level + 1; l < ITEMS; ++l) {
        const i64 below = (i64)l * slots;
        begins[below + thief] = 0;
        ends[below + thief] = ends[below + victim];
        ends[below + victim] = 0;
    }
    sides[thief] = sides[victim];
    if (!ANY(upper)) {
        const i64 above = (i64)last * slots + thief;
        rows[above] ^= LOWEST(rows[above]);
        level = last;
    }
    depths[thief] = level + 1;
}

// Rank, among the items open at a level, of an item.
FUNCTION i32 rank_of(const GLOBAL mask_t* rows, i32 slots, i32 ivm, i32 level, mask_t item) {
    mask_t free = ALL_ITEMS;
    for (i32 l = 0; l < level; ++l)
        free ^= LOWEST(rows[(i64)l * slots + ivm]);
    return COUNT(free & BELOW(item));
}

// The upper half of the open siblings at a level, the chosen one left out: one of one, one of two, two of three.
FUNCTION mask_t upper_half(mask_t row) {
    mask_t upper = row ^ LOWEST(row);
    for (i32 keep = COUNT(upper) / 2; keep > 0; --keep)
        upper ^= LOWEST(upper);
    return upper;
}

// The shallowest level with an open sibling, or -1.
FUNCTION i32 shallowest(const GLOBAL mask_t* rows, i32 slots, i32 ivm, i32 depth) {
    const i32 until = MIN(depth, ${deepest + 1});
    for (i32 l = 0; l < until; ++l) {
        const mask_t row = rows[(i64)l * slots + ivm];
        if (ANY(WITHOUT_LOWEST(row)))
            return l;
    }
    return -1;
}

// Begin a round: from how many active IVMs on the next launch may end early, and how many nodes it may do. `thief_count` thieves
// are given, 0 where they are listed.
// Launch: one work-item.
KERNEL begin_round(GLOBAL control_t* control, GLOBAL counters_t* counters, i32 ivms, i32 trigger, i32 steps, i32 ramp_steps,
    i32 thief_count) {
    const i32 active = control->active;
    control->least_active = active - (i32)(((i64)active * trigger + 999) / 1000) + (trigger > 0);
    control->steps = 2 * active < ivms ? ramp_steps : steps;
    control->thieves = thief_count;
    for (i32 level = 0; level <= ${deepest}; ++level)
        control->victims[level] = 0;
    counters->length = 0;
    counters->active = active;
}

// List the idle IVMs, and the victims by the shallowest level at which they have an open sibling.
// thieves[i], victims[level * slots + i]; how many is in control. `collect` is 0 where the thieves are given.
// Launch: one work-item per IVM, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) list_siblings(const GLOBAL mask_t* RESTRICT rows, const GLOBAL i32* RESTRICT depths,
    GLOBAL control_t* control, GLOBAL i32* RESTRICT thieves, GLOBAL i32* RESTRICT victims, i32 collect, i32 ivms, i32 slots) {
    const i32 ivm = (i32)GLOBAL_ID;
    i32 list = -1;
    if (ivm < ivms) {
        const i32 depth = depths[ivm];
        if (depth >= 0) {
            const i32 level = shallowest(rows, slots, ivm, depth);
            list = level < 0 ? -1 : level + 1;
        } else if (collect) {
            list = 0;
        }
    }
% if block > 1:
    LOCAL_ARRAY(i32, sizes, ${deepest + 2});
    for (i32 l = LOCAL_ID; l < ${deepest + 2}; l += ${block})
        sizes[l] = 0;
    BARRIER();
    i32 place = 0;
    if (list >= 0)
        place = ATOMIC_ADD_I32(&sizes[list], 1);
    BARRIER();
    for (i32 l = LOCAL_ID; l < ${deepest + 2}; l += ${block})
        if (sizes[l])
            sizes[l] = ATOMIC_ADD_I32(l ? &control->victims[l - 1] : &control->thieves, sizes[l]);
    BARRIER();
    if (list >= 0)
        place += sizes[list];
% else:
    i32 place = 0;
    if (list >= 0)
        place = ATOMIC_ADD_I32(list ? &control->victims[list - 1] : &control->thieves, 1);
% endif
    if (list == 0)
        thieves[place] = ivm;
    else if (list > 0)
        victims[(i64)(list - 1) * slots + place] = ivm;
}

// The i-th thief takes the upper half of the open siblings of the i-th victim, the shallowest victims first.
// `starts` is 0 where the thieves are not IVMs that search, but slots to export from.
// Launch: one work-item per thief, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) steal_siblings(IVMS, GLOBAL control_t* control,
    const GLOBAL i32* RESTRICT thieves, const GLOBAL i32* RESTRICT victims, i32 starts, i32 ivms, i32 slots) {
    const i32 index = (i32)GLOBAL_ID;
    if (index < ivms && index < control->thieves) {
        i32 level = 0, place = index;
        while (level <= ${deepest} && place >= control->victims[level]) {
            place -= control->victims[level];
            ++level;
        }
        if (level <= ${deepest}) {
            const i32 victim = victims[(i64)level * slots + place];
            const mask_t upper = upper_half(rows[(i64)level * slots + victim]);
            const i32 rank = rank_of(rows, slots, victim, level, LOWEST(upper));
            split(rows, sides, depths, begins, ends, slots, victim, thieves[index], level, rank, upper);
            if (starts)
                ATOMIC_ADD_I32(&control->active, 1);
            ATOMIC_ADD_I32(&control->stolen, 1);
        }
    }
}

// Length of [position, end) in units of n! / 2^62, at least 1. weights[l] = 2^62 (n - 1 - l)! / n!, rounded down.
FUNCTION u64 length_of(const GLOBAL mask_t* rows, const GLOBAL digit_t* ends, const GLOBAL u64* weights, i32 slots, i32 ivm,
    i32 depth) {
    mask_t free = ALL_ITEMS;
    u64 length = 0;
    for (i32 l = 0; l < ITEMS; ++l) {
        i64 digit = ends[(i64)l * slots + ivm];
        if (l < depth) {
            const mask_t chosen = LOWEST(rows[(i64)l * slots + ivm]);
            digit -= COUNT(free & BELOW(chosen));
            free ^= chosen;
        }
        length += (u64)digit * weights[l];
    }
    return (i64)length < 1 ? 1 : length;
}

// The length of every IVM's interval, their sum, and since when it is active: 0 idle, 1 before this phase.
// Launch: one work-item per IVM, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) measure_intervals(const GLOBAL mask_t* RESTRICT rows, const GLOBAL i32* RESTRICT depths,
    const GLOBAL digit_t* RESTRICT ends, const GLOBAL u64* RESTRICT weights, GLOBAL u64* RESTRICT lengths,
    GLOBAL i32* RESTRICT since, GLOBAL counters_t* counters, i32 ivms, i32 slots) {
    const i32 ivm = (i32)GLOBAL_ID;
    if (ivm < ivms) {
        const i32 depth = depths[ivm];
        since[ivm] = depth >= 0;
        if (depth >= 0) {
            const u64 length = length_of(rows, ends, weights, slots, ivm, depth);
            lengths[ivm] = length;
            ATOMIC_ADD_U64(&counters->length, length);
        }
    }
}

// Give the upper half of the victim's interval to the thief; `open_level` is the victim's shallowest level with an open sibling.
FUNCTION void halve(IVMS, i32 slots, i32 victim, i32 thief, i32 open_level) {
    const i32 depth = depths[victim];
    // middle = (position + end) / 2, in digits: add from the right, halve from the left.
    digit_t middle[ITEMS];
    mask_t free = ALL_ITEMS;
    for (i32 l = 0; l < ITEMS; ++l) {
        middle[l] = 0;
        if (l < depth) {
            const mask_t chosen = LOWEST(rows[(i64)l * slots + victim]);
            middle[l] = (digit_t)COUNT(free & BELOW(chosen));
            free ^= chosen;
        }
    }
    i32 carry = 0;
    for (i32 l = ITEMS - 1; l >= 0; --l) {
        i32 digit = middle[l] + ends[(i64)l * slots + victim] + carry;
        carry = 0;
        if (l > 0 && digit >= ITEMS - l) {
            digit -= ITEMS - l;
            carry = 1;
        }
        middle[l] = (digit_t)digit;
    }
    i32 odd = 0;
    for (i32 l = 0; l < ITEMS; ++l) {
        const i32 digit = middle[l] + odd * (ITEMS - l);
        middle[l] = (digit_t)(digit / 2);
        odd = digit & 1;
    }
    // The level where middle leaves the path, and the open siblings from there on.
    i32 level = -1, rank = 0;
    mask_t upper = NO_ITEMS, others = NO_ITEMS;
    free = ALL_ITEMS;
    for (i32 l = 0; l < MIN(depth, ${deepest + 1}); ++l) {
        const mask_t row = rows[(i64)l * slots + victim];
        const mask_t chosen = LOWEST(row);
        if (middle[l] > COUNT(free & BELOW(chosen))) {
            mask_t below = free;
            for (i32 r = 0; r < middle[l]; ++r)
                below ^= LOWEST(below);
            level = l;
            rank = middle[l];
            upper = row & below;
            break;
        }
        others |= row ^ chosen;
        free ^= chosen;
    }
    if (level < 0 || !ANY(upper | others)) {
        level = open_level;
        upper = upper_half(rows[(i64)level * slots + victim]);
        rank = rank_of(rows, slots, victim, level, LOWEST(upper));
    }
    split(rows, sides, depths, begins, ends, slots, victim, thief, level, rank, upper);
}

// One round of doubling: IVMs lie on a ring, and an idle one looks at the one `offset` further. It takes the upper half of
// that one's interval if it was active before this round and is no shorter than the mean length of the active ones shifted
// right by `shift` (any length for a negative shift).
// Launch: one work-item per IVM, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) steal_at_distance(IVMS, GLOBAL control_t* control, const GLOBAL counters_t* counters,
    const GLOBAL u64* RESTRICT weights, GLOBAL u64* lengths, volatile GLOBAL i32* since, i32 offset, i32 round, i32 shift,
    i32 ivms, i32 slots) {
    const i32 thief = (i32)GLOBAL_ID;
    if (thief < ivms && since[thief] == 0) {
        const i32 victim = (thief + offset) % ivms;
        const i32 active = since[victim];
        const u64 least = shift < 0 || !counters->active ? 0 : counters->length / counters->active >> shift;
        if (active != 0 && active <= round && lengths[victim] >= least) {
            const i32 open_level = shallowest(rows, slots, victim, depths[victim]);
            if (open_level >= 0) {
                halve(rows, sides, depths, begins, ends, slots, victim, thief, open_level);
                lengths[victim] = length_of(rows, ends, weights, slots, victim, depths[victim]);
                lengths[thief] = length_of(rows, ends, weights, slots, thief, depths[thief]);
                ATOMIC_ADD_I32(&control->active, 1);
                ATOMIC_ADD_I32(&control->stolen, 1);
                since[thief] = round + 1;
            }
        }
    }
}

// The paper's victim selection: IVMs lie on rings of `radix` at `stride`, and an idle one looks at those `first`,
// `first` + 1, ... places before it on its ring, at so many `places`. It takes the upper half of the first one's interval that
// was active before this phase, has not been a victim in it and, with `longer`, is longer than the mean over all IVMs.
// Thieves of one launch race for a victim; the one that raises its `since` from 1 has it.
// Launch: one work-item per IVM, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) steal_on_rings(IVMS, GLOBAL control_t* control, const GLOBAL counters_t* counters,
    const GLOBAL u64* RESTRICT lengths, volatile GLOBAL i32* since, i32 stride, i32 radix, i32 first, i32 places, i32 longer,
    i32 ivms, i32 slots) {
    const i32 thief = (i32)GLOBAL_ID;
    if (thief < ivms && since[thief] == 0) {
        const i32 place = thief / stride % radix;
        const u64 mean = counters->length / (u64)ivms;
        i32 at = place - first % radix;
        for (i32 k = 0; k < places; ++k, --at) {
            if (at < 0)
                at += radix;
            const i32 victim = thief + (at - place) * stride;
            if (since[victim] != 1 || (longer && lengths[victim] <= mean))
                continue;
            const i32 open_level = shallowest(rows, slots, victim, depths[victim]);
            if (open_level < 0 || ATOMIC_ADD_I32(&since[victim], 2) != 1)
                continue;
            halve(rows, sides, depths, begins, ends, slots, victim, thief, open_level);
            ATOMIC_ADD_I32(&control->active, 1);
            ATOMIC_ADD_I32(&control->stolen, 1);
            since[thief] = 2;
            break;
        }
    }
}

// Pack the intervals of the slots from `first` on as units (see ivm.mako), dealt out to `parts` receivers in
// turn: the units of the first, then those of the second, and so on. The slots are free then.
// Launch: one work-item per slot, ${block} a group.
KERNEL LAUNCH_BOUNDS(${block}, 1) pack_units(GLOBAL i32* RESTRICT depths, const GLOBAL digit_t* RESTRICT begins,
    const GLOBAL digit_t* RESTRICT ends, GLOBAL digit_t* RESTRICT units, i32 count, i32 parts, i32 first, i32 slots) {
    const i32 index = (i32)GLOBAL_ID;
    if (index < count) {
        const i32 part = index % parts;
        const i32 row = part * (count / parts) + MIN(part, count % parts) + index / parts;
        GLOBAL digit_t* unit = units + (i64)row * ${2 * items + 1};
        for (i32 l = 0; l < ITEMS; ++l) {
            const i64 at = (i64)l * slots + first + index;
            unit[l] = begins[at];
            unit[ITEMS + l] = ends[at];
        }
        unit[2 * ITEMS] = (digit_t)depths[first + index];
        depths[first + index] = -1;
    }
}
