// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<i32>, i32) -> (), sym_name = "gemm_grouped", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %expert_ptr: !tt.ptr<i32>, %depth: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_grouped.py:20:5"} : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm_grouped.py:20:5"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_grouped.py:19:9", sched.name = "c"} : () -> tensor<128x128xf32, #mma>
    %tile = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_grouped.py:16:12", sched.name = "tile"} : () -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_grouped.py:17:14", sched.name = "column"} : () -> i32
    %column_0 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:17:14", sched.name = "column"} : (i32, i32) -> i32
    %first = "tt.addptr"(%expert_ptr, %tile) {sched.location = "gemm_grouped.py:18:21", sched.name = "first"} : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    %first_1 = "tt.load"(%first) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_grouped.py:18:13", sched.name = "first"} : (!tt.ptr<i32>) -> i32
    %first_2 = "arith.muli"(%first_1, %depth) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:18:13", sched.name = "first"} : (i32, i32) -> i32
    %a = "arith.muli"(%tile, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:21:26", sched.name = "a"} : (i32, i32) -> i32
    %c_3 = "scf.for"(%1, %depth, %2, %c) ({
    ^bb0(%k: i32, %c_4: tensor<128x128xf32, #mma>):
      %a_5 = "tt.descriptor_load"(%a_desc, %a, %k) {sched.location = "gemm_grouped.py:21:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_6 = "ttg.local_alloc"(%a_5) {sched.location = "gemm_grouped.py:21:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "arith.addi"(%first_2, %k) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:22:26", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %b_7 = "tt.descriptor_load"(%b_desc, %b, %column_0) {sched.location = "gemm_grouped.py:22:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %b_8 = "ttg.local_alloc"(%b_7) {sched.location = "gemm_grouped.py:22:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_9 = "ttng.warp_group_dot"(%a_6, %b_8, %c_4) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm_grouped.py:23:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      "scf.yield"(%c_9) : (tensor<128x128xf32, #mma>) -> ()
    }) {sched.location = "gemm_grouped.py:20:5", sched.name = "k"} : (i32, i32, i32, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %3 = "arith.muli"(%tile, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:24:19"} : (i32, i32) -> i32
    %4 = "arith.truncf"(%c_3) {sched.location = "gemm_grouped.py:24:38"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
    %5 = "ttg.convert_layout"(%4) {sched.trivial = false, sched.location = "gemm_grouped.py:24:5"} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %5, %3, %column_0) {sched.location = "gemm_grouped.py:24:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_grouped.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
