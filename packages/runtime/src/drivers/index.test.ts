import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDriver, parseDriver } from './index.ts';

describe('the choice of a driver', () => {
  it('is read from JSON with its settings', () => {
    const choice = { name: 'oci', level: 'gvisor', keepsMemory: true };
    expect(parseDriver(JSON.stringify(choice))).toEqual(choice);
  });

  it.each(['null', '[]', '{}', '{"name":"toString"}', '"oci"'])('is refused when it is %s', (json) => {
    expect(() => parseDriver(json)).toThrow(/^--driver must be JSON whose "name" is one of oci, memory, got/);
  });

  it('opens that driver', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'driver-'));
    onTestFinished(() => rm(dataDir, { recursive: true }));
    const environment = {
      dataDir,
      agentDir: dataDir,
      stateDir: undefined,
      rootless: undefined,
      gatewayProgram: undefined,
      startsNone: true,
    };
    const { runtime, close } = await openDriver({ name: 'memory' }, environment);
    expect(runtime.name).toBe('memory');
    await close();
  });
});
