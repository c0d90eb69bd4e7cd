/* The CPU of this process and of those that it starts answers CPUID as an AMD EPYC 7003 (Zen 3, AVX2) does: stages/as_amd.py.
 *
 * Linux lets a process trap CPUID (arch_prctl, since 4.12) where the CPU can. The trap comes as SIGSEGV at the instruction, whose
 * real answer is taken, changed and put into the registers. Loaded with LD_PRELOAD, before any library asks what the CPU can do.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define BIT(n) (1u << (n))

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

/* L1 data, L1 instructions, L2, L3 of leaf 0x8000001d: kind and level, ways and line, sets. */
static const unsigned caches[4][4] = {
    {0x4121, 0x01c0003f, 0x3f, 0}, {0x4122, 0x01c0003f, 0x3f, 0}, {0x4143, 0x01c0003f, 0x3ff, 2}, {0x4163, 0x03c0003f, 0x7fff, 1}};

static void answer(unsigned leaf, unsigned sub, unsigned r[4]) /* eax, ebx, ecx, edx */
{
    static const unsigned none[4];
    const unsigned *c = NULL;
    switch (leaf) {
    case 0:
    case 0x80000000u: /* "AuthenticAMD"; what follows the last leaf of either kind is Intel's */
        r[0] = leaf ? 0x80000021u : 0x10;
        r[1] = 0x68747541, r[3] = 0x69746e65, r[2] = 0x444d4163;
        break;
    case 1: /* family 25, model 1 */
        r[0] = 0x00a00f11;
        break;
    case 4: /* Intel's list of caches */
        c = none;
        break;
    case 7: /* no AVX-512, AMX or AVX-VNNI in any form */
        if (sub == 0) {
            r[1] &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31));
            r[2] &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));
            r[3] &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));
        } else if (sub == 1) {
            r[0] &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));
            r[3] = 0;
        }
        break;
    case 0x80000005u: /* AMD's older lists of caches */
        r[0] = r[1] = 0xff40ff40, r[2] = r[3] = 0x20080140;
        break;
    case 0x80000006u:
        r[0] = 0x48002200, r[1] = 0x68004200, r[2] = 0x02006140, r[3] = 0x01009140;
        break;
    case 0x8000001du:
        c = sub < 4 ? caches[sub] : none;
    }
    for (int i = 0; c && i < 4; i++)
        r[i] = c[i];
}

static void trapped(int signal_number, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *instruction = (const unsigned char *)g[REG_RIP];
    (void)info;
    if (instruction[0] != 0x0f || instruction[1] != 0xa2) { /* not CPUID: an ordinary fault, which happens again and ends the process */
        struct sigaction plain = {.sa_handler = SIG_DFL};
        real_sigaction(signal_number, &plain, NULL);
        return;
    }
    unsigned leaf = g[REG_RAX], sub = g[REG_RCX], r[4];
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    answer(leaf, sub, r);
    g[REG_RAX] = r[0], g[REG_RBX] = r[1], g[REG_RCX] = r[2], g[REG_RDX] = r[3];
    g[REG_RIP] += 2;
}

/* Others may not take SIGSEGV: Python's faulthandler does, which pytest turns on. */
int sigaction(int signal_number, const struct sigaction *wanted, struct sigaction *before)
{
    if (!real_sigaction)
        real_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    return real_sigaction(signal_number, signal_number == SIGSEGV ? NULL : wanted, before);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction ours = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, NULL, NULL); /* finds the real one */
    real_sigaction(SIGSEGV, &ours, NULL);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}
