import type { IsolationLevel } from '@skerry/contract/isolation';
import { RuntimeError } from '../../error.ts';
import type { OciHost } from './host.ts';
import type { SandboxRecord } from './record.ts';

/** By level, as a record stores it. */
const recordLevels: Record<IsolationLevel, Pick<SandboxRecord, 'level'>> = {
  container: {},
  gvisor: { level: 'gvisor' },
};

/** The level of a host, as a record stores it. */
export const toRecordLevel = ({ runtime }: OciHost): Pick<SandboxRecord, 'level'> =>
  recordLevels[runtime.level];

/**
 * A sandbox that once ran at level `gvisor` never starts at level `container`: the level was chosen because its code is
 * not trusted. Throws `unsupported`, naming it, when this host would do that.
 */
export const requireLevel = (
  { runtime }: OciHost,
  { level }: Pick<SandboxRecord, 'level'>,
  name: string,
): void => {
  if (level === 'gvisor' && runtime.level !== 'gvisor')
    throw new RuntimeError('unsupported', `${name} is of level gvisor, which this host does not run`);
};
