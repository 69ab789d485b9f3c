import { RuntimeError } from '../../error.ts';
import type { OciHost } from './host.ts';
import type { SandboxRecord } from './record.ts';

/** As it stands in a record. */
export const toRecordLevel = ({ runtime }: OciHost): Pick<SandboxRecord, 'level'> =>
  runtime.level === 'gvisor' ? { level: 'gvisor' } : {};

/**
 * What ran on a kernel of its own once never gets a run on the host's: who chose the level did not trust it. Throws
 * `unsupported`, naming it, when this host would do that.
 */
export const requireLevel = (
  { runtime }: OciHost,
  { level }: Pick<SandboxRecord, 'level'>,
  name: string,
): void => {
  if (level === 'gvisor' && runtime.level !== 'gvisor')
    throw new RuntimeError('unsupported', `${name} is of level gvisor, and this host starts none`);
};
