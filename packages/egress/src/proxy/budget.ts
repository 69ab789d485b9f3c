/** Bounds the connections of all sandboxes together. */
export interface ConnectionBudget {
  /** Whether one more connection may be open; `give` is to be called after it then. */
  take(): boolean;
  give(): void;
}

/** Each connection takes two descriptors. Eight sandboxes with the most that one may have leave the others none. */
const MAX_CONNECTIONS = 8_192;

/** Starts with no connection. */
export const createConnectionBudget = (most = MAX_CONNECTIONS): ConnectionBudget => {
  let open = 0;
  return {
    take: () => {
      if (open >= most) return false;
      open += 1;
      return true;
    },
    give: () => {
      open -= 1;
    },
  };
};
