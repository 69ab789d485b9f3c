// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Probe a sandbox or the service
         * @description Of a sandbox: 204 while it runs, 502 as soon as it does not. Of the platform API: 200 while the service answers requests.
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
    "/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List running sandboxes
         * @deprecated
         * @description All running sandboxes, newest first, in one answer. To see paused ones, or to page, use `GET /v2/sandboxes`.
         */
        get: operations["listSandboxesV1"];
        put?: never;
        /**
         * Create a sandbox
         * @deprecated
         * @description Starts a sandbox from a template. 201 means usable: the agent answers and variables and token are in place, so there
         *     is nothing to poll for.
         *
         *     This is the older form: without `timeout` the sandbox lives for 15 seconds only, and `secure` may be switched off.
         *     New programs use `POST /v2/sandboxes`.
         */
        post: operations["createSandboxV1"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Get a sandbox
         * @description Everything about one running or paused sandbox, including its access token, which never changes.
         */
        get: operations["getSandbox"];
        put?: never;
        post?: never;
        /**
         * Kill a sandbox
         * @description Ends a running or paused sandbox and deletes what it held. Its open connections are reset at once, and its host names
         *     answer 502 from then on. Snapshots made from it stay.
         */
        delete: operations["killSandbox"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Connect to a sandbox
         * @deprecated
         * @description Makes sure that a sandbox is running and lives for at least `timeout` seconds more. On a running sandbox it only ever
         *     extends: a shorter `timeout` leaves the end exactly as it was. A paused one is resumed and lives for `timeout`.
         *
         *     This is the older form, which demands `timeout`. `POST /v2/sandboxes/{sandboxID}/connect` has defaults.
         */
        post: operations["connectSandboxV1"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork a sandbox
         * @description Captures a running sandbox once and starts `count` copies from that moment. The source keeps its id and its end and
         *     runs on; the copies have ids of their own and then go their own ways. Each copy succeeds or fails for itself, so look
         *     at every entry. A `count` beyond the number of sandboxes that may run at once is refused with 400. The body may be
         *     left out.
         */
        post: operations["forkSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Get the log of a sandbox
         * @deprecated
         * @description Entries from `start` on, oldest first, kept for 7 days, also after the end of the sandbox: how it ended is the last of
         *     them. `logs` and `logEntries` hold the same entries: each `line` of `logs` is a JSON object as text with at least `level`,
         *     `logger` and `message`.
         *
         *     What `logger` is `platform` was written by the service, everything else by the agent inside, whose word is not proven:
         *     it lives among the programs of the sandbox.
         */
        get: operations["getSandboxLogsV1"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Get what a sandbox used
         * @description Samples of one sandbox, oldest first, taken every 5 seconds while it runs. Without a window it is the whole life of the
         *     sandbox. The steps grow with the window: 5 seconds below 1 hour, 30 below 6, 1 minute below 12, 2 below 24, then 5
         *     minutes and, from 7 days on, 15; samples of an earlier hour are kept for each minute only, those of an earlier day for
         *     each quarter of an hour. A window before the creation is empty, and a start after the end is refused with 400. What has
         *     ended can be asked about for 7 more days.
         */
        get: operations["getSandboxMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/network": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the network rules
         * @description Takes effect on the running sandbox at once and survives pause and resume. Everything is replaced: a key that is left
         *     out is cleared.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        put: operations["updateSandboxNetwork"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a sandbox
         * @description Writes the sandbox to disk and stops it; when this answers, it is safe there. With memory, processes go on where they
         *     were after a resume, with their connections to each other, while those to the outside are lost. Without, only files are
         *     kept and a resume boots afresh. A paused sandbox has no time to live. Its open connections are reset at once, and its host names answer 502
         *     until it runs again. When the capture fails, the sandbox runs on and you get the error.
         *
         *     A pause of the same kind that is under way already is joined. The body may be left out. A server whose host cannot
         *     keep memory refuses what would keep it with 400 and never keeps less than was asked for; one that cannot pause at all
         *     answers 501.
         */
        post: operations["pauseSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/refreshes": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend the time to live
         * @description The sandbox lives for at least `duration` seconds from now, and for at least 15. An end that is later already stays as
         *     it is. The end is capped silently at the longest run the server allows.
         */
        post: operations["refreshSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a paused sandbox
         * @deprecated
         * @description The form of early clients; `POST /v2/sandboxes/{sandboxID}/connect` does the same and also accepts a running sandbox.
         *     Here a running one is a 409. A transition that is under way is waited for. The body may be left out.
         */
        post: operations["resumeSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a snapshot of a sandbox
         * @description Makes a template from a running or paused sandbox, which stays what it is; a running one stands still for a moment.
         *     The snapshot is safe on disk when this answers. Create sandboxes from it by `snapshotID`, list it with
         *     `GET /snapshots`, delete it with `DELETE /templates/{templateID}`. With the name of a snapshot that exists, the same
         *     template gets a new build, to which the tag then leads.
         */
        post: operations["createSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/timeout": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the time to live
         * @description The sandbox ends `timeout` seconds from now, sooner or later than before; 0 ends it now. The end is capped silently at
         *     the longest run the server allows; a sandbox already past that is refused with 400. A paused sandbox has no end to
         *     set and is answered 404. Traffic never extends the time to live.
         */
        post: operations["setSandboxTimeout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what several sandboxes use
         * @description The latest sample of each sandbox. One that does not exist, or was not sampled yet, is left out.
         */
        get: operations["getSandboxesMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/snapshots/{snapshotID}/log": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/prepared:default
                 */
                snapshotID: components["parameters"]["SnapshotID"];
            };
            cookie?: never;
        };
        /**
         * Where a snapshot comes from
         * @description The snapshot, then the one that its sandbox had begun with, and so on back to a template's image.
         */
        get: operations["getSnapshotLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/snapshots/{snapshotID}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/prepared:default
                 */
                snapshotID: components["parameters"]["SnapshotID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify a snapshot
         * @description Reads all of a snapshot and compares it with what was written down when it was made.
         */
        post: operations["verifySnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/snapshots/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare files
         * @description What became of the files of `from` in `to`, ordered by path. Both are a snapshot, a template, or a running or paused
         *     sandbox, which is looked at as it is now; they must be made on the same image. Refused with 400 where the answer would
         *     have more than 32 MiB, and ended with 409 when a sandbox comes to its end meanwhile.
         */
        get: operations["diffSnapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List snapshots
         * @description Snapshots, newest first. A name or sandbox that does not exist gives an empty list. Pages work as in
         *     `GET /v2/sandboxes`.
         */
        get: operations["listSnapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates
         * @description All templates of the caller, in one answer.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        get: operations["listTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a template or snapshot
         * @description Takes an id, a name, or the id of a snapshot. With a tag only what the tag leads to is deleted, without one the whole
         *     template. Refused with 400 while running or paused sandboxes use it, and for the templates of the installation.
         */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/builds/{buildID}/status": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the build.
                 * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
                 */
                buildID: components["parameters"]["BuildID"];
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Follow a build
         * @description State and log of a build. Pass the number of entries received so far as `logsOffset`. After `ready` or `error`, ask on
         *     until a page has no entries.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        get: operations["getTemplateBuildStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/files/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Hash of a set of files, computed by the client. The server gives it no meaning.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Get an upload link for files of a build
         * @description Tells whether the server has the files, and where to `PUT` them as a tar archive, plain or gzip. The link needs no key
         *     and is valid for at least 30 minutes. It comes also when the files are present, for clients that want to replace
         *     them.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        get: operations["getTemplateFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * List the tags of a template
         * @description Each tag and the build it names.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        get: operations["listTemplateTags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/aliases/{alias}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Alias, `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                alias: string;
            };
            cookie?: never;
        };
        /**
         * Look up an alias
         * @description 403 means that the alias exists and is not yours, so the name is taken.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        get: operations["getTemplateByAlias"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Assign tags
         * @description Points tags at the build that `target` names. A tag in use moves.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        post: operations["assignTemplateTags"];
        /**
         * Delete tags
         * @description The only DELETE with a body. The tag `default` cannot be deleted; that is a 400. The builds stay.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        delete: operations["deleteTemplateTags"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sandboxes
         * @description Running and paused sandboxes, filtered, ordered by the start of their last run and paged. All filters must match.
         *
         *     `X-Next-Token` is present only when more rows exist: stop when it is absent. `X-Total-Running` counts the running
         *     sandboxes that match, before paging, and is present only when running ones were asked for.
         */
        get: operations["listSandboxes"];
        put?: never;
        /**
         * Create a sandbox
         * @description Starts a sandbox from a template. 201 means usable: the agent answers and variables and token are in place, so there
         *     is nothing to poll for. Without `timeout` it lives for 300 seconds. It is always secured: keep `envdAccessToken`, the
         *     sandbox API refuses calls without it.
         */
        post: operations["createSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes/{sandboxID}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Connect to a sandbox
         * @description Makes sure that a sandbox is running and lives for at least `timeout` seconds more, 300 when none is given. On a
         *     running sandbox it only ever extends: a shorter `timeout` leaves the end exactly as it was. A paused one is resumed
         *     and lives for `timeout`. The body may be left out.
         */
        post: operations["connectSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes/{sandboxID}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Search the log of a sandbox
         * @description The same entries as from the other operation, in either direction and filtered.
         */
        get: operations["getSandboxLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a build
         * @deprecated
         * @description The form of early clients of `POST /v3/templates`. It answers the whole template.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        post: operations["createTemplateV2"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/templates/{templateID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a template
         * @description Makes a template public, for every team, or private.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        patch: operations["updateTemplate"];
        trace?: never;
    };
    "/v2/templates/{templateID}/builds/{buildID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the build.
                 * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
                 */
                buildID: components["parameters"]["BuildID"];
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a build
         * @description Starts a build that waits; a second start is refused with 400. From this answer on the status says `building`.
         *
         *     Exactly one of `fromImage` and `fromTemplate` says what to build on. Steps run in order, as root until the user `user`
         *     has been made and as that user afterwards. Then `startCmd` is started and captured running in the template, once
         *     `readyCmd` succeeds.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        post: operations["startTemplateBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v3/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a build
         * @description First step of a build: names the template and gets a build id. Then ask for an upload link for each set of files with
         *     `GET /templates/{templateID}/files/{hash}`, start the build with `POST /v2/templates/{templateID}/builds/{buildID}`
         *     and follow its status.
         *
         *     The name of a template you have adds a build to it; builds of it that were never started then fail as superseded. A
         *     tag inside `name` joins `tags`; without any, the tag is `default`.
         *
         *     This server does not offer the operation yet: it answers 501.
         */
        post: operations["createTemplate"];
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
        /** @description Tags, and the build that they are to lead to. */
        AssignTags: {
            /** @description Tags to set. */
            tags: components["schemas"]["Tag"][];
            /** @description `name` or `name:tag` */
            target: string;
        };
        /** @description Where a build stands, and a page of its log. */
        BuildInfo: {
            /**
             * Format: uuid
             * @description Id of the build.
             */
            buildID: string;
            /** @description A page of the log. */
            logEntries: components["schemas"]["BuildLogEntry"][];
            /** @description The older form of the log; may be empty. */
            logs: string[];
            /** @description Why the build failed. */
            reason?: {
                /** @description The last entries before the failure. */
                logEntries?: components["schemas"]["BuildLogEntry"][];
                /** @description What went wrong, for people. */
                message: string;
                /** @description `base`, `finalize`, or the number of the step from 1. */
                step?: string;
            };
            status: components["schemas"]["BuildStatus"];
            /** @description Id of the template. */
            templateID: string;
        };
        /** @description One entry of the log of a build. */
        BuildLogEntry: {
            level: components["schemas"]["LogLevel"];
            /** @description What happened. */
            message: string;
            /** @description `base`, `finalize`, or the number of the step from 1. */
            step?: string;
            /**
             * Format: date-time
             * @description When it was written.
             */
            timestamp: string;
        };
        /** @description A build to register. */
        BuildRequest: {
            /**
             * @deprecated
             * @description Older spelling of `name`.
             */
            alias?: string;
            /**
             * Format: int32
             * @description CPU cores of each sandbox, 1 or an even number.
             * @default 2
             */
            cpuCount?: number;
            /**
             * Format: int32
             * @description Memory of each sandbox in MiB.
             * @default 1024
             */
            memoryMB?: number;
            /**
             * Format: int32
             * @description Free disk in MiB that each sandbox starts with at least. 0 adds nothing; it never shrinks.
             * @default 0
             */
            minFreeDiskMb?: number;
            /** @description `[namespace/]alias[:tag]`. Required, unless the older `alias` is there. */
            name?: string;
            /** @description Tags for this build. */
            tags?: components["schemas"]["Tag"][];
            /**
             * @deprecated
             * @description Without effect; the key decides.
             */
            teamID?: string;
        } | unknown | unknown;
        /** @description The build that was registered. */
        BuildRequested: {
            /** @description Names of the template without namespace. */
            aliases: string[];
            /**
             * Format: uuid
             * @description Id of the build.
             */
            buildID: string;
            /** @description Names of the template, each with its namespace. */
            names: string[];
            /** @description Whether every team may use the template. */
            public: boolean;
            /** @description Tags that will lead to the build. */
            tags: string[];
            /** @description Id of the template. */
            templateID: string;
        };
        /** @description A build to register, in the form of early clients. */
        BuildRequestV2: {
            /** @description `[namespace/]alias[:tag]` */
            alias: string;
            /**
             * Format: int32
             * @description CPU cores of each sandbox, 1 or an even number.
             * @default 2
             */
            cpuCount?: number;
            /**
             * Format: int32
             * @description Memory of each sandbox in MiB.
             * @default 1024
             */
            memoryMB?: number;
            /**
             * @deprecated
             * @description Without effect; the key decides.
             */
            teamID?: string;
        };
        /** @description What to build. */
        BuildStart: {
            /**
             * @description Run the whole build regardless of the cache.
             * @default false
             */
            force?: boolean;
            /** @description Base image. Either this or `fromTemplate`. */
            fromImage?: string;
            fromImageRegistry?: components["schemas"]["ImageRegistry"];
            /** @description Base template. Either this or `fromImage`. */
            fromTemplate?: string;
            /**
             * @description Check that is repeated every 2 seconds until it succeeds. Without it, the template is ready 20 seconds after a
             *     start command, or at once when there is none.
             */
            readyCmd?: string;
            /** @description Command started after the steps and captured running. */
            startCmd?: string;
            /** @description Steps to run, in this order. */
            steps?: components["schemas"]["BuildStep"][];
        } & (unknown | unknown);
        /**
         * @description Where a build stands.
         * @enum {string}
         */
        BuildStatus: "waiting" | "building" | "ready" | "error";
        /** @description One step of a build. */
        BuildStep: {
            /** @description What the step works on, as `type` says. */
            args: string[];
            /** @description Hash under which the files were uploaded. */
            filesHash?: string;
            /**
             * @description Run this and all later steps regardless of the cache.
             * @default false
             */
            force?: boolean;
            /**
             * @description - `COPY`, `ADD`: source, destination, user or empty, octal mode or empty; needs `filesHash`
             *     - `RUN`: a command for `/bin/bash -l -c`, and optionally a user
             *     - `ENV`, `ARG`: names and values in turn, for the build only
             *     - `WORKDIR`: a directory, made when missing
             *     - `USER`: a user, made when missing
             * @enum {string}
             */
            type: "COPY" | "ADD" | "RUN" | "ENV" | "ARG" | "WORKDIR" | "USER";
        };
        /**
         * @description `full` keeps memory, `filesystem` only files. Must not contradict `memory`.
         * @enum {string}
         */
        CaptureMode: "full" | "filesystem";
        /** @description How long the sandbox is to live. */
        ConnectSandbox: {
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now.
             * @default 300
             */
            timeout?: number;
        };
        /** @description How long the sandbox is to live, in the older form. */
        ConnectSandboxV1: {
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now.
             */
            timeout: number;
        };
        /** @description Tags to delete. */
        DeleteTags: {
            /** @description Name of the template. */
            name: string;
            /** @description Tags to delete. */
            tags: components["schemas"]["Tag"][];
        };
        /** @description A SOCKS5 proxy that all outgoing connections take. */
        EgressProxy: {
            /** @description `host:port` */
            address: string;
            /** @description Never returned. */
            password?: string;
            /** @description User name for the proxy. */
            username?: string;
        } | null;
        /** @description Environment variables for every process of the sandbox. Each command may override them. */
        EnvVars: {
            [key: string]: string;
        };
        /** @description Every error of the platform API and of the sandbox API. */
        ErrorBody: {
            /**
             * Format: int32
             * @description Equal to the HTTP status.
             */
            code: number;
            /** @description A finer cause where there is one. New values may appear. */
            error_code?: string;
            /** @description For people; may change. Programs decide on `code`. */
            message: string;
        };
        /** @description One file that is not the same on both sides. */
        FileDifference: {
            /**
             * @description What happened to the file.
             * @enum {string}
             */
            change: "added" | "removed" | "changed";
            /** @description Of what changed. Times do not count. */
            fields?: ("type" | "mode" | "uid" | "gid" | "sizeBytes" | "target" | "device" | "xattrs" | "content")[];
            /** @description Absolute. Bytes that are no UTF-8 stand as lone surrogates, U+DC80 to U+DCFF. */
            path: string;
        };
        /** @description The copy, or why there is none. */
        ForkResult: {
            sandbox: components["schemas"]["Sandbox"];
        } | {
            error: components["schemas"]["ErrorBody"];
        };
        /** @description How many copies to start, and how long they live. */
        ForkSandbox: {
            /**
             * Format: int32
             * @description Copies to start.
             * @default 1
             */
            count?: number;
            /**
             * Format: int32
             * @description Time to live of each copy in seconds.
             * @default 15
             */
            timeout?: number;
        };
        /**
         * @description Credentials for a private registry, by `type`; without `type` the AWS fields are meant. Never logged and never
         *     returned.
         */
        ImageRegistry: {
            /** @description For `aws`: id of the access key. */
            awsAccessKeyId?: string;
            /** @description For `aws`: region of the registry. */
            awsRegion?: string;
            /** @description For `aws`: the access key. */
            awsSecretAccessKey?: string;
            /** @description For `registry`. */
            password?: string;
            /** @description For `gcp`. */
            serviceAccountJson?: string;
            /**
             * @description Kind of the registry.
             * @enum {string}
             */
            type?: "registry" | "aws" | "gcp";
            /** @description For `registry`. */
            username?: string;
        };
        /** @description One sandbox in a list. */
        ListedSandbox: {
            /** @description Alias of the template. */
            alias?: string;
            /**
             * @deprecated
             * @description A constant.
             */
            clientID: string;
            /**
             * Format: int32
             * @description CPU cores.
             */
            cpuCount: number;
            /**
             * Format: int32
             * @description Disk in MiB.
             */
            diskSizeMB: number;
            /**
             * Format: date-time
             * @description When it will end. When paused, the moment of the pause.
             */
            endAt: string;
            /** @description Version of the agent inside, by which clients decide what they may use. */
            envdVersion: string;
            /**
             * Format: int32
             * @description Memory in MiB.
             */
            memoryMB: number;
            metadata?: components["schemas"]["Metadata"];
            /** @description Id of the sandbox, also the second part of its host names. */
            sandboxID: string;
            /**
             * Format: date-time
             * @description Start of the present or, when paused, the last run.
             */
            startedAt: string;
            state: components["schemas"]["SandboxState"];
            /** @description Template the sandbox was created from. */
            templateID: string;
            /** @description Volumes of the sandbox. */
            volumeMounts?: components["schemas"]["VolumeMount"][];
        };
        /** @description One entry of a log. */
        LogEntry: {
            /** @description Details, by name; `logger` names the part that wrote the entry. */
            fields: {
                [key: string]: string;
            };
            level: components["schemas"]["LogLevel"];
            /** @description What happened. */
            message: string;
            /**
             * Format: date-time
             * @description When it was written.
             */
            timestamp: string;
        };
        /**
         * @description How serious an entry is, from the least to the most.
         * @enum {string}
         */
        LogLevel: "debug" | "info" | "warn" | "error";
        /** @description Free key-value pairs, by which listings can be filtered. At most 64 KiB in all. */
        Metadata: {
            [key: string]: string;
        };
        /**
         * @description What may go in and out. Allow beats deny, deny beats the default, which is open to the internet. Private, loopback
         *     and link-local ranges are never reachable.
         */
        NetworkConfig: {
            /**
             * @description IP addresses, CIDR ranges, domains or `*.domain`. A domain needs `0.0.0.0/0` in `denyOut`. `x` does not cover
             *     `y.x`.
             */
            allowOut?: string[];
            /**
             * @description `false` makes every port except the agent's ask for the header `e2b-traffic-access-token`, with the value of
             *     `trafficAccessToken`.
             * @default true
             */
            allowPublicTraffic?: boolean;
            /** @description IP addresses or CIDR ranges. */
            denyOut?: string[];
            egressProxy?: components["schemas"]["EgressProxy"];
            /** @description Ports on which the sandbox speaks TLS. Certificates are not verified. 49983 is refused. */
            httpsPorts?: number[];
            /** @description Host header that programs in the sandbox see instead of the public one; `${PORT}` in it becomes the port. ASCII. */
            maskRequestHost?: string;
            rules?: components["schemas"]["NetworkRules"];
        };
        /**
         * @description Changes to matching HTTPS requests, by domain: an exact name, or `*.` and a name for any depth below it. An exact name
         *     beats a wildcard, a longer suffix a shorter one. A rule grants no access by itself.
         */
        NetworkRules: {
            [key: string]: {
                /** @description How a request is changed. */
                transform?: {
                    /**
                     * @description Headers to set, replacing those of the same name. A value may hold `${e2b.secrets.NAME}` or
                     *     `${e2b.identity.tokens.NAME}`, which are filled in outside the sandbox.
                     */
                    headers?: {
                        [key: string]: string;
                    };
                };
            }[];
        };
        /** @description Rules that replace those of the sandbox. */
        NetworkUpdate: {
            /** @description `false` is the same as denying `0.0.0.0/0`. */
            allow_internet_access?: boolean;
            /** @description As in `NetworkConfig`. */
            allowOut?: string[];
            /** @description As in `NetworkConfig`. */
            denyOut?: string[];
            egressProxy?: components["schemas"]["EgressProxy"];
            rules?: components["schemas"]["NetworkRules"];
        };
        /** @description A sandbox to create. */
        NewSandbox: components["schemas"]["NewSandboxCommon"] & {
            /**
             * @description Sandboxes made here are always secured, so only `true` is accepted.
             * @constant
             */
            secure?: true;
            /**
             * Format: int32
             * @description Time to live in seconds, up to the longest run the server allows.
             * @default 300
             */
            timeout?: number;
        };
        /** @description What both forms of a create take. */
        NewSandboxCommon: {
            /**
             * @description `false` is the same as denying `0.0.0.0/0`. Private, loopback and link-local ranges are never reachable.
             *     The only key here that is written in snake case.
             * @default true
             */
            allow_internet_access?: boolean;
            /**
             * @description At the end of its time to live, pause the sandbox instead of killing it.
             * @default false
             */
            autoPause?: boolean;
            /**
             * @description `false` keeps only the files at that automatic pause, so that a resume boots afresh. Refused without `autoPause`,
             *     and together with `autoResume.enabled`.
             * @default true
             */
            autoPauseMemory?: boolean;
            /** @description Restore a paused sandbox when a request reaches one of its ports. Planned: `enabled: true` is refused with 400. */
            autoResume?: {
                /** @description `true` asks for it. */
                enabled: boolean;
            };
            envVars?: components["schemas"]["EnvVars"];
            /** @description Identity tokens for the sandbox, by name. Planned: any token is refused with 400. */
            iam?: {
                /** @description What each token is for, by its name. */
                tokens?: {
                    [key: string]: {
                        /** @description For which service the token is made. */
                        audience: string;
                        /** @description Kind of the token. */
                        tokenType: string;
                    };
                };
            };
            /** @description Configuration of an MCP gateway. Planned: one that is not empty is refused with 400. */
            mcp?: {
                [key: string]: unknown;
            } | null;
            metadata?: components["schemas"]["Metadata"];
            /** @description Rules for what may go in and out. Planned: whatever differs from the defaults is refused with 400. */
            network?: components["schemas"]["NetworkConfig"];
            /** @description Id, alias or `namespace/alias` of a template, each with an optional `:tag`, or the id of a snapshot. */
            templateID: string;
            /** @description Volumes to mount. Planned: a list that is not empty is refused with 400. */
            volumeMounts?: components["schemas"]["VolumeMount"][];
        };
        /** @description A sandbox to create, in the older form. */
        NewSandboxV1: components["schemas"]["NewSandboxCommon"] & {
            /**
             * @description `false` makes a sandbox whose API asks for no token. Refused together with `network.allowPublicTraffic: false`.
             * @default true
             */
            secure?: boolean;
            /**
             * Format: int32
             * @description Time to live in seconds, up to the longest run the server allows.
             * @default 15
             */
            timeout?: number;
        };
        /** @description What a snapshot keeps, and its name. */
        NewSnapshot: {
            /**
             * @description Keep memory and processes as well as files.
             * @default true
             */
            memory?: boolean;
            mode?: components["schemas"]["CaptureMode"];
            /** @description Name of the template, `[namespace/]alias[:tag]`. Without one it has only an id. */
            name?: string;
        };
        /** @description What a pause keeps. */
        PauseSandbox: {
            /**
             * @description Keep memory and processes as well as files.
             * @default true
             */
            memory?: boolean;
            mode?: components["schemas"]["CaptureMode"];
        };
        /** @description How long the sandbox is to live at least. */
        RefreshSandbox: {
            /**
             * Format: int32
             * @description Seconds from now; less than 15 counts as 15.
             * @default 15
             */
            duration?: number;
        };
        /**
         * @description `false` resumes from the files alone, with a fresh boot and no processes; the checkpoint stays as it is. A server
         *     that cannot do so refuses it with 400.
         * @default true
         */
        ResumeMemory: boolean;
        /** @description How to restore a paused sandbox. */
        ResumeSandbox: {
            /**
             * @deprecated
             * @description Early clients always send it. It does not change what was chosen at creation.
             */
            autoPause?: boolean;
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now.
             * @default 15
             */
            timeout?: number;
        };
        /** @description What a program needs to use a sandbox. */
        Sandbox: {
            /** @description Alias of the template. */
            alias?: string;
            /**
             * @deprecated
             * @description A constant.
             */
            clientID: string;
            /**
             * @description Domain of the sandbox's host names, with its port: the agent is at `49983-{sandboxID}.{domain}`. Null means the
             *     domain of the platform API.
             */
            domain?: string | null;
            /** @description Token for the sandbox API. Absent when the sandbox was created with `secure` false. */
            envdAccessToken?: string;
            /** @description Version of the agent inside, by which clients decide what they may use. */
            envdVersion: string;
            /** @description Id of the sandbox, also the second part of its host names. */
            sandboxID: string;
            /** @description Template the sandbox was created from. */
            templateID: string;
            /** @description Token for the sandbox's own ports when public traffic is off, else null. */
            trafficAccessToken?: string | null;
        };
        /** @description Everything about one sandbox. */
        SandboxDetail: components["schemas"]["ListedSandbox"] & {
            /** @description What was asked for at creation; null when nothing was. */
            allowInternetAccess?: boolean | null;
            /** @description Domain of the sandbox's host names, with its port. Null means the domain of the platform API. */
            domain?: string | null;
            /** @description Token for the sandbox API. Absent when the sandbox was created with `secure` false. */
            envdAccessToken?: string;
            /** @description What happens to the sandbox by itself. */
            lifecycle?: {
                /** @description Whether traffic restores it when it is paused. */
                autoResume: boolean;
                /**
                 * @description What happens at the end of its time to live.
                 * @enum {string}
                 */
                onTimeout: "kill" | "pause";
            };
            network?: components["schemas"]["SandboxNetwork"];
        };
        /** @description The latest sample of several sandboxes. */
        SandboxesMetrics: {
            /** @description By sandbox id. */
            sandboxes: {
                [key: string]: components["schemas"]["SandboxMetric"];
            };
        };
        /** @description The same entries in two forms. */
        SandboxLogs: {
            /** @description The entries with their parts. */
            logEntries: components["schemas"]["LogEntry"][];
            /** @description The older form. */
            logs: {
                /** @description A JSON object as text. */
                line: string;
                /**
                 * Format: date-time
                 * @description When it was written.
                 */
                timestamp: string;
            }[];
        };
        /** @description What a sandbox used at one moment. */
        SandboxMetric: {
            /**
             * Format: int32
             * @description CPU cores that it may use.
             */
            cpuCount: number;
            /** @description Since the sample before. 100 when all `cpuCount` cores are busy. */
            cpuUsedPct: number;
            /**
             * Format: int64
             * @description Disk that it may use.
             */
            diskTotal: number;
            /**
             * Format: int64
             * @description Disk that its files take.
             */
            diskUsed: number;
            /**
             * Format: int64
             * @description Pages of files that are kept in memory.
             */
            memCache: number;
            /**
             * Format: int64
             * @description Memory that it may use.
             */
            memTotal: number;
            /**
             * Format: int64
             * @description In bytes, as all that follow. Without pages of files that were not used lately: they are given up before anything
             *     is refused.
             */
            memUsed: number;
            /**
             * Format: date-time
             * @description When the sample was taken.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description The same moment in seconds.
             */
            timestampUnix: number;
        };
        /** @description The rules in force. The password of a proxy is not among them. */
        SandboxNetwork: {
            /** @description Addresses and domains it may reach. */
            allowOut?: string[];
            /** @description Whether its ports answer requests without a traffic token. */
            allowPublicTraffic?: boolean;
            /** @description Addresses it may not reach. */
            denyOut?: string[];
            /** @description The proxy that outgoing connections take. */
            egressProxy?: {
                /** @description `host:port` */
                address: string;
                /** @description User name for the proxy. */
                username?: string;
            } | null;
            /** @description Ports on which the sandbox speaks TLS. */
            httpsPorts?: number[];
            /** @description Host header that programs in the sandbox see. */
            maskRequestHost?: string;
            rules?: components["schemas"]["NetworkRules"];
        };
        /** @description Answered by the edge in place of a sandbox that cannot. Both spellings of the id hold the same value. */
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
             * @description The port on which nothing listens. Present when the sandbox itself is running.
             */
            port?: number;
            /** @description The spelling that older clients read. */
            sandboxId: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
        };
        /**
         * @description `running`, or `paused`: kept on disk, with no process running.
         * @enum {string}
         */
        SandboxState: "running" | "paused";
        /** @description When the sandbox is to end. */
        SandboxTimeout: {
            /**
             * Format: int32
             * @description Seconds from now.
             */
            timeout: number;
        };
        /** @description One snapshot. */
        SnapshotInfo: {
            /** @description Full names, each with namespace and tag. */
            names: string[];
            /**
             * @description Id of the snapshot with its tag: `namespace/alias:tag` when it has a name, else `templateID:tag`. Percent-encode
             *     it in paths.
             */
            snapshotID: string;
        };
        /** @description One step of the way by which a snapshot came about. */
        SnapshotLogEntry: {
            /**
             * Format: uuid
             * @description Id of this one snapshot, whatever its names lead to later.
             */
            buildID: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            createdAt: string;
            /** @description The sandbox that it was made of. */
            sandboxID: string;
            /** @description As in `SnapshotInfo`. Absent when no tag leads to it any more. */
            snapshotID?: string;
            /**
             * @description `removed` when its files are gone, or going.
             * @enum {string}
             */
            state: "ready" | "removed";
        };
        /** @description What a check of a snapshot has found. */
        SnapshotVerification: {
            /** @description What is not as it was when the snapshot was made, in words. None when it is whole. */
            problems: string[];
        };
        /** @description A name that leads to one build of a template. */
        Tag: string;
        /** @description One template and its latest build. */
        Template: {
            /** @description Names of the template without namespace. */
            aliases: string[];
            /**
             * Format: int32
             * @description How many builds it has.
             */
            buildCount: number;
            /**
             * Format: uuid
             * @description The latest build.
             */
            buildID: string;
            buildStatus: components["schemas"]["BuildStatus"];
            /**
             * Format: int32
             * @description CPU cores of each sandbox.
             */
            cpuCount: number;
            /**
             * Format: date-time
             * @description When it was registered.
             */
            createdAt: string;
            /** @description The user who registered it; null when that is not known. */
            createdBy: {
                /** @description Address of the user. */
                email: string;
                /** @description Id of the user. */
                id: string;
            } | null;
            /**
             * Format: int32
             * @description Disk of each sandbox in MiB.
             */
            diskSizeMB: number;
            /** @description Version of the agent in its sandboxes. */
            envdVersion: string;
            /**
             * Format: date-time
             * @description When a sandbox was last created from it; null when none was.
             */
            lastSpawnedAt: string | null;
            /**
             * Format: int32
             * @description Memory of each sandbox in MiB.
             */
            memoryMB: number;
            /** @description Names of the template, each with its namespace. */
            names: string[];
            /** @description Whether every team may use the template. */
            public: boolean;
            /**
             * Format: int64
             * @description How many sandboxes were created from it.
             */
            spawnCount: number;
            /** @description Id of the template. */
            templateID: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updatedAt: string;
        };
        /** @description Whether files have to be uploaded, and where. */
        TemplateFiles: {
            /** @description Headers to send with the archive. */
            headers?: {
                [key: string]: string;
            };
            /** @description Whether the server has the files. */
            present: boolean;
            /** @description Where to `PUT` the archive, without any credentials. */
            url?: string;
        };
        /** @description A tag and the build that it leads to. */
        TemplateTag: {
            /**
             * Format: uuid
             * @description Id of the build.
             */
            buildID: string;
            /**
             * Format: date-time
             * @description When the tag was set.
             */
            createdAt: string;
            /** @description The tag. */
            tag: string;
        };
        /** @description What to change in a template. */
        TemplateUpdate: {
            /** @description Whether every team may use the template. */
            public?: boolean;
        };
        /** @description Answered by the edge in place of a busy sandbox. Both spellings of the id hold the same value. */
        TooManyConnectionsError: {
            /**
             * Format: int32
             * @description Always 429.
             */
            code: number;
            /**
             * Format: int32
             * @description How many requests one sandbox may have under way.
             */
            connectionLimit: number;
            /** @description For people; may change. */
            message: string;
            /** @description The spelling that older clients read. */
            sandboxId: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
        };
        /** @description A volume, and where it appears. */
        VolumeMount: {
            /** @description Name of the volume. */
            name: string;
            /** @description Where it appears inside the sandbox. */
            path: string;
        };
    };
    responses: {
        /** @description The request cannot be right. The message names the field, where it stands and what is allowed. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The host name or the `E2b-Sandbox-*` headers name no port and sandbox. A short text from the edge. */
        BadSandboxHost: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "text/plain": string;
            };
        };
        /** @description The present state, or a transition that is under way, rules this out. */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
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
        /** @description The caller is known, and may not do this. */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Starting took too long and was undone. */
        GatewayTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Something unexpected went wrong in the server, whose log has the cause. */
        InternalServerError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description There is no such thing, or it belongs to another team. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description This server, or the host it runs on, does not offer the operation. */
        NotImplemented: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The sandbox runs and can be used. */
        SandboxCreated: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Sandbox"];
            };
        };
        /**
         * @description The sandbox is unknown, killed, expired or paused; or it runs and nothing listens on the port, and then `port` is
         *     there too. A browser that navigates gets a page instead of JSON.
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
        /** @description The sandbox was paused and runs again, with the same id, metadata, variables, rules and tokens. */
        SandboxResumed: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Sandbox"];
            };
        };
        /** @description The sandbox was running already. */
        SandboxWasRunning: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Sandbox"];
            };
        };
        /** @description No capacity at the moment, or the server is ending. Nothing has changed; try again. `error_code` is always there. */
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
        /** @description The sandbox has as many requests under way as the edge allows for one. Wait until some have ended. */
        TooManyConnections: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["TooManyConnectionsError"];
                "text/html": string;
            };
        };
        /**
         * @description A limit is reached, and the message states it. `Retry-After` is present for a rate limit, where waiting helps, and
         *     absent for the number of sandboxes that may run at once.
         */
        TooManyRequests: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The API key is missing, malformed or unknown. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
    };
    parameters: {
        /**
         * @description Id of the build.
         * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
         */
        BuildID: string;
        /** @description Rows a page. */
        Limit: number;
        /**
         * @description Pairs `key=value` joined by `&`; a sandbox must carry all of them exactly. Percent-encode each key and value, and then
         *     the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Pieces that were encoded
         *     twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400, and so are more
         *     than 256 pairs. Empty means no filter.
         * @example app=prod&user=a%20b
         */
        MetadataFilter: string;
        /** @description Value of `X-Next-Token` of the page before. Opaque; one that this server did not make is refused with 400. */
        NextToken: string;
        /**
         * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
         * @example i4k2m9x7q1w8e3r5t6y0z
         */
        SandboxID: string;
        /**
         * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
         * @example team/prepared:default
         */
        SnapshotID: string;
        /**
         * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
         * @example team/data-science:v2
         */
        TemplateID: string;
    };
    requestBodies: never;
    headers: {
        /** @description Pass it as `nextToken` to get the next page. Absent on the last page. */
        NextToken: string;
        /** @description Names the request in the log of the server. It is the value that the request had under this name, if that consists of 1 to 64 letters, digits, `_`, `.` and `-`, and a new one otherwise. */
        RequestId: string;
        /** @description Whole seconds to wait. Present only where waiting helps, so not when a concurrency limit is reached. */
        RetryAfter: number;
        /** @description Running sandboxes that match the filter, over all pages. Absent when running ones were not asked for. */
        TotalRunning: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service answers requests. */
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
            429: components["responses"]["TooManyConnections"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["SandboxNotFound"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSandboxesV1: {
        parameters: {
            query?: {
                /**
                 * @description Pairs `key=value` joined by `&`; a sandbox must carry all of them exactly. Percent-encode each key and value, and then
                 *     the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Pieces that were encoded
                 *     twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400, and so are more
                 *     than 256 pairs. Empty means no filter.
                 * @example app=prod&user=a%20b
                 */
                metadata?: components["parameters"]["MetadataFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The running sandboxes, newest first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedSandbox"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSandboxV1: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSandboxV1"];
            };
        };
        responses: {
            201: components["responses"]["SandboxCreated"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sandbox. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    killSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sandbox is gone. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    connectSandboxV1: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConnectSandboxV1"];
            };
        };
        responses: {
            200: components["responses"]["SandboxWasRunning"];
            201: components["responses"]["SandboxResumed"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    forkSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForkSandbox"];
            };
        };
        responses: {
            /** @description One entry a copy. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForkResult"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSandboxLogsV1: {
        parameters: {
            query?: {
                /** @description Most entries to return. */
                limit?: number;
                /**
                 * @description Unix time in milliseconds.
                 * @example 1795168800000
                 */
                start?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxLogs"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSandboxMetrics: {
        parameters: {
            query?: {
                /**
                 * @description Unix time in seconds.
                 * @example 1795169100
                 */
                end?: number;
                /**
                 * @description Unix time in seconds.
                 * @example 1795168800
                 */
                start?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The samples. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxMetric"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateSandboxNetwork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NetworkUpdate"];
            };
        };
        responses: {
            /** @description The rules are in force. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pauseSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseSandbox"];
            };
        };
        responses: {
            /** @description The sandbox is paused. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    refreshSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefreshSandbox"];
            };
        };
        responses: {
            /** @description The sandbox lives for that long. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    resumeSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeSandbox"];
            };
        };
        responses: {
            201: components["responses"]["SandboxResumed"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSnapshot"];
            };
        };
        responses: {
            /** @description The snapshot. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotInfo"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    setSandboxTimeout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxTimeout"];
            };
        };
        responses: {
            /** @description The new end is in force. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSandboxesMetrics: {
        parameters: {
            query: {
                /**
                 * @description At most 100, each once, joined by commas; repeating the parameter works too.
                 * @example [
                 *       "i1a2b3c4d5e6f7g8h9j0k"
                 *     ]
                 */
                sandbox_ids: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The samples. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxesMetrics"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSnapshotLog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/prepared:default
                 */
                snapshotID: components["parameters"]["SnapshotID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotLogEntry"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    verifySnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/prepared:default
                 */
                snapshotID: components["parameters"]["SnapshotID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The outcome. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotVerification"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    diffSnapshots: {
        parameters: {
            query: {
                /**
                 * @description Id or name of a snapshot or template, or id of a sandbox. Default is what `to` began with.
                 * @example team/prepared
                 */
                from?: string;
                /**
                 * @description Id or name of a snapshot or template, or id of a sandbox.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                to: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All differences. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileDifference"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                /** @description Rows a page. */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Alias, `namespace/alias` or id, each with an optional `:tag`.
                 * @example team/prepared
                 */
                name?: string;
                /** @description Value of `X-Next-Token` of the page before. Opaque; one that this server did not make is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
                /**
                 * @description Only those made from this sandbox.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    "X-Next-Token": components["headers"]["NextToken"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotInfo"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /** @description Team whose templates to list; the key's own team when absent. */
                teamID?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The templates. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplateBuildStatus: {
        parameters: {
            query?: {
                /** @description Leave out entries below this level. */
                level?: components["schemas"]["LogLevel"];
                /** @description Most entries to return. */
                limit?: number;
                /** @description Entries to skip. */
                logsOffset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the build.
                 * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
                 */
                buildID: components["parameters"]["BuildID"];
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The build. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BuildInfo"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplateFiles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Hash of a set of files, computed by the client. The server gives it no meaning.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What to do. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateFiles"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tags. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateTag"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplateByAlias: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Alias, `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                alias: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template behind it. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether every team may use the template. */
                        public: boolean;
                        /** @description Id of the template. */
                        templateID: string;
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    assignTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignTags"];
            };
        };
        responses: {
            /** @description The tags and the build they name. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description Id of the build.
                         */
                        buildID: string;
                        /** @description Tags that lead to the build now. */
                        tags: string[];
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteTags"];
            };
        };
        responses: {
            /** @description The tags are gone. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSandboxes: {
        parameters: {
            query?: {
                /** @description Rows a page. */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Pairs `key=value` joined by `&`; a sandbox must carry all of them exactly. Percent-encode each key and value, and then
                 *     the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Pieces that were encoded
                 *     twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400, and so are more
                 *     than 256 pairs. Empty means no filter.
                 * @example app=prod&user=a%20b
                 */
                metadata?: components["parameters"]["MetadataFilter"];
                /** @description Value of `X-Next-Token` of the page before. Opaque; one that this server did not make is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
                /** @description By start time; sandboxes of the same moment are ordered by id. */
                order?: "asc" | "desc";
                /**
                 * @description Only sandboxes started at this moment or later. A time read from a listing includes its own row.
                 * @example 2026-11-20T10:00:00.000Z
                 */
                startedAfter?: string;
                /**
                 * @description States to include, joined by commas; repeating the parameter works too. Absent means both.
                 * @example [
                 *       "running",
                 *       "paused"
                 *     ]
                 */
                state?: components["schemas"]["SandboxState"][];
                /**
                 * @description Id or alias of the template, without a tag: a tag is refused with 400. A template that does not exist gives an
                 *     empty list.
                 * @example base
                 */
                template?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    "X-Next-Token": components["headers"]["NextToken"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    "X-Total-Running": components["headers"]["TotalRunning"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedSandbox"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSandbox"];
            };
        };
        responses: {
            201: components["responses"]["SandboxCreated"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    connectSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConnectSandbox"];
            };
        };
        responses: {
            200: components["responses"]["SandboxWasRunning"];
            201: components["responses"]["SandboxResumed"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getSandboxLogs: {
        parameters: {
            query?: {
                /**
                 * @description Unix time in milliseconds, where to begin; entries of that very millisecond are included. Absent means the newest
                 *     entry when the direction is backward and the oldest when it is forward.
                 * @example 1795168800000
                 */
                cursor?: number;
                /** @description Backward starts with the newest entry, forward with the oldest. */
                direction?: "forward" | "backward";
                /** @description The lowest level to return. */
                level?: components["schemas"]["LogLevel"];
                /** @description Most entries to return. */
                limit?: number;
                /** @description A part of the message or of a field, in exactly this case. */
                search?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, as older programs write it, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The entries, in the direction that was asked for. */
                        logs: components["schemas"]["LogEntry"][];
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createTemplateV2: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuildRequestV2"];
            };
        };
        responses: {
            /** @description The build waits for its start. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TemplateUpdate"];
            };
        };
        responses: {
            /** @description Full names of the template. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Names of the template, each with its namespace. */
                        names: string[];
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    startTemplateBuild: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the build.
                 * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
                 */
                buildID: components["parameters"]["BuildID"];
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuildStart"];
            };
        };
        responses: {
            /** @description The build has started. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuildRequest"];
            };
        };
        responses: {
            /** @description The build waits for its start. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BuildRequested"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
