// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "linear_attention", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %sequence: i32):
    %0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "linear_attention.py:19:5"} : () -> i32
    %state = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> {sched.location = "linear_attention.py:17:13", sched.name = "state"} : () -> tensor<128x128xf32, #mma>
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma1>}> : () -> tensor<64x64xf32, #mma1>
    %head = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "linear_attention.py:16:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "linear_attention.py:16:12", sched.name = "head"} : (i32, i32) -> i32
    %causal = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "linear_attention.py:18:14", sched.name = "causal"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %causal_1 = "tt.expand_dims"(%causal) <{axis = 1 : i32}> {sched.location = "linear_attention.py:18:14", sched.name = "causal"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64x1xi32, #mma1>
    %causal_2 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "linear_attention.py:18:42", sched.name = "causal"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>
    %causal_3 = "tt.expand_dims"(%causal_2) <{axis = 0 : i32}> {sched.location = "linear_attention.py:18:42", sched.name = "causal"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>) -> tensor<1x64xi32, #mma1>
    %causal_4 = "tt.broadcast"(%causal_1) {sched.location = "linear_attention.py:18:14", sched.name = "causal"} : (tensor<64x1xi32, #mma1>) -> tensor<64x64xi32, #mma1>
    %causal_5 = "tt.broadcast"(%causal_3) {sched.location = "linear_attention.py:18:14", sched.name = "causal"} : (tensor<1x64xi32, #mma1>) -> tensor<64x64xi32, #mma1>
    %causal_6 = "arith.cmpi"(%causal_4, %causal_5) <{predicate = 5 : i64}> {sched.location = "linear_attention.py:18:14", sched.name = "causal"} : (tensor<64x64xi32, #mma1>, tensor<64x64xi32, #mma1>) -> tensor<64x64xi1, #mma1>
    %state_7 = "scf.for"(%1, %sequence, %2, %state) ({
    ^bb0(%start: i32, %state_8: tensor<128x128xf32, #mma>):
      %row = "arith.addi"(%head_0, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "linear_attention.py:20:15", sched.name = "row", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %q = "tt.descriptor_load"(%q_desc, %row, %1) {sched.location = "linear_attention.py:21:13", sched.name = "q", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %q_9 = "ttg.local_alloc"(%q) {sched.location = "linear_attention.py:21:13", sched.name = "q", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %k = "tt.descriptor_load"(%k_desc, %row, %1) {sched.location = "linear_attention.py:22:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %row, %1) {sched.location = "linear_attention.py:23:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v_10 = "ttg.local_alloc"(%v) {sched.location = "linear_attention.py:23:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s = "ttg.local_alloc"(%k) {sched.location = "linear_attention.py:24:40", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_11 = "ttg.memdesc_trans"(%s) <{order = array<i32: 1, 0>}> {sched.location = "linear_attention.py:24:40", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>) -> !ttg.memdesc<128x64xf16, #shared1, #smem>
      %s_12 = "ttng.warp_group_dot"(%q_9, %s_11, %3) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "linear_attention.py:24:30", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 9 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_13 = "arith.select"(%causal_6, %s_12, %3) {sched.location = "linear_attention.py:24:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma1>, tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %o = "arith.truncf"(%state_8) {sched.location = "linear_attention.py:25:23", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
      %o_14 = "ttg.local_alloc"(%o) {sched.location = "linear_attention.py:25:23", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #mma>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %o_15 = "ttng.warp_group_dot"(%q_9, %o_14, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "linear_attention.py:25:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 13 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %o_16 = "arith.truncf"(%s_13) {sched.location = "linear_attention.py:26:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64x64xf16, #mma1>
      %o_17 = "ttg.convert_layout"(%o_16) {sched.trivial = true, sched.location = "linear_attention.py:26:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma1>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %o_18 = "ttng.warp_group_dot"(%o_17, %v_10, %o_15) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "linear_attention.py:26:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 16 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %state_19 = "ttng.warp_group_dot"(%s_11, %v_10, %state_8) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "linear_attention.py:27:17", sched.name = "state", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 9 : i32} : (!ttg.memdesc<128x64xf16, #shared1, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %4 = "arith.truncf"(%o_18) {sched.location = "linear_attention.py:28:32", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
      %5 = "ttg.convert_layout"(%4) {sched.trivial = false, sched.location = "linear_attention.py:28:9", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
      "tt.descriptor_store"(%o_desc, %5, %row, %1) {sched.location = "linear_attention.py:28:9", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
      "scf.yield"(%state_19) : (tensor<128x128xf32, #mma>) -> ()
    }) {sched.location = "linear_attention.py:19:5", sched.name = "start"} : (i32, i32, i32, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "linear_attention.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
