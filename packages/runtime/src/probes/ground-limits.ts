import { describeGroundLimits } from '../rootless/helper-ground.ts';
import { asRoot, type ProbeResult } from './probe.ts';

/** Says which limits hold in the ground that this process is in, by what, and for how long. */
export function describeLimits(stateDir: string): ProbeResult[] {
  const limits = describeGroundLimits(stateDir);
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
  const { unit, user, lingers } = limits;
  const lasting = lingers
    ? `the service manager of ${user} goes on without a session: sandboxes outlive the last one`
    : `the service manager of ${user} ends with the last session, and all sandboxes with it`;
  return [
    row('limits', true, `cpu, memory and processes of a sandbox have some, by cgroups of ${unit}`, ''),
    row('linger', lingers, lasting, `loginctl enable-linger ${user}`),
    row('disk limit', false, 'the disk of a sandbox has none', asRoot),
  ];
}
