import type { WarmCounts } from '@skerry/server';
import { UserError } from '@skerry/server/user-error';
import type { Command } from 'commander';
import { parseCount } from '../parse-count.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withWarmOptions`. */
export interface WarmFlags {
  warmMin: number;
  warmMax?: number;
}

/** Adds the flags of a command whose server starts sandboxes in advance; `where` ends the sentence of each. */
export const withWarmOptions = (command: Command, where = ''): Command =>
  command
    .optionsGroup(OPTION_GROUPS.sandboxes)
    .option(
      '--warm-min <count>',
      `sandboxes of the base template that are always kept started in advance${where}`,
      parseCount,
      0,
    )
    .option(
      '--warm-max <count>',
      `maximum number started in advance${where} when the demand is high`,
      parseCount,
    );

/** What those flags mean. Throws `UserError` when the least is above the most. */
export function toWarmCounts({ warmMin: min, warmMax: max = min }: WarmFlags): WarmCounts {
  if (min > max) throw new UserError(`--warm-min ${min} is more than --warm-max ${max}`);
  return { min, max };
}
