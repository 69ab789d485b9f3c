/**
 * Program: CRIU
 * Does: Makes CRIU ask for its group id where it asks for its user id, by the name of the function in its table of
 * symbols. It then works as a process that has the user id of the sandbox's root, and the
 * capabilities of the server but `sys_resource`.
 * Why not the promised way: CRIU does all of its work for user id 0 alone; for others `--unprivileged` leaves out half
 * of it. As user id 0 it lacks what a container around the host withholds (CAP_SYS_RESOURCE, for the limits of
 * processes), which the owner of a user namespace has inside; and the namespace that a restore makes has to have the
 * same owner.
 * Source: criu/crtools.c (`opts.uid = geteuid()`), user_namespaces(7). The patch for the source is in docs/criu.md.
 * When it no longer fits: The program stays as it is and runs as root; `skerry doctor` reports which of the two is in
 * use. Memory is kept if the proof at the first start passes.
 * Test: act-as-owner.test.ts for the bytes, memory.driver.test.ts for what they are for.
 */
import { replaceText } from '../replace-text.ts';

/** The changed program, or undefined when it does not ask as expected. */
export const actAsOwner = (program: Buffer): Buffer | undefined =>
  replaceText(program, { from: 'geteuid', to: 'getegid' });

/** Whether the program was changed by `actAsOwner`. */
export const actsAsOwner = (program: Buffer): boolean =>
  !program.includes('\0geteuid\0') && program.includes('\0getegid\0');
