/** Text with its control characters written out: what comes out of a sandbox must not move the cursor of a terminal, or more. */
export const toPrintable = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
