/** The methods that a path item of the document may contain. */
type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

type OperationAt<Paths, Path extends keyof Paths, M> = M extends keyof Paths[Path]
  ? Paths[Path][M] extends { responses: unknown }
    ? Paths[Path][M]
    : never
  : never;

/** Every operation of a generated `paths` type as `"METHOD /path"`. */
export type RouteKey<Paths> = {
  [Path in keyof Paths & string]: {
    [M in Method]: OperationAt<Paths, Path, M> extends never ? never : `${Uppercase<M>} ${Path}`;
  }[Method];
}[keyof Paths & string];

/** The operation of a key. */
export type Operation<Paths, Key extends RouteKey<Paths>> = Key extends `${infer M} ${infer Path}`
  ? Path extends keyof Paths
    ? OperationAt<Paths, Path, Lowercase<M>>
    : never
  : never;

type Parameters<Op, Part extends string> = Op extends { parameters: Record<string, unknown> }
  ? Part extends keyof Op['parameters']
    ? Exclude<Op['parameters'][Part], undefined> extends never
      ? Record<never, never>
      : Exclude<Op['parameters'][Part], undefined>
    : Record<never, never>
  : Record<never, never>;

type JsonOf<Content> = Content extends { 'application/json': infer Body } ? Body : undefined;

type RequestBody<Op> = Op extends { requestBody: { content: infer Content } }
  ? JsonOf<Content>
  : Op extends { requestBody?: { content: infer Content } | undefined }
    ? JsonOf<Content> | undefined
    : undefined;

type ResponseBody<Response> = Response extends { content: infer Content } ? JsonOf<Content> : undefined;

/** Only the headers that the document declares: the generated type also has an index signature. */
type DeclaredHeaders<Headers> = {
  [Name in keyof Headers as string extends Name ? never : number extends Name ? never : Name]?:
    | Headers[Name]
    | undefined;
};

type HeadersOf<Response> = Response extends { headers: infer Headers }
  ? DeclaredHeaders<Headers>
  : Record<never, never>;

/** The parts of a request after validation against the document, and its caller. */
export interface RouteRequest<Op, Context> {
  /** Path parameters, percent-decoded once. */
  params: Parameters<Op, 'path'>;
  query: Parameters<Op, 'query'>;
  /** Only headers that the document declares as parameters, under lower-case names. */
  headers: Parameters<Op, 'header'>;
  /** Undefined only where the document makes the body optional and the request has none. */
  body: RequestBody<Op>;
  context: Context;
  /** Aborted when the caller disconnects before the response is sent. */
  signal: AbortSignal;
}

/** One of the responses that the document declares: status, its body, and declared headers. */
export type RouteReply<Op> = Op extends { responses: infer Responses }
  ? {
      [Status in keyof Responses & number]: {
        status: Status;
        headers?: HeadersOf<Responses[Status]>;
      } & (ResponseBody<Responses[Status]> extends undefined
        ? { body?: undefined }
        : { body: ResponseBody<Responses[Status]> });
    }[keyof Responses & number]
  : never;

export type Handler<Op, Context> = (
  request: RouteRequest<Op, Context>,
) => RouteReply<Op> | Promise<RouteReply<Op>>;

/**
 * One handler for each operation of a generated `paths` type. A missing handler, a status that the document does not
 * declare and a body of another shape are compile errors. Errors are thrown as `ApiError`, not returned.
 */
export type Handlers<Paths, Context = undefined> = {
  [Key in RouteKey<Paths>]: Handler<Operation<Paths, Key>, Context>;
};
