import { type Sandbox, SandboxError } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';

/**
 * What a user reads of an error of a call to the agent of a sandbox: that the sandbox has no such user, or when and why it ended or
 * was paused meanwhile, which only the service knows. Any other error is returned as it is.
 */
export async function explainCall(
  error: unknown,
  { sandbox, user }: { sandbox: Sandbox; user: string | undefined },
): Promise<unknown> {
  if (!(error instanceof SandboxError)) return error;
  // The token of the sandbox comes from the service, so it is the user that the agent refuses.
  if (error.code === 'unauthenticated' && user !== undefined)
    return new UserError(`the sandbox has no user "${user}"`);
  if (error.code !== 'sandbox_unavailable') return error;
  try {
    const { state, sandboxId } = await sandbox.getInfo();
    return state === 'paused'
      ? new UserError(`the sandbox was paused meanwhile: "skerry sandbox resume ${sandboxId}" resumes it`)
      : error;
  } catch (reason) {
    return reason;
  }
}
