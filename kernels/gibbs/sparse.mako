<%doc>
What the passes over a sparse design share: ``gibbs/sparse_rows`` and ``gibbs/sparse_columns``.

A design of ${"rows"} x_i and margins s_i (x_i . beta), s_i = y_i = +-1 or 1, is stored by the entries v of X that are not 0:

    x_ij = factor_j v_ij - centre_j      (v_ij = 0 where there is no entry; 1 where there is one, if values are not stored)

so neither the centres nor the scales fill it in: x_i . beta = sum_j v_ij (factor_j beta_j) - sum_j centre_j beta_j.

Numbers of up to four chains lie side by side, so that one access fetches those of an entry:

    vector_type(vector)            f32 or f64
    load(name, array, at, ...)     f32 name0, name1, ... of element `at`
</%doc>
<%def name="load(name, array, at, chains, vector)">
% if chains == 1:
                const ${vector} ${name}0 = ${array}[${at}];
% elif chains == 2:
<% pair = "float2" if vector == "f32" else "double2" %>
                const ${pair} ${name}_pair = ((const GLOBAL ${pair}*)(${array}))[${at}];
                const ${vector} ${name}0 = ${name}_pair.x;
                const ${vector} ${name}1 = ${name}_pair.y;
% elif vector == "f32":
                const float4 ${name}_four = ((const GLOBAL float4*)(${array}))[${at}];
                const f32 ${name}0 = ${name}_four.x;
                const f32 ${name}1 = ${name}_four.y;
                const f32 ${name}2 = ${name}_four.z;
                const f32 ${name}3 = ${name}_four.w;
% else:
                const double2 ${name}_low = ((const GLOBAL double2*)(${array}))[2 * (i64)(${at})];
                const double2 ${name}_high = ((const GLOBAL double2*)(${array}))[2 * (i64)(${at}) + 1];
                const f64 ${name}0 = ${name}_low.x;
                const f64 ${name}1 = ${name}_low.y;
                const f64 ${name}2 = ${name}_high.x;
                const f64 ${name}3 = ${name}_high.y;
% endif
</%def>
<%def name="add_entries(start, end, index, base, array, chains, vector, sum, step, lane, implicit, power=1)">
            for (i64 k = (i64)(${start}) + ${lane}; k < (i64)(${end}); k += ${step}) {
${load("b", array, f"{base} + (i64){index}[k]", chains, vector)}
% if implicit:
% for c in range(chains):
                a${c} += (${sum})b${c};
% endfor
% else:
                const ${vector} v = (${vector})values[k]${" * (" + vector + ")values[k]" if power == 2 else ""};
% for c in range(chains):
                a${c} += (${sum})(v * b${c});
% endfor
% endif
            }
</%def>
<%def name="add_lanes(lanes, block, chains, sum, shuffle)">
% if lanes > 1 and shuffle:
<% offset = lanes // 2 %>
%   while offset >= 1:
%     for c in range(chains):
            a${c} += __shfl_xor_sync(0xffffffffu, a${c}, ${offset});
%     endfor
<% offset //= 2 %>
%   endwhile
% elif lanes > 1:
<% offset = lanes // 2 %>
            BARRIER();
%   for c in range(chains):
            lanes_[LOCAL_ID * ${chains} + ${c}] = a${c};
%   endfor
            BARRIER();
%   while offset >= 1:
            if (lane < ${offset}) {
%     for c in range(chains):
                lanes_[LOCAL_ID * ${chains} + ${c}] += lanes_[(LOCAL_ID + ${offset}) * ${chains} + ${c}];
%     endfor
            }
            BARRIER();
<% offset //= 2 %>
%   endwhile
%   for c in range(chains):
            a${c} = lanes_[LOCAL_ID / ${lanes} * ${lanes * chains} + ${c}];
%   endfor
% endif
</%def>
