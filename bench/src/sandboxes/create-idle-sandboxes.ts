import type { BenchStack } from '../harness/stack.ts';

/** Concurrent creates: one for each core of a usual machine. */
const AT_ONCE = 2;

/** Creates idle sandboxes, which end with the resources, and resolves with their ids. */
export async function createIdleSandboxes(
  stack: Pick<BenchStack, 'createBareSandbox'>,
  { count, resources }: { count: number; resources: AsyncDisposableStack },
): Promise<string[]> {
  const ids: string[] = [];
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sandbox = await stack.createBareSandbox();
      resources.defer(() => sandbox.kill());
      ids.push(sandbox.sandboxId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return ids;
}
