import type { ApiKeyLimits } from '@skerry/sdk';
import { type Command, InvalidArgumentError } from 'commander';

/** The values of the options that `withLimitOptions` adds. */
export interface LimitFlags {
  maxSandboxes?: number;
  maxMemory?: number;
  maxRate?: number;
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('a limit must be a whole number from 1 to 999999999.');
  return Number(text);
}

/** Adds the options for the limits of a key. */
export function withLimitOptions(command: Command): Command {
  return command
    .option('--max-sandboxes <count>', 'how many of its sandboxes may run at the same time', parseLimit)
    .option('--max-memory <mebibytes>', 'memory of all of them together, in MiB', parseLimit)
    .option('--max-rate <count>', 'how many calls it may make in a second, of each server', parseLimit);
}

/** Takes the limits out of the flags of a command. */
export const splitLimits = <Flags extends LimitFlags>({
  maxSandboxes,
  maxMemory,
  maxRate,
  ...rest
}: Flags) => ({
  limits: { sandboxes: maxSandboxes, memoryMB: maxMemory, requestsPerSecond: maxRate } satisfies ApiKeyLimits,
  rest,
});

/** Describes limits for a cell of a table. */
export const describeLimits = ({ sandboxes, memoryMB, requestsPerSecond }: ApiKeyLimits): string => {
  const parts = [
    sandboxes === undefined ? [] : `${sandboxes} sandboxes`,
    memoryMB === undefined ? [] : `${memoryMB} MiB`,
    requestsPerSecond === undefined ? [] : `${requestsPerSecond}/s`,
  ].flat();
  return parts.length === 0 ? 'none' : parts.join(', ');
};
