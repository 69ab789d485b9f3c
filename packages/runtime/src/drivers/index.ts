import { createMemory } from './memory/memory.ts';
import { type OciEnvironment, type OciSettings, openOci } from './oci/index.ts';
import type { OpenedDriver } from './opened-driver.ts';

export {
  describeRootlessNamespace,
  describeSockets,
  findLevelObstacle,
  hasLevelWorked,
  hasSandboxes,
  limitsSwap,
  type ProbedRootless,
  probeMounts,
  probeRootless,
  probeSandboxes,
  probeSeccomp,
  type Remains,
  removeRemains,
  type SandboxProbeOptions,
  toCriuCommand,
} from './oci/index.ts';

/** A driver and its settings, as plain data: a server passes it to its helper as JSON. */
export type DriverChoice = ({ name: 'oci' } & OciSettings) | { name: 'memory' };

/** Where the helper works, with any driver. */
export type DriverEnvironment = OciEnvironment;

/** The OCI driver at level `container`, which keeps no memory. */
export const defaultDriver: DriverChoice = { name: 'oci' };

const names = ['oci', 'memory'] as const satisfies readonly DriverChoice['name'][];

/**
 * Parses a choice from JSON, whose settings are those of the server that started this process. Throws when it names no
 * driver.
 */
export const parseDriver = (json: string): DriverChoice => {
  const choice = JSON.parse(json) as DriverChoice | null;
  if (names.some((name) => name === choice?.name)) return choice as DriverChoice;
  throw new Error(`--driver must be JSON whose "name" is one of ${names.join(', ')}, got ${json}`);
};

/** Opens the driver. Rejects when this host cannot run it. */
export const openDriver = async (
  choice: DriverChoice,
  environment: DriverEnvironment,
): Promise<OpenedDriver> => {
  switch (choice.name) {
    case 'oci':
      return openOci(choice, environment);
    case 'memory': {
      const runtime = createMemory(environment);
      return { runtime, measure: () => runtime.measure(), close: () => runtime.close() };
    }
  }
};
