#!/usr/bin/env node
// What the published command starts. It imports nothing that an old Node lacks, and the build puts the manifest into it.
import manifest from '../../package.json' with { type: 'json' };
import { findObstacle } from './find-obstacle.ts';

const obstacle = findObstacle(manifest, process);
if (obstacle !== undefined) {
  console.error(`skerry: ${obstacle}`);
  process.exit(1);
}
await import('../main.ts');
