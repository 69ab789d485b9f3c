import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { markAttack } from '../../../suite/attack-row.ts';
import { runInside } from '../../../suite/client.ts';
import { useOci } from '../testing/oci-fixture.ts';

const { create } = useOci({ name: 'null', memory: false });
const lookAt = (): { uid: number; mode: number } => {
  const { uid, mode } = statSync('/dev/null');
  return { uid, mode };
};

it('leaves the /dev/null of the host to its owner, and root of a sandbox cannot change it', async (context) => {
  markAttack(context, {
    attack: 'taking the null device of the host from its other users',
    place: 'container',
    stoppedBy: 'a read-only mount, on which the OCI runtime cannot give it to root inside',
  });
  const before = lookAt();
  const instance = await create();
  const { output } = await runInside(
    instance,
    'echo lost > /dev/null && wc -c < /dev/null; chmod 600 /dev/null || echo refused; chown 1:1 /dev/null || echo refused',
  );
  expect(
    output
      .trim()
      .split('\n')
      .filter((line) => !line.includes(':')),
  ).toEqual(['0', 'refused', 'refused']);
  expect(lookAt()).toEqual(before);
});
