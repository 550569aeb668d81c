<%doc>
Sum, minimum, maximum and argmin of the values of a work-group, of each of several variables at once:

    LOCAL_ARRAY(i64, part, ${2 * block});
    ${reduce.group_reduce("part", "i64", block, [("best", "max"), ("total", "sum")])}

leaves in the variables `best` and `total` of every work-item what those of all come to. They share the barriers of one tree, and
take `block` elements of `part` each; with together=1 they go one after the other, through the same ones. `part` may be written
again at once. A group of one does nothing.

    block_sums(part, type, block, variables)      part[v * block] is the sum of variable number v, which every work-item may read
    block_argmin(values, indices, type, block)    of local arrays that are written; values[0] and indices[0] (i64) are the answer

One more barrier is needed before their arrays are written again. Every work-item of a group must reach the statements, which end
with a barrier. The tree is element i + element i + ceil(n / 2), for n = block, ceil(block / 2), ..., 2.

A NaN wins every minimum, maximum and argmin, so it cannot be lost. Among equals the lowest index is the argmin.
</%doc>
<%!
    def halvings(count):
        """(half, pairs) of every level of the tree: element i takes in element half + i, for i < pairs."""
        while count > 1:
            half = (count + 1) // 2
            yield half, count - half
            count = half

    def combine(operation, type, a, b):
        """The C expression of a with b taken in."""
        if operation == "sum":
            return f"{a} + {b}"
        sign = "<" if operation == "min" else ">"
        nan = f" || {b} != {b}" if type in ("f32", "f64") else ""
        return f"{b} {sign} {a}{nan} ? {b} : {a}"

    def comes_first(type, a, i, b, j):
        """The C condition of value b at index j to be the argmin rather than value a at index i."""
        nan = f" || ({b} != {b} && ({a} == {a} || {j} < {i}))" if type in ("f32", "f64") else ""
        return f"{b} < {a} || ({b} == {a} && {j} < {i}){nan}"
%>
<%def name="group_reduce(part, type, block, values, together=None)">
% for first in range(0, len(values) if block > 1 else 0, together or len(values)):
<% present = list(enumerate(values[first:first + (together or len(values))])) %>\
% for v, (name, operation) in present:
    ${part}[LOCAL_ID + ${v * block}] = ${name};
% endfor
    BARRIER();
% for half, pairs in halvings(block):
    if (LOCAL_ID < ${pairs}) {
% for v, (name, operation) in present:
        const ${type} reduce_a${v} = ${part}[LOCAL_ID + ${v * block}];
        const ${type} reduce_b${v} = ${part}[LOCAL_ID + ${v * block + half}];
        ${part}[LOCAL_ID + ${v * block}] = ${combine(operation, type, f"reduce_a{v}", f"reduce_b{v}")};
% endfor
    }
    BARRIER();
% endfor
% for v, (name, operation) in present:
    ${name} = ${part}[${v * block}];
% endfor
    BARRIER();
% endfor
</%def>
<%def name="block_sums(part, type, block, variables)">
% for v, name in enumerate(variables):
    ${part}[LOCAL_ID + ${v * block}] = ${name};
% endfor
    BARRIER();
% for half, pairs in halvings(block):
    if (LOCAL_ID < ${pairs}) {
% for v in range(len(variables)):
        ${part}[LOCAL_ID + ${v * block}] += ${part}[LOCAL_ID + ${v * block + half}];
% endfor
    }
    BARRIER();
% endfor
</%def>
<%def name="block_argmin(values, indices, type, block)">
    BARRIER();
% for half, pairs in halvings(block):
    if (LOCAL_ID < ${pairs}) {
        const ${type} reduce_a = ${values}[LOCAL_ID];
        const ${type} reduce_b = ${values}[LOCAL_ID + ${half}];
        const i64 reduce_first = ${indices}[LOCAL_ID];
        const i64 reduce_second = ${indices}[LOCAL_ID + ${half}];
        if (${comes_first(type, "reduce_a", "reduce_first", "reduce_b", "reduce_second")}) {
            ${values}[LOCAL_ID] = reduce_b;
            ${indices}[LOCAL_ID] = reduce_second;
        }
    }
    BARRIER();
% endfor
</%def>
