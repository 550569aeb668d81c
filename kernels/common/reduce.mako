<%doc>
Sum, minimum, maximum and argmin of the values of a work-group, of each of several variables at once:

    LOCAL_ARRAY(i64, part, ${2 * block});
    ${reduce.group_reduce("part", "i64", block, [("best", "max"), ("total", "sum")])}

leaves in the variables `best` and `total` of every work-item what those of all come to. They share the barriers of one tree, and
take `block` elements of `part` each; with together=1 they go one after the other, through the same ones. `part` may be written
again at once. A group of one does nothing. The reductions of an array that is there:

    <%namespace name="reduce" file="/common/reduce.mako"/>
    LOCAL_ARRAY(f32, part, ${block});
    part[LOCAL_ID] = mine;
    ${reduce.block_sum("part", "f32", block)}      // part[0] is the sum, and every work-item may read it

    block_sum, block_min, block_max(values, type, block, count=block)
    block_sums(values, type, block, vectors)      of several arrays, one behind the other: values[v * block] is the sum of number v
    block_argmin(values, indices, type, block, count=block)        values[0] and indices[0] (i64) are the answer

`values` is a local array of `count` elements, each already written by some work-item; the rest of it is overwritten. The
statements begin and end with a barrier, so every work-item of the group must reach them, and one more barrier is needed
before the array is written again. The tree is element i + element i + ceil(n / 2), for n = count, ceil(count / 2), ..., 2:
it depends on `count` alone, not on how many work-items climb it.

A NaN wins every minimum, maximum and argmin, so it cannot be lost. Among equals the lowest index is the argmin.
</%doc>
<%!
    def halvings(count):
        """(half, pairs) of every level of the tree: element i takes in element half + i, for i < pairs."""
        while count > 1:
            half = (count + 1) // 2
            yield half, count - half
            count = half

    def over(pairs, block):
        """Head of the statement that handles the pairs, and the pair a work-item is at in it."""
        if pairs <= block:
            return f"if (LOCAL_ID < {pairs})", "LOCAL_ID"
        return f"for (i32 reduce_i = LOCAL_ID; reduce_i < {pairs}; reduce_i += {block})", "reduce_i"

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
<%def name="block_reduce(operation, values, type, block, count=None)">
    BARRIER();
% for half, pairs in halvings(count or block):
<% head, i = over(pairs, block) %>
    ${head} {
        const ${type} reduce_a = ${values}[${i}];
        const ${type} reduce_b = ${values}[${i} + ${half}];
        ${values}[${i}] = ${combine(operation, type, "reduce_a", "reduce_b")};
    }
    BARRIER();
% endfor
</%def>
<%def name="block_sum(values, type, block, count=None)">${block_reduce("sum", values, type, block, count)}</%def>
<%def name="block_sums(values, type, block, vectors)">
    BARRIER();
% for half, pairs in halvings(block):
    if (LOCAL_ID < ${pairs}) {
%   for v in range(vectors):
        ${values}[LOCAL_ID + ${v * block}] += ${values}[LOCAL_ID + ${v * block + half}];
%   endfor
    }
    BARRIER();
% endfor
</%def>
<%def name="block_min(values, type, block, count=None)">${block_reduce("min", values, type, block, count)}</%def>
<%def name="block_max(values, type, block, count=None)">${block_reduce("max", values, type, block, count)}</%def>
<%def name="block_argmin(values, indices, type, block, count=None)">
    BARRIER();
% for half, pairs in halvings(count or block):
<% head, i = over(pairs, block) %>
    ${head} {
        const ${type} reduce_a = ${values}[${i}];
        const ${type} reduce_b = ${values}[${i} + ${half}];
        const i64 reduce_first = ${indices}[${i}];
        const i64 reduce_second = ${indices}[${i} + ${half}];
        if (${comes_first(type, "reduce_a", "reduce_first", "reduce_b", "reduce_second")}) {
            ${values}[${i}] = reduce_b;
            ${indices}[${i}] = reduce_second;
        }
    }
    BARRIER();
% endfor
</%def>
