import { describe, expect, it } from 'vitest';
import { isRefusal } from './refusals.ts';

describe('a line in the log of CRIU', () => {
  it.each([
    "(00.012345) Error (criu/files-ext.c:98): Can't dump file 3 of that type [140777] (unknown /x)",
    "Error (compel/src/lib/infect.c:848): Can't create memfd in victim: Too many open files",
    '(00.1) Error (criu/sk-inet.c:191): inet: In-flight connection (l) for 1f',
    "(00.1) Error (criu/namespaces.c:7): Can't dump nested user namespace for 12",
    "(00.1) Error (criu/mount.c:7): mnt: 12:./x doesn't have a proper root mount",
    '(00.1) Error (criu/proc_parse.c:7): Unsupported mapping found 00007f0000000000-00007f0000001000',
    '(00.1) Error (criu/file-lock.c:7): Unresolved lock found pid 7 ino -1',
    "(00.1) Error (criu/fsnotify.c:7): fsnotify: \tCan't dump that handle",
  ])('names something inside: %j', (line) => {
    expect(isRefusal(line)).toBe(true);
  });

  it.each([
    "Error (criu/image.c:7): Can't open core-1.img: Is a directory",
    "(00.1) Error (criu/image.c:7): Can't open core-1.img: Input/output error",
    '(00.1) Error (criu/page-xfer.c:7): page-xfer: Unable to write data: No space left on device',
    "(00.1) Error (criu/files.c:7): Can't open fd: Too many open files",
    '(00.1) Error (criu/cr-dump.c:7): Dump files (pid: 7) failed with -1',
    '(00.1) Error (criu/cr-dump.c:7): Dumping FAILED.',
    "(00.1) Error (criu/x.c:7): Can't open /Error (criu/x.c:7): autofs not supported.: Input/output error",
    '(00.1) Warn  (criu/autofs.c:7): autofs not supported.',
    'autofs not supported.',
    '',
  ])('names nothing inside: %j', (line) => {
    expect(isRefusal(line)).toBe(false);
  });
});
