import { expect } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { atEachLevel } from './attack.ts';

const basic = (user: string): string => `Basic ${Buffer.from(`${user}:`).toString('base64')}`;

/** A multipart body whose one file has that name. */
const upload = (name: string) => ({
  method: 'POST',
  headers: { 'content-type': 'multipart/form-data; boundary=line' },
  body: `--line\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\nevil\r\n--line--\r\n`,
});

atEachLevel(({ open, attack }) => {
  attack(
    'choosing the user, or a place outside the home, with a signed URL',
    'the signature fixes the user; Basic is ignored',
    async () => {
      const sandbox = await open();
      const url = await sandbox.uploadUrl('note.txt');
      const { headers, ...rest } = upload('note.txt');
      await fetchByHost(url, { ...rest, headers: { ...headers, authorization: basic('root') } });
      const owner = 'stat -c %U /home/user/note.txt; ls /root/note.txt 2>/dev/null; true';
      expect((await sandbox.commands.run(owner, { user: 'root' })).stdout).toBe('user\n');
      const anywhere = await sandbox.uploadUrl('');
      for (const name of ['/etc/cron.d/evil', '../../etc/cron.d/evil'])
        expect((await fetchByHost(anywhere, upload(name))).status).toBeGreaterThanOrEqual(400);
      expect(
        (await sandbox.commands.run('ls /etc/cron.d/evil 2>/dev/null; true', { user: 'root' })).stdout,
      ).toBe('');
    },
  );

  attack(
    'using a signed URL of another sandbox, another path or another operation',
    'the signature, which holds all of them',
    async () => {
      const [one, other] = await Promise.all([open(), open()]);
      const url = new URL(await one.downloadUrl('/etc/passwd'));
      expect((await fetchByHost(url.href)).status).toBe(200);
      expect((await fetchByHost(url.href.replace(one.sandboxId, other.sandboxId))).status).toBe(401);
      const changed = new URL(url);
      changed.searchParams.set('path', '/etc/shadow');
      expect((await fetchByHost(changed.href)).status).toBe(401);
      expect((await fetchByHost(url.href, upload('passwd'))).status).toBe(401);
    },
  );

  attack(
    'spelling a signature in another way, or naming a parameter of a signed URL twice',
    'one spelling that is compared letter by letter',
    async () => {
      const sandbox = await open();
      const url = new URL(await sandbox.downloadUrl('/etc/passwd'));
      const signature = url.searchParams.get('signature') ?? '';
      const last = String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1);
      const spellings = [
        `${signature}=`,
        `${signature} `,
        `${signature.slice(0, -1)}${last}`,
        `${signature.replaceAll('/', '_').replaceAll('+', '-')}=`,
      ];
      for (const other of spellings) {
        const changed = new URL(url);
        changed.searchParams.set('signature', other);
        expect((await fetchByHost(changed.href)).status, other).toBe(401);
      }
      for (const [name = '', value = ''] of [...url.searchParams, ['path', '/etc/shadow']]) {
        const changed = new URL(url);
        changed.searchParams.append(name, value);
        expect((await fetchByHost(changed.href)).status, name).toBe(400);
      }
      expect((await fetchByHost(url.href)).status).toBe(200);
    },
  );
});
