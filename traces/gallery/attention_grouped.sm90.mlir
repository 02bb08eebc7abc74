// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}, {}, {}], function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, f32, i32, i32) -> (), sym_name = "attention_grouped", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<128x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<128x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %lse_ptr: !tt.ptr<f32>, %scale: f32, %sequence: i32, %group: i32):
    %row = "arith.constant"() <{value = 64 : i32}> {sched.location = "attention_grouped.py:16:41", sched.name = "row"} : () -> i32
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_grouped.py:22:18", sched.name = "log2_scale"} : () -> f32
    %1 = "arith.constant"() <{value = 128 : i32}> {sched.location = "attention_grouped.py:23:5"} : () -> i32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_grouped.py:20:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_grouped.py:19:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %row_0 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %row_2 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_grouped.py:16:41", sched.name = "row"} : () -> i32
    %row_3 = "arith.muli"(%row_2, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:41", sched.name = "row"} : (i32, i32) -> i32
    %row_4 = "arith.addi"(%row_1, %row_3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %shared = "arith.divsi"(%row_0, %group) {sched.location = "attention_grouped.py:17:14", sched.name = "shared"} : (i32, i32) -> i32
    %shared_5 = "arith.muli"(%shared, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:17:14", sched.name = "shared"} : (i32, i32) -> i32
    %q = "tt.descriptor_load"(%q_desc, %row_4, %0) {sched.location = "attention_grouped.py:18:9", sched.name = "q"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %q_6 = "ttg.local_alloc"(%q) {sched.location = "attention_grouped.py:18:9", sched.name = "q"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %log2_scale_7 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:22:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %n = "tt.splat"(%log2_scale_7) {sched.location = "attention_grouped.py:27:27", sched.name = "n"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %p = "tt.splat"(%log2_scale_7) {sched.location = "attention_grouped.py:28:21", sched.name = "p"} : (f32) -> tensor<64x128xf32, #mma>
    %o:3 = "scf.for"(%0, %sequence, %1, %m, %l, %2) ({
    ^bb0(%start: i32, %m_8: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_9: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_10: tensor<64x128xf32, #mma>):
      %k = "arith.addi"(%shared_5, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:24:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %k_11 = "tt.descriptor_load"(%k_desc, %k, %0) {sched.location = "attention_grouped.py:24:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %0) {sched.location = "attention_grouped.py:25:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v_12 = "ttg.local_alloc"(%v) {sched.location = "attention_grouped.py:25:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s = "ttg.local_alloc"(%k_11) {sched.location = "attention_grouped.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s_13 = "ttg.memdesc_trans"(%s) <{order = array<i32: 1, 0>}> {sched.location = "attention_grouped.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf16, #shared, #smem>) -> !ttg.memdesc<128x128xf16, #shared1, #smem>
      %s_14 = "ttng.warp_group_dot"(%q_6, %s_13, %2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_grouped.py:26:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared1, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %n_15 = "tt.reduce"(%s_14) <{axis = 1 : i32}> ({
      ^bb0(%n_36: f32, %n_37: f32):
        %n_38 = "arith.maxnumf"(%n_36, %n_37) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_38) : (f32) -> ()
      }) {sched.location = "attention_grouped.py:27:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_16 = "arith.mulf"(%n_15, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_17 = "arith.maxnumf"(%m_8, %n_16) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p_18 = "arith.mulf"(%s_14, %p) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %p_19 = "tt.expand_dims"(%n_17) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:28:38", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %p_20 = "tt.broadcast"(%p_19) {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %p_21 = "arith.subf"(%p_18, %p_20) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %p_22 = "math.exp2"(%p_21) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %a = "arith.subf"(%m_8, %n_17) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:29:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_23 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:29:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_24 = "arith.mulf"(%l_9, %a_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_25 = "tt.reduce"(%p_22) <{axis = 1 : i32}> ({
      ^bb0(%l_33: f32, %l_34: f32):
        %l_35 = "arith.addf"(%l_33, %l_34) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_35) : (f32) -> ()
      }) {sched.location = "attention_grouped.py:30:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_26 = "arith.addf"(%l_24, %l_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_27 = "arith.truncf"(%p_22) {sched.location = "attention_grouped.py:31:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
      %o_28 = "tt.expand_dims"(%a_23) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:31:42", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %o_29 = "tt.broadcast"(%o_28) {sched.location = "attention_grouped.py:31:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %o_30 = "arith.mulf"(%o_10, %o_29) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:31:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %o_31 = "ttg.convert_layout"(%o_27) {sched.trivial = true, sched.location = "attention_grouped.py:31:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %o_32 = "ttng.warp_group_dot"(%o_31, %v_12, %o_30) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_grouped.py:31:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (tensor<64x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<128x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%n_17, %l_26, %o_32) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "attention_grouped.py:23:5", sched.name = "start"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>)
    %3 = "tt.expand_dims"(%o#1) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:33:33"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %4 = "tt.broadcast"(%3) {sched.location = "attention_grouped.py:33:29"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
    %5 = "arith.divf"(%o#2, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:33:29"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %6 = "arith.truncf"(%5) {sched.location = "attention_grouped.py:33:28"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "attention_grouped.py:33:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %7, %row_4, %0) {sched.location = "attention_grouped.py:33:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    %8 = "tt.addptr"(%lse_ptr, %row_4) {sched.location = "attention_grouped.py:34:14"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %9 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "attention_grouped.py:34:30"} : () -> tensor<64xi32, #blocked1>
    %10 = "tt.splat"(%8) {sched.location = "attention_grouped.py:34:14"} : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>, #blocked1>
    %11 = "tt.addptr"(%10, %9) {sched.location = "attention_grouped.py:34:14"} : (tensor<64x!tt.ptr<f32>, #blocked1>, tensor<64xi32, #blocked1>) -> tensor<64x!tt.ptr<f32>, #blocked1>
    %12 = "math.log2"(%o#1) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:34:51"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %13 = "arith.addf"(%o#0, %12) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:34:47"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %14 = "ttg.convert_layout"(%13) {sched.trivial = false, sched.location = "attention_grouped.py:34:5"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #blocked1>
    "tt.store"(%11, %14) {sched.location = "attention_grouped.py:34:5"} : (tensor<64x!tt.ptr<f32>, #blocked1>, tensor<64xf32, #blocked1>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "attention_grouped.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
