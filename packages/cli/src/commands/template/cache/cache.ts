import { Command } from 'commander';
import { listCacheCommand } from './list.ts';
import { pruneCacheCommand } from './prune.ts';
import { removeCachedCommand } from './remove.ts';

/** `skerry template cache`: shows and clears what builds have kept for later ones. */
export function cacheCommand(): Command {
  return new Command('cache')
    .description('show and clear what builds have kept for later ones')
    .enablePositionalOptions()
    .addCommand(listCacheCommand())
    .addCommand(removeCachedCommand())
    .addCommand(pruneCacheCommand());
}
