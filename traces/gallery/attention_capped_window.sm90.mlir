// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, f32, f32, i32, i32) -> (), sym_name = "attention_capped_window", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %cap: f32, %sequence: i32, %window: i32):
    %o = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "attention_capped_window.py:21:9", sched.name = "o"} : () -> tensor<64x128xf32, #mma>
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>}> {sched.location = "attention_capped_window.py:20:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %0 = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64x64xf32, #mma1>}> : () -> tensor<64x64xf32, #mma1>
    %1 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64x64xf32, #mma1>}> : () -> tensor<64x64xf32, #mma1>
    %m = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>}> {sched.location = "attention_capped_window.py:19:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %twice = "arith.constant"() <{value = 2.885390e+00 : f32}> {sched.location = "attention_capped_window.py:23:13", sched.name = "twice"} : () -> f32
    %log2_cap = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_capped_window.py:24:16", sched.name = "log2_cap"} : () -> f32
    %4 = "arith.constant"() <{value = 2.000000e+00 : f32}> : () -> f32
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma1>}> : () -> tensor<64x64xf32, #mma1>
    %6 = "arith.constant"() <{value = dense<0> : tensor<64x64xi32, #mma1>}> : () -> tensor<64x64xi32, #mma1>
    %head = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_capped_window.py:15:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:15:12", sched.name = "head"} : (i32, i32) -> i32
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_capped_window.py:16:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %q = "arith.addi"(%head_0, %row_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:17:22", sched.name = "q"} : (i32, i32) -> i32
    %q_2 = "tt.descriptor_load"(%q_desc, %q, %3) {sched.location = "attention_capped_window.py:17:9", sched.name = "q"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %q_3 = "ttg.local_alloc"(%q_2) {sched.location = "attention_capped_window.py:17:9", sched.name = "q"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %queries = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "attention_capped_window.py:18:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %queries_4 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "attention_capped_window.py:18:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>
    %queries_5 = "tt.splat"(%row_1) {sched.location = "attention_capped_window.py:18:15", sched.name = "queries"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %queries_6 = "arith.addi"(%queries_5, %queries) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:18:15", sched.name = "queries"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>
    %first = "arith.subi"(%row_1, %window) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:22:24", sched.name = "first"} : (i32, i32) -> i32
    %first_7 = "arith.maxsi"(%first, %3) {sched.location = "attention_capped_window.py:22:13", sched.name = "first"} : (i32, i32) -> i32
    %first_8 = "arith.divsi"(%first_7, %2) {sched.location = "attention_capped_window.py:22:13", sched.name = "first"} : (i32, i32) -> i32
    %first_9 = "arith.muli"(%first_8, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:22:13", sched.name = "first"} : (i32, i32) -> i32
    %twice_10 = "arith.mulf"(%scale, %twice) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:23:13", sched.name = "twice"} : (f32, f32) -> f32
    %twice_11 = "arith.divf"(%twice_10, %cap) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:23:13", sched.name = "twice"} : (f32, f32) -> f32
    %log2_cap_12 = "arith.mulf"(%cap, %log2_cap) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:24:16", sched.name = "log2_cap"} : (f32, f32) -> f32
    %7 = "arith.addi"(%row_1, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:25:31"} : (i32, i32) -> i32
    %s = "arith.mulf"(%log2_cap_12, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:24", sched.name = "s"} : (f32, f32) -> f32
    %s_13 = "tt.splat"(%twice_11) {sched.location = "attention_capped_window.py:29:48", sched.name = "s"} : (f32) -> tensor<64x64xf32, #mma1>
    %s_14 = "tt.splat"(%s) {sched.location = "attention_capped_window.py:29:24", sched.name = "s"} : (f32) -> tensor<64x64xf32, #mma1>
    %s_15 = "tt.splat"(%log2_cap_12) {sched.location = "attention_capped_window.py:29:13", sched.name = "s"} : (f32) -> tensor<64x64xf32, #mma1>
    %apart = "tt.expand_dims"(%queries_6) <{axis = 1 : i32}> {sched.location = "attention_capped_window.py:31:17", sched.name = "apart"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64x1xi32, #mma1>
    %apart_16 = "tt.broadcast"(%apart) {sched.location = "attention_capped_window.py:31:17", sched.name = "apart"} : (tensor<64x1xi32, #mma1>) -> tensor<64x64xi32, #mma1>
    %s_17 = "tt.splat"(%window) {sched.location = "attention_capped_window.py:32:38", sched.name = "s"} : (i32) -> tensor<64x64xi32, #mma1>
    %o_18:3 = "scf.for"(%first_9, %7, %2, %m, %l, %o) ({
    ^bb0(%start: i32, %m_19: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, %l_20: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, %o_21: tensor<64x128xf32, #mma>):
      %k = "arith.addi"(%head_0, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:26:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %k_22 = "tt.descriptor_load"(%k_desc, %k, %3) {sched.location = "attention_capped_window.py:26:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %3) {sched.location = "attention_capped_window.py:27:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v_23 = "ttg.local_alloc"(%v) {sched.location = "attention_capped_window.py:27:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_24 = "ttg.local_alloc"(%k_22) {sched.location = "attention_capped_window.py:28:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_25 = "ttg.memdesc_trans"(%s_24) <{order = array<i32: 1, 0>}> {sched.location = "attention_capped_window.py:28:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>) -> !ttg.memdesc<128x64xf16, #shared1, #smem>
      %s_26 = "ttng.warp_group_dot"(%q_3, %s_25, %5) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_capped_window.py:28:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_27 = "arith.mulf"(%s_26, %s_13) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:48", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_28 = "math.exp2"(%s_27) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:40", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_29 = "arith.addf"(%s_28, %1) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:40", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_30 = "arith.divf"(%s_14, %s_29) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:24", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %s_31 = "arith.subf"(%s_15, %s_30) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:29:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %keys = "tt.splat"(%start) {sched.location = "attention_capped_window.py:30:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>
      %keys_32 = "arith.addi"(%keys, %queries_4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:30:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>
      %apart_33 = "tt.expand_dims"(%keys_32) <{axis = 0 : i32}> {sched.location = "attention_capped_window.py:31:36", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma1}>>) -> tensor<1x64xi32, #mma1>
      %apart_34 = "tt.broadcast"(%apart_33) {sched.location = "attention_capped_window.py:31:17", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #mma1>) -> tensor<64x64xi32, #mma1>
      %apart_35 = "arith.subi"(%apart_16, %apart_34) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_capped_window.py:31:17", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma1>, tensor<64x64xi32, #mma1>) -> tensor<64x64xi32, #mma1>
      %s_36 = "arith.cmpi"(%apart_35, %6) <{predicate = 5 : i64}> {sched.location = "attention_capped_window.py:32:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma1>, tensor<64x64xi32, #mma1>) -> tensor<64x64xi1, #mma1>
      %s_37 = "arith.cmpi"(%apart_35, %s_17) <{predicate = 2 : i64}> {sched.location = "attention_capped_window.py:32:38", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma1>, tensor<64x64xi32, #mma1>) -> tensor<64x64xi1, #mma1>
      %s_38 = "arith.andi"(%s_36, %s_37) {sched.location = "attention_capped_window.py:32:22", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma1>, tensor<64x64xi1, #mma1>) -> tensor<64x64xi1, #mma1>
      %s_39 = "arith.select"(%s_38, %s_31, %0) {sched.location = "attention_capped_window.py:32:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma1>, tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %n = "tt.reduce"(%s_39) <{axis = 1 : i32}> ({
      ^bb0(%n_57: f32, %n_58: f32):
        %n_59 = "arith.maxnumf"(%n_57, %n_58) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:33:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_59) : (f32) -> ()
      }) {sched.location = "attention_capped_window.py:33:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %n_40 = "arith.maxnumf"(%m_19, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:33:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %p = "tt.expand_dims"(%n_40) <{axis = 1 : i32}> {sched.location = "attention_capped_window.py:34:25", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64x1xf32, #mma1>
      %p_41 = "tt.broadcast"(%p) {sched.location = "attention_capped_window.py:34:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %p_42 = "arith.subf"(%s_39, %p_41) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:34:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>, tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %p_43 = "math.exp2"(%p_42) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:34:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64x64xf32, #mma1>
      %a = "arith.subf"(%m_19, %n_40) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:35:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %a_44 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:35:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %l_45 = "arith.mulf"(%l_20, %a_44) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:36:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %l_46 = "tt.reduce"(%p_43) <{axis = 1 : i32}> ({
      ^bb0(%l_54: f32, %l_55: f32):
        %l_56 = "arith.addf"(%l_54, %l_55) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:36:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_56) : (f32) -> ()
      }) {sched.location = "attention_capped_window.py:36:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %l_47 = "arith.addf"(%l_45, %l_46) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:36:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>
      %o_48 = "arith.truncf"(%p_43) {sched.location = "attention_capped_window.py:37:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma1>) -> tensor<64x64xf16, #mma1>
      %o_49 = "tt.expand_dims"(%a_44) <{axis = 1 : i32}> {sched.location = "attention_capped_window.py:37:42", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64x1xf32, #mma1>
      %o_50 = "tt.broadcast"(%o_49) {sched.location = "attention_capped_window.py:37:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma1>) -> tensor<64x128xf32, #mma>
      %o_51 = "arith.mulf"(%o_21, %o_50) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:37:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %o_52 = "ttg.convert_layout"(%o_48) {sched.trivial = true, sched.location = "attention_capped_window.py:37:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma1>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %o_53 = "ttng.warp_group_dot"(%o_52, %v_23, %o_51) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_capped_window.py:37:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%n_40, %l_47, %o_53) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "attention_capped_window.py:25:5", sched.name = "start"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64x128xf32, #mma>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>, tensor<64x128xf32, #mma>)
    %8 = "tt.expand_dims"(%o_18#1) <{axis = 1 : i32}> {sched.location = "attention_capped_window.py:39:40"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma1}>>) -> tensor<64x1xf32, #mma1>
    %9 = "tt.broadcast"(%8) {sched.location = "attention_capped_window.py:39:36"} : (tensor<64x1xf32, #mma1>) -> tensor<64x128xf32, #mma>
    %10 = "arith.divf"(%o_18#2, %9) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_capped_window.py:39:36"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %11 = "arith.truncf"(%10) {sched.location = "attention_capped_window.py:39:35"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %12 = "ttg.convert_layout"(%11) {sched.trivial = false, sched.location = "attention_capped_window.py:39:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %12, %q, %3) {sched.location = "attention_capped_window.py:39:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "attention_capped_window.py:11:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
