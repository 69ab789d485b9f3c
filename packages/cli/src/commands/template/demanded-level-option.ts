import { isolationLevels } from '@skerry/contract/isolation';
import { Option } from 'commander';

/** The option of commands that make a template. */
export const demandedLevelOption = (): Option =>
  new Option(
    '--isolation <level>',
    'level of isolation below which none of its sandboxes starts (default: that of what it begins with)',
  ).choices(isolationLevels);
