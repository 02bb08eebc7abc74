// Costs of synchronisation: arrive, a wait on a complete phase, and the way from an arrive to the
// wake-up of a waiting group, for named barriers, mbarriers and waits for wgmma.
//
//   nvcc -arch=sm_90a -O3 -o wake_up wake_up.cu && ./wake_up > wake_up.csv
#include "wgmma.cuh"

constexpr int kSamples = 128;

enum class Way { named, mbarrier };

__device__ inline void bar_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void bar_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Group 0 arrives while group 1 has been waiting for a while; stamps of one SM can be compared.
template <Way W> __global__ void hop(long long *arrive, long long *wake, long long *cost) {
  __shared__ uint64_t barrier;
  int group = threadIdx.x / 128;
  bool writes = threadIdx.x % 128 == 0;
  if (threadIdx.x == 0) mbarrier_init(&barrier, 128);
  __syncthreads();
  for (int sample = 0; sample < kSamples; ++sample) {
    __syncthreads();
    if (group == 0) {
      long long origin = cycles();
      while (cycles() - origin < 2000) {
      }
      long long begin = cycles();
      if constexpr (W == Way::named)
        bar_arrive(1, 256);
      else
        mbarrier_arrive(&barrier);
      long long end = cycles();
      if (writes) arrive[sample] = begin, cost[sample] = end - begin;
    } else {
      if constexpr (W == Way::named)
        bar_sync(1, 256);
      else
        mbarrier_wait(&barrier, sample & 1);
      if (writes) wake[sample] = cycles();
    }
  }
}

// A wait on a phase that is complete already.
__global__ void ready(long long *cost) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) mbarrier_init(&barrier, 128);
  __syncthreads();
  for (int sample = 0; sample < kSamples; ++sample) {
    mbarrier_arrive(&barrier);
    __syncthreads();
    long long begin = cycles();
    mbarrier_wait(&barrier, sample & 1);
    long long end = cycles();
    if (threadIdx.x == 0) cost[sample] = end - begin;
    __syncthreads();
  }
}

// From the issue of `count` products to the return of the wait for them: the interval times the
// count, plus what draining costs.
template <int N, int Count> __global__ void drain(long long *cost, float *sink) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  for (int i = threadIdx.x; i < 64 * 1024 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(tiles)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[Wgmma<N>::registers_per_thread] = {};
  uint64_t left = descriptor(tiles), right = descriptor(tiles + 16 * 1024);
  for (int sample = 0; sample < kSamples; ++sample) {
    wgmma_fence();
    long long begin = cycles();
#pragma unroll
    for (int i = 0; i < Count; ++i) Wgmma<N>::smem(d, left, right);
    wgmma_commit();
    wgmma_wait<0>();
    if (threadIdx.x == 0) cost[sample] = cycles() - begin;
  }
  float sum = 0;
  for (float value : d) sum += value;
  sink[threadIdx.x] = sum;
}

static std::vector<double> plain(const std::vector<long long> &values) {
  return std::vector<double>(values.begin() + 1, values.end());
}

template <Way W> void measure_hop(const char *what) {
  Buffer<long long> arrive(kSamples), wake(kSamples), cost(kSamples);
  hop<W><<<1, 256>>>(arrive.data, wake.data, cost.data);
  CHECK(cudaDeviceSynchronize());
  auto begun = arrive.host(), woken = wake.host();
  std::vector<double> hops;
  for (int i = 1; i < kSamples; ++i) hops.push_back(double(woken[i] - begun[i]));
  csv_row(std::string(what) + " arrive to wake-up", "128 threads wait", "cycles", hops);
  csv_row(std::string(what) + " arrive", "128 threads", "cycles", plain(cost.host()));
}

template <int N, int Count> void measure_drain() {
  auto kernel = drain<N, Count>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  Buffer<long long> cost(kSamples);
  Buffer<float> sink(128);
  kernel<<<1, 128, 64 * 1024>>>(cost.data, sink.data);
  CHECK(cudaDeviceSynchronize());
  csv_row("wgmma m64n" + std::to_string(N) + "k16 issue to wait",
          std::to_string(Count) + " products", "cycles", plain(cost.host()));
}

template <int N> void measure_drains() {
  measure_drain<N, 1>();
  measure_drain<N, 2>();
  measure_drain<N, 4>();
  measure_drain<N, 8>();
  measure_drain<N, 16>();
}

int main() {
  csv_header();
  measure_hop<Way::named>("named barrier");
  measure_hop<Way::mbarrier>("mbarrier");
  Buffer<long long> cost(kSamples);
  ready<<<1, 128>>>(cost.data);
  CHECK(cudaDeviceSynchronize());
  csv_row("mbarrier wait", "phase complete", "cycles", plain(cost.host()));
  measure_drains<64>();
  measure_drains<128>();
  measure_drains<256>();
}
