// The packed command with its state in PostgreSQL, whose driver it loads only then.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { findPostgres, startPostgres } from '@skerry/platform/postgres-server';
import { describe, expect, it } from 'vitest';
import { startStack } from '../stack/stack.ts';
import { installAlone } from '../workspace/outside-project.ts';

describe.skipIf(findPostgres() === undefined)('with --database', () => {
  it('the packed command finds its sandboxes after a restart, and without it needs no driver', async () => {
    using project = installAlone('cli');
    const modules = join(project.path, 'node_modules');
    const options = { program: join(modules, 'skerry/dist/start.js'), checksAnswers: false };
    const postgres = await startPostgres();
    try {
      const args = ['--database', await postgres.createDatabase()];
      await using first = await startStack({ ...options, args });
      const { dataDir } = first;
      const { sandboxId } = await first.createSandbox();
      await first.stop();
      const again = await startStack({ ...options, args, dataDir });
      const { data = [] } = await again.api.GET('/v2/sandboxes', {});
      expect(data.map(({ sandboxID }) => sandboxID)).toEqual([sandboxId]);
      await again.down();

      renameSync(join(modules, 'pg'), join(modules, 'hidden'));
      await expect(startStack({ ...options, args })).rejects.toThrow("'pg'");
      await using plain = await startStack(options);
      await plain.createSandbox();
    } finally {
      await postgres.remove();
    }
  });
});
