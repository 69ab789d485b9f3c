/** The layers that pulls are receiving at this moment: a pull that needs one of another waits for it. */
export interface LayerFlights {
  /**
   * Becomes the first for a layer, which must then be landed, or finds that another pull is. Of several layers, ask for all in the order in which
   * they are read, and wait before you read the first of another: then no two pulls wait for each other.
   */
  join(key: string): Flight;
}

export type Flight =
  /** Call `land` when the layer is kept, or will not be. Idempotent. */
  | { isFirst: true; land(): void }
  /** Resolves when the other pull has landed the layer. */
  | { isFirst: false; landed: Promise<void> };

/** Those of one process. */
export const createLayerFlights = (): LayerFlights => {
  const flights = new Map<string, Promise<void>>();
  return {
    join: (key) => {
      const other = flights.get(key);
      if (other !== undefined) return { isFirst: false, landed: other };
      const { promise, resolve } = Promise.withResolvers<void>();
      flights.set(key, promise);
      return {
        isFirst: true,
        land: () => {
          if (flights.get(key) === promise) flights.delete(key);
          resolve();
        },
      };
    },
  };
};
