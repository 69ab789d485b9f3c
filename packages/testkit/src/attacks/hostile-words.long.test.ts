import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runSkerry } from '../cli/run-skerry.ts';
import { startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';

const hostile = '\u001b]0;owned\u0007\u001b[2J\u009b2J\u202egnp.exe';
const shown = '\\x1b]0;owned\\x07\\x1b[2J\\x9b2J\\u202egnp.exe';

/** Starts a registry whose every answer is this error. */
const startRegistry = async (message: string): Promise<string> => {
  const server = createServer((_, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ errors: [{ code: 'DENIED', message }] }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

attackFromOutside(
  'sending control sequences to the terminal of an operator, in a Dockerfile, its output or a registry',
  'one place writes to a terminal, and writes out every control and invisible character',
  async () => {
    const registry = await startRegistry(`denied ${hostile}`);
    await using stack = await startStack({
      args: ['--registry', registry, '--image-map', 'docker.io/library/base=template:base'],
    });
    const folder = mkdtempSync(join(tmpdir(), 'skerry-words-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [name, lines] of Object.entries({
      instruction: ['FROM base', `COPY --${hostile} a b`],
      output: ['FROM base', `RUN printf '%s\\n' '${hostile}'; exit 3`],
      registry: [`FROM ${registry}/test/image`],
    })) {
      writeFileSync(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`);
      const { code, stdout, stderr } = await runSkerry(
        ['template', 'build', '--data', stack.dataDir, name, folder],
        {},
      );
      expect([name, code, stdout]).toEqual([name, 1, '']);
      // Nothing that a registry says of its refusal is shown.
      expect(stderr, name).toContain(name === 'registry' ? `${registry}/test/image` : shown);
      expect(stderr, name).toMatch(/^[\n -~]*$/);
    }
  },
);
