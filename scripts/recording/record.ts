// Usage: node record.ts
// Types a session into a terminal, against a server of this checkout, and writes what it showed to docs/terminal.svg. As root.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endService, startService } from '../demo/service.ts';
import { play } from './play.ts';
import { lines, size } from './session.ts';
import { toSvg } from './svg.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'skerry-recording-'));
const place = { root, dataDir: join(folder, 'data') };
const service = await startService({
  ...place,
  imagesDir: join(root, '.skerry/images'),
  onProgress: console.error,
});
try {
  const program = join(folder, 'bin/skerry');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${root}/packages/cli/src/main.ts' "$@"\n`);
  chmodSync(program, 0o755);
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    SKERRY_API_URL: service.apiUrl,
    SKERRY_API_KEY: service.apiKey,
    SKERRY_DOMAIN: service.domain,
    SKERRY_SANDBOX_URL: service.sandboxUrl,
  };
  const frames = await play({ ...size, lines, env, cwd: folder });
  const title = `A terminal. Typed are: ${lines.join('; ')}`;
  const svg = toSvg(frames, { ...size, title });
  if ([service.apiKey, root, folder].some((secret) => svg.includes(secret)))
    throw new Error('the recording shows a key or a path of this machine');
  writeFileSync(join(root, 'docs/terminal.svg'), svg);
  console.log(`docs/terminal.svg: ${frames.length} screens, ${(svg.length / 1024).toFixed(0)} KiB`);
} finally {
  await endService(place);
  rmSync(folder, { recursive: true });
}
