/** What is used of https://github.com/jshttp/negotiator. @types/negotiator describes version 0.6, which had no `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> });
    /** Undefined when none of them is acceptable. Of those with the same weight, the first of `preferred` wins. */
    encoding<Encoding extends string>(
      available: readonly Encoding[],
      options: { preferred: readonly Encoding[] },
    ): Encoding | undefined;
  }
}
