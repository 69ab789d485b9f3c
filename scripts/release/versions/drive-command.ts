import { strict as assert } from 'node:assert';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run.ts';
import type { ServiceVariables } from '../start-service.ts';
import type { Installed } from './install-packages.ts';

interface Use {
  /** The commands that it needs, without options. */
  needs: string[];
  drive(given: Given): void;
}

interface Given {
  /** Runs the command with these words, and returns what it printed without the last line end. */
  skerry(...words: string[]): string;
  /** A sandbox of its own that runs. */
  id: string;
  /** A folder for its own names and files. */
  folder: string;
}

const inSandbox = (id: string, script: string): string[] => ['sandbox', 'exec', id, '--', 'sh', '-c', script];
const name = `versions-command-${process.pid}`;

/** What is done with the command, with words that every release since the command came takes. */
const uses: Record<string, Use> = {
  'exec and list': {
    needs: ['sandbox exec', 'sandbox list'],
    drive({ skerry, id }) {
      assert.equal(skerry(...inSandbox(id, 'echo out')), 'out');
      assert.ok(skerry('sandbox', 'list').includes(id));
    },
  },
  cp: {
    needs: ['sandbox cp'],
    drive({ skerry, id, folder }) {
      const [sent, received] = [join(folder, 'sent'), join(folder, 'received')];
      writeFileSync(sent, 'copied');
      skerry('sandbox', 'cp', sent, `${id}:copied`);
      skerry('sandbox', 'cp', `${id}:copied`, received);
      assert.equal(readFileSync(received, 'utf8'), 'copied');
    },
  },
  'pause and resume': {
    needs: ['sandbox pause', 'sandbox resume'],
    drive({ skerry, id }) {
      skerry(...inSandbox(id, 'echo kept > kept'));
      skerry('sandbox', 'pause', id);
      skerry('sandbox', 'resume', id);
      assert.equal(skerry(...inSandbox(id, 'cat kept')), 'kept');
    },
  },
  fork: {
    needs: ['sandbox fork'],
    drive({ skerry, id }) {
      const copies = skerry('sandbox', 'fork', '--count', '2', id).split('\n');
      assert.equal(copies.length, 2);
      skerry('sandbox', 'kill', ...copies);
    },
  },
  snapshot: {
    needs: ['snapshot create', 'snapshot delete'],
    drive({ skerry, id }) {
      const snapshot = skerry('snapshot', 'create', '--name', name, id);
      skerry('sandbox', 'kill', skerry('sandbox', 'create', name));
      skerry('snapshot', 'delete', snapshot);
    },
  },
  'snapshot verify': {
    needs: ['snapshot create', 'snapshot verify', 'snapshot delete'],
    drive({ skerry, id }) {
      const snapshot = skerry('snapshot', 'create', id);
      skerry('snapshot', 'verify', snapshot);
      skerry('snapshot', 'delete', snapshot);
    },
  },
  'logs and metrics': {
    needs: ['sandbox logs', 'sandbox metrics'],
    drive({ skerry, id }) {
      assert.notEqual(skerry('sandbox', 'logs', id), '');
      skerry('sandbox', 'metrics', id);
    },
  },
  'template build': {
    needs: ['template build', 'template list', 'template delete', 'sandbox cp'],
    drive({ skerry, folder }) {
      const context = join(folder, 'context');
      mkdirSync(context);
      copyFileSync(run('sh', ['-c', 'command -v busybox'], { cwd: '/' }).trim(), join(context, 'sh'));
      writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY sh /bin/\nRUN echo built > /built\n');
      skerry('template', 'build', name, context);
      assert.ok(skerry('template', 'list').includes(name));
      const id = skerry('sandbox', 'create', name);
      // A command would need /bin/bash, which is not in this template.
      const received = join(context, 'built');
      skerry('sandbox', 'cp', `${id}:/built`, received);
      assert.equal(readFileSync(received, 'utf8'), 'built\n');
      skerry('sandbox', 'kill', id);
      skerry('template', 'delete', name);
    },
  },
};

/** The uses for which this installed command has what they need. */
export function findUses({ skerry, folder }: Installed): string[] {
  const has = (words: string): boolean => {
    try {
      const [usage = ''] = run(skerry, [...words.split(' '), '--help'], { cwd: folder }).split('\n');
      // An unknown command shows the help of the level above. A command may have another name beside.
      return usage.replace(/\|\S+/, '').startsWith(`Usage: skerry ${words} `);
    } catch {
      return false; // An unknown level.
    }
  };
  return Object.entries(uses)
    .filter(([, { needs }]) => needs.every(has))
    .map(([use]) => use);
}

/** Drives a server with an installed command, in a sandbox of its own. Throws when the result of the use is not as expected. */
export function driveCommand(
  { skerry: program, folder }: Installed,
  { use, env }: { use: string; env: ServiceVariables },
): void {
  const skerry = (...words: string[]): string => run(program, words, { cwd: folder, env }).trimEnd();
  const id = skerry('sandbox', 'create');
  uses[use]?.drive({ skerry, id, folder });
  skerry('sandbox', 'kill', id);
}
