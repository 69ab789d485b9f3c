import { isAbsolute } from 'node:path';
import { RuntimeError } from '../../error.ts';
import type { InstanceSpec } from '../../runtime.ts';

const MIB = 2 ** 20;

/**
 * Refuses a spec that this driver would turn into something else than was asked for: its parts become paths, mount
 * options and lines of configuration files. @throws RuntimeError `internal`: the caller, not a user, made it
 */
export const checkSpec = (spec: InstanceSpec): void => {
  const { limits } = spec;
  const faults = [
    /^[a-z0-9]{1,40}$/.test(spec.id) || 'id must be 1 to 40 of a-z and 0-9',
    /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/.test(spec.hostname) || 'hostname must be one DNS label',
    isMountablePath(spec.rootfs) || 'rootfs must be an absolute path without , : \\ or line breaks',
    (limits.cpuCount >= 0.01 && Number.isFinite(limits.cpuCount)) || 'cpuCount must be at least 0.01',
    isAtLeast(limits.memoryBytes, 32 * MIB) || 'memoryBytes must be at least 32 MiB',
    isAtLeast(limits.diskBytes, 16 * MIB) || 'diskBytes must be at least 16 MiB',
    isAtLeast(limits.processCount, 16) || 'processCount must be at least 16',
  ].filter((fault) => fault !== true);
  if (faults.length > 0) throw new RuntimeError('internal', `not a valid instance: ${faults.join('; ')}`);
};

/** Whether the path means itself when it stands among the options of an overlay mount. */
export const isMountablePath = (path: string): boolean => isAbsolute(path) && !/[,:\\\r\n]/.test(path);

const isAtLeast = (value: number, least: number): boolean => Number.isSafeInteger(value) && value >= least;
