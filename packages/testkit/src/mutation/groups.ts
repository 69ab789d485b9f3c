/** Files that guard something, and the tests that have to notice each defect in them. Globs, from the root. */
export interface Group {
  name: string;
  mutate: string[];
  tests: string[];
}

const contract = 'packages/contract/src';
const edge = 'packages/edge/src';
const envd = 'packages/envd/src';
const envdClient = 'packages/envd-client/src';
const platform = 'packages/platform/src';
const sandboxes = `${platform}/sandboxes`;
const oci = 'packages/runtime/src/drivers/oci';
const network = 'packages/runtime/src/network';
const sdk = 'packages/sdk/src';

export const groups: Group[] = [
  {
    name: 'access',
    mutate: [
      `${contract}/agent-access/{access,edge-access,request-url,secret,signature}.ts`,
      `${envd}/http/access.ts`,
      `${envdClient}/signature.ts`,
    ],
    tests: [
      `${contract}/agent-access/*.test.ts`,
      `${envd}/http/access.test.ts`,
      `${envdClient}/signature.test.ts`,
    ],
  },
  {
    name: 'edge-access',
    mutate: [`${edge}/{agent-access,headers}.ts`],
    tests: [`${edge}/{agent-access,headers}.test.ts`],
  },
  {
    name: 'encodings',
    mutate: [`${envd}/http/content-encoding.ts`],
    tests: [`${envd}/http/{content,refused}-encoding*.test.ts`],
  },
  {
    name: 'keys',
    mutate: [`${platform}/{api-key,tokens}.ts`],
    tests: [`${platform}/{api-key,tokens,secret-file}.test.ts`],
  },
  {
    name: 'host-names',
    mutate: [`${edge}/host.ts`],
    tests: [`${edge}/{host,routing}.test.ts`],
  },
  {
    name: 'paging',
    mutate: [`${platform}/handlers/{cursor,metadata-filter,listing}.ts`],
    tests: [`${platform}/handlers/{cursor,metadata-filter,listing}.test.ts`],
  },
  {
    name: 'recovery',
    mutate: [`${sandboxes}/recovery.ts`],
    tests: [`${sandboxes}/{recovery,half-done-pause}.test.ts`],
  },
  {
    name: 'expiry',
    mutate: [`${sandboxes}/{expiry,time-to-live}.ts`],
    tests: [`${sandboxes}/{expiry,time-to-live}.test.ts`],
  },
  {
    name: 'reconcile',
    mutate: [`${sandboxes}/reconcile.ts`],
    tests: [`${sandboxes}/reconcile.test.ts`],
  },
  {
    name: 'ending',
    mutate: [`${sandboxes}/{ending,transitions}.ts`],
    tests: [`${sandboxes}/{ending,transitions}.test.ts`],
  },
  {
    name: 'seccomp',
    mutate: [`${oci}/container/seccomp-rules.ts`],
    tests: [`${oci}/container/seccomp-{rules,filter}.test.ts`],
  },
  {
    name: 'network',
    mutate: [`${network}/{blocked,rules,slots}.ts`],
    tests: [`${network}/{blocked,rules,slots}.test.ts`],
  },
  {
    name: 'disks',
    mutate: [`${oci}/disk/{kept-disk,sealed-disk,hash-sparse}.ts`, `${oci}/snapshots/manifest.ts`],
    tests: [`${oci}/disk/{kept-disk,sealed-disk,hash-sparse}.test.ts`, `${oci}/snapshots/manifest.test.ts`],
  },
  {
    name: 'checkpoints',
    mutate: [`${oci}/criu/checkpoint.ts`, `${oci}/disk/fingerprint.ts`],
    tests: [`${oci}/criu/checkpoint.test.ts`, `${oci}/disk/fingerprint.test.ts`],
  },
  {
    name: 'processes',
    mutate: [`${envd}/process/process-table.ts`],
    tests: [`${envd}/process/process-table.test.ts`],
  },
  {
    name: 'process-stream',
    mutate: [`${sdk}/process/process-stream.ts`],
    tests: [`${sdk}/process/{process-stream,output-behind-gap}.test.ts`],
  },
  {
    name: 'reconnect',
    mutate: [`${sdk}/transport/{reconnect,retrying-fetch,sleep}.ts`],
    tests: [`${sdk}/transport/{reconnect,retrying-fetch,retry-after,sent-once}.test.ts`],
  },
];
