// Two warp groups that issue products at the same time: in which order they complete, how many are
// accepted before issuing blocks, and how long each group takes.
//
//   nvcc -arch=sm_90a -O3 -o two_groups two_groups.cu && ./two_groups > two_groups.csv
#include "wgmma.cuh"

constexpr int kProducts = 16, kSamples = 32, kWidth = 128;

// `late` cycles after the first group the second one begins.
__global__ void both(long long *issued, long long *completed, long long late, float *sink) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  int group = threadIdx.x / 128;
  for (int i = threadIdx.x; i < 64 * 1024 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(tiles)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  float d[Wgmma<kWidth>::registers_per_thread] = {};
  uint64_t left = descriptor(tiles), right = descriptor(tiles + 16 * 1024);
  for (int sample = 0; sample < kSamples; ++sample) {
    __syncthreads();
    long long origin = cycles();
    while (cycles() - origin < group * late) {
    }
    wgmma_fence();
    long long stamps[kProducts];
#pragma unroll
    for (int i = 0; i < kProducts; ++i) {
      Wgmma<kWidth>::smem(d, left, right);
      wgmma_commit();
      stamps[i] = cycles() - origin;
    }
    long long *mine = completed + (sample * 2 + group) * kProducts;
    bool writes = threadIdx.x % 128 == 0;
    // wait_group k returns when all but the last k groups are complete.
#define STAMP(i)                                    \
  wgmma_wait<kProducts - 1 - (i)>();                \
  if (writes) mine[i] = cycles() - origin;
    STAMP(0) STAMP(1) STAMP(2) STAMP(3) STAMP(4) STAMP(5) STAMP(6) STAMP(7)
    STAMP(8) STAMP(9) STAMP(10) STAMP(11) STAMP(12) STAMP(13) STAMP(14) STAMP(15)
#undef STAMP
    if (writes)
      for (int i = 0; i < kProducts; ++i)
        issued[(sample * 2 + group) * kProducts + i] = stamps[i];
  }
  float sum = 0;
  for (float value : d) sum += value;
  sink[threadIdx.x] = sum;
}

static void report(const char *what, const std::vector<long long> &stamps, long long late,
                   int groups) {
  for (int group = 0; group < groups; ++group)
    for (int i = 0; i < kProducts; ++i) {
      std::vector<double> samples;
      for (int sample = 1; sample < kSamples; ++sample)
        samples.push_back(double(stamps[(sample * 2 + group) * kProducts + i]));
      csv_row(std::string(what) + " product " + std::to_string(i) + " of group " +
                  std::to_string(group),
              std::to_string(groups) + " groups " + std::to_string(late) + " cycles apart",
              "cycles", samples);
    }
}

int main() {
  csv_header();
  CHECK(cudaFuncSetAttribute(both, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  const long long apart[] = {0, 64, 256, 512};
  for (int groups = 1; groups <= 2; ++groups)
    for (long long late : apart) {
      if (groups == 1 && late) continue;
      Buffer<long long> issued(kSamples * 2 * kProducts), completed(kSamples * 2 * kProducts);
      Buffer<float> sink(256);
      both<<<1, 128 * groups, 64 * 1024>>>(issued.data, completed.data, late, sink.data);
      CHECK(cudaDeviceSynchronize());
      report("issued", issued.host(), late, groups);
      report("completed", completed.host(), late, groups);
    }
}
