// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
export interface paths {
    "/envs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the variables of this sandbox
         * @description The default environment of every process in the sandbox: the `envVars` of the create. A request that starts a
         *     process can override them.
         */
        get: operations["getAgentVariables"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files": {
        parameters: {
            query?: {
                /**
                 * @description The file. Absolute, or relative to the user's home; `~` and `~/x` start there too, `~other` is refused with
                 *     400. Percent-encoded as any query value.
                 * @example notes/today.txt
                 */
                path?: string;
                /**
                 * @description Replaces the token. `FileSignature` describes how to make it.
                 * @example v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E
                 */
                signature?: string;
                /**
                 * @description Unix time in seconds after which the signature is refused with 401. Part of the signed text.
                 * @example 1795168800
                 */
                signature_expiration?: number;
                /**
                 * @description The user whose home relative paths start at and who owns created files; the default is the sandbox's default
                 *     user. It is not a permission check.
                 * @example user
                 */
                username?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * @description The whole file as a stream, always `application/octet-stream`. Symbolic links are followed. With an
         *     `Accept-Encoding` that allows gzip the response may be compressed, except with a `Range` or `If-*` header.
         *     The response for an empty file has `Content-Length: 0`.
         */
        get: operations["downloadFile"];
        put?: never;
        /**
         * Upload files
         * @description Writes files and creates missing parents. An existing file is overwritten and keeps its mode; a new one gets
         *     0644 and belongs to the user.
         *
         *     As `multipart/form-data`, each part named `file` is one file. With the query parameter `path` there must be
         *     exactly one, which is written there; without it, each is written to its own file name, directories included.
         *     Parts are written in order and earlier ones stay when a later one fails; two parts with one target are refused
         *     with 400.
         *
         *     As `application/octet-stream`, the body is the file and `path` is required. `Content-Encoding: gzip` is
         *     decompressed.
         *
         *     Headers named `X-Metadata-{key}` attach metadata to every file of the request: printable ASCII, at most 246
         *     bytes a key and 4096 in total, keys in lower case, not `__proto__`. Each upload replaces the whole set; an
         *     upload without such headers clears it.
         */
        post: operations["uploadFiles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/compose": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join files into one
         * @description Writes the sources one after another into a new file, renames it to the destination in one step, and then
         *     deletes the sources. Before the rename the destination does not change, and any failure, a disconnect of the
         *     caller included, changes nothing except that missing parents were created. For a source that is a symbolic link,
         *     its target is read and the link is deleted. A source that was replaced or written to meanwhile stays.
         *
         *     An existing destination keeps its mode and owner and loses its metadata; if it is a symbolic link, its target is
         *     replaced. A new one gets 0644 and belongs to the user, like missing parents. Sources and result are on the
         *     disk at the same time. A signature does not authorize this operation.
         */
        post: operations["composeFiles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Probe a sandbox or the service
         * @description For a sandbox: 204 while it runs, else 502. For the platform API: 200 while the service serves requests.
         *     Neither needs a token or key.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the present metrics of this sandbox
         * @description Values of the sandbox and its limits, not of the host. At most a second old.
         */
        get: operations["getAgentMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The present usage of the sandbox, as the agent reports it. */
        AgentMetrics: {
            /**
             * Format: int32
             * @description CPU cores available to it.
             */
            cpu_count: number;
            /** @description Since the previous sample, at most some seconds ago. 100 when all `cpu_count` cores are busy. */
            cpu_used_pct: number;
            /**
             * Format: int64
             * @description Disk space available to it.
             */
            disk_total: number;
            /**
             * Format: int64
             * @description Disk space that its files take.
             */
            disk_used: number;
            /**
             * Format: int64
             * @description The page cache.
             */
            mem_cache: number;
            /**
             * Format: int64
             * @description In bytes, like every field without a unit in its name.
             */
            mem_total: number;
            /**
             * Format: int64
             * @description `mem_total` in MiB.
             */
            mem_total_mib: number;
            /**
             * Format: int64
             * @description Without pages of files that were not used lately.
             */
            mem_used: number;
            /**
             * Format: int64
             * @description `mem_used` in MiB.
             */
            mem_used_mib: number;
            /**
             * Format: int64
             * @description Unix time in seconds.
             */
            ts: number;
        };
        /** @description Every error of the platform API and of the sandbox API. */
        ErrorBody: {
            /**
             * Format: int32
             * @description Equal to the HTTP status.
             */
            code: number;
            /** @description A more specific cause, if there is one. New values may appear. */
            error_code?: string;
            /** @description For people; may change. Programs branch on `code`. */
            message: string;
            obstacle?: components["schemas"]["Obstacle"];
        };
        /** @description The files to join, and the destination. */
        FileComposition: {
            /** @description The destination. Paths have the same meaning as in `/files`. */
            destination: string;
            /** @description The files to join, in this order. Regular files, or symbolic links to such; none may be the destination. */
            source_paths: string[];
            /** @description As the query parameter of `/files`. */
            username?: string;
        };
        /**
         * @description What inside the sandbox prevents keeping its memory, with `error_code` `memory_not_kept`. The sandbox runs on. With status 503 it
         *     ends by itself within seconds, with 409 it does not.
         */
        Obstacle: {
            /** @description New values may appear. */
            kind: string;
            /** @description The process that holds it. Absent where it is not that of one process. */
            process?: {
                /** @description The name that the process has given itself. */
                command: string;
                /**
                 * Format: int32
                 * @description The pid inside the sandbox.
                 */
                pid: number;
            };
        };
        /** @description Sent by the edge for a sandbox that cannot respond. Both spellings of the id have the same value. */
        SandboxNotFoundError: {
            /**
             * Format: int32
             * @description Always 502.
             */
            code: number;
            /** @description For people. The texts are fixed, since older clients compare them. */
            message: string;
            /**
             * Format: int32
             * @description The port without a server. Present when the sandbox itself is running.
             */
            port?: number;
            /** @description The spelling that older clients read. */
            sandboxId: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
        };
        /** @description Sent by the edge for a paused sandbox that a request has not resumed. Both spellings of the id have the same value. */
        SandboxNotResumedError: {
            /**
             * Format: int32
             * @description Equal to the HTTP status.
             */
            code: number;
            /** @description Why, for people. */
            message: string;
            /** @description The spelling that older clients read. */
            sandboxId: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
        };
        /** @description Sent by the edge for a busy sandbox. Both spellings of the id have the same value. */
        TooManyConnectionsError: {
            /**
             * Format: int32
             * @description Always 429.
             */
            code: number;
            /**
             * Format: int32
             * @description The maximum of open requests for one sandbox, when that is reached.
             */
            connectionLimit?: number;
            /** @description For people; may change. */
            message: string;
            /** @description The spelling that older clients read. */
            sandboxId: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
        };
        /** @description One file that was written. */
        UploadedFile: {
            /** @description The metadata of the `X-Metadata-*` headers. Absent when there was none. */
            metadata?: {
                [key: string]: string;
            };
            /** @description Last component of the path. */
            name: string;
            /** @description Absolute path of the file. */
            path: string;
            /**
             * @description `file` for every uploaded file.
             * @enum {string}
             */
            type: "file" | "directory";
        };
    };
    responses: {
        /**
         * @description The path cannot be read or written as a file, for example because it is a directory, or the body or a parameter
         *     is malformed. For a malformed host name, the edge sends a short text.
         */
        BadPath: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
                "text/plain": string;
            };
        };
        /** @description The host name or the `E2b-Sandbox-*` headers do not name a port and a sandbox. A short text from the edge. */
        BadSandboxHost: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "text/plain": string;
            };
        };
        /** @description The token or the signature is missing, wrong or expired, or the user does not exist in the sandbox. */
        FileAccessDenied: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The file does not exist. */
        FileNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The disk of the sandbox is full. */
        InsufficientStorage: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description An unexpected error in the server, whose log has the cause. */
        InternalServerError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description No supported encoding is acceptable. The message lists the supported ones. */
        NotAcceptable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The file does not match `If-Match` or `If-Unmodified-Since`. */
        PreconditionFailed: {
            headers: {
                ETag: components["headers"]["ETag"];
                "Last-Modified": components["headers"]["LastModified"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The range lies beyond the end of the file. */
        RangeNotSatisfiable: {
            headers: {
                /** @description The size of the file, as `bytes *\/{size}`. */
                "Content-Range"?: string;
                ETag: components["headers"]["ETag"];
                "Last-Modified": components["headers"]["LastModified"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description The sandbox is unknown, killed, expired or paused; or it runs and no server listens on the port: then `port` is
         *     present too. A browser that navigates gets a page instead of JSON.
         */
        SandboxNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SandboxNotFoundError"];
                "text/html": string;
            };
        };
        /**
         * @description The sandbox is paused, its requests may resume it (`autoResume`), and this one has not: with 403 it lacks the token, or the
         *     sandbox could not be resumed, for the reason in the message; with 409 it is still being resumed.
         */
        SandboxNotResumed: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "sandboxID": "i4k2m9x7q1w8e3r5t6y0z",
                 *       "sandboxId": "i4k2m9x7q1w8e3r5t6y0z",
                 *       "message": "The sandbox is paused, and is not resumed: missing X-Access-Token header",
                 *       "code": 403
                 *     }
                 */
                "application/json": components["schemas"]["SandboxNotResumedError"];
            };
        };
        /** @description No capacity at the moment, or the server is stopping. Nothing has changed; try again. `error_code` is always present. */
        ServiceUnavailable: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description The sandbox has reached the maximum of open requests that the edge allows for one; or it is paused and cannot be resumed now, at
         *     the concurrency limit or because too many requests wait for that. Wait until some have ended.
         */
        TooManyConnections: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["TooManyConnectionsError"];
                "text/html": string;
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Always `bytes`. */
        AcceptRanges: string;
        /** @description `inline`, with the name of the file. */
        ContentDisposition: string;
        /** @description Version of the file. Absent when the body is compressed. */
        ETag: string;
        /** @description Time of the last change of the file. */
        LastModified: string;
        /** @description Always `nosniff`. */
        NoSniff: string;
        /** @description Identifies the request in the log of the server. The value of the request's own header if it consists of 1 to 64 letters, digits, `_`, `.` and `-`, else a new one. */
        RequestId: string;
        /** @description Whole seconds to wait before the same call may succeed. Each 429 and 503 of the platform API and the edge has it, and a 409 while a first request with the same `Idempotency-Key` runs. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAgentVariables: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Name to value. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
            400: components["responses"]["BadSandboxHost"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            409: components["responses"]["SandboxNotResumed"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadFile: {
        parameters: {
            query?: {
                /**
                 * @description The file. Absolute, or relative to the user's home; `~` and `~/x` start there too, `~other` is refused with
                 *     400. Percent-encoded as any query value.
                 * @example notes/today.txt
                 */
                path?: string;
                /**
                 * @description Replaces the token. `FileSignature` describes how to make it.
                 * @example v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E
                 */
                signature?: string;
                /**
                 * @description Unix time in seconds after which the signature is refused with 401. Part of the signed text.
                 * @example 1795168800
                 */
                signature_expiration?: number;
                /**
                 * @description The user whose home relative paths start at and who owns created files; the default is the sandbox's default
                 *     user. It is not a permission check.
                 * @example user
                 */
                username?: string;
            };
            header?: {
                /** @description `identity` and `gzip` are supported. Excluding both is answered 406. */
                "Accept-Encoding"?: string;
                /**
                 * @description Part of the file, as in RFC 9110.
                 * @example bytes=0-1023
                 */
                Range?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "Accept-Ranges": components["headers"]["AcceptRanges"];
                    "Content-Disposition": components["headers"]["ContentDisposition"];
                    /** @description Length of the body. Absent when it is compressed. */
                    "Content-Length"?: number;
                    ETag: components["headers"]["ETag"];
                    "Last-Modified": components["headers"]["LastModified"];
                    /** @description Always `Accept-Encoding`. */
                    Vary?: string;
                    "X-Content-Type-Options": components["headers"]["NoSniff"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": Blob;
                };
            };
            /** @description The requested range. */
            206: {
                headers: {
                    "Accept-Ranges": components["headers"]["AcceptRanges"];
                    "Content-Disposition": components["headers"]["ContentDisposition"];
                    /** @description The range of these bytes, and the size of the file. */
                    "Content-Range"?: string;
                    ETag: components["headers"]["ETag"];
                    "Last-Modified": components["headers"]["LastModified"];
                    "X-Content-Type-Options": components["headers"]["NoSniff"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": Blob;
                };
            };
            /** @description Unchanged since `If-Modified-Since`, or still the version of `If-None-Match`. */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "Last-Modified": components["headers"]["LastModified"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadPath"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            404: components["responses"]["FileNotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["SandboxNotResumed"];
            412: components["responses"]["PreconditionFailed"];
            416: components["responses"]["RangeNotSatisfiable"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    uploadFiles: {
        parameters: {
            query?: {
                /**
                 * @description The file. Absolute, or relative to the user's home; `~` and `~/x` start there too, `~other` is refused with
                 *     400. Percent-encoded as any query value.
                 * @example notes/today.txt
                 */
                path?: string;
                /**
                 * @description Replaces the token. `FileSignature` describes how to make it.
                 * @example v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E
                 */
                signature?: string;
                /**
                 * @description Unix time in seconds after which the signature is refused with 401. Part of the signed text.
                 * @example 1795168800
                 */
                signature_expiration?: number;
                /**
                 * @description The user whose home relative paths start at and who owns created files; the default is the sandbox's default
                 *     user. It is not a permission check.
                 * @example user
                 */
                username?: string;
            };
            header?: {
                /** @description Of an `application/octet-stream` body. */
                "Content-Encoding"?: "gzip" | "identity";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": Blob;
                "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description One file. Without `path` the part may be repeated.
                     */
                    file?: Blob;
                };
            };
        };
        responses: {
            /** @description The written files, in the order of the parts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedFile"][];
                };
            };
            400: components["responses"]["BadPath"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            409: components["responses"]["SandboxNotResumed"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    composeFiles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FileComposition"];
            };
        };
        responses: {
            /** @description The joined file. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedFile"];
                };
            };
            400: components["responses"]["BadPath"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            404: components["responses"]["FileNotFound"];
            409: components["responses"]["SandboxNotResumed"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service serves requests. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The sandbox runs and its agent answers. */
            204: {
                headers: {
                    /** @description Always `no-store`. */
                    "Cache-Control"?: string;
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadSandboxHost"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            409: components["responses"]["SandboxNotResumed"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAgentMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One sample. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMetrics"];
                };
            };
            400: components["responses"]["BadSandboxHost"];
            401: components["responses"]["FileAccessDenied"];
            403: components["responses"]["SandboxNotResumed"];
            409: components["responses"]["SandboxNotResumed"];
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
