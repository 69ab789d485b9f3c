// A test that is skipped proves nothing, so a run in which one was fails, but for those named here.
import { existsSync, readFileSync } from 'node:fs';
import { findLastRelease } from '../release/versions/last-release.ts';

interface KnownSkip {
  /** Matches the line `FILE > NAME`. */
  tests: RegExp;
  /** What these tests need and do not have. */
  missing: string;
  /** Whether it is missing on this host. */
  isMissing(): boolean;
}

const always = (): boolean => true;
const isNamed = (feature: string) => (): boolean =>
  (process.env.SKERRY_TEST_WITHOUT ?? '').split(',').includes(feature);
const isNoProgram = (name: string) => (): boolean =>
  !(process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/${name}`));

// linux/capability.h
const CAP_SYS_RESOURCE = 24n;
const hasCapability = (bit: bigint): boolean => {
  const effective = /^CapEff:\t([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> bit) & 1n) === 1n;
};

const isWithoutPostgres = (): boolean => !existsSync('/usr/lib/postgresql');

/** Tests that are skipped by their own nature, or where this host lacks something. What cannot be looked up is named in `SKERRY_TEST_WITHOUT`. */
const knownSkips: KnownSkip[] = [
  {
    tests: /\/memory\/memory\.driver\.test\.ts > /,
    missing: 'programs inside a sandbox of the driver in memory',
    isMissing: always,
  },
  {
    tests: /\/normalize-process\.driver\.long\.test\.ts > .*level gvisor cannot lower its OOM score/,
    missing: 'an OOM score of the host at level gvisor',
    isMissing: always,
  },
  {
    tests: /\/normalize-process\.driver\.long\.test\.ts > .*cannot lower its OOM score/,
    missing: 'CAP_SYS_RESOURCE',
    isMissing: () => !hasCapability(CAP_SYS_RESOURCE),
  },
  {
    tests: /^packages\/testkit\/src\/agent-rules\/[\w.-]+\.test\.ts > a bare agent /,
    missing: 'a sandbox, a platform or the time that the rule needs; it runs on the agent in a sandbox',
    isMissing: always,
  },
  {
    tests: /\/agent-under-test\.test\.ts > an agent in a sandbox an agent that tests declare bare /,
    missing: 'nothing that a bare agent lacks; it runs on a bare agent',
    isMissing: always,
  },
  {
    tests: /\/(unified|delegated)-cgroup\.driver\.test\.ts > /,
    missing: 'cgroups of version 2',
    isMissing: () => !/ - cgroup2 /.test(readFileSync('/proc/self/mountinfo', 'utf8')),
  },
  {
    tests: /\/short-memory\.driver\.long\.test\.ts > /,
    missing: 'the memory of cgroups of version 1',
    isMissing: () => !existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes'),
  },
  {
    tests:
      /\.test\.ts > (PostgreSQL|with --database|a cluster with --database-file( and two servers)?|two servers (of a cluster|with three nodes)[^>]*) /,
    missing: 'PostgreSQL',
    isMissing: isWithoutPostgres,
  },
  { tests: /^versions > a cluster of /, missing: 'PostgreSQL', isMissing: isWithoutPostgres },
  {
    tests: /\/s3\.test\.ts > S3, served by Swift /,
    missing: 'the Debian package python3-swift; `pnpm test:more` installs it',
    isMissing: () => !existsSync('/usr/lib/python3/dist-packages/swift'),
  },
  ...['fish', 'zsh'].map((shell) => ({
    tests: new RegExp(`/cli/completion\\.test\\.ts > completes commands in ${shell}$`),
    missing: `${shell}; \`pnpm test:more\` installs it`,
    isMissing: isNoProgram(shell),
  })),
  { tests: /\/user-manager\.test\.ts > /, missing: 'busctl', isMissing: isNoProgram('busctl') },
  {
    tests: /^versions > the last release$/,
    missing: 'a release: no tag is the one of a version',
    isMissing: () => findLastRelease() === undefined,
  },
  {
    tests:
      /^dry run > esbuild, in headless Chromium$|^packages\/testkit\/src\/release\/site\.test\.ts > in Chromium /,
    missing: 'chromium',
    isMissing: () => ['chromium', 'chromium-browser', 'google-chrome'].every((name) => isNoProgram(name)()),
  },
  {
    tests: /^dry run > the lowest Node that engines allows$/,
    missing: 'an x64 processor',
    isMissing: () => process.arch !== 'x64',
  },
  {
    tests: /^packages\/runtime\/src\/(drivers\/oci|remote|node)\/.*\.driver(\.long)?\.test\.ts > /,
    missing: 'a kernel on which CRIU works (SKERRY_TEST_WITHOUT=memory)',
    isMissing: isNamed('memory'),
  },
];

/** The feature that is missing on this host for a test that was skipped; undefined when the test should have run. */
export const findMissing = (line: string): string | undefined =>
  knownSkips.find(({ tests, isMissing }) => tests.test(line) && isMissing())?.missing;
