// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, f32, i32, i32, i32) -> (), sym_name = "attention_in_a_window", sym_visibility = "public"}> ({
  ^bb0(%q_desc: !tt.tensordesc<128x64xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x64xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x64xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<128x64xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %scale: f32, %sequence: i32, %group: i32, %window: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "others.py:41:11", sched.name = "row"} : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %log2_scale = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "others.py:46:18", sched.name = "log2_scale"} : () -> f32
    %3 = "arith.constant"() <{value = 64 : i32}> {sched.location = "others.py:48:5"} : () -> i32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>}> {sched.location = "others.py:44:9", sched.name = "l"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %4 = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<128x64xf32, #linear>}> : () -> tensor<128x64xf32, #linear>
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #linear>}> : () -> tensor<128x64xf32, #linear>
    %m = "arith.constant"() <{value = dense<-1.000000e+30> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>}> {sched.location = "others.py:43:9", sched.name = "m"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
    %head = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:39:12", sched.name = "head"} : () -> i32
    %head_0 = "arith.muli"(%head, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:39:12", sched.name = "head"} : (i32, i32) -> i32
    %shared = "arith.divsi"(%head, %group) {sched.location = "others.py:40:14", sched.name = "shared"} : (i32, i32) -> i32
    %shared_1 = "arith.muli"(%shared, %sequence) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:40:14", sched.name = "shared"} : (i32, i32) -> i32
    %row_2 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:41:11", sched.name = "row"} : () -> i32
    %row_3 = "arith.muli"(%row_2, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:41:11", sched.name = "row"} : (i32, i32) -> i32
    %q = "arith.addi"(%head_0, %row_3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:42:22", sched.name = "q"} : (i32, i32) -> i32
    %q_4 = "tt.descriptor_load"(%q_desc, %q, %2) {sched.location = "others.py:42:9", sched.name = "q"} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
    %q_5 = "ttg.local_alloc"(%q_4) {sched.location = "others.py:42:9", sched.name = "q"} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %log2_scale_6 = "arith.mulf"(%scale, %log2_scale) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:46:18", sched.name = "log2_scale"} : (f32, f32) -> f32
    %queries = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:47:21", sched.name = "queries"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>
    %queries_7 = "tt.splat"(%row_3) {sched.location = "others.py:47:15", sched.name = "queries"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>
    %queries_8 = "arith.addi"(%queries_7, %queries) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:47:15", sched.name = "queries"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>
    %s = "tt.splat"(%log2_scale_6) {sched.location = "others.py:51:13", sched.name = "s"} : (f32) -> tensor<128x64xf32, #linear>
    %keys = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:52:24", sched.name = "keys"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>
    %apart = "tt.expand_dims"(%queries_8) <{axis = 1 : i32}> {sched.location = "others.py:53:17", sched.name = "apart"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xi32, #linear>
    %apart_9 = "tt.broadcast"(%apart) {sched.location = "others.py:53:17", sched.name = "apart"} : (tensor<128x1xi32, #linear>) -> tensor<128x64xi32, #linear>
    %s_10 = "tt.splat"(%window) {sched.location = "others.py:54:23", sched.name = "s"} : (i32) -> tensor<128x64xi32, #linear>
    %s_11 = "arith.subi"(%2, %window) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:54:50", sched.name = "s"} : (i32, i32) -> i32
    %s_12 = "tt.splat"(%s_11) {sched.location = "others.py:54:42", sched.name = "s"} : (i32) -> tensor<128x64xi32, #linear>
    %s_13:2 = "ttng.tmem_alloc"() {sched.location = "others.py:51:13", sched.name = "s"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %o:2 = "ttng.tmem_alloc"() {sched.location = "others.py:59:13", sched.name = "o"} : () -> (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %o_14 = "ttng.tmem_store"(%o#0, %o#1, %5, %1) {sched.location = "others.py:59:13", sched.name = "o"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xf32, #linear>, i1) -> !ttg.async.token
    %o_15:4 = "scf.for"(%2, %sequence, %3, %m, %l, %s_13#1, %o_14) ({
    ^bb0(%start: i32, %m_17: tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, %l_18: tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, %s_19: !ttg.async.token, %o_20: !ttg.async.token):
      %k = "arith.addi"(%shared_1, %start) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:49:26", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 4 : i32} : (i32, i32) -> i32
      %k_21 = "tt.descriptor_load"(%k_desc, %k, %2) {sched.location = "others.py:49:13", sched.name = "k", sched.stage = 0 : i32, sched.cluster = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %v = "tt.descriptor_load"(%v_desc, %k, %2) {sched.location = "others.py:50:13", sched.name = "v", sched.stage = 1 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %v_22 = "ttg.local_alloc"(%v) {sched.location = "others.py:50:13", sched.name = "v", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_23 = "ttg.local_alloc"(%k_21) {sched.location = "others.py:51:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_24 = "ttg.memdesc_trans"(%s_23) <{order = array<i32: 1, 0>}> {sched.location = "others.py:51:23", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %s_25 = "ttng.tc_gen5_mma"(%q_5, %s_24, %s_13#0, %s_19, %0, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "others.py:51:13", sched.name = "s", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %s_26:2 = "ttng.tmem_load"(%s_13#0, %s_25) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:51:13", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
      %s_27 = "arith.mulf"(%s_26#0, %s) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:51:13", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %keys_28 = "tt.splat"(%start) {sched.location = "others.py:52:16", sched.name = "keys", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>
      %keys_29 = "arith.addi"(%keys_28, %keys) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:52:16", sched.name = "keys", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>
      %apart_30 = "tt.expand_dims"(%keys_29) <{axis = 0 : i32}> {sched.location = "others.py:53:36", sched.name = "apart", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #linear}>>) -> tensor<1x64xi32, #linear>
      %apart_31 = "tt.broadcast"(%apart_30) {sched.location = "others.py:53:17", sched.name = "apart", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<1x64xi32, #linear>) -> tensor<128x64xi32, #linear>
      %apart_32 = "arith.subi"(%apart_9, %apart_31) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:53:17", sched.name = "apart", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xi32, #linear>, tensor<128x64xi32, #linear>) -> tensor<128x64xi32, #linear>
      %s_33 = "arith.cmpi"(%apart_32, %s_10) <{predicate = 2 : i64}> {sched.location = "others.py:54:23", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xi32, #linear>, tensor<128x64xi32, #linear>) -> tensor<128x64xi1, #linear>
      %s_34 = "arith.cmpi"(%apart_32, %s_12) <{predicate = 4 : i64}> {sched.location = "others.py:54:42", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xi32, #linear>, tensor<128x64xi32, #linear>) -> tensor<128x64xi1, #linear>
      %s_35 = "arith.andi"(%s_33, %s_34) {sched.location = "others.py:54:22", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xi1, #linear>, tensor<128x64xi1, #linear>) -> tensor<128x64xi1, #linear>
      %s_36 = "arith.select"(%s_35, %s_27, %4) {sched.location = "others.py:54:13", sched.name = "s", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xi1, #linear>, tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %n = "tt.reduce"(%s_36) <{axis = 1 : i32}> ({
      ^bb0(%n_56: f32, %n_57: f32):
        %n_58 = "arith.maxnumf"(%n_56, %n_57) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:55:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_58) : (f32) -> ()
      }) {sched.location = "others.py:55:27", sched.name = "n", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %n_37 = "arith.maxnumf"(%m_17, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:55:13", sched.name = "n", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %p = "tt.expand_dims"(%n_37) <{axis = 1 : i32}> {sched.location = "others.py:56:25", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
      %p_38 = "tt.broadcast"(%p) {sched.location = "others.py:56:21", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x1xf32, #linear>) -> tensor<128x64xf32, #linear>
      %p_39 = "arith.subf"(%s_36, %p_38) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:56:21", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %p_40 = "math.exp2"(%p_39) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:56:13", sched.name = "p", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %a = "arith.subf"(%m_17, %n_37) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:57:21", sched.name = "a", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %a_41 = "math.exp2"(%a) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:57:13", sched.name = "a", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_42 = "arith.mulf"(%l_18, %a_41) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:13", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_43 = "tt.reduce"(%p_40) <{axis = 1 : i32}> ({
      ^bb0(%l_53: f32, %l_54: f32):
        %l_55 = "arith.addf"(%l_53, %l_54) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:21", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_55) : (f32) -> ()
      }) {sched.location = "others.py:58:21", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #linear>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %l_44 = "arith.addf"(%l_42, %l_43) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:58:13", sched.name = "l", sched.stage = 4 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %o_45 = "arith.truncf"(%p_40) {sched.location = "others.py:59:20", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
      %o_46 = "ttng.tmem_alloc"(%o_45) {sched.location = "others.py:59:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf16, #linear>) -> !ttg.memdesc<128x64xf16, #tmem, #ttng.tensor_memory>
      %o_47 = "tt.expand_dims"(%a_41) <{axis = 1 : i32}> {sched.location = "others.py:59:45", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
      %o_48 = "tt.broadcast"(%o_47) {sched.location = "others.py:59:41", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x1xf32, #linear>) -> tensor<128x64xf32, #linear>
      %o_49:2 = "ttng.tmem_load"(%o#0, %o_20) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:59:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
      %o_50 = "arith.mulf"(%o_49#0, %o_48) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:59:41", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
      %o_51 = "ttng.tmem_store"(%o#0, %o_49#1, %o_50, %1) {sched.location = "others.py:59:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x64xf32, #linear>, i1) -> !ttg.async.token
      %o_52 = "ttng.tc_gen5_mma"(%o_46, %v_22, %o#0, %o_51, %1, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "others.py:59:13", sched.name = "o", sched.stage = 3 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x64xf16, #tmem, #ttng.tensor_memory>, !ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%n_37, %l_44, %s_26#1, %o_52) : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "others.py:48:5", sched.name = "start"} : (i32, i32, i32, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>, !ttg.async.token, !ttg.async.token)
    %o_16:2 = "ttng.tmem_load"(%o#0, %o_15#3) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:59:13", sched.name = "o"} : (!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x64xf32, #linear>, !ttg.async.token)
    %6 = "tt.expand_dims"(%o_15#1) <{axis = 1 : i32}> {sched.location = "others.py:61:40"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
    %7 = "tt.broadcast"(%6) {sched.location = "others.py:61:36"} : (tensor<128x1xf32, #linear>) -> tensor<128x64xf32, #linear>
    %8 = "arith.divf"(%o_16#0, %7) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:61:36"} : (tensor<128x64xf32, #linear>, tensor<128x64xf32, #linear>) -> tensor<128x64xf32, #linear>
    %9 = "arith.truncf"(%8) {sched.location = "others.py:61:35"} : (tensor<128x64xf32, #linear>) -> tensor<128x64xf16, #linear>
    %10 = "ttg.convert_layout"(%9) {sched.trivial = false, sched.location = "others.py:61:5"} : (tensor<128x64xf16, #linear>) -> tensor<128x64xf16, #blocked>
    "tt.descriptor_store"(%o_desc, %10, %q, %2) {sched.location = "others.py:61:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:25:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
