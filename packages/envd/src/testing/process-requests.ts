export const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });
export const byPid = (pid: number | undefined) => ({
  process: { selector: { case: 'pid' as const, value: pid ?? 0 } },
});
