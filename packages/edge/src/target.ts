/** A sandbox and a port inside it. */
export interface Target {
  readonly sandboxId: string;
  readonly port: number;
}
