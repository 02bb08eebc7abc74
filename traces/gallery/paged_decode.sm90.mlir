// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma1 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}, {}], function_type = (!tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<i32>, f32, i32) -> (), sym_name = "paged_decode", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<64x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<64x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %page_ptr: !tt.ptr<i32>, %scale: f32, %pages: i32):
    %0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "paged_decode.py:21:18", sched.name = "log2_scale"} : () -> f32
    %3 = "arith.constant"() <{value = 1 : i32}> {sched.location = "paged_decode.py:22:5"} : () -> i32
    %o = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma1>}> {sched.location = "paged_decode.py:20:9", sched.name = "o"} : () -> tensor<64x128xf32, #mma1>
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "paged_decode.py:19:9", sched.name = "l"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "paged_decode.py:18:9", sched.name = "m"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "paged_decode.py:15:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "paged_decode.py:15:11", sched.name = "row"} : (i32, i32) -> i32
    %table = "arith.muli"(%row, %pages) <{overflowFlags = #arith.overflow<none>}> {sched.location = "paged_decode.py:16:24", sched.name = "table"} : (i32, i32) -> i32
    %table_1 = "tt.addptr"(%page_ptr, %table) {sched.location = "paged_decode.py:16:13", sched.name = "table"} : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    %q = "tt.descriptor_load"(%q_desc, %row_0, %2) {sched.location = "paged_decode.py:17:9", sched.name = "q"} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
    %q_2 = "ttg.local_alloc"(%q) {sched.location = "paged_decode.py:17:9", sched.name = "q"} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %log2_scale_3 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:21:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %n = "tt.splat"(%log2_scale_3) {sched.location = "paged_decode.py:27:27", sched.name = "n"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %p = "tt.splat"(%log2_scale_3) {sched.location = "paged_decode.py:28:21", sched.name = "p"} : (f32) -> tensor<64x64xf32, #mma>
    %o_4:3 = "scf.for"(%2, %pages, %3, %m, %l, %o) ({
    ^bb0(%i: i32, %m_5: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %l_6: tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %o_7: tensor<64x128xf32, #mma1>):
      %page = "tt.addptr"(%table_1, %i) {sched.location = "paged_decode.py:23:24", sched.name = "page", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
      %page_8 = "tt.load"(%page) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "paged_decode.py:23:16", sched.name = "page", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 1 : i32, sched.wait_stage = 1 : i32, sched.wait_before = 3 : i32} : (!tt.ptr<i32>) -> i32
      %k = "arith.muli"(%page_8, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "paged_decode.py:24:26", sched.name = "k", sched.stage = 1 : i32, sched.cluster = 1 : i32} : (i32, i32) -> i32
      %k_9 = "tt.descriptor_load"(%k_desc, %k, %2) {sched.location = "paged_decode.py:24:13", sched.name = "k", sched.stage = 1 : i32, sched.cluster = 1 : i32, sched.slots = 2 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %2) {sched.location = "paged_decode.py:25:13", sched.name = "v", sched.stage = 1 : i32, sched.cluster = 1 : i32, sched.slots = 2 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 7 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked>
      %v_10 = "ttg.local_alloc"(%v) {sched.location = "paged_decode.py:25:13", sched.name = "v", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s = "ttg.local_alloc"(%k_9) {sched.location = "paged_decode.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %s_11 = "ttg.memdesc_trans"(%s) <{order = array<i32: 1, 0>}> {sched.location = "paged_decode.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>) -> !ttg.memdesc<128x64xf16, #shared1, #smem>
      %s_12 = "ttng.warp_group_dot"(%q_2, %s_11, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "paged_decode.py:26:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 9 : i32} : (!ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %n_13 = "tt.reduce"(%s_12) <{axis = 1 : i32}> ({
      ^bb0(%n_34: f32, %n_35: f32):
        %n_36 = "arith.maxnumf"(%n_34, %n_35) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:27:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_36) : (f32) -> ()
      }) {sched.location = "paged_decode.py:27:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_14 = "arith.mulf"(%n_13, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:27:27", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %n_15 = "arith.maxnumf"(%m_5, %n_14) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:27:13", sched.name = "n", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %p_16 = "arith.mulf"(%s_12, %p) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_17 = "tt.expand_dims"(%n_15) <{axis = 1 : i32}> {sched.location = "paged_decode.py:28:38", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %p_18 = "tt.broadcast"(%p_17) {sched.location = "paged_decode.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_19 = "arith.subf"(%p_16, %p_18) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:28:21", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %p_20 = "math.exp2"(%p_19) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:28:13", sched.name = "p", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %a = "arith.subf"(%m_5, %n_15) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:29:21", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_21 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:29:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_22 = "arith.mulf"(%l_6, %a_21) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:30:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_23 = "tt.reduce"(%p_20) <{axis = 1 : i32}> ({
      ^bb0(%l_31: f32, %l_32: f32):
        %l_33 = "arith.addf"(%l_31, %l_32) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:30:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_33) : (f32) -> ()
      }) {sched.location = "paged_decode.py:30:21", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %l_24 = "arith.addf"(%l_22, %l_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:30:13", sched.name = "l", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %o_25 = "arith.truncf"(%p_20) {sched.location = "paged_decode.py:31:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %o_26 = "tt.expand_dims"(%a_21) <{axis = 1 : i32}> {sched.location = "paged_decode.py:31:42", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %o_27 = "tt.broadcast"(%o_26) {sched.location = "paged_decode.py:31:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma1>
      %o_28 = "arith.mulf"(%o_7, %o_27) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:31:38", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma1>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
      %o_29 = "ttg.convert_layout"(%o_25) {sched.trivial = true, sched.location = "paged_decode.py:31:20", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>
      %o_30 = "ttng.warp_group_dot"(%o_29, %v_10, %o_28) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "paged_decode.py:31:13", sched.name = "o", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 9 : i32} : (tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma1, kWidth = 2}>>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
      "scf.yield"(%n_15, %l_24, %o_30) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>) -> ()
    }) {sched.location = "paged_decode.py:22:5", sched.name = "i"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma1>)
    %4 = "tt.expand_dims"(%o_4#1) <{axis = 1 : i32}> {sched.location = "paged_decode.py:33:33"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
    %5 = "tt.broadcast"(%4) {sched.location = "paged_decode.py:33:29"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma1>
    %6 = "arith.divf"(%o_4#2, %5) <{fastmath = #arith.fastmath<none>}> {sched.location = "paged_decode.py:33:29"} : (tensor<64x128xf32, #mma1>, tensor<64x128xf32, #mma1>) -> tensor<64x128xf32, #mma1>
    %7 = "arith.truncf"(%6) {sched.location = "paged_decode.py:33:28"} : (tensor<64x128xf32, #mma1>) -> tensor<64x128xf16, #mma1>
    %8 = "ttg.convert_layout"(%7) {sched.trivial = false, sched.location = "paged_decode.py:33:5"} : (tensor<64x128xf16, #mma1>) -> tensor<64x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %8, %row_0, %2) {sched.location = "paged_decode.py:33:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "paged_decode.py:11:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
