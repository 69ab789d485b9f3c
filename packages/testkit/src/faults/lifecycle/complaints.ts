/** The lines of a server's log that tell of trouble, its own and its helper's. */
export const toComplaints = (log: string): string[] =>
  log.split('\n').filter((line) => line !== '' && !/"level":"(debug|info)"/.test(line));
