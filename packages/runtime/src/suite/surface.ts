import { describe, expect, it } from 'vitest';
import { runInside } from './client.ts';
import type { SuiteHost } from './suite-host.ts';

/** A call is refused before the kernel looks for a module, or answered as by a kernel that never had one. */
const socketProgram = `
import errno, socket
made = []
for family in (2, 10):
    for kind in range(0, 16):
        for protocol in list(range(0, 256)) + [262]:
            try:
                socket.socket(family, kind, protocol).close()
                made.append((family, kind, protocol))
            except OSError as error:
                if error.errno == errno.ENOSYS: made.append(("ENOSYS", family, kind, protocol))
    try:
        socket.socketpair(family, 5)
        made.append(("pair", family))
    except OSError as error:
        if error.errno == errno.ENOSYS: made.append(("ENOSYS", "pair", family))
print(made)
`;

/** What of the kernel, and which mounts, code inside can use at all. */
export const surfaceSuite = (host: SuiteHost): void => {
  describe('what code inside can use', () => {
    it('is of the internet protocols TCP, UDP and ICMP only', async () => {
      const instance = await host.create();
      const { output } = await runInside(
        instance,
        `cat > /root/s.py <<'END'${socketProgram}END\npython3 /root/s.py`,
      );
      const [stream, datagram] = [1, 2];
      const made = [2, 10].flatMap((family) => [
        ...[0, 6].map((protocol) => [family, stream, protocol]),
        ...(family === 2 ? [0, 1, 17] : [0, 17, 58]).map((protocol) => [family, datagram, protocol]),
      ]);
      expect(JSON.parse(output.replaceAll('(', '[').replaceAll(')', ']').replaceAll("'", '"'))).toEqual(made);
    });

    it('of mounts that the host makes is neither written as a device or program nor, but for the sockets, at all', async () => {
      const instance = await host.create();
      const { output } = await runInside(instance, 'cat /proc/self/mountinfo');
      // A mount may be hidden by another one in the same place.
      const flagsOf = (target: string): string[] | undefined =>
        output
          .split('\n')
          .findLast((line) => line.split(' ')[4] === target)
          ?.split(' ')[5]
          ?.split(',');
      // A kernel that honours neither setuid programs nor device files does not name those.
      const restrictions = host.traits.honoursSetuid ? ['nosuid', 'nodev'] : [];
      expect(flagsOf('/run/envd')).toEqual(expect.arrayContaining(['rw', 'noexec', ...restrictions]));
      expect(flagsOf('/.envd')).toEqual(expect.arrayContaining(['ro', ...restrictions]));
      const bootId = flagsOf('/proc/sys/kernel/random/boot_id');
      // Only some OCI runtimes mount anything there.
      if (bootId !== undefined)
        expect(bootId).toEqual(expect.arrayContaining(['ro', 'nosuid', 'nodev', 'noexec']));
    });
  });
};
