<%doc>
Iterated greedy search for flowshop schedules, many chains at once.

A chain removes a few random jobs from its schedule, moves every job that is left to its best place, inserts the removed
jobs at their best places, moves every job to its best place once more, and accepts the schedule or returns to the one
before. One step tries one job at all places of the others.

Heads e(k, i): when machine i is done with the first k jobs; tails q(k, i): how long the schedule takes from the start of
job k on machine i on. A job put before job k is done on machine i at

    f(k, i) = max(f(k, i - 1), e(k, i)) + p_i,      and the makespan is the largest f(k, i) + q(k, i) over i.

On GPUs a chain is `width` work-items. Each has `each` machines and is one job behind the work-item before it, so that only
three values pass from one to the next. On CPUs a chain is one work-item, and the machines are the lanes of its vectors, one
job behind the lane before.

machines, each, width, lanes   lanes = width * chains of a group; times are 0 on machines beyond the last
shuffle                        whether values pass by exchange in the warp; otherwise through local memory
vectors                        vectors of 16 machines; 0 on GPUs
value                          type of q, and with vectors of e and f: 16 bits where every makespan fits; u16 is cut off at
                               65 535, which no best makespan reaches
</%doc>
// Optimised at once.
<%
    used = 1 if vectors else -(-machines // each)
    stride = machines if vectors else used * each
    per_group = lanes // width
    row = 16 * vectors
    vector = "short16" if value == "i16" else "int16"
%>\
// times[j * ${stride} + i]               of job j on machine i
// work[(2 * c + s % 2) * jobs + k]   the schedule of chain c before step s, without the jobs that are removed
// removed[8 * c + k]                 the jobs that are removed from it
// current, best[c * jobs + k]        the schedule accepted last, and the best one; values and best_values: their makespans
// tails[c * tail_words + ...]        q(k, i), at row k + the number of i's work-item or lane: those of a step are side by side\
${"; the times before them, likewise" if vectors else ""}
// thresholds[4096]                   quantiles of how much longer a schedule may be that is accepted
// An iteration is 2 * jobs + count steps; count is 1 to 8. With `building`, step s inserts job current[c * jobs + s] into a
// schedule of s jobs, and there are as many steps as jobs. Launch: one group of ${lanes} work-items per ${per_group} chains.
// Sources: E. Taillard, European Journal of Operational Research 47 (1990) 65-74; R. Ruiz, T. Stuetzle, ibid. 177 (2007)
// 2033-2049; J. Dubois-Lacoste, F. Pagnozzi, T. Stuetzle, Computers & Operations Research 81 (2017) 160-166.
${philox.functions()}
#define STREAM 1u
typedef ${value} value_t;
#define TAIL(at) ((value_t)${"MIN(at, 65535)" if value == "u16" else "(at)"})
% if vectors:
typedef ${vector} vector_t;
% endif
// Of places with the same makespan the one with the least sum of f(k, i) + q(k, i), and of those a random one.
#define KEEP_SHORTEST(length, total, k) \
    { \
        const i32 longer = (length) - least, more = (i32)(${"value_t" if vectors else "i32"})((total) - sum); \
        if (longer < 0 || (longer == 0 && more <= 0)) { \
            equal = longer < 0 || more < 0 ? 1 : equal + 1; \
            word = word * 1664525u + 1013904223u; \
            if (MULTIPLY_HIGH_U32(word, equal) == 0) \
                place = (k); \
            least = (length); \
            sum = (total); \
        } \
    }
% if not vectors:
#define WITHIN(k) ((k) >= 0 && (k) < others)
#define TIME(job, q) ((i32)times[(job) * ${stride} + MIN(lane, ${used - 1}) * ${each} + (q)])
// The job at place k of the others, and q at row `row`; a job, and 0, where there is none.
#define JOB_AT(k) (WITHIN(k) ? (i32)order[(k) + ((k) >= skipped ? 1 : 0)] : 0)
#define TAIL_AT(k, row, q) (WITHIN(k) ? (i32)tail[((row) * ${width} + lane) * ${each} + (q)] : 0)
% endif
KERNEL LAUNCH_BOUNDS(${lanes}, 1) improve_schedules(const GLOBAL ${time}* RESTRICT times, i32 jobs, u64 seed, GLOBAL u16* work,
    GLOBAL i32* removed, GLOBAL u16* current, GLOBAL i32* values, GLOBAL u16* best, GLOBAL i32* best_values, GLOBAL ${value}* tails,
    i32 tail_words, const GLOBAL i32* RESTRICT thresholds, i32 count, i32 first_chain, i32 building, i64 first, i64 last) {
% if width > 1:
    LOCAL_ARRAY(i32, shared, ${3 * per_group});
% if not shuffle:
    LOCAL_ARRAY(i32, passed, ${8 * lanes});
% endif
    const i32 lane = LOCAL_ID % ${width}, slot = LOCAL_ID / ${width};
    const i32 chain = GROUP_ID * ${per_group} + slot;
% else:
    const i32 lane = 0, chain = GROUP_ID;
% endif
    const i32 period = building ? jobs : 2 * jobs + count;
    GLOBAL ${value}* tail = tails + (i64)chain * tail_words;
    GLOBAL i32* out = removed + 8 * chain;
    for (i64 step = first; step < last; ++step) {
        const u32 iteration = (u32)(step / period);
        const i32 stage = (i32)(step % period);
        GLOBAL u16* order = work + (i64)(2 * chain + (i32)(step & 1)) * jobs;
        GLOBAL u16* next = work + (i64)(2 * chain + (i32)(~step & 1)) * jobs;
        const philox_words_t random = philox_words(seed, STREAM + (u32)building, iteration, (i64)(first_chain + chain), 0);
        if (stage == 0 && !building) {
            for (i32 k = lane; k < jobs; k += ${width})
                order[k] = current[(i64)chain * jobs + k];
            ${flowshop_sweeps.sync()}
            if (lane == 0) {
                u32 word = random.w0;
                for (i32 d = 0; d < count; ++d) {
                    word = word * 1664525u + 1013904223u;
                    const i32 place = (i32)MULTIPLY_HIGH_U32(word, (u32)(jobs - d));
                    out[d] = order[place];
                    for (i32 k = place; k + 1 < jobs - d; ++k)
                        order[k] = order[k + 1];
                }
            }
            ${flowshop_sweeps.sync()}
        }

        // The job, its place, and the number of jobs in the schedule.
        const i32 inserts = building || (stage >= jobs && stage < jobs + count);
        const i32 length = building ? stage : stage < jobs ? jobs - count : inserts ? jobs - count + stage - jobs : jobs;
        i32 job, from = -1;
        if (building) {
            job = current[(i64)chain * jobs + stage];
        } else if (inserts) {
            job = out[stage - jobs];
        } else {
            const i32 x = stage < jobs ? stage : stage - jobs - count;
            const i32 leap = thresholds[4096 + (random.w1 >> 24)];      // coprime to the number of jobs
            job = (i32)(((i64)x * leap + (i64)(random.w2 % (u32)jobs)) % jobs);
% if width > 1:
            if (lane == 0)
                shared[3 * slot] = -1;
% endif
        }
% if width > 1:
        BARRIER();
        if (!inserts)
            for (i32 k = lane; k < length; k += ${width})
                if (order[k] == job)
                    shared[3 * slot] = k;
        BARRIER();
        if (!inserts)
            from = shared[3 * slot];
% else:
        if (!inserts)
            for (i32 k = 0; k < length; ++k)
                if (order[k] == job)
                    from = k;
% endif
        const i32 skipped = from < 0 ? length : from;
        const i32 others = from < 0 ? length : length - 1;

        i32 least = 0x7fffffff, sum = 0, place = 0;
        u32 equal = 0, word = random.w3 ^ (u32)stage * 0x9E3779B9u;
% if vectors:
${flowshop_sweeps.vector_sweeps()}\
% else:
${flowshop_sweeps.wave_sweeps()}\
% endif

        // The schedule with the job at its place; as it was, if the job is one of those removed.
        const i32 absent = from < 0 && !inserts;
        const i32 whole = absent ? others : others + 1;
        for (i32 k = lane; k < whole; k += ${width}) {
            const i32 before = absent || k < place ? k : k - 1;
            next[k] = !absent && k == place ? (u16)job : order[before + (before >= skipped ? 1 : 0)];
        }
        ${flowshop_sweeps.sync()}

        if (stage == period - 1) {
            const i32 value = values[chain], shortest = best_values[chain];
            ${flowshop_sweeps.sync()}
            if (building || least - value <= thresholds[random.w0 & 4095]) {
                for (i32 k = lane; k < jobs; k += ${width})
                    current[(i64)chain * jobs + k] = next[k];
                if (lane == 0)
                    values[chain] = least;
            }
            if (least < shortest) {
                for (i32 k = lane; k < jobs; k += ${width})
                    best[(i64)chain * jobs + k] = next[k];
                if (lane == 0)
                    best_values[chain] = least;
            }
            ${flowshop_sweeps.sync()}
        }
    }
}

// Chain c goes on from the best schedule of chain sources[c], if that is none of its own (c).
// Launch: any number of groups of any size; chains * jobs work-items of use.
KERNEL follow_best(const GLOBAL i32* RESTRICT sources, i32 chains, i32 jobs, GLOBAL u16* current, GLOBAL i32* values,
    const GLOBAL u16* RESTRICT best, const GLOBAL i32* RESTRICT best_values) {
    for (i64 at = GLOBAL_ID; at < (i64)chains * jobs; at += GLOBAL_SIZE) {
        const i32 chain = (i32)(at / jobs), k = (i32)(at % jobs);
        const i32 source = sources[chain];
        if (source != chain) {
            current[at] = best[(i64)source * jobs + k];
            if (k == 0)
                values[chain] = best_values[source];
        }
    }
}
