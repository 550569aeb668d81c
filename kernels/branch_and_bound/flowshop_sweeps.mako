## All places of a job at once, for flowshop_greedy.mako: on vectors of machines, or as a wave over work-items.
<%!
    def shifted(name, v, vectors, down):
        """A vector whose lanes are those behind (down) or before, of the next vector or the last one at its end."""
        of = f"{name}[{v}]"
        if down:
            behind = f"{name}[{v + 1}].s0" if v + 1 < vectors else "(value_t)0"
            return f"(vector_t)({of}.s12345678, {of}.s9abc, {of}.sde, {of}.sf, {behind})"
        before = f"{name}[{v - 1}].sf" if v else "(value_t)0"
        return f"(vector_t)({before}, {of}.s01234567, {of}.s89ab, {of}.scd, {of}.se)"
%>

<%def name="exchange(names, offset, step)">\
% if width > 1:
% if shuffle:
% for name in names:
            const i32 ${name}_in = ${"__shfl_up_sync" if offset < 0 else "__shfl_down_sync"}(0xffffffffu, ${name}, 1, ${width});
% endfor
% else:
% for number, name in enumerate(names):
            passed[(${2 * number} + (${step} & 1)) * ${lanes} + LOCAL_ID] = ${name};
% endfor
            BARRIER();
% for number, name in enumerate(names):
            const i32 ${name}_in =
                passed[(${2 * number} + (${step} & 1)) * ${lanes} + MIN(MAX(LOCAL_ID + ${offset}, 0), ${lanes - 1})];
% endfor
% endif
% endif
</%def>\
<%def name="sync()">\
% if width > 1:
        BARRIER();
% endif
</%def>\
<%def name="vector_sweeps()">\
<% row = 16 * vectors %>\
        // The times of the jobs, one row later for each machine; 0 behind the last job.
        GLOBAL value_t* waiting = tail;
        GLOBAL vector_t* rows = (GLOBAL vector_t*)tail;
        GLOBAL vector_t* tail_rows = rows + (i64)(jobs + ${row + 1}) * ${vectors};
        for (i32 k = 0; k <= jobs; ++k) {
            GLOBAL value_t* at = waiting + (i64)k * ${row};
            if (k < others) {
                const GLOBAL ${time}* column = times + (i32)order[k + (k >= skipped ? 1 : 0)] * ${machines};
% for i in range(machines):
                at[${i * (row + 1)}] = (value_t)column[${i}];
% endfor
            } else {
% for i in range(machines):
                at[${i * (row + 1)}] = 0;
% endfor
            }
        }
        vector_t done[${vectors}], before[${vectors}], reach[${vectors}], longest[${vectors}], total[${vectors}];
        vector_t inserted[${vectors}];
        value_t own[${row}];
        for (i32 i = 0; i < ${row}; ++i)
            own[i] = i < ${machines} ? (value_t)times[job * ${machines} + i] : (value_t)0;
% for v in range(vectors):
        done[${v}] = (vector_t)(value_t)0;
        tail_rows[(others + ${machines - 1}) * ${vectors} + ${v}] = done[${v}];
        inserted[${v}] = vload16(${v}, own);
% endfor
        for (i32 r = others + ${machines - 2}; r >= 0; --r) {
% for v in range(vectors):
            before[${v}] = ${shifted("done", v, vectors, True)};
% endfor
% for v in range(vectors):
            done[${v}] = MAX(before[${v}], done[${v}]) + rows[r * ${vectors} + ${v}];
            tail_rows[r * ${vectors} + ${v}] = done[${v}];
% endfor
        }
% for v in range(vectors):
        done[${v}] = reach[${v}] = longest[${v}] = total[${v}] = (vector_t)(value_t)0;
% endfor
        for (i32 r = 0; r < others + ${machines}; ++r) {
% for v in reversed(range(vectors)):
            {
                const vector_t reach_in = ${shifted("reach", v, vectors, False)};
                const vector_t longest_in = ${shifted("longest", v, vectors, False)};
                const vector_t total_in = ${shifted("total", v, vectors, False)};
                before[${v}] = ${shifted("done", v, vectors, False)};
                reach[${v}] = MAX(reach_in, done[${v}]) + inserted[${v}];
                const vector_t through = reach[${v}] + tail_rows[r * ${vectors} + ${v}];
                longest[${v}] = MAX(longest_in, through);
                total[${v}] = total_in + through;
            }
% endfor
% for v in range(vectors):
            done[${v}] = MAX(before[${v}], done[${v}]) + rows[r * ${vectors} + ${v}];
% endfor
            if (r >= ${machines - 1}) {
<% last = f"[{(machines - 1) // 16}].s{'0123456789abcdef'[(machines - 1) % 16]}" %>\
                const i32 length_here = longest${last}, total_here = total${last};
                KEEP_SHORTEST(length_here, total_here, r - ${machines - 1});
            }
        }
</%def>\
<%def name="fetch(k, ahead)">\
        // The times of place ${k}, and the job of the place ${ahead}: both are asked for a step before they are needed.
% for q in range(each):
            time[${q}] = TIME(coming, ${q});
% endfor
            coming = JOB_AT(${ahead});
</%def>\
<%def name="wave_sweeps()">\
<% used = -(-machines // each) %>\
        // q(k, i), from the last job to the first.
        const i32 most = others - 1 + ${used - 1} - lane;
        i32 done[${each}], time[${each}], now[${each}];
        i32 reach = 0, coming = JOB_AT(most);
% for q in range(each):
        done[${q}] = 0;
% endfor
${fetch("most", "most - 1")}\
        for (i32 s = 0; s < jobs + ${used - 1}; ++s) {
            const i32 k = most - s;
% for q in range(each):
            now[${q}] = time[${q}];
% endfor
${fetch("k - 1", "k - 2")}\
${exchange(["reach"], 1, "s")}\
            if (k >= 0 && k < others && lane < ${used}) {
% if width > 1:
                reach = lane == ${used - 1} ? 0 : reach_in;
% else:
                reach = 0;
% endif
% for q in reversed(range(each)):
                reach = MAX(reach, done[${q}]) + now[${q}];
                done[${q}] = reach;
% endfor
% for q in range(each):
                tail[((k + lane) * ${width} + lane) * ${each} + ${q}] = TAIL(done[${q}]);
% endfor
            }
        }
        ${sync()}

        // f(k, i) and e(k, i), from the first job to the last.
        i32 inserted[${each}], after[${each}], behind[${each}];
        coming = JOB_AT(-lane);
% for q in range(each):
        done[${q}] = 0;
        inserted[${q}] = TIME(job, ${q});
        behind[${q}] = TAIL_AT(-lane, 0, ${q});
% endfor
${fetch("-lane", "1 - lane")}\
        i32 ends = 0, longest = 0, total = 0;
        reach = 0;
        for (i32 s = 0; s < jobs + ${used}; ++s) {
            const i32 k = s - lane;
% for q in range(each):
            now[${q}] = time[${q}];
            after[${q}] = behind[${q}];
            behind[${q}] = TAIL_AT(k + 1, s + 1, ${q});
% endfor
${fetch("k + 1", "k + 2")}\
${exchange(["reach", "ends", "longest", "total"], -1, "s")}\
            if (k >= 0 && k <= others && lane < ${used}) {
% if width > 1:
                ends = lane ? ends_in : 0;
                reach = lane ? reach_in : 0;
                longest = lane ? longest_in : 0;
                total = lane ? total_in : 0;
% else:
                ends = reach = longest = total = 0;
% endif
% for q in range(each):
                reach = MAX(reach, done[${q}]) + inserted[${q}];
                longest = MAX(longest, reach + after[${q}]);
                total += ${f"lane * {each} + {q} >= {machines} ? 0 : " if machines % each else ""}reach + after[${q}];
                ends = MAX(ends, done[${q}]) + now[${q}];
                done[${q}] = ends;
% endfor
                if (lane == ${used - 1}) {
                    KEEP_SHORTEST(longest, total, k);
                }
            }
        }
% if width > 1:
        if (lane == ${used - 1}) {
            shared[3 * slot + 1] = least;
            shared[3 * slot + 2] = place;
        }
        BARRIER();
        least = shared[3 * slot + 1];
        place = shared[3 * slot + 2];
% endif
</%def>\
