// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x512xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x512xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x512xf16, #shared>, i32, i32, i64, i64, f32, i32, i32) -> (), sym_name = "mla_decode", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x512xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %rope_desc: !tt.tensordesc<64x64xf16, #shared>, %rope_desc.shape.0: i32, %rope_desc.shape.1: i32, %rope_desc.stride.0: i64, %rope_desc.stride.1: i64, %cache_desc: !tt.tensordesc<64x512xf16, #shared>, %cache_desc.shape.0: i32, %cache_desc.shape.1: i32, %cache_desc.stride.0: i64, %cache_desc.stride.1: i64, %key_rope_desc: !tt.tensordesc<64x64xf16, #shared>, %key_rope_desc.shape.0: i32, %key_rope_desc.shape.1: i32, %key_rope_desc.stride.0: i64, %key_rope_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x512xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %sequence: i32, %heads: i32):
    %0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "mla_decode.py:24:18", sched.name = "log2_scale"} : () -> f32
    %o = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x512xf32, #mma1>}> {sched.location = "mla_decode.py:23:9", sched.name = "o"} : () -> tensor<64x512xf32, #mma1>
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "mla_decode.py:22:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "mla_decode.py:21:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %row = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "mla_decode.py:17:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %heads) <{overflowFlags = #arith.overflow<none>}> {sched.location = "mla_decode.py:17:11", sched.name = "row"} : (i32, i32) -> i32
    %row_1 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "mla_decode.py:17:38", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row_1, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "mla_decode.py:17:38", sched.name = "row"} : (i32, i32) -> i32
    %row_3 = "arith.addi"(%row_0, %row_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "mla_decode.py:17:11", sched.name = "row"} : (i32, i32) -> i32
    %token = "arith.muli"(%row, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "mla_decode.py:18:13", sched.name = "token"} : (i32, i32) -> i32
    %q = "tt.descriptor_load"(%q_desc, %row_3, %2) {sched.location = "mla_decode.py:19:9", sched.name = "q"} : (!tt.tensordesc<64x512xf16, #shared>, i32, i32) -> tensor<64x512xf16, #blocked>
    %q_4 = "ttg.local_alloc"(%q) {sched.location = "mla_decode.py:19:9", sched.name = "q"} : (tensor<64x512xf16, #blocked>) -> !ttg.memdesc<64x512xf16, #shared, #smem>
    %rope = "tt.descriptor_load"(%rope_desc, %row_3, %2) {sched.location = "mla_decode.py:20:12", sched.name = "rope"} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
    %rope_5 = "ttg.local_alloc"(%rope) {sched.location = "mla_decode.py:20:12", sched.name = "rope"} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %log2_scale_6 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:24:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %n = "tt.splat"(%log2_scale_6) {sched.location = "mla_decode.py:29:27", sched.name = "n"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %p = "tt.splat"(%log2_scale_6) {sched.location = "mla_decode.py:30:21", sched.name = "p"} : (f32) -> tensor<64x64xf32, #mma>
    %o_7:3 = "scf.for"(%2, %sequence, %1, %m, %l, %o) ({
    ^bb0(%start: i32, %m_8: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_9: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_10: tensor<64x512xf32, #mma1>):
      %cache = "arith.addi"(%token, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "mla_decode.py:26:34", sched.name = "cache", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %cache_11 = "tt.descriptor_load"(%cache_desc, %cache, %2) {sched.location = "mla_decode.py:26:17", sched.name = "cache", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x512xf16, #shared>, i32, i32) -> tensor<64x512xf16, #blocked>
      %cache_12 = "ttg.local_alloc"(%cache_11) {sched.location = "mla_decode.py:26:17", sched.name = "cache", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x512xf16, #blocked>) -> !ttg.memdesc<64x512xf16, #shared, #smem>
      %key_rope = "tt.descriptor_load"(%key_rope_desc, %cache, %2) {sched.location = "mla_decode.py:27:20", sched.name = "key_rope", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
      %s = "ttg.local_alloc"(%key_rope) {sched.location = "mla_decode.py:28:26", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_13 = "ttg.memdesc_trans"(%s) <{order = array<i32: 1, 0>}> {sched.location = "mla_decode.py:28:26", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %s_14 = "ttg.memdesc_trans"(%cache_12) <{order = array<i32: 1, 0>}> {sched.location = "mla_decode.py:28:48", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x512xf16, #shared, #smem>) -> !ttg.memdesc<512x64xf16, #shared1, #smem>
      %s_15 = "ttng.warp_group_dot"(%q_4, %s_14, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "mla_decode.py:28:38", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 8 : i32} : (!ttg.memdesc<64x512xf16, #shared, #smem>, !ttg.memdesc<512x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %s_16 = "ttng.warp_group_dot"(%rope_5, %s_13, %s_15) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "mla_decode.py:28:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 9 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %n_17 = "tt.reduce"(%s_16) <{axis = 1 : i32}> ({
      ^bb0(%n_38: f32, %n_39: f32):
        %n_40 = "arith.maxnumf"(%n_38, %n_39) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:29:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_40) : (f32) -> ()
      }) {sched.location = "mla_decode.py:29:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_18 = "arith.mulf"(%n_17, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:29:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_19 = "arith.maxnumf"(%m_8, %n_18) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:29:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p_20 = "arith.mulf"(%s_16, %p) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:30:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_21 = "tt.expand_dims"(%n_19) <{axis = 1 : i32}> {sched.location = "mla_decode.py:30:38", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %p_22 = "tt.broadcast"(%p_21) {sched.location = "mla_decode.py:30:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_23 = "arith.subf"(%p_20, %p_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:30:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_24 = "math.exp2"(%p_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:30:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %a = "arith.subf"(%m_8, %n_19) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:31:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_25 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:31:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_26 = "arith.mulf"(%l_9, %a_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:32:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_27 = "tt.reduce"(%p_24) <{axis = 1 : i32}> ({
      ^bb0(%l_35: f32, %l_36: f32):
        %l_37 = "arith.addf"(%l_35, %l_36) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:32:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_37) : (f32) -> ()
      }) {sched.location = "mla_decode.py:32:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_28 = "arith.addf"(%l_26, %l_27) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:32:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_29 = "arith.truncf"(%p_24) {sched.location = "mla_decode.py:33:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %o_30 = "tt.expand_dims"(%a_25) <{axis = 1 : i32}> {sched.location = "mla_decode.py:33:50", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %o_31 = "tt.broadcast"(%o_30) {sched.location = "mla_decode.py:33:46", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x512xf32, #mma1>
      %o_32 = "arith.mulf"(%o_10, %o_31) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:33:46", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x512xf32, #mma1>, tensor<64x512xf32, #mma1>) -> tensor<64x512xf32, #mma1>
      %o_33 = "ttg.convert_layout"(%o_29) {sched.trivial = true, sched.location = "mla_decode.py:33:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>
      %o_34 = "ttng.warp_group_dot"(%o_33, %cache_12, %o_32) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "mla_decode.py:33:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 8 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>, !ttg.memdesc<64x512xf16, #shared, #smem>, tensor<64x512xf32, #mma1>) -> tensor<64x512xf32, #mma1>
      "scf.yield"(%n_19, %l_28, %o_34) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x512xf32, #mma1>) -> ()
    }) {sched.location = "mla_decode.py:25:5", sched.name = "start"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x512xf32, #mma1>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x512xf32, #mma1>)
    %3 = "tt.expand_dims"(%o_7#1) <{axis = 1 : i32}> {sched.location = "mla_decode.py:35:33"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %4 = "tt.broadcast"(%3) {sched.location = "mla_decode.py:35:29"} : (tensor<64x1xf32, #mma>) -> tensor<64x512xf32, #mma1>
    %5 = "arith.divf"(%o_7#2, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "mla_decode.py:35:29"} : (tensor<64x512xf32, #mma1>, tensor<64x512xf32, #mma1>) -> tensor<64x512xf32, #mma1>
    %6 = "arith.truncf"(%5) {sched.location = "mla_decode.py:35:28"} : (tensor<64x512xf32, #mma1>) -> tensor<64x512xf16, #mma1>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "mla_decode.py:35:5"} : (tensor<64x512xf16, #mma1>) -> tensor<64x512xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %7, %row_3, %2) {sched.location = "mla_decode.py:35:5"} : (!tt.tensordesc<64x512xf16, #shared>, tensor<64x512xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "mla_decode.py:13:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
