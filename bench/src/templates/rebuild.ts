import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildProgress, build, Template } from '@skerry/sdk/template';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { packBusybox, startTemplateService } from './template-service.ts';

const IMAGE = 'bench/busybox';
const MAX_RUNS = 8;
const WRITTEN_MIB = 64;
/** The number of the step that changes, from 1: after USER, RUN and COPY. */
const CHANGED_STEP = 4;

/** The steps that were taken from the cache, in order, and those that ran. */
function readSteps(log: readonly BuildProgress[]): { cached: string; ran: string } {
  const list = (start: string): string => {
    const steps = log.filter(({ message }) => message.startsWith(start)).map(({ step }) => step);
    return [...new Set(steps)].join(' ');
  };
  return { cached: list('CACHED '), ran: list('not CACHED ') };
}

/**
 * `build` of the SDK until its result, of the same template once more: everything is cached. And with another line after
 * COPY: only that step runs. The reference is the same build without the cache. Rejects when other steps run.
 */
export const templateRebuild: Benchmark = async ({ name, runs, scale, resources }) => {
  const { folder, registry, stack } = await startTemplateService(resources);
  const applets = ['sh', 'cat', 'dd', 'mkdir', 'chown', 'test', 'id', 'echo'];
  const layer = await packBusybox(folder, applets);
  await registry.pushLayers(IMAGE, { paths: [layer], compression: 'none', env: ['PATH=/bin'] });
  const context = join(folder, 'context');
  mkdirSync(context);
  writeFileSync(join(context, 'source'), 'a file of the project\n');
  const written = Math.ceil(WRITTEN_MIB * scale);
  const rebuild = async (line: string, { force = false } = {}) => {
    const template = Template()
      .fromImage(`${registry.host}/${IMAGE}`)
      .user('root')
      .run(`dd if=/dev/urandom of=/installed bs=1048576 count=${written} 2> /dev/null`)
      .copy('source', '/app/')
      .run(line);
    const started = performance.now();
    const building = build(template, 'rebuilt', { ...stack.connection, context, force });
    const log: BuildProgress[] = [];
    for await (const entry of building) log.push(entry);
    await building.result();
    return { tookMs: performance.now() - started, ...readSteps(log) };
  };
  const toLine = (number: number): string => `cat /app/source > /made${number}`;
  const most = { warmUpRuns: 1, runs: Math.min(runs, MAX_RUNS) };
  const whole = async (): Promise<number> => (await rebuild(toLine(0), { force: true })).tookMs;
  const { samples: changed, compared } = await samplePairs({
    ...most,
    measure: async (run) => {
      if (run === -1) await whole();
      const { tookMs, cached, ran } = await rebuild(toLine(run + 2));
      if (cached !== 'base 1 2 3' || ran !== String(CHANGED_STEP))
        throw new Error(`a change of step ${CHANGED_STEP} left ${cached} cached, and ${ran} ran`);
      return tookMs;
    },
    beside: whole,
  });
  const { samples: same } = await samplePairs({
    ...most,
    measure: async () => {
      const { tookMs, ran } = await rebuild(toLine(0));
      if (ran !== '') throw new Error(`a build of which everything is cached ran ${ran}`);
      return tookMs;
    },
    beside: async () => 0,
  });
  const reference = { name: 'without the cache', samples: compared };
  return [
    toRow({
      ...{ name: `${name}.cached`, unit: 'ms', samples: same, reference },
      bound: { of: 'p50', atMost: 1_000 },
    }),
    toRow({ name: `${name}.changed`, unit: 'ms', samples: changed, reference }),
  ];
};
