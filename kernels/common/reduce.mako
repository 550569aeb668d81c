<%doc>
Sum, minimum, maximum and argmin, of a group's values or of a whole buffer.

Inside another kernel:

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

    def identity(operation, type):
        """What changes nothing: 0, or the greatest or least value of the type."""
        if operation == "sum":
            return f"({type})0"
        if type in ("f32", "f64"):
            return f"({type})F32_OF_BITS({'0x7f800000u' if operation == 'min' else '0xff800000u'})"
        greatest = "0x7fffffff" if type == "i32" else "(i64)0x7fffffffffffffff"
        return greatest if operation == "min" else f"(-{greatest} - 1)"
%>
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
// results[g] = the sum, minimum or maximum of span g of the values: of elements [g span, (g + 1) span) of `count`
//
// Launch: a group a span. A group keeps ${strands} running values, its strands; strand s takes in the elements s, s + ${strands},
// s + 2 x ${strands}, ... of the span, in this order, and a tree then takes the strands together. The work-items of a group share
// the strands, so the order of the additions is the same for any number of work-items, and on any device.
// values begins at element `start`; results is written from element 0 on.
% for operation, total in (("sum", "i64" if value in ("i32", "i64") else value), ("min", value), ("max", value)):

KERNEL LAUNCH_BOUNDS(${block}, 1) reduce_${operation}(const GLOBAL ${value}* RESTRICT values, i64 start, i64 count, i64 span,
    GLOBAL ${total}* RESTRICT results)
{
    LOCAL_ARRAY(${total}, strand, ${strands});
    const i64 first = start + (i64)GROUP_ID * span;
    const i64 end = MIN(first + span, start + count);
% if block == strands:
    ${total} a = ${identity(operation, total)};
    for (i64 i = first + LOCAL_ID; i < end; i += ${strands}) {
        const ${total} b = values[i];
        a = ${combine(operation, total, "a", "b")};
    }
    strand[LOCAL_ID] = a;
% else:
    for (i32 s = LOCAL_ID; s < ${strands}; s += ${block})
        strand[s] = ${identity(operation, total)};
    for (i64 row = first; row < end; row += ${strands}) {
        const i32 used = (i32)MIN(end - row, (i64)${strands});
        for (i32 s = LOCAL_ID; s < used; s += ${block}) {
            const ${total} a = strand[s];
            const ${total} b = values[row + s];
            strand[s] = ${combine(operation, total, "a", "b")};
        }
    }
% endif
${block_reduce(operation, "strand", total, block, strands)}
    if (LOCAL_ID == 0)
        results[GROUP_ID] = strand[0];
}
% endfor
% for entry, index in (("reduce_argmin", "i - start"), ("reduce_argmin_pairs", "indices[i]")):

// The same for the least value and its index${", which counts from `start`" if entry == "reduce_argmin" else " in `indices`"}.
KERNEL LAUNCH_BOUNDS(${block}, 1) ${entry}(const GLOBAL ${value}* RESTRICT values,
% if entry == "reduce_argmin_pairs":
    const GLOBAL i64* RESTRICT indices,
% endif
    i64 start, i64 count, i64 span, GLOBAL ${value}* RESTRICT results, GLOBAL i64* RESTRICT places)
{
    LOCAL_ARRAY(${value}, strand, ${strands});
    LOCAL_ARRAY(i64, place, ${strands});
    const i64 first = start + (i64)GROUP_ID * span;
    const i64 end = MIN(first + span, start + count);
    for (i32 s = LOCAL_ID; s < ${strands}; s += ${block}) {
        ${value} a = ${identity("min", value)};
        i64 at = (i64)0x7fffffffffffffff;
        for (i64 i = first + s; i < end; i += ${strands}) {
            const ${value} b = values[i];
            const i64 j = ${index};
            if (${comes_first(value, "a", "at", "b", "j")}) {
                a = b;
                at = j;
            }
        }
        strand[s] = a;
        place[s] = at;
    }
${block_argmin("strand", "place", value, block, strands)}
    if (LOCAL_ID == 0) {
        results[GROUP_ID] = strand[0];
        places[GROUP_ID] = place[0];
    }
}
% endfor
