// What CUDA kernels use of CUDA, with a thread of the host for each work-item of a group: for ThreadSanitizer.
//
// A group's barrier is two, in turn: a thread that is late to leave one must not take over what others did after it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __launch_bounds__(items, groups)
#define __ldg(pointer) (*(pointer))

struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct number3 { unsigned x; };

static thread_local number3 threadIdx, blockIdx;
static number3 blockDim, gridDim;
static pthread_barrier_t group_barriers[2], warp_barriers[2][32];
static thread_local int group_turn, warp_turn;

static inline void __syncthreads()
{
    pthread_barrier_wait(&group_barriers[group_turn]);
    group_turn ^= 1;
}

template <class T> static inline T __shfl_xor_sync(unsigned, T value, int offset)
{
    static T shown[1024];
    const int warp = (int)threadIdx.x / 32;
    T found = value;
    for (int half = 0; half < 2; ++half) {
        if (half == 0)
            shown[threadIdx.x] = value;
        else
            found = shown[32 * warp + ((int)threadIdx.x % 32 ^ offset)];
        pthread_barrier_wait(&warp_barriers[warp_turn][warp]);
        warp_turn ^= 1;
    }
    return found;
}

template <class A, class B> static inline auto min(A a, B b) -> decltype(a + b) { return a < b ? a : b; }
template <class A, class B> static inline auto max(A a, B b) -> decltype(a + b) { return a > b ? a : b; }
template <class T> static inline T atomicAdd(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
template <class T> static inline T atomicOr(T* at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }
template <class T> static inline T atomicXor(T* at, T value) { return __atomic_fetch_xor(at, value, __ATOMIC_RELAXED); }
template <class T> static inline T atomicExch(T* at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); }

template <class T> static inline T atomicMin(T* at, T value)
{
    T old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline double of_half_turns(double (*function)(double), double x) { return function(M_PI * x); }
#define cospi(x) of_half_turns(cos, (x))
#define sinpi(x) of_half_turns(sin, (x))
#define cospif(x) (float)of_half_turns(cos, (x))
#define sinpif(x) (float)of_half_turns(sin, (x))
#define rsqrt(x) (1.0 / sqrt(x))

// A buffer of the host, read from a file; the argument of any pointer parameter.
struct buffer_t {
    void* begin;
    template <class T> operator T*() const { return (T*)begin; }
};

static buffer_t read_buffer(const char* name, size_t bytes)
{
    void* begin = aligned_alloc(64, (bytes / 64 + 1) * 64);
    FILE* file = fopen(name, "rb");
    if (!file || fread(begin, 1, bytes, file) != bytes)
        abort();
    fclose(file);
    return {begin};
}

static void write_buffer(const char* name, buffer_t buffer, size_t bytes)
{
    FILE* file = fopen(name, "wb");
    if (!file || fwrite(buffer.begin, 1, bytes, file) != bytes)
        abort();
    fclose(file);
}

template <class Kernel> static void run_groups(unsigned groups, unsigned items, Kernel kernel)
{
    gridDim.x = groups;
    blockDim.x = items;
    for (int turn = 0; turn < 2; ++turn) {
        pthread_barrier_init(&group_barriers[turn], nullptr, items);
        for (unsigned warp = 0; 32 * warp < items; ++warp)
            pthread_barrier_init(&warp_barriers[turn][warp], nullptr, std::min(32u, items - 32 * warp));
    }
    for (unsigned group = 0; group < groups; ++group) {    // one after another: local memory is static
        std::vector<std::thread> threads;
        for (unsigned item = 0; item < items; ++item)
            threads.emplace_back([=] {
                threadIdx.x = item;
                blockIdx.x = group;
                kernel();
            });
        for (std::thread& thread : threads)
            thread.join();
    }
}
