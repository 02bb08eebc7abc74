// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}, {}, {}], function_type = (!tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, f32, i32, i32) -> (), sym_name = "attention_grouped", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<128x128xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<128x128xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<128x128xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<128x128xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %lse_ptr: !tt.ptr<f32>, %scale: f32, %sequence: i32, %group: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %2 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "attention_grouped.py:22:18", sched.name = "log2_scale"} : () -> f32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>}> {sched.location = "attention_grouped.py:20:9", sched.name = "l"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %4 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #linear>}> : () -> tensor<128x128xf32, #linear>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>}> {sched.location = "attention_grouped.py:19:9", sched.name = "m"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %row = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %row_1 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "attention_grouped.py:16:41", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row_1, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:41", sched.name = "row"} : (i32, i32) -> i32
    %row_3 = "arith.addi"(%row_0, %row_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %shared = "arith.divsi"(%row, %group) {sched.location = "attention_grouped.py:17:14", sched.name = "shared"} : (i32, i32) -> i32
    %shared_4 = "arith.muli"(%shared, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:17:14", sched.name = "shared"} : (i32, i32) -> i32
    %q = "tt.descriptor_load"(%q_desc, %row_3, %3) {sched.location = "attention_grouped.py:18:9", sched.name = "q"} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
    %q_5 = "ttg.local_alloc"(%q) {sched.location = "attention_grouped.py:18:9", sched.name = "q"} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
    %log2_scale_6 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:22:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %n = "tt.splat"(%log2_scale_6) {sched.location = "attention_grouped.py:27:27", sched.name = "n"} : (f32) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %p = "tt.splat"(%log2_scale_6) {sched.location = "attention_grouped.py:28:21", sched.name = "p"} : (f32) -> tensor<128x128xf32, #linear>
    %s:2 = "ttng.tmem_alloc"() {sched.location = "attention_grouped.py:26:13", sched.name = "s"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %o:2 = "ttng.tmem_alloc"() {sched.location = "attention_grouped.py:31:13", sched.name = "o"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %o_7 = "ttng.tmem_store"(%o#0, %o#1, %4, %1) {sched.location = "attention_grouped.py:31:13", sched.name = "o"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
    %o_8:4 = "scf.for"(%3, %sequence, %2, %m, %l, %s#1, %o_7) ({
    ^bb0(%start: i32, %m_10: tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, %l_11: tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, %s_12: !ttg.async.token, %o_13: !ttg.async.token):
      %k = "arith.addi"(%shared_4, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "attention_grouped.py:24:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 4 : i32} : (i32, i32) -> i32
      %k_14 = "tt.descriptor_load"(%k_desc, %k, %3) {sched.location = "attention_grouped.py:24:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 4 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %3) {sched.location = "attention_grouped.py:25:13", sched.name = "v", sched.stage = 1 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<128x128xf16, #shared>, i32, i32) -> tensor<128x128xf16, #blocked>
      %v_15 = "ttg.local_alloc"(%v) {sched.location = "attention_grouped.py:25:13", sched.name = "v", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s_16 = "ttg.local_alloc"(%k_14) {sched.location = "attention_grouped.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %s_17 = "ttg.memdesc_trans"(%s_16) <{order = array<i32: 1, 0>}> {sched.location = "attention_grouped.py:26:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (!ttg.memdesc<128x128xf16, #shared, #smem>) -> !ttg.memdesc<128x128xf16, #shared1, #smem>
      %s_18 = "ttng.tc_gen5_mma"(%q_5, %s_17, %s#0, %s_12, %0, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "attention_grouped.py:26:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (!ttg.memdesc<128x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf16, #shared1, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %s_19:2 = "ttng.tmem_load"(%s#0, %s_18) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "attention_grouped.py:26:13", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
      %n_20 = "tt.reduce"(%s_19#0) <{axis = 1 : i32}> ({
      ^bb0(%n_43: f32, %n_44: f32):
        %n_45 = "arith.maxnumf"(%n_43, %n_44) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_45) : (f32) -> ()
      }) {sched.location = "attention_grouped.py:27:27", sched.name = "n", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %n_21 = "arith.mulf"(%n_20, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:27", sched.name = "n", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %n_22 = "arith.maxnumf"(%m_10, %n_21) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:27:13", sched.name = "n", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %p_23 = "arith.mulf"(%s_19#0, %p) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      %p_24 = "tt.expand_dims"(%n_22) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:28:38", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
      %p_25 = "tt.broadcast"(%p_24) {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x1xf32, #linear>) -> tensor<128x128xf32, #linear>
      %p_26 = "arith.subf"(%p_23, %p_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:21", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      %p_27 = "math.exp2"(%p_26) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:28:13", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      %a = "arith.subf"(%m_10, %n_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:29:21", sched.name = "a", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %a_28 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:29:13", sched.name = "a", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_29 = "arith.mulf"(%l_11, %a_28) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:13", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_30 = "tt.reduce"(%p_27) <{axis = 1 : i32}> ({
      ^bb0(%l_40: f32, %l_41: f32):
        %l_42 = "arith.addf"(%l_40, %l_41) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_42) : (f32) -> ()
      }) {sched.location = "attention_grouped.py:30:21", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #linear>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_31 = "arith.addf"(%l_29, %l_30) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:30:13", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %o_32 = "arith.truncf"(%p_27) {sched.location = "attention_grouped.py:31:20", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf16, #linear>
      %o_33 = "ttng.tmem_alloc"(%o_32) {sched.location = "attention_grouped.py:31:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf16, #linear>) -> !ttg.memdesc<128x128xf16, #tmem, #ttng.tensor_memory>
      %o_34 = "tt.expand_dims"(%a_28) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:31:45", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
      %o_35 = "tt.broadcast"(%o_34) {sched.location = "attention_grouped.py:31:41", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x1xf32, #linear>) -> tensor<128x128xf32, #linear>
      %o_36:2 = "ttng.tmem_load"(%o#0, %o_13) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "attention_grouped.py:31:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
      %o_37 = "arith.mulf"(%o_36#0, %o_35) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:31:41", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      %o_38 = "ttng.tmem_store"(%o#0, %o_36#1, %o_37, %1) {sched.location = "attention_grouped.py:31:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
      %o_39 = "ttng.tc_gen5_mma"(%o_33, %v_15, %o#0, %o_38, %1, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "attention_grouped.py:31:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x128xf16, #tmem, #ttng.tensor_memory>, !ttg.memdesc<128x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%n_22, %l_31, %s_19#1, %o_39) : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "attention_grouped.py:23:5", sched.name = "start"} : (i32, i32, i32, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token)
    %o_9:2 = "ttng.tmem_load"(%o#0, %o_8#3) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "attention_grouped.py:31:13", sched.name = "o"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %5 = "tt.expand_dims"(%o_8#1) <{axis = 1 : i32}> {sched.location = "attention_grouped.py:33:33"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
    %6 = "tt.broadcast"(%5) {sched.location = "attention_grouped.py:33:29"} : (tensor<128x1xf32, #linear>) -> tensor<128x128xf32, #linear>
    %7 = "arith.divf"(%o_9#0, %6) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:33:29"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %8 = "arith.truncf"(%7) {sched.location = "attention_grouped.py:33:28"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf16, #linear>
    %9 = "ttg.convert_layout"(%8) {sched.trivial = false, sched.location = "attention_grouped.py:33:5"} : (tensor<128x128xf16, #linear>) -> tensor<128x128xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %9, %row_3, %3) {sched.location = "attention_grouped.py:33:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked>, i32, i32) -> ()
    %10 = "tt.addptr"(%lse_ptr, %row_3) {sched.location = "attention_grouped.py:34:14"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %11 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "attention_grouped.py:34:30"} : () -> tensor<128xi32, #blocked1>
    %12 = "tt.splat"(%10) {sched.location = "attention_grouped.py:34:14"} : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>, #blocked1>
    %13 = "tt.addptr"(%12, %11) {sched.location = "attention_grouped.py:34:14"} : (tensor<128x!tt.ptr<f32>, #blocked1>, tensor<128xi32, #blocked1>) -> tensor<128x!tt.ptr<f32>, #blocked1>
    %14 = "math.log2"(%o_8#1) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:34:51"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %15 = "arith.addf"(%o_8#0, %14) <{fastmath = #arith.fastmath<none>}> {sched.location = "attention_grouped.py:34:47"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %16 = "ttg.convert_layout"(%15) {sched.trivial = true, sched.location = "attention_grouped.py:34:5"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #blocked1>
    "tt.store"(%13, %16) {sched.location = "attention_grouped.py:34:5"} : (tensor<128x!tt.ptr<f32>, #blocked1>, tensor<128xf32, #blocked1>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "attention_grouped.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
