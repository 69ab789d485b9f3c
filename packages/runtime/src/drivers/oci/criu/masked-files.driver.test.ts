import { expect, it } from 'vitest';
import type { Instance } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create, toId } = useOci({ name: 'masked', memory: true });

/** The null device and the files and folders of `/proc` and `/sys` that show the host, each with the options of its mount. */
const readMasks = async (instance: Instance): Promise<string[]> => {
  const select = `$4 == "/null" || ($5 ~ "^/(proc|sys)/" && / - tmpfs /)`;
  const { output } = await runInside(
    instance,
    `awk '${select} { print $5, $6 }' /proc/self/mountinfo | sort`,
  );
  return output.trim().split('\n');
};

it('masks of the host stay read-only after pauses and in a fork, and the null device works', async () => {
  const source = await create();
  const masks = await readMasks(source);
  expect(masks.length).toBeGreaterThan(20);
  expect(masks).toContain('/dev/null ro,nosuid,noexec,relatime');
  for (const mask of masks) expect(mask).toMatch(/ ro,/);
  const snapshot = toId();
  await source.snapshot({ id: snapshot, memory: true });
  const fork = await create({ snapshot }, 'other');
  expect(await readMasks(fork)).toEqual(masks);
  for (const _ of [1, 2]) {
    await source.pause({ memory: true });
    await source.resume();
    expect(await readMasks(source)).toEqual(masks);
  }
  for (const instance of [source, fork]) {
    const { output } = await runInside(
      instance,
      'echo lost > /dev/null && wc -c < /dev/null; chmod 600 /dev/null 2>/dev/null || echo refused; wc -c < /proc/cmdline',
    );
    expect(output.trim().split('\n')).toEqual(['0', 'refused', '0']);
  }
});
