import { aptInstall, type ProbeResult, probe } from '../../../probe.ts';
import { compileSeccomp } from '../container/seccomp.ts';
import { seccompProfile } from '../container/seccomp-rules.ts';

export const probeSeccomp = (): Promise<ProbeResult> =>
  probe({ name: 'seccomp', needed: true, mend: aptInstall('libseccomp2') }, async () => {
    const program = compileSeccomp(seccompProfile);
    return `the filter compiles to ${program.length / 8} instructions`;
  });
