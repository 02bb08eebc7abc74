// Streams of one instruction, eight of them independent, as another warp group would issue them.
#pragma once
#include <cstdint>

enum class Stream { none, ffma, ffma3, fmul, fadd, ex2, fmnmx, f2fp };

inline const char *name_of(Stream stream) {
  switch (stream) {
  case Stream::ffma: return "FFMA";
  case Stream::ffma3: return "FFMA of three registers";
  case Stream::fmul: return "FMUL of two registers";
  case Stream::fadd: return "FADD of two registers";
  case Stream::ex2: return "EX2";
  case Stream::fmnmx: return "FMNMX";
  case Stream::f2fp: return "F2FP";
  default: return "nothing";
  }
}

constexpr int kStreamWidth = 8;

// Issues kStreamWidth instructions; results feed the next call, so that none can be left out.
template <Stream S> __device__ inline void step(float (&x)[kStreamWidth]) {
#pragma unroll
  for (int i = 0; i < kStreamWidth; ++i) {
    if constexpr (S == Stream::ffma) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[i]));
    // Of other registers than it writes: how many the register file has to read counts.
    int next = (i + 1) % kStreamWidth, other = (i + 2) % kStreamWidth;
    if constexpr (S == Stream::ffma3)
      asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(x[i]) : "f"(x[next]), "f"(x[other]));
    if constexpr (S == Stream::fmul)
      asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[next]));
    if constexpr (S == Stream::fadd)
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[next]));
    if constexpr (S == Stream::ex2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
    if constexpr (S == Stream::fmnmx)
      asm volatile("max.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(x[next]));
    if constexpr (S == Stream::f2fp) {
      uint32_t packed;
      asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;"
                   : "=r"(packed)
                   : "f"(x[i]), "f"(x[next]));
      x[i] = __uint_as_float(packed);
    }
  }
}
