// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, f32, i32, i32, i32) -> (), sym_name = "attention_in_a_window", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x64xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x64xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x64xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x64xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %sequence: i32, %group: i32, %window: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "others.py:46:18", sched.name = "log2_scale"} : () -> f32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "others.py:44:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %2 = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %m = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "others.py:43:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %head = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:39:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:39:12", sched.name = "head"} : (i32, i32) -> i32
    %shared = "arith.divsi"(%head, %group) {sched.location = "others.py:40:14", sched.name = "shared"} : (i32, i32) -> i32
    %shared_1 = "arith.muli"(%shared, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:40:14", sched.name = "shared"} : (i32, i32) -> i32
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:41:11", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:41:11", sched.name = "row"} : (i32, i32) -> i32
    %q = "arith.addi"(%head_0, %row_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:42:22", sched.name = "q"} : (i32, i32) -> i32
    %q_3 = "tt.descriptor_load"(%q_desc, %q, %1) {sched.location = "others.py:42:9", sched.name = "q"} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
    %q_4 = "ttg.local_alloc"(%q_3) {sched.location = "others.py:42:9", sched.name = "q"} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %log2_scale_5 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:46:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %queries = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:47:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_6 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:47:21", sched.name = "queries"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
    %queries_7 = "tt.splat"(%row_2) {sched.location = "others.py:47:15", sched.name = "queries"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_8 = "arith.addi"(%queries_7, %queries) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:47:15", sched.name = "queries"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %s = "tt.splat"(%log2_scale_5) {sched.location = "others.py:51:13", sched.name = "s"} : (f32) -> tensor<64x64xf32, #mma>
    %apart = "tt.expand_dims"(%queries_8) <{axis = 1 : i32}> {sched.location = "others.py:53:17", sched.name = "apart"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xi32, #mma>
    %apart_9 = "tt.broadcast"(%apart) {sched.location = "others.py:53:17", sched.name = "apart"} : (tensor<64x1xi32, #mma>) -> tensor<64x64xi32, #mma>
    %s_10 = "tt.splat"(%window) {sched.location = "others.py:54:23", sched.name = "s"} : (i32) -> tensor<64x64xi32, #mma>
    %s_11 = "arith.subi"(%1, %window) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:54:50", sched.name = "s"} : (i32, i32) -> i32
    %s_12 = "tt.splat"(%s_11) {sched.location = "others.py:54:42", sched.name = "s"} : (i32) -> tensor<64x64xi32, #mma>
    %o:3 = "scf.for"(%1, %sequence, %0, %m, %l, %3) ({
    ^bb0(%start: i32, %m_13: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_14: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_15: tensor<64x64xf32, #mma>):
      %k = "arith.addi"(%shared_1, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:49:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %k_16 = "tt.descriptor_load"(%k_desc, %k, %1) {sched.location = "others.py:49:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %1) {sched.location = "others.py:50:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %v_17 = "ttg.local_alloc"(%v) {sched.location = "others.py:50:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_18 = "ttg.local_alloc"(%k_16) {sched.location = "others.py:51:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_19 = "ttg.memdesc_trans"(%s_18) <{order = array<i32: 1, 0>}> {sched.location = "others.py:51:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %s_20 = "ttng.warp_group_dot"(%q_4, %s_19, %3) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:51:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %s_21 = "arith.mulf"(%s_20, %s) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:51:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %keys = "tt.splat"(%start) {sched.location = "others.py:52:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
      %keys_22 = "arith.addi"(%keys, %queries_6) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:52:16", sched.name = "keys", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
      %apart_23 = "tt.expand_dims"(%keys_22) <{axis = 0 : i32}> {sched.location = "others.py:53:36", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<1x64xi32, #mma>
      %apart_24 = "tt.broadcast"(%apart_23) {sched.location = "others.py:53:17", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #mma>) -> tensor<64x64xi32, #mma>
      %apart_25 = "arith.subi"(%apart_9, %apart_24) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:53:17", sched.name = "apart", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma>, tensor<64x64xi32, #mma>) -> tensor<64x64xi32, #mma>
      %s_26 = "arith.cmpi"(%apart_25, %s_10) <{predicate = 2 : i64}> {sched.location = "others.py:54:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma>, tensor<64x64xi32, #mma>) -> tensor<64x64xi1, #mma>
      %s_27 = "arith.cmpi"(%apart_25, %s_12) <{predicate = 4 : i64}> {sched.location = "others.py:54:42", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi32, #mma>, tensor<64x64xi32, #mma>) -> tensor<64x64xi1, #mma>
      %s_28 = "arith.andi"(%s_26, %s_27) {sched.location = "others.py:54:22", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma>, tensor<64x64xi1, #mma>) -> tensor<64x64xi1, #mma>
      %s_29 = "arith.select"(%s_28, %s_21, %2) {sched.location = "others.py:54:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi1, #mma>, tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %n = "tt.reduce"(%s_29) <{axis = 1 : i32}> ({
      ^bb0(%n_47: f32, %n_48: f32):
        %n_49 = "arith.maxnumf"(%n_47, %n_48) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:55:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_49) : (f32) -> ()
      }) {sched.location = "others.py:55:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_30 = "arith.maxnumf"(%m_13, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:55:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p = "tt.expand_dims"(%n_30) <{axis = 1 : i32}> {sched.location = "others.py:56:25", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %p_31 = "tt.broadcast"(%p) {sched.location = "others.py:56:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_32 = "arith.subf"(%s_29, %p_31) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:56:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_33 = "math.exp2"(%p_32) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:56:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %a = "arith.subf"(%m_13, %n_30) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:57:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_34 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:57:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_35 = "arith.mulf"(%l_14, %a_34) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_36 = "tt.reduce"(%p_33) <{axis = 1 : i32}> ({
      ^bb0(%l_44: f32, %l_45: f32):
        %l_46 = "arith.addf"(%l_44, %l_45) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_46) : (f32) -> ()
      }) {sched.location = "others.py:58:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_37 = "arith.addf"(%l_35, %l_36) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_38 = "arith.truncf"(%p_33) {sched.location = "others.py:59:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %o_39 = "tt.expand_dims"(%a_34) <{axis = 1 : i32}> {sched.location = "others.py:59:45", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %o_40 = "tt.broadcast"(%o_39) {sched.location = "others.py:59:41", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
      %o_41 = "arith.mulf"(%o_15, %o_40) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:59:41", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %o_42 = "ttg.convert_layout"(%o_38) {sched.trivial = true, sched.location = "others.py:59:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %o_43 = "ttng.warp_group_dot"(%o_42, %v_17, %o_41) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:59:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      "scf.yield"(%n_30, %l_37, %o_43) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x64xf32, #mma>) -> ()
    }) {sched.location = "others.py:48:5", sched.name = "start"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x64xf32, #mma>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x64xf32, #mma>)
    %4 = "tt.expand_dims"(%o#1) <{axis = 1 : i32}> {sched.location = "others.py:61:40"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %5 = "tt.broadcast"(%4) {sched.location = "others.py:61:36"} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
    %6 = "arith.divf"(%o#2, %5) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:61:36"} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
    %7 = "arith.truncf"(%6) {sched.location = "others.py:61:35"} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
    %8 = "ttg.convert_layout"(%7) {sched.trivial = false, sched.location = "others.py:61:5"} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %8, %q, %1) {sched.location = "others.py:61:5"} : (!tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:25:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
