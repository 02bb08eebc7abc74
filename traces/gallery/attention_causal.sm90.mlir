// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, f32, i32) -> (), sym_name = "attention_causal", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %sequence: i32):
    %0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_causal.py:19:18", sched.name = "log2_scale"} : () -> f32
    %o = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma1>}> {sched.location = "attention_causal.py:18:9", sched.name = "o"} : () -> tensor<64x128xf32, #mma1>
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_causal.py:17:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %3 = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %m = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_causal.py:16:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %head = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_causal.py:12:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:12:12", sched.name = "head"} : (i32, i32) -> i32
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_causal.py:13:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:13:11", sched.name = "row"} : (i32, i32) -> i32
    %q = "arith.addi"(%head_0, %row_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:14:22", sched.name = "q"} : (i32, i32) -> i32
    %q_2 = "tt.descriptor_load"(%q_desc, %q, %2) {sched.location = "attention_causal.py:14:9", sched.name = "q"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %q_3 = "ttg.local_alloc"(%q_2) {sched.location = "attention_causal.py:14:9", sched.name = "q"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %queries = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "attention_causal.py:15:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_4 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "attention_causal.py:15:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
    %queries_5 = "tt.splat"(%row_1) {sched.location = "attention_causal.py:15:15", sched.name = "queries"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_6 = "arith.addi"(%queries_5, %queries) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:15:15", sched.name = "queries"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %log2_scale_7 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:19:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %4 = "arith.addi"(%row_1, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:20:27"} : (i32, i32) -> i32
    %s = "tt.splat"(%log2_scale_7) {sched.location = "attention_causal.py:23:13", sched.name = "s"} : (f32) -> tensor<64x64xf32, #mma>
    %s_8 = "tt.expand_dims"(%queries_6) <{axis = 1 : i32}> {sched.location = "attention_causal.py:25:22", sched.name = "s"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xi32, #mma>
    %s_9 = "tt.broadcast"(%s_8) {sched.location = "attention_causal.py:25:22", sched.name = "s"} : (tensor<64x1xi32, #mma>) -> tensor<64x64xi32, #mma>
    %o_10:3 = "scf.for"(%2, %4, %1, %m, %l, %o) ({
    ^bb0(%start: i32, %m_11: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_12: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_13: tensor<64x128xf32, #mma1>):
      %k = "arith.addi"(%head_0, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:21:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %k_14 = "tt.descriptor_load"(%k_desc, %k, %2) {sched.location = "attention_causal.py:21:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %2) {sched.location = "attention_causal.py:22:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v_15 = "ttg.local_alloc"(%v) {sched.location = "attention_causal.py:22:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_16 = "ttg.local_alloc"(%k_14) {sched.location = "attention_causal.py:23:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_17 = "ttg.memdesc_trans"(%s_16) <{order = array<i32: 1, 0>}> {sched.location = "attention_causal.py:23:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>) -> !ttg.memdesc<128x64xf16, #shared1, #smem>
      %s_18 = "ttng.warp_group_dot"(%q_3, %s_17, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_causal.py:23:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %s_19 = "arith.mulf"(%s_18, %s) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:23:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %keys = "tt.splat"(%start) {sched.location = "attention_causal.py:24:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
      %keys_20 = "arith.addi"(%keys, %queries_4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_causal.py:24:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
      %s_21 = "tt.expand_dims"(%keys_20) <{axis = 0 : i32}> {sched.location = "attention_causal.py:25:42", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<1x64xi32, #mma>
      %s_22 = "tt.broadcast"(%s_21) {sched.location = "attention_causal.py:25:22", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #mma>) -> tensor<64x64xi32, #mma>
      %s_23 = "arith.cmpi"(%s_9, %s_22) <{predicate = 5 : i64}> {sched.location = "attention_causal.py:25:22", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma>, tensor<64x64xi32, #mma>) -> tensor<64x64xi1, #mma>
      %s_24 = "arith.select"(%s_23, %s_19, %3) {sched.location = "attention_causal.py:25:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma>, tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %n = "tt.reduce"(%s_24) <{axis = 1 : i32}> ({
      ^bb0(%n_42: f32, %n_43: f32):
        %n_44 = "arith.maxnumf"(%n_42, %n_43) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:26:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_44) : (f32) -> ()
      }) {sched.location = "attention_causal.py:26:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_25 = "arith.maxnumf"(%m_11, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:26:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p = "tt.expand_dims"(%n_25) <{axis = 1 : i32}> {sched.location = "attention_causal.py:27:25", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %p_26 = "tt.broadcast"(%p) {sched.location = "attention_causal.py:27:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_27 = "arith.subf"(%s_24, %p_26) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:27:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_28 = "math.exp2"(%p_27) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:27:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %a = "arith.subf"(%m_11, %n_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:28:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_29 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:28:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_30 = "arith.mulf"(%l_12, %a_29) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:29:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_31 = "tt.reduce"(%p_28) <{axis = 1 : i32}> ({
      ^bb0(%l_39: f32, %l_40: f32):
        %l_41 = "arith.addf"(%l_39, %l_40) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:29:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_41) : (f32) -> ()
      }) {sched.location = "attention_causal.py:29:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_32 = "arith.addf"(%l_30, %l_31) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:29:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_33 = "arith.truncf"(%p_28) {sched.location = "attention_causal.py:30:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %o_34 = "tt.expand_dims"(%a_29) <{axis = 1 : i32}> {sched.location = "attention_causal.py:30:42", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %o_35 = "tt.broadcast"(%o_34) {sched.location = "attention_causal.py:30:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma1>
      %o_36 = "arith.mulf"(%o_13, %o_35) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:30:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma1>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
      %o_37 = "ttg.convert_layout"(%o_33) {sched.trivial = true, sched.location = "attention_causal.py:30:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>
      %o_38 = "ttng.warp_group_dot"(%o_37, %v_15, %o_36) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_causal.py:30:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
      "scf.yield"(%n_25, %l_32, %o_38) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>) -> ()
    }) {sched.location = "attention_causal.py:20:5", sched.name = "start"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>)
    %5 = "tt.expand_dims"(%o_10#1) <{axis = 1 : i32}> {sched.location = "attention_causal.py:32:40"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %6 = "tt.broadcast"(%5) {sched.location = "attention_causal.py:32:36"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma1>
    %7 = "arith.divf"(%o_10#2, %6) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_causal.py:32:36"} : (tensor<64x128xf32, #mma1>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
    %8 = "arith.truncf"(%7) {sched.location = "attention_causal.py:32:35"} : (tensor<64x128xf32, #mma1>) -> tensor<64x128xf16, #mma1>
    %9 = "ttg.convert_layout"(%8) {sched.trivial = false, sched.location = "attention_causal.py:32:5"} : (tensor<64x128xf16, #mma1>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %9, %q, %2) {sched.location = "attention_causal.py:32:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "attention_causal.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
