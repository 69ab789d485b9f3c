import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useOci } from '../../testing/oci-fixture.ts';
import { refusals } from './refusals.ts';

const oci = useOci({ name: 'refusal', memory: true });

it('finds each message of the table in this CRIU', () => {
  const program = readFileSync(`${oci.criuDir}/criu`, 'latin1');
  expect(refusals.filter((text) => !program.includes(`Error (%s:%d): ${text}\n`))).toEqual([]);
});
