// Eliminations modulo a prime p < 2^23 on a CUDA device.
//
// Residues lie in device memory as 32-bit integers of size at most p/2 and a little, and are multiplied as doubles:
// a product is below 2^44 and a little, so a sum of DELAY = 480 products and a residue stays below 2^53 and is exact in
// whatever order it is summed. Matrices are stored row by row; the inner dimension of products is padded with zeros to
// multiples of DEPTH. What each kernel computes is written once more, plainly, in `dimension/blocked/host.rs`, and tests hold
// the eliminations on it against those of the processor.
//
// The texts that are loaded, `kernels_80.ptx` and `kernels_90.ptx`, are made of this file by `make_ptx.sh`.

// A block of THREADS threads makes ROWS x COLUMNS entries of a product, each warp WARP_ROWS x WARP_COLUMNS of them. Small
// blocks, four on a multiprocessor, do not wait for each other: on an H200 this shape gave 55 TFLOP/s of the 60 of the
// vendor's library, 128 x 128 entries by 8 warps 48.
#define ROWS 64
#define COLUMNS 64
#define WARP_ROWS 32
#define WARP_COLUMNS 32
#define BLOCKS 4
#define THREADS (32 * (ROWS / WARP_ROWS) * (COLUMNS / WARP_COLUMNS))
#define DEPTH 16   // entries of either factor's rows that are multiplied between two barriers
#define STAGES 4   // of these that are under way at a time
#define LEFT_COPIES (ROWS * DEPTH / 4 / THREADS)
#define RIGHT_COPIES (COLUMNS * DEPTH / 4 / THREADS)
#define PITCH 20   // integers between rows in shared memory: what a warp reads at a time then lies in different banks
#define DELAY 30   // steps of DEPTH between two reductions
#define PANEL 256

// Of products: what becomes of an entry.
#define STORE 0      // it is written
#define SUBTRACT 1   // it is subtracted from what was there
#define WEIGH 2      // times an entry of another matrix it is added to what was there
#define TRANSPOSE 3  // it is written to the transposed place

struct Prime {
    double p, inverse;
};

// Some columns of a matrix: rows of `ld` integers from `base` on, `steps * DEPTH` of them in use.
struct Segment {
    const int* base;
    int ld;
    int steps;
};

__device__ __forceinline__ double reduce(double x, Prime prime) {
    const double round = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integers
    double quotient = (x * prime.inverse + round) - round;
    return fma(-quotient, prime.p, x);
}

__device__ __forceinline__ double widen(int x) {
    return __hiloint2double(0x43300000, x ^ 0x80000000) - 4503601774854144.0;  // 2^52 + 2^31
}

__device__ __forceinline__ int narrow(double x) { return __double2loint(x + 6755399441055744.0); }

// The inverse of a residue other than 0, by Euclid's algorithm.
__device__ double invert(double x, Prime prime) {
    int p = (int)prime.p, r0 = p, r1 = (int)x;
    if (r1 < 0) r1 += p;
    int s0 = 0, s1 = 1;
    while (r1 != 0) {
        int quotient = r0 / r1, r2 = r0 - quotient * r1, s2 = s0 - quotient * s1;
        r0 = r1;
        r1 = r2;
        s0 = s1;
        s1 = s2;
    }
    return reduce((double)s0, prime);
}

// d += a b for tiles of 16 x 8 and 8 x 8 that a warp holds together.
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
                         : "d"(a[2 * k + half]), "d"(b[k]));
        }
    }
#endif
}

// Begins to copy four integers to shared memory.
__device__ __forceinline__ void copy_async(int* to, const int* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

// The product of `rows` rows of the matrix that the segments lie side by side in, or that `one` is, and the transposed rows
// of b. Row r of the first factor is row r, or row index[r], of the segments. A block computes ROWS x COLUMNS entries, or the
// part of them that its share (blockIdx.z) of the inner dimension gives: then SUBTRACT adds atomically, without a reduction.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    product(const Segment* segments, Segment one, const int* index, const int* b, long long ldb, int* out, long long ldo,
            int rows, int columns, int steps, int mode, const int* weights, int outputs, const int* place, Prime prime) {
    __shared__ __align__(16) int tiles[STAGES * (ROWS + COLUMNS) * PITCH];
    const int thread = threadIdx.x, lane = thread % 32, group = lane / 4, four = lane % 4;
    const int warp_row = thread / 32 % (ROWS / WARP_ROWS) * WARP_ROWS;
    const int warp_col = thread / 32 / (ROWS / WARP_ROWS) * WARP_COLUMNS;
    const int row0 = blockIdx.y * ROWS, col0 = blockIdx.x * COLUMNS;
    const int first = (int)((long long)steps * blockIdx.z / gridDim.z);
    const int last = (int)((long long)steps * (blockIdx.z + 1) / gridDim.z);
    if (first >= last) return;

    // What this thread copies: four integers of some rows of either factor.
    const int copied = thread / 4, offset = thread % 4 * 4;
    int segment = 0, skipped = first;
    Segment here = one;
    if (segments != 0) {
        while (skipped >= segments[segment].steps) skipped -= segments[segment++].steps;
        here = segments[segment];
    }
    int left = here.steps - skipped;
    int row[LEFT_COPIES];
    const int* from_left[LEFT_COPIES];
#pragma unroll
    for (int i = 0; i < LEFT_COPIES; ++i) {
        const int r = min(row0 + copied + THREADS / 4 * i, rows - 1);
        row[i] = index == 0 ? r : index[r];
        from_left[i] = here.base + (long long)row[i] * here.ld + skipped * DEPTH + offset;
    }
    const int* from_right = b + (col0 + copied) * ldb + (long long)first * DEPTH + offset;
    double sum[WARP_ROWS / 16][WARP_COLUMNS / 8][4];
#pragma unroll
    for (int i = 0; i < WARP_ROWS / 16; ++i)
#pragma unroll
        for (int j = 0; j < WARP_COLUMNS / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i][j][e] = 0.0;

    // Begins to copy the next entries of either factor.
    int fetched = first;
    auto fetch = [&]() {
        if (fetched < last) {
            int* const into = tiles + fetched % STAGES * (ROWS + COLUMNS) * PITCH + copied * PITCH + offset;
#pragma unroll
            for (int i = 0; i < LEFT_COPIES; ++i) copy_async(into + THREADS / 4 * i * PITCH, from_left[i]);
#pragma unroll
            for (int i = 0; i < RIGHT_COPIES; ++i)
                copy_async(into + (ROWS + THREADS / 4 * i) * PITCH, from_right + THREADS / 4 * i * ldb);
            ++fetched;
            if (--left == 0 && fetched < last) {
                here = segments[++segment];
                left = here.steps;
#pragma unroll
                for (int i = 0; i < LEFT_COPIES; ++i) from_left[i] = here.base + (long long)row[i] * here.ld + offset;
            } else {
#pragma unroll
                for (int i = 0; i < LEFT_COPIES; ++i) from_left[i] += DEPTH;
            }
            from_right += DEPTH;
        }
        asm volatile("cp.async.commit_group;");
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch();
    int delay = 0;
    for (int step = first; step < last; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        fetch();
        const int* stage = tiles + step % STAGES * (ROWS + COLUMNS) * PITCH;
        const int* left_tile = stage + (warp_row + group) * PITCH + four;
        const int* right_tile = stage + (ROWS + warp_col + group) * PITCH + four;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 8) {
            // Converted where nothing else is computed: `widen` would take time of the units that multiply.
            double x[WARP_ROWS / 16][4], y[WARP_COLUMNS / 8][2];
#pragma unroll
            for (int i = 0; i < WARP_ROWS / 16; ++i) {
                const int* from = left_tile + 16 * i * PITCH + k;
                x[i][0] = (double)(from[0]);
                x[i][1] = (double)(from[8 * PITCH]);
                x[i][2] = (double)(from[4]);
                x[i][3] = (double)(from[8 * PITCH + 4]);
            }
#pragma unroll
            for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
                const int* from = right_tile + 8 * j * PITCH + k;
                y[j][0] = (double)(from[0]);
                y[j][1] = (double)(from[4]);
            }
#pragma unroll
            for (int i = 0; i < WARP_ROWS / 16; ++i)
#pragma unroll
                for (int j = 0; j < WARP_COLUMNS / 8; ++j) multiply_add(sum[i][j], x[i], y[j]);
        }
        if (++delay == DELAY) {
            delay = 0;
#pragma unroll
            for (int i = 0; i < WARP_ROWS / 16; ++i)
#pragma unroll
                for (int j = 0; j < WARP_COLUMNS / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e) sum[i][j][e] = reduce(sum[i][j][e], prime);
        }
    }
    asm volatile("cp.async.wait_group 0;");

#pragma unroll
    for (int i = 0; i < WARP_ROWS / 16; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int r = row0 + warp_row + 16 * i + 8 * half + group;
            const int to_row = r >= rows ? -1 : place == 0 ? r : place[r];
            if (to_row < 0) continue;
            const int* weight = weights + (long long)(mode == WEIGH ? index[r] / outputs : 0) * PANEL;
#pragma unroll
            for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int c = col0 + warp_col + 8 * j + 2 * four + e;
                    if (c >= columns) continue;
                    const double x = reduce(sum[i][j][2 * half + e], prime);
                    int* entry = out + (mode == TRANSPOSE ? c * ldo + to_row : to_row * ldo + c);
                    if (mode == SUBTRACT) {
                        if (gridDim.z > 1) {
                            atomicAdd(entry, -narrow(x));
                        } else {
                            *entry = narrow(reduce(widen(*entry) - x, prime));
                        }
                    } else if (mode == WEIGH) {
                        *entry = narrow(reduce(widen(*entry) + x * widen(weight[c]), prime));
                    } else {
                        *entry = narrow(x);
                    }
                }
            }
        }
    }
}

// Row c of the result: row index[c] / divisor of the segments, or of `one`, entry k times factors[k]; zeros from row `count` on.
extern "C" __global__ void scale_rows(const Segment* segments, Segment one, int segment_count, const int* index, int divisor,
                                      const int* factors, int* out, long long ldo, int count, Prime prime) {
    const int c = blockIdx.y;
    const long long row = c >= count ? 0 : index == 0 ? c : index[c] / divisor;
    int start = 0;
    for (int s = 0; s < segment_count; ++s) {
        const Segment here = segments == 0 ? one : segments[s];
        const int width = here.steps * DEPTH;
        if (s % gridDim.x == blockIdx.x) {
            for (int k = threadIdx.x; k < width; k += blockDim.x) {
                double x = 0.0;
                if (c < count) x = reduce(widen(here.base[row * here.ld + k]) * widen(factors[start + k]), prime);
                out[c * ldo + start + k] = narrow(x);
            }
        }
        start += width;
    }
}

// out += table[output of the row] * weights[vector of the row], entry by entry: the last layer's part of a block.
extern "C" __global__ void add_outputs(const int* index, const int* table, const int* weights, int outputs, int* out,
                                       int rows, Prime prime) {
    const int c = threadIdx.x;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        const int from = index[r];
        const double x = widen(table[from % outputs * PANEL + c]) * widen(weights[(long long)(from / outputs) * PANEL + c]);
        int* entry = out + (long long)r * PANEL + c;
        *entry = narrow(reduce(widen(*entry) + x, prime));
    }
}

// Reduces sums of a few residues.
extern "C" __global__ void reduce_all(int* x, long long count, Prime prime) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (long long)blockDim.x)
        x[i] = narrow(reduce(widen(x[i]), prime));
}

__device__ void exchange(int* x, int* y) {
    const int kept = *x;
    *x = *y;
    *y = kept;
}

// K = L D L^T for the symmetric matrix in the first rows and columns of `block`, pivots on the diagonal, the first that
// is not zero each time; one block of threads. Then row k of `work` has, from the diagonal on, row k of U = D L^T.
// found: the number of pivots, then the rows in their new order; pivots: the diagonal of D; inverses: of its entries.
extern "C" __global__ void __launch_bounds__(1024, 1)
    factor_diagonal(const int* block, int width, int* work, int* found, int* pivots, int* inverses, Prime prime) {
    __shared__ double column[PANEL];
    __shared__ double scaled[PANEL];
    __shared__ int order[PANEL];
    __shared__ int pivot;
    const int thread = threadIdx.x;
    for (int e = thread; e < PANEL * PANEL; e += blockDim.x) {
        const int i = e / PANEL, j = e % PANEL;
        work[e] = i < width && j < width ? block[e] : 0;
    }
    if (thread < PANEL) order[thread] = thread;
    __syncthreads();
    int k = 0;
    for (; k < width; ++k) {
        if (thread == 0) pivot = work[k * PANEL + k] != 0 ? k : width;
        __syncthreads();
        if (pivot != k) {
            for (int i = k + thread; i < width; i += blockDim.x)
                if (work[i * PANEL + i] != 0) atomicMin(&pivot, i);
            __syncthreads();
            if (pivot == width) break;
            const int q = pivot;
            for (int i = thread; i < width; i += blockDim.x) {
                if (i < k) {
                    exchange(&work[k * PANEL + i], &work[q * PANEL + i]);
                    exchange(&work[i * PANEL + k], &work[i * PANEL + q]);
                } else if (i == k) {
                    exchange(&work[k * PANEL + k], &work[q * PANEL + q]);
                    exchange(&order[k], &order[q]);
                } else if (i < q) {
                    exchange(&work[i * PANEL + k], &work[q * PANEL + i]);
                } else if (i > q) {
                    exchange(&work[i * PANEL + k], &work[i * PANEL + q]);
                }
            }
            __syncthreads();
        }
        const double inverse = invert(widen(work[k * PANEL + k]), prime);
        for (int i = k + thread; i < width; i += blockDim.x) {
            const int x = work[i * PANEL + k];
            column[i] = widen(x);
            scaled[i] = reduce(widen(x) * inverse, prime);
            work[k * PANEL + i] = x;
        }
        if (thread == 0) {
            pivots[k] = work[k * PANEL + k];
            inverses[k] = narrow(inverse);
        }
        __syncthreads();
        for (int i = k + 1 + thread / 32; i < width; i += blockDim.x / 32) {
            const double factor = scaled[i];
            for (int j = k + 1 + thread % 32; j <= i; j += 32) {
                int* entry = work + i * PANEL + j;
                *entry = narrow(reduce(widen(*entry) - factor * column[j], prime));
            }
        }
        __syncthreads();
    }
    if (thread == 0) found[0] = k;
    if (thread < PANEL) {
        found[1 + thread] = order[thread];
        if (thread >= k) pivots[thread] = 0;
    }
}

// Of the first found[0] rows and columns of `work`: the transposed inverse of the upper triangle, the inverses of its
// diagonal given, entry (k, j) of the inverse at (j, found[1 + k]); or, with unit != 0, the inverse of the unit lower
// triangle, every entry at its place. All other entries are zero. A warp for every k.
extern "C" __global__ void invert_triangle(const int* work, const int* found, const int* inverses, int unit, int* out,
                                           Prime prime) {
    const int k = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, size = found[0];
    if (k >= PANEL) return;
    double sum[PANEL / 32];  // entry 32 i + lane: minus what is known of the row times the triangle
#pragma unroll
    for (int i = 0; i < PANEL / 32; ++i) sum[i] = 32 * i + lane == k ? 1.0 : 0.0;
    const int column = unit ? k : found[1 + k];
#pragma unroll
    for (int i = 0; i < PANEL / 32; ++i) {
        for (int l = 0; l < 32; ++l) {
            const int m = 32 * i + l;
            double x = 0.0;
            if (k < size && m < size && m >= k) {
                if (lane == l) {
                    x = reduce(sum[i], prime);
                    if (!unit) x = reduce(x * widen(inverses[m]), prime);
                }
                x = __shfl_sync(0xffffffff, x, l);
#pragma unroll
                for (int j = i; j < PANEL / 32; ++j) {
                    const int to = 32 * j + lane;
                    if (to > m && to < size) sum[j] -= x * widen(unit ? work[to * PANEL + m] : work[m * PANEL + to]);
                }
            }
            if (lane == 0) out[(long long)m * PANEL + column] = narrow(x);
        }
    }
}

// Copies rows from[s] to rows to[s] of all segments.
extern "C" __global__ void move_rows(const Segment* segments, Segment one, const int* from, const int* to, int count) {
    const Segment here = segments == 0 ? one : segments[blockIdx.x];
    const int width = here.steps * DEPTH;
    for (int s = blockIdx.y; s < count; s += gridDim.y)
        for (int k = threadIdx.x; k < width; k += blockDim.x)
            ((int*)here.base)[(long long)to[s] * here.ld + k] = here.base[(long long)from[s] * here.ld + k];
}

// Exchanges rows s and found[1 + s] of all segments, s = 0, 1, ..., in order.
extern "C" __global__ void exchange_rows(const Segment* segments, Segment one, const int* found, int count) {
    const Segment here = segments == 0 ? one : segments[blockIdx.x];
    const int width = here.steps * DEPTH;
    for (int s = 0; s < count; ++s) {
        const int with = found[1 + s];
        if (with == s) continue;
        for (int k = threadIdx.x; k < width; k += blockDim.x)
            exchange((int*)here.base + (long long)s * here.ld + k, (int*)here.base + (long long)with * here.ld + k);
    }
}

// The columns from `first` on of PANEL rows, transposed.
extern "C" __global__ void transpose(const int* in, long long ldi, int rows, int* out) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < PANEL * PANEL; e += gridDim.x * blockDim.x) {
        const int c = e / PANEL, r = e % PANEL;
        out[e] = r < rows ? in[r * ldi + c] : 0;
    }
}

// Looks for a pivot in column k of a block, from row k on; brings its row to place k and says in found[1 + k] where it
// was. found[0] grows with every pivot and stays when one is missing; then nothing is done any more.
extern "C" __global__ void __launch_bounds__(1024, 1) find_pivot(int* block, int rows, int k, int* found, int* inverses, Prime prime) {
    __shared__ int pivot;
    const int thread = threadIdx.x;
    if (found[0] != k) return;
    if (thread == 0) pivot = rows;
    __syncthreads();
    for (int start = k; start < rows; start += blockDim.x) {
        const int i = start + thread;
        if (i < rows && block[(long long)i * PANEL + k] != 0) atomicMin(&pivot, i);
        __syncthreads();
        if (pivot < rows) break;
        __syncthreads();
    }
    const int q = pivot;
    if (q == rows) return;
    if (q != k && thread < PANEL) exchange(block + (long long)k * PANEL + thread, block + (long long)q * PANEL + thread);
    __syncthreads();
    if (thread == 0) {
        inverses[k] = narrow(invert(widen(block[k * PANEL + k]), prime));
        found[1 + k] = q;
        found[0] = k + 1;
    }
}

// Eliminates column k below row k, the pivot; a warp for every row. Factors stay in the column.
extern "C" __global__ void eliminate_column(int* block, int rows, int k, int width, const int* found, const int* inverses, Prime prime) {
    if (found[0] != k + 1) return;
    const int lane = threadIdx.x % 32;
    const double inverse = widen(inverses[k]);
    const int* top = block + k * PANEL;
    for (int i = k + 1 + (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < rows; i += gridDim.x * blockDim.x / 32) {
        int* row = block + (long long)i * PANEL;
        const double factor = reduce(widen(row[k]) * inverse, prime);
        __syncwarp();
        if (lane == 0) row[k] = narrow(factor);
        if (factor == 0.0) continue;
        for (int j = (k + 1) / 32 * 32 + lane; j < width; j += 32)
            if (j > k) row[j] = narrow(reduce(widen(row[j]) - factor * widen(top[j]), prime));
    }
}
