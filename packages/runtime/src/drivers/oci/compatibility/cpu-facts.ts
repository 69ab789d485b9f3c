/** What /proc/cpuinfo says of the processors of a host, all of them together. */
export interface CpuFacts {
  /** The vendor in the kernel's words: `GenuineIntel`, or the number of the implementer. */
  vendor: string;
  family: string;
  /** The model; those of several models are joined by a plus. */
  model: string;
  /** The features that a program may have found, in the order of their names, see `ofHostOnly`. */
  flags: string[];
}

/** The fields of /proc/cpuinfo on x86-64 and arm64: the first that exists counts. */
const fields = {
  vendor: ['vendor_id', 'CPU implementer'],
  family: ['cpu family', 'CPU architecture'],
  model: ['model', 'CPU part'],
  flags: ['flags', 'Features'],
} as const;

/**
 * Flags that depend on the kernel, its options, the firmware or the hypervisor, and that no program inside can use:
 * two hosts with the same processor often differ in them. Every other flag counts, also one that is not known yet.
 */
const ofHostOnly = new Set(
  [
    // Mitigations, and the bits by which the kernel controls speculation.
    'pti ibrs ibpb stibp ssbd amd_ssbd virt_ssbd v_spec_ctrl ibrs_enhanced ibpb_exit_to_user md_clear flush_l1d',
    'arch_capabilities bhi_ctrl sbpb ibpb_brtype',
    // Virtual machines on the host.
    'vmx svm smx ept ept_ad vpid tpr_shadow flexpriority vnmi npt lbrv svm_lock nrip_save tsc_scale vmcb_clean',
    'flushbyasid decodeassists pausefilter pfthreshold avic x2avic v_vmsave_vmload vgif sev sev_es sev_snp debug_swap',
    // Clock, power, temperature and errors of the hardware.
    'constant_tsc nonstop_tsc nonstop_tsc_s3 tsc_known_freq tsc_reliable tsc_adjust tsc_deadline_timer aperfmperf acpi',
    'ida arat pln pts dtherm hwp hwp_notify hwp_act_window hwp_epp hwp_pkg_req hfi tm tm2 est epb cpb hw_pstate cppc',
    'rapl mca mce overflow_recov succor smca',
    // Counters and traces of the kernel, and shares of caches.
    'arch_perfmon pebs bts dtes64 ds_cpl pdcm perfmon_v2 perfctr_core perfctr_nb perfctr_llc perfctr_l2 bpext ibs brs',
    'amd_lbr_v2 amd_lbr_pmc_freeze arch_lbr intel_pt intel_ppin irperf',
    'cqm cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local cat_l2 cat_l3 cdp_l2 cdp_l3 mba bmec rdt_a',
    // Notes of the kernel to itself, and its own page tables.
    'rep_good nopl xtopology cpuid extd_apicid invpcid_single pcid eagerfpu xtpr ring3mwait',
  ].flatMap((line) => line.split(' ')),
);

/** Undefined for a text that does not name all of them. */
export const parseCpuinfo = (text: string): CpuFacts | undefined => {
  const lines = text.split('\n').map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, Math.max(colon, 0)).trim(), line.slice(colon + 1).trim()];
  });
  const valuesOf = (names: readonly string[]): string[] => {
    const name = names.find((one) => lines.some(([found]) => found === one));
    return [...new Set(lines.filter(([found]) => found === name).map(([, value]) => value))].sort();
  };
  const [vendor, family, model] = [fields.vendor, fields.family, fields.model].map((names) =>
    valuesOf(names).join('+'),
  );
  const flags = new Set(valuesOf(fields.flags).flatMap((value) => value.split(/\s+/)));
  if (!vendor || !family || !model || flags.size === 0) return undefined;
  return { vendor, family, model, flags: [...flags].filter((flag) => flag && !ofHostOnly.has(flag)).sort() };
};
