import { describe, expect, it } from 'vitest';
import { parseNewBuild } from './new-build.ts';

const kept = {
  pause: { memory: true, filesystem: true },
  snapshot: { memory: true, filesystem: true },
};
const bounds = { diskMb: 2048, maxCpuCount: 8, maxMemoryMb: 4096, levels: { container: kept } };

describe('parseNewBuild', () => {
  it('accepts as much as the host has, and its defaults on any host', () => {
    const most = { name: 'made', cpuCount: 8, memoryMB: 4096 };
    expect(parseNewBuild(most as never, { ...bounds, project: 'local' })).toMatchObject({
      cpuCount: 8,
      memoryMb: 4096,
    });
    const small = { ...bounds, maxCpuCount: 1, maxMemoryMb: 512 };
    expect(parseNewBuild({ name: 'made' } as never, { ...small, project: 'local' })).toMatchObject({
      cpuCount: 2,
      memoryMb: 1024,
    });
  });

  it.each([
    [{ cpuCount: 10 }, 'body.cpuCount must be from 1 to 8, got 10'],
    [{ isolation: 'gvisor' }, 'body.isolation: this server has no level "gvisor", only container'],
    [{ memoryMB: 4097 }, 'body.memoryMB must be from 128 to 4096, got 4097'],
  ])('refuses %j', (more, message) => {
    expect(() => parseNewBuild({ name: 'made', ...more } as never, { ...bounds, project: 'local' })).toThrow(
      message,
    );
  });
});
