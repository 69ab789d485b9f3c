import { asRoot, type ProbeResult } from '../probe.ts';
import { describeRootlessLimits } from '../rootless/helper-options.ts';

/** Says which limits hold in the rootless namespace that this process is in, by what, and for how long. */
export function describeLimits(stateDir: string): ProbeResult[] {
  const limits = describeRootlessLimits(stateDir);
  const row = (name: string, ok: boolean, found: string, mend: string): ProbeResult => ({
    name,
    ok,
    needed: false,
    found,
    mend,
  });
  if (!limits || 'reason' in limits) {
    const why = limits ? `: ${limits.reason}` : '';
    const found = `cpu, memory and disk of a sandbox have none; its processes have${why}`;
    return [row('limits', false, found, limits?.mend ?? asRoot)];
  }
  const { unit, user, lingers, limited, cpuRefusal } = limits;
  const lasting = lingers
    ? `the service manager of ${user} goes on without a session: sandboxes outlive the last one`
    : `the service manager of ${user} ends with the last session, and all sandboxes with it`;
  return [
    row('limits', true, `${limited} of a sandbox have some, by cgroups of ${unit}`, ''),
    ...(cpuRefusal
      ? [row('cpu limit', false, `the cpu of a sandbox has none: ${cpuRefusal.reason}`, cpuRefusal.mend)]
      : []),
    row('linger', lingers, lasting, `loginctl enable-linger ${user}`),
    row('disk limit', false, 'the disk of a sandbox has none', asRoot),
  ];
}
