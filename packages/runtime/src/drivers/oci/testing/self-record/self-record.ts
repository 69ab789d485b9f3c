import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Instance } from '../../../../runtime.ts';
import { runInside } from '../../../../suite/client.ts';

/** What a program saw of itself, of its processes, files and sockets, and of the kernel, by name. */
export type SelfRecord = Readonly<Record<string, string>>;

const modules = ['recorder.py', 'sockets.py', 'processes.py'];

/** Starts the program that holds everything which it records in a state that is not the usual one. */
export const startRecorder = async (instance: Instance, level: 'container' | 'gvisor'): Promise<void> => {
  for (const name of modules) {
    const text = readFileSync(new URL(name, import.meta.url), 'utf8');
    await runInside(instance, `mkdir -p /root/program; cat > /root/program/${name} <<'END'\n${text}\nEND`);
  }
  const start = `setsid python3 /root/program/recorder.py ${level} > /tmp/log 2>&1 < /dev/null &`;
  const { output } = await runInside(instance, `${start} ${waitFor('ready')}; cat /tmp/log`, {
    timeoutMs: 90_000,
  });
  if (output !== '') throw new Error(output);
};

export const readRecord = async (instance: Instance, name: string): Promise<SelfRecord> => {
  const ask = `touch /tmp/record/ask-${name}; ${waitFor(name)}`;
  const { output } = await runInside(instance, `${ask}; gzip -c /tmp/record/${name} | base64 -w 0`, {
    timeoutMs: 90_000,
  });
  return JSON.parse(gunzipSync(Buffer.from(output, 'base64')).toString());
};

const waitFor = (name: string): string =>
  `for i in $(seq 150); do [ -s /tmp/record/${name} ] && break; sleep 0.1; done`;
