import { isolationLevels } from '@skerry/contract/isolation';
import { Option } from 'commander';

/** The option of commands that create a sandbox. */
export const isolationOption = (): Option =>
  new Option(
    '--isolation <level>',
    'its level of isolation, not below the minimum of the server (default: that of the snapshot or the template, or of the server)',
  ).choices(isolationLevels);
