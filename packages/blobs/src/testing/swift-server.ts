import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Settings } from '../s3/s3.ts';

/** A Swift of Debian in a folder of its own, with its S3 interface on a port of loopback. */
export interface SwiftServer {
  /** Makes an empty bucket. */
  createBucket(): Promise<S3Settings>;
  /** Stops its answers and goes on with them. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Ends it and deletes the folder. Idempotent. */
  remove(): Promise<void>;
}

const python = '/usr/bin/python3';

/** Whether the Debian package `python3-swift` is installed. */
export const hasSwift = (): boolean =>
  existsSync(python) && existsSync('/usr/lib/python3/dist-packages/swift/common/middleware/s3api');

/**
 * Rejects with what it wrote when it does not start. `through` is a command that runs it on another machine of a network lab, whose port
 * `forward` makes one of this host.
 */
export const startSwift = async ({
  through = [],
  forward = (port) => Promise.resolve(port),
}: {
  through?: readonly string[];
  forward?: (port: number) => Promise<number>;
} = {}): Promise<SwiftServer> => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-swift-'));
  const credentials = { accessKeyId: 'test:tester', secretAccessKey: 'testing' };
  const script = fileURLToPath(new URL('swift-server.py', import.meta.url));
  // The server ends with this process: its input ends then.
  const [file, ...args] = [...through, python, script, folder];
  const child = spawn(file, [...args, credentials.accessKeyId, credentials.secretAccessKey], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const written: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => written.push(line));
  const port = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', () => reject(new Error(`Swift ended\n${written.join('\n')}`)));
  });
  const region = 'us-east-1';
  const endpoint = `http://127.0.0.1:${port}`;
  const near = `http://127.0.0.1:${await forward(Number(port))}`;
  let count = 0;
  return {
    createBucket: async () => {
      count += 1;
      const bucket = `test${count}`;
      const s3 = new S3Client({ region, endpoint: near, forcePathStyle: true, credentials });
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      s3.destroy();
      return { bucket, region, endpoint, credentials };
    },
    signal: (signal) => void child.kill(signal),
    remove: async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
