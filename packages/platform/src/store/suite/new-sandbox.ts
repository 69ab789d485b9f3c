import type { NewSandbox } from '../rows.ts';

/** A sandbox to reserve, with defaults for all fields that a test does not set. */
export const newSandbox = (id: string, more: Partial<NewSandbox> = {}): NewSandbox => ({
  id,
  project: 'local',
  keyId: null,
  templateId: 't',
  templateName: null,
  snapshotId: null,
  buildId: null,
  createdAt: 1,
  endAt: 100,
  metadata: {},
  envVars: {},
  defaultUser: '',
  defaultWorkdir: '',
  secure: true,
  isolation: 'container',
  network: null,
  ingress: null,
  autoPause: null,
  wakeMs: null,
  cpuCount: 1,
  memoryMb: 128,
  diskMb: 100,
  ...more,
});
