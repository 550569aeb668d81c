// The common dialect in OpenCL C 1.2. prelude.cuda.mako defines exactly the same names.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#ifdef cl_khr_fp64
typedef double f64;
#endif

#define KERNEL __kernel void
#define FUNCTION static inline
// A FUNCTION that is not copied to where it is called, if the compiler allows: a long one at many places compiles sooner.
#if defined(__clang__) && !defined(cl_nv_compiler_options)
#define FUNCTION_APART static __attribute__((noinline))
#else
#define FUNCTION_APART static
#endif
#define LAUNCH_BOUNDS(items, groups) __attribute__((reqd_work_group_size(items, 1, 1)))
#define GLOBAL __global
#define LOCAL __local
#define RESTRICT restrict
#define LOCAL_ARRAY(type, name, count) __local type name[count]
#define DYNAMIC_LOCAL_ARRAY(type, name, count) __local type name[count]

#define LOCAL_ID ((i32)get_local_id(0))
#define GROUP_ID ((i32)get_group_id(0))
#define GROUP_SIZE ((i32)get_local_size(0))
#define GROUP_COUNT ((i32)get_num_groups(0))
#define GLOBAL_ID ((i64)get_global_id(0))
#define GLOBAL_SIZE ((i64)get_global_size(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
// Where the work-item's group runs, counted from 0; a device that does not report it gives the largest number.
#ifdef cl_nv_pragma_unroll
FUNCTION u32 quintet_multiprocessor() {
    u32 id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}
#define MULTIPROCESSOR_ID() quintet_multiprocessor()
#else
#define MULTIPROCESSOR_ID() 0xffffffffu
#endif

// Not min(), max() and mul_hi(), nor popcount() where clang has its own: PoCL calls its built-in functions instead of
// inlining them. MIN and MAX may be given vectors too.
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MULTIPLY_HIGH_U32(a, b) ((u32)(((u64)(u32)(a) * (u64)(u32)(b)) >> 32))
#if defined(__clang__) && !defined(cl_nv_compiler_options)
#define COUNT_BITS_U32(x) ((i32)__builtin_popcount((u32)(x)))
#define COUNT_BITS_U64(x) ((i32)__builtin_popcountl((u64)(x)))
#else
#define COUNT_BITS_U32(x) ((i32)popcount((u32)(x)))
#define COUNT_BITS_U64(x) ((i32)popcount((u64)(x)))
#endif
#define BITS_OF_F32(x) as_uint(x)
#define F32_OF_BITS(x) as_float(x)

#define ATOMIC_ADD_I32(pointer, value) atomic_add((pointer), (i32)(value))
#define ATOMIC_ADD_U32(pointer, value) atomic_add((pointer), (u32)(value))
#define ATOMIC_ADD_U64(pointer, value) atom_add((pointer), (u64)(value))
#define ATOMIC_MIN_I32(pointer, value) atomic_min((pointer), (i32)(value))
#define ATOMIC_MAX_I32(pointer, value) atomic_max((pointer), (i32)(value))
#define ATOMIC_OR_U32(pointer, value) atomic_or((pointer), (u32)(value))
#define ATOMIC_XOR_U32(pointer, value) atomic_xor((pointer), (u32)(value))
#define ATOMIC_SWAP_U32(pointer, value) atomic_xchg((pointer), (u32)(value))
