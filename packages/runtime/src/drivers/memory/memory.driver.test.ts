import { runtimeSuite } from '../../suite/suite.ts';
import { createMemory } from './memory.ts';

const agent = () => (_request: unknown, response: { end(text: string): void }) => response.end('ok');

runtimeSuite('the memory driver', async ({ dataDir }) => createMemory({ dataDir, agent }), {
  programs: false,
});
