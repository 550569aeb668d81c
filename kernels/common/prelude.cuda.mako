// The common dialect in CUDA C++. prelude.opencl.mako defines exactly the same names.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define KERNEL extern "C" __global__ void
#define FUNCTION static __device__ __forceinline__
// A FUNCTION that is not copied to where it is called, if the compiler allows: a long one at many places compiles sooner.
#define FUNCTION_APART static __device__ __noinline__
#define LAUNCH_BOUNDS(items, groups) __launch_bounds__(items, groups)
#define GLOBAL
#define LOCAL
#define RESTRICT __restrict__
#define LOCAL_ARRAY(type, name, count) __shared__ type name[count]
#define DYNAMIC_LOCAL_ARRAY(type, name, count) \
    extern __shared__ __align__(16) unsigned char quintet_dynamic_local[]; \
    type* name = (type*)quintet_dynamic_local

#define LOCAL_ID ((i32)threadIdx.x)
#define GROUP_ID ((i32)blockIdx.x)
#define GROUP_SIZE ((i32)blockDim.x)
#define GROUP_COUNT ((i32)gridDim.x)
#define GLOBAL_ID ((i64)blockIdx.x * (i64)blockDim.x + (i64)threadIdx.x)
#define GLOBAL_SIZE ((i64)gridDim.x * (i64)blockDim.x)
#define BARRIER() __syncthreads()
// Where the work-item's group runs, counted from 0; a device that does not report it gives the largest number.
FUNCTION u32 quintet_multiprocessor() {
    u32 id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}
#define MULTIPROCESSOR_ID() quintet_multiprocessor()

#define MIN(a, b) min((a), (b))
#define MAX(a, b) max((a), (b))
#define MULTIPLY_HIGH_U32(a, b) __umulhi((a), (b))
#define COUNT_BITS_U32(x) __popc(x)
#define COUNT_BITS_U64(x) __popcll(x)
#define BITS_OF_F32(x) __float_as_uint(x)
#define F32_OF_BITS(x) __uint_as_float(x)

#define ATOMIC_ADD_I32(pointer, value) atomicAdd((int*)(pointer), (int)(value))
#define ATOMIC_ADD_U32(pointer, value) atomicAdd((unsigned int*)(pointer), (unsigned int)(value))
#define ATOMIC_ADD_U64(pointer, value) atomicAdd((unsigned long long*)(pointer), (unsigned long long)(value))
#define ATOMIC_MIN_I32(pointer, value) atomicMin((int*)(pointer), (int)(value))
#define ATOMIC_MAX_I32(pointer, value) atomicMax((int*)(pointer), (int)(value))
#define ATOMIC_OR_U32(pointer, value) atomicOr((unsigned int*)(pointer), (unsigned int)(value))
#define ATOMIC_XOR_U32(pointer, value) atomicXor((unsigned int*)(pointer), (unsigned int)(value))
#define ATOMIC_SWAP_U32(pointer, value) atomicExch((unsigned int*)(pointer), (unsigned int)(value))
