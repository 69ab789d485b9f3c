#!/usr/bin/env node
// What the published command starts. It imports nothing that an old Node lacks, and the build puts the manifest into it.
import manifest from '../../package.json' with { type: 'json' };
import { isSupported } from './supported-node.ts';

const { node } = manifest.engines;
if (!isSupported(process.version, node)) {
  console.error(`skerry: Node ${node} is needed, and this is ${process.version}`);
  process.exit(1);
}
await import('../main.ts');
