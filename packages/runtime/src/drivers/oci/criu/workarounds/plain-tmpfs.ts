/**
 * Program: CRIU
 * Does: Makes CRIU call tar without compression for the files of a tmpfs: `--gzip` among its arguments becomes
 * `--seek`, which says that the archive can be read at any place, and so it can.
 * Why not the promised way: CRIU has no option for it. gzip takes longer than all else that a dump does, and two more
 * programs are started for each tmpfs, also for an empty one.
 * Source: criu/tmpfs.c (`tmpfs_dump`, `tmpfs_restore`). The patch for the source is in docs/criu.md.
 * When it no longer fits: The unchanged program does the same in more time. Images of either form are restored, by the
 * program that can, while both are there.
 * Test: plain-tmpfs.test.ts for the bytes, memory.driver.test.ts for images of either form.
 * Bench row: none has files in memory, and pause-resume.64m is as long without. In an A/B, a pause with 48 MiB in
 * /dev/shm took 0.36 s and 2.3 s without; one of an idle sandbox 103 ms and 118 ms without.
 */
import { replaceText } from '../replace-text.ts';

/** The changed program, or undefined when it does not call tar as expected. It restores no compressed images. */
export const withPlainTmpfs = (program: Buffer): Buffer | undefined =>
  replaceText(program, { from: '--gzip', to: '--seek' });
