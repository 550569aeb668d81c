<%def name="declarations()">
// A set of items: item i is bit i of ${f"{words(mask)} words of 64 bits" if words(mask) > 1 else "one word"}. Used with & | ^ ~ and
//   NO_ITEMS, ALL_ITEMS; ITEM(i) that item alone; ANY(set), HAS(set, i); COUNT(set); LOWEST(set) its first item, as a set;
//   WITHOUT_LOWEST(set); INDEX_OF_LOWEST, INDEX_OF_HIGHEST(set) of a set that is not empty; BELOW(item) all items before one
//   WORD(set, k) items 32 k to 32 k + 31 as a u32; OF_WORD(word, k) the inverse
#define ITEMS ${items}
#define LEAF_DEPTH ${leaf_depth}
// A digit of the factorial number system, or an item.
typedef ${"u8" if items < 256 else "u16"} digit_t;
% if words(mask) > 2:
${many_words(words(mask))}
% elif words(mask) == 2:
${two_words()}
% else:
${one_word()}
% endif
// Four words that are read and written together.
typedef uint4 quad_t;
typedef ${"LOCAL " if block > 1 else ""}quad_t* quads_t;
#define QUAD(a, b, c, d) ${"make_uint4(a, b, c, d)" if language == "cuda" else "(uint4)(a, b, c, d)"}

${control.declaration()}
${counters.declaration()}
</%def>

<%def name="problem_functions()">
% if source:
${source}
% else:
<%include file="/${problem}.mako"/>
% endif
</%def>

<%!
    def words(mask):
        return -(-int(mask[1:]) // 64)
%>
<%def name="one_word()">
typedef ${mask} mask_t;
#define ALL_ITEMS ((mask_t)${(1 << items) - 1}${"UL" if mask == "u64" else "U"})
#define ONE ((mask_t)1)
#define NO_ITEMS ((mask_t)0)
#define ITEM(i) (ONE << (i))
#define ANY(set) ((set) != 0)
#define HAS(set, i) (((set) >> (i)) & ONE)
#define LOWEST(set) ((set) & (~(set) + ONE))
#define WITHOUT_LOWEST(set) ((set) & ((set) - ONE))
#define BELOW(item) ((item) - ONE)
#define WORD(set, k) ((u32)(${"(set) >> 32 * (k)" if mask == "u64" else "set"}))
#define OF_WORD(word, k) (${"(mask_t)(word) << 32 * (k)" if mask == "u64" else "word"})
${bit_functions(mask, "")}
</%def>
<%def name="bit_functions(type, suffix)">
<%
    wide = type == "u64"
    cuda_end, cast, end = ("ll", "(long long)", "l") if wide else ("", "(int)", "")
    top, unit = (63, "1UL") if wide else (31, "1U")
%>
% if language == "cuda":
#define INDEX_OF_LOWEST${suffix}(set) (__ffs${cuda_end}(${cast}(set)) - 1)
#define INDEX_OF_HIGHEST${suffix}(set) (${top} - __clz${cuda_end}(${cast}(set)))
#define HIGHEST_OF_WORD(word) (31 - __clz((int)(word)))
#define COUNT${suffix}(set) __popc${cuda_end}(set)
% else:
// The compiler's own, where it has them: PoCL calls clz() and popcount() instead of inlining them.
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_ctzl) && __has_builtin(__builtin_popcountl)
#define INDEX_OF_LOWEST${suffix}(set) ((i32)__builtin_ctz${end}(set))
#define INDEX_OF_HIGHEST${suffix}(set) (${top} - (i32)__builtin_clz${end}(set))
#define HIGHEST_OF_WORD(word) (31 - (i32)__builtin_clz(word))
#define COUNT${suffix}(set) ((i32)__builtin_popcount${end}(set))
#else
#define INDEX_OF_LOWEST${suffix}(set) (${top} - (i32)clz((set) & (~(set) + ${unit})))
#define INDEX_OF_HIGHEST${suffix}(set) (${top} - (i32)clz(set))
#define HIGHEST_OF_WORD(word) (31 - (i32)clz(word))
#define COUNT${suffix}(set) ((i32)popcount(set))
#endif
% endif
</%def>
<%def name="two_words()">
<% low, high = (1 << items) - 1 & 2**64 - 1, (1 << items) - 1 >> 64 %>
% if language == "cuda":
typedef ulonglong2 mask_t;
#define SET_OF(first, second) make_ulonglong2((first), (second))
FUNCTION mask_t operator&(mask_t a, mask_t b) { return SET_OF(a.x & b.x, a.y & b.y); }
FUNCTION mask_t operator|(mask_t a, mask_t b) { return SET_OF(a.x | b.x, a.y | b.y); }
FUNCTION mask_t operator^(mask_t a, mask_t b) { return SET_OF(a.x ^ b.x, a.y ^ b.y); }
FUNCTION mask_t operator~(mask_t a) { return SET_OF(~a.x, ~a.y); }
FUNCTION void operator&=(mask_t& a, mask_t b) { a = a & b; }
FUNCTION void operator|=(mask_t& a, mask_t b) { a = a | b; }
FUNCTION void operator^=(mask_t& a, mask_t b) { a = a ^ b; }
% else:
typedef ulong2 mask_t;
#define SET_OF(first, second) ((mask_t)((first), (second)))
% endif
${bit_functions("u64", "_U64")}
#define NO_ITEMS SET_OF(0UL, 0UL)
#define ALL_ITEMS SET_OF(${low}UL, ${high}UL)
#define WORD(set, k) ((u32)(((k) < 2 ? (set).x : (set).y) >> 32 * ((k) & 1)))
#define OF_WORD(word, k) SET_OF((k) < 2 ? (u64)(word) << 32 * ((k) & 1) : 0UL, (k) < 2 ? 0UL : (u64)(word) << 32 * ((k) & 1))
FUNCTION i32 ANY(mask_t set) { return (set.x | set.y) != 0; }
FUNCTION i32 HAS(mask_t set, i32 i) { return (i32)((i < 64 ? set.x : set.y) >> (i & 63) & 1); }
FUNCTION mask_t ITEM(i32 i) {
    const u64 bit = (u64)1 << (i & 63);
    return SET_OF(i < 64 ? bit : 0, i < 64 ? 0 : bit);
}
FUNCTION mask_t LOWEST(mask_t set) { return SET_OF(set.x & (~set.x + 1), set.x ? 0 : set.y & (~set.y + 1)); }
FUNCTION mask_t WITHOUT_LOWEST(mask_t set) { return SET_OF(set.x & (set.x - 1), set.x ? set.y : set.y & (set.y - 1)); }
FUNCTION mask_t BELOW(mask_t item) { return SET_OF(item.x - 1, item.x ? 0 : item.y - 1); }
FUNCTION i32 INDEX_OF_LOWEST(mask_t set) { return set.x ? INDEX_OF_LOWEST_U64(set.x) : 64 + INDEX_OF_LOWEST_U64(set.y); }
FUNCTION i32 INDEX_OF_HIGHEST(mask_t set) { return set.y ? 64 + INDEX_OF_HIGHEST_U64(set.y) : INDEX_OF_HIGHEST_U64(set.x); }
FUNCTION i32 COUNT(mask_t set) { return COUNT_U64(set.x) + COUNT_U64(set.y); }
</%def>
<%def name="many_words(count)">
<% all_items = ", ".join(f"{(1 << items) - 1 >> 64 * k & 2**64 - 1}UL" for k in range(count)) %>
% if language == "cuda":
typedef struct { u64 part[${count}]; } words_t;
typedef words_t mask_t; // not a record of the host, whose buffers hold u64
#define PART(set, k) ((set).part[k])
#define NO_ITEMS mask_t{}
#define ALL_ITEMS mask_t{{${all_items}}}
% for sign in "&|^":
FUNCTION mask_t operator${sign}(mask_t a, const mask_t& b) {
    for (i32 k = 0; k < ${count}; ++k)
        a.part[k] = a.part[k] ${sign} b.part[k];
    return a;
}
FUNCTION void operator${sign}=(mask_t& a, const mask_t& b) { a = a ${sign} b; }
% endfor
FUNCTION mask_t operator~(mask_t a) {
    for (i32 k = 0; k < ${count}; ++k)
        a.part[k] = ~a.part[k];
    return a;
}
% else:
typedef ulong${count} mask_t;
#define PART(set, k) (((u64*)&(set))[k])
#define NO_ITEMS ((mask_t)(0UL))
#define ALL_ITEMS ((mask_t)(${all_items}))
% endif
${bit_functions("u64", "_U64")}
#define EVERY_PART(k) for (i32 k = 0; k < ${count}; ++k)
FUNCTION i32 HAS(mask_t set, i32 i) { return (i32)(PART(set, i >> 6) >> (i & 63) & 1); }
FUNCTION u32 WORD(mask_t set, i32 k) { return (u32)(PART(set, k >> 1) >> 32 * (k & 1)); }
FUNCTION mask_t OF_WORD(u32 word, i32 k) {
    mask_t set = NO_ITEMS;
    PART(set, k >> 1) = (u64)word << 32 * (k & 1);
    return set;
}
FUNCTION mask_t ITEM(i32 i) { return OF_WORD(1U << (i & 31), i >> 5); }
FUNCTION i32 ANY(mask_t set) {
    u64 any = 0;
    EVERY_PART(k)
        any |= PART(set, k);
    return any != 0;
}
FUNCTION i32 COUNT(mask_t set) {
    i32 count = 0;
    EVERY_PART(k)
        count += COUNT_U64(PART(set, k));
    return count;
}
// All items before the first, where `item` holds no other.
FUNCTION mask_t BELOW(mask_t item) {
    u64 borrow = 1;
    EVERY_PART(k) {
        const u64 part = PART(item, k);
        PART(item, k) = part - borrow;
        borrow = borrow && part == 0;
    }
    return item;
}
FUNCTION mask_t WITHOUT_LOWEST(mask_t set) { return set & BELOW(set); }
FUNCTION mask_t LOWEST(mask_t set) { return set ^ WITHOUT_LOWEST(set); }
FUNCTION i32 INDEX_OF_LOWEST(mask_t set) {
    i32 k = 0;
    while (k < ${count - 1} && PART(set, k) == 0)
        ++k;
    return 64 * k + INDEX_OF_LOWEST_U64(PART(set, k));
}
FUNCTION i32 INDEX_OF_HIGHEST(mask_t set) {
    i32 k = ${count - 1};
    while (k > 0 && PART(set, k) == 0)
        --k;
    return 64 * k + INDEX_OF_HIGHEST_U64(PART(set, k));
}
</%def>
