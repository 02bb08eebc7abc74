// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, f32, i32) -> (), sym_name = "attention_forward", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<128x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<128x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<128x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<128x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %sequence: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_forward.py:62:18", sched.name = "log2_scale"} : () -> f32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_forward.py:60:9", sched.name = "l"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> : () -> tensor<128x128xf32, #mma>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "attention_forward.py:59:9", sched.name = "m"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %head = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_forward.py:56:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:56:12", sched.name = "head"} : (i32, i32) -> i32
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_forward.py:57:18", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:57:18", sched.name = "row"} : (i32, i32) -> i32
    %row_2 = "arith.addi"(%head_0, %row_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:57:11", sched.name = "row"} : (i32, i32) -> i32
    %q = "tt.descriptor_load"(%q_desc, %row_2, %1) {sched.location = "attention_forward.py:58:9", sched.name = "q"} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
    %q_3 = "ttg.local_alloc"(%q) {sched.location = "attention_forward.py:58:9", sched.name = "q"} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
    %log2_scale_4 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:62:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %n = "tt.splat"(%log2_scale_4) {sched.location = "attention_forward.py:67:27", sched.name = "n"} : (f32) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %p = "tt.splat"(%log2_scale_4) {sched.location = "attention_forward.py:68:21", sched.name = "p"} : (f32) -> tensor<128x128xf32, #mma>
    %o:3 = "scf.for"(%1, %sequence, %0, %m, %l, %2) ({
    ^bb0(%start: i32, %m_5: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_6: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_7: tensor<128x128xf32, #mma>):
      %k = "arith.addi"(%head_0, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_forward.py:64:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %k_8 = "tt.descriptor_load"(%k_desc, %k, %1) {sched.location = "attention_forward.py:64:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %1) {sched.location = "attention_forward.py:65:13", sched.name = "v", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v_9 = "ttg.local_alloc"(%v) {sched.location = "attention_forward.py:65:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s = "ttg.local_alloc"(%k_8) {sched.location = "attention_forward.py:66:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s_10 = "ttg.memdesc_trans"(%s) <{order = array<i32: 1, 0>}> {sched.location = "attention_forward.py:66:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf16, #shared, #smem>) -> !ttg.memdesc<128x128xf16, #shared1, #smem>
      %s_11 = "ttng.warp_group_dot"(%q_3, %s_10, %2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:66:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<128x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared1, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %n_12 = "tt.reduce"(%s_11) <{axis = 1 : i32}> ({
      ^bb0(%n_33: f32, %n_34: f32):
        %n_35 = "arith.maxnumf"(%n_33, %n_34) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:67:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_35) : (f32) -> ()
      }) {sched.location = "attention_forward.py:67:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_13 = "arith.mulf"(%n_12, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:67:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_14 = "arith.maxnumf"(%m_5, %n_13) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:67:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p_15 = "arith.mulf"(%s_11, %p) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:68:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %p_16 = "tt.expand_dims"(%n_14) <{axis = 1 : i32}> {sched.location = "attention_forward.py:68:38", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %p_17 = "tt.broadcast"(%p_16) {sched.location = "attention_forward.py:68:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x128xf32, #mma>
      %p_18 = "arith.subf"(%p_15, %p_17) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:68:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %p_19 = "math.exp2"(%p_18) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:68:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %a = "arith.subf"(%m_5, %n_14) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:69:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_20 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:69:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_21 = "arith.mulf"(%l_6, %a_20) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:70:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_22 = "tt.reduce"(%p_19) <{axis = 1 : i32}> ({
      ^bb0(%l_30: f32, %l_31: f32):
        %l_32 = "arith.addf"(%l_30, %l_31) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:70:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_32) : (f32) -> ()
      }) {sched.location = "attention_forward.py:70:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_23 = "arith.addf"(%l_21, %l_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:70:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_24 = "arith.truncf"(%p_19) {sched.location = "attention_forward.py:71:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
      %o_25 = "tt.expand_dims"(%a_20) <{axis = 1 : i32}> {sched.location = "attention_forward.py:71:42", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %o_26 = "tt.broadcast"(%o_25) {sched.location = "attention_forward.py:71:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x128xf32, #mma>
      %o_27 = "arith.mulf"(%o_7, %o_26) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:71:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %o_28 = "ttg.convert_layout"(%o_24) {sched.trivial = true, sched.location = "attention_forward.py:71:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %o_29 = "ttng.warp_group_dot"(%o_28, %v_9, %o_27) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "attention_forward.py:71:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<128x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      "scf.yield"(%n_14, %l_23, %o_29) : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128x128xf32, #mma>) -> ()
    }) {sched.location = "attention_forward.py:63:5", sched.name = "start"} : (i32, i32, i32, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128x128xf32, #mma>) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128x128xf32, #mma>)
    %3 = "tt.expand_dims"(%o#1) <{axis = 1 : i32}> {sched.location = "attention_forward.py:73:33"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
    %4 = "tt.broadcast"(%3) {sched.location = "attention_forward.py:73:29"} : (tensor<128x1xf32, #mma>) -> tensor<128x128xf32, #mma>
    %5 = "arith.divf"(%o#2, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_forward.py:73:29"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %6 = "arith.truncf"(%5) {sched.location = "attention_forward.py:73:28"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "attention_forward.py:73:5"} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %7, %row_2, %1) {sched.location = "attention_forward.py:73:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "attention_forward.py:52:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
