// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "cdiv_gemm", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 128 : i32}> {sched.location = "cdiv_gemm.py:8:38"} : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "cdiv_gemm.py:10:5"} : () -> i32
    %3 = "arith.constant"() <{value = 1 : i32}> {sched.location = "cdiv_gemm.py:10:5"} : () -> i32
    %4 = "arith.constant"() <{value = 63 : i32}> {sched.location = "cdiv_gemm.py:10:23"} : () -> i32
    %acc = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "cdiv_gemm.py:9:11", sched.name = "acc"} : () -> tensor<64x128xf32, #mma>
    %5 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "cdiv_gemm.py:8:16"} : () -> i32
    %6 = "arith.muli"(%5, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "cdiv_gemm.py:8:16"} : (i32, i32) -> i32
    %7 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "cdiv_gemm.py:8:38"} : () -> i32
    %8 = "arith.muli"(%7, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "cdiv_gemm.py:8:38"} : (i32, i32) -> i32
    %9 = "arith.addi"(%depth, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "cdiv_gemm.py:10:23"} : (i32, i32) -> i32
    %10 = "arith.divsi"(%9, %0) {sched.location = "cdiv_gemm.py:10:23"} : (i32, i32) -> i32
    %acc_0 = "scf.for"(%2, %10, %3, %acc) ({
    ^bb0(%i: i32, %acc_1: tensor<64x128xf32, #mma>):
      %a = "arith.muli"(%i, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "cdiv_gemm.py:11:31", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %a_2 = "tt.descriptor_load"(%a_desc, %6, %a) {sched.location = "cdiv_gemm.py:11:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a_3 = "ttg.local_alloc"(%a_2) {sched.location = "cdiv_gemm.py:11:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %a, %8) {sched.location = "cdiv_gemm.py:12:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %b_4 = "ttg.local_alloc"(%b) {sched.location = "cdiv_gemm.py:12:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %acc_5 = "ttng.warp_group_dot"(%a_3, %b_4, %acc_1) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "cdiv_gemm.py:13:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 1 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%acc_5) : (tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "cdiv_gemm.py:10:5", sched.name = "i"} : (i32, i32, i32, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %11 = "arith.truncf"(%acc_0) {sched.location = "cdiv_gemm.py:14:30"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %12 = "ttg.convert_layout"(%11) {sched.trivial = false, sched.location = "cdiv_gemm.py:14:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %12, %6, %8) {sched.location = "cdiv_gemm.py:14:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "cdiv_gemm.py:7:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
