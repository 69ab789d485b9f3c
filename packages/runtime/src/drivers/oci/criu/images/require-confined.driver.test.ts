import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  CoreSchema,
  FileEntrySchema,
  InventorySchema,
  MountSchema,
  NamespacesSchema,
  ProcessSchema,
  SeccompFiltersSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import { markAttack } from '../../../../suite/attack-row.ts';
import { runInside } from '../../../../suite/client.ts';
import { compileSeccomp } from '../../container/seccomp.ts';
import { seccompProfile } from '../../container/seccomp-rules.ts';
import { toSnapshotFolder } from '../../folder.ts';
import { useOci } from '../../testing/oci-fixture.ts';
import { INVENTORY_MAGIC_BYTES, parseImage, toImageBytes } from './image-file.ts';
import { requireConfined } from './require-confined.ts';

const oci = useOci({ name: 'confined', memory: true });
const filter = compileSeccomp(seccompProfile);

/** The memory of a sandbox with a user's process of two threads, one of which has set a filter of its own. */
let kept: string;
beforeAll(async () => {
  const source = await oci.create();
  const program = `
import ctypes, os, struct, threading, time
os.setgid(1000); os.setuid(1000)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
def restrict():
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(allow)))) == 0
    open("/tmp/ready", "w"); time.sleep(99)
threading.Thread(target=restrict).start()
time.sleep(99)`;
  await runInside(
    source,
    `setsid python3 -c '${program}' >/dev/null 2>&1 </dev/null & until [ -e /tmp/ready ]; do sleep 0.02; done`,
  );
  const id = oci.toId();
  await source.snapshot({ id, memory: true });
  kept = await mkdtemp(join(tmpdir(), 'skerry-confined-'));
  await cp(toSnapshotFolder(oci.dataDir, id).memory, kept, { recursive: true });
  await source.stop();
});
afterAll(() => rm(kept, { recursive: true }));
beforeEach((test) =>
  markAttack(test, {
    attack:
      'getting process ids, credentials, namespaces, filters or mounts of the host with memory of another node',
    place: 'outside',
    stoppedBy: 'a check of the images before CRIU reads them',
  }),
);

/** Checks a copy of the images after a change of it. */
const check = async (change: (folder: string, names: readonly string[]) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-confined-'));
  try {
    await cp(kept, folder, { recursive: true });
    await change(folder, await readdir(folder));
    await requireConfined(folder, { names: await readdir(folder), filter });
  } finally {
    await rm(folder, { recursive: true });
  }
};

/** A change of all messages of the images whose names begin like that. */
const edit =
  <Desc extends DescMessage>(schema: Desc, prefix: string, change: (message: MessageShape<Desc>) => void) =>
  async (folder: string, names: readonly string[]): Promise<void> => {
    for (const name of names.filter((one) => one.startsWith(prefix))) {
      const image = await parseImage(schema, await readFile(join(folder, name)));
      for (const message of image.messages) change(message);
      await writeFile(join(folder, name), await toImageBytes(schema, image));
    }
  };

it('accepts what this host has written, and reads it back as it was', async () => {
  await check(async () => undefined);
  await check(edit(CoreSchema, 'core-', () => undefined));
});

it.each<[string, RegExp, Parameters<typeof check>[0]]>([
  [
    'a process of root of the host',
    /user or group/,
    edit(CoreSchema, 'core-1.', ({ thread }) => {
      if (thread?.credentials) thread.credentials.effectiveUser = 4_294_967_295;
    }),
  ],
  [
    'a group of the host',
    /user or group/,
    edit(CoreSchema, 'core-', ({ thread }) => {
      thread?.credentials?.groups.push(100_000);
    }),
  ],
  [
    'a capability',
    /capabilities/,
    edit(CoreSchema, 'core-1.', ({ thread }) => {
      if (thread?.credentials) thread.credentials.bounding = [0xffff_ffff, 0x1ff];
    }),
  ],
  [
    'an ambient capability',
    /capabilities/,
    edit(CoreSchema, 'core-1.', ({ thread }) => {
      if (thread?.credentials) thread.credentials.ambient = [1 << 21, 0];
    }),
  ],
  [
    'no credentials',
    /no credentials/,
    edit(CoreSchema, 'core-1.', ({ thread }) => {
      if (thread) delete thread.credentials;
    }),
  ],
  [
    'no filter',
    /no filter/,
    edit(CoreSchema, 'core-1.', ({ thread }) => {
      if (thread) thread.seccompMode = 0;
    }),
  ],
  [
    'a filter of one thread of several',
    /no filter/,
    edit(SeccompFiltersSchema, 'seccomp', ({ filters }) => {
      for (const one of filters) one.flags = 0;
    }),
  ],
  [
    'another filter',
    /the filter for system calls/,
    edit(SeccompFiltersSchema, 'seccomp', ({ filters }) => {
      for (const one of filters) one.program = new Uint8Array([6, 0, 0, 0, 0, 0, 0xff, 0x7f]);
    }),
  ],
  [
    'filters that name each other',
    /the filter for system calls/,
    edit(SeccompFiltersSchema, 'seccomp', ({ filters }) => {
      for (const one of filters) {
        one.program = new Uint8Array(8);
        one.previous = 0;
      }
    }),
  ],
  [
    'the user namespace of the host',
    /user namespace of the host/,
    async (folder, names) => {
      const bytes = await readFile(join(folder, 'inventory.img'));
      const [inventory] = (await parseImage(InventorySchema, bytes, INVENTORY_MAGIC_BYTES)).messages;
      const host = inventory?.host?.user ?? 0;
      await edit(NamespacesSchema, 'ids-', (one) => {
        one.user = host;
      })(folder, names);
    },
  ],
  [
    'no network namespace',
    /network namespace/,
    edit(NamespacesSchema, 'ids-1.', (one) => {
      one.network = 0;
    }),
  ],
  [
    'namespaces in the image of a thread',
    /namespaces of its own/,
    edit(CoreSchema, 'core-1.', (core) => {
      core.namespaces = {
        $typeName: 'criu.images.Namespaces',
        process: 1,
        network: 1,
        ipc: 1,
        uts: 1,
        mount: 1,
        user: 1,
        cgroup: 1,
      };
    }),
  ],
  ['an image that is left out', /no image ids-1\.img/, (folder) => rm(join(folder, 'ids-1.img'))],
  [
    'a process id that no process has',
    /cannot be one/,
    edit(ProcessSchema, 'pstree', (one) => {
      if (one.pid === 1) one.threads.push(4_194_305);
    }),
  ],
  [
    'one id twice',
    /one id/,
    edit(ProcessSchema, 'pstree', (one) => {
      one.pid = 1;
    }),
  ],
  [
    'a parent outside',
    /child of none/,
    edit(ProcessSchema, 'pstree', (one) => {
      one.parent = one.pid === 1 ? 0 : 77_777;
    }),
  ],
  [
    'a session outside',
    /no leader/,
    edit(ProcessSchema, 'pstree', (one) => {
      one.session = 77_777;
    }),
  ],
  [
    'a folder of the host as a device',
    /mount of/,
    edit(MountSchema, 'mountpoints', (one) => {
      if (Buffer.from(one.externalName).toString() === 'CRIU:AUTOGENERATED') one.source = Buffer.from('/etc');
    }),
  ],
  [
    'an external mount of a name of its own',
    /mount of/,
    edit(MountSchema, 'mountpoints', (one) => {
      if (one.externalName.length > 0) one.externalName = Buffer.from('root');
    }),
  ],
  [
    'a file system of the host',
    /mount of/,
    edit(MountSchema, 'mountpoints', (one) => {
      if (one.externalName.length === 0) one.fileSystem = 16;
    }),
  ],
  [
    'a file that climbs',
    /leads out/,
    edit(FileEntrySchema, 'files', ({ regular }) => {
      if (regular) regular.name = Buffer.from('/../../etc/shadow');
    }),
  ],
])('refuses %s', async (_what, message, change) => {
  await expect(check(change)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringMatching(message),
  });
});

it('refuses an image that is none', async () => {
  await expect(
    check((folder) => writeFile(join(folder, 'core-1.img'), 'x'.repeat(100))),
  ).rejects.toMatchObject({
    code: 'damaged',
  });
});
