// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
export interface paths {
    "/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys
         * @description All keys that are not revoked, newest first, without their secrets.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Create an API key
         * @description The reply has the key itself, which is not shown again; the server keeps its hash.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{apiKeyID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the key.
                 * @example 6f4b1c1e-3a53-4f0c-9c05-5c3f3f2f7a10
                 */
                apiKeyID: components["parameters"]["ApiKeyID"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description From the reply on, every server refuses the next call with the key. Tokens of sandboxes are not keys: they are valid for as long as
         *     their sandboxes. The key of the call itself cannot be revoked with it.
         */
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        /**
         * Change an API key
         * @description Changes the name. An extension: also the limits, and those of the body replace all former ones, for every server and from the next
         *     call on. Sandboxes that exist stay.
         */
        patch: operations["renameApiKey"];
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
         * @description All running sandboxes, newest first, in one response. To list paused ones, or to page, use `GET /v2/sandboxes`.
         */
        get: operations["listSandboxesV1"];
        put?: never;
        /**
         * Create a sandbox
         * @deprecated
         * @description Starts a sandbox from a template. 201 means usable: the agent answers and has variables and token, so do not
         *     poll.
         *
         *     This is the older form: without `timeout` the sandbox lives for 15 seconds only, and `secure` may be switched
         *     off. New programs use `POST /v2/sandboxes`.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Ends a running or paused sandbox and deletes its files. Its open connections are reset at once, and its host
         *     names answer 502 from then on. Snapshots made from it stay.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Makes sure that a sandbox is running and lives for at least `timeout` seconds more. On a running sandbox it only
         *     extends: a shorter `timeout` does not change the end. A paused one is resumed and lives for `timeout`.
         *
         *     This is the older form, which requires `timeout`. `POST /v2/sandboxes/{sandboxID}/connect` has defaults.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @deprecated
         * @description The older form of `POST /v2/sandboxes/{sandboxID}/fork`: copies live for 15 seconds by default, and always go on with the memory and the
         *     processes of the source.
         */
        post: operations["forkSandboxV1"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Get the log of a sandbox
         * @deprecated
         * @description Entries from `start` on, oldest first, kept for 7 days, also after the end of the sandbox: its cause is the last
         *     entry. `logs` and `logEntries` contain the same entries: each `line` of `logs` is a JSON object as text with at
         *     least `level`, `logger` and `message`.
         *
         *     The service wrote entries whose `logger` is `platform`. All others come from the agent inside, which runs among
         *     the programs of the sandbox, so do not trust them. Those of `stdout` and `stderr` are lines that programs have printed, a bounded
         *     amount: the start command of the template, commands that set `skerry_log_output`, and others while no caller reads their output.
         *
         *     A page has more entries than `limit` where its last millisecond would be incomplete, or be that of `start`: callers who
         *     continue at the time of the last entry miss none.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Get the metrics of a sandbox
         * @description Samples of one sandbox, oldest first, taken every 5 seconds while it runs. The default window is the whole life
         *     of the sandbox. The steps grow with the window: 5 seconds below 1 hour, 30 below 6, 1 minute below 12, 2 below
         *     24, then 5 minutes and, from 7 days on, 15. Samples older than an hour are kept for each minute only, those
         *     older than a day for each quarter of an hour. A window before the creation is empty, and a start after the end
         *     is refused with 400. Samples are available for 7 days after the end of the sandbox.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the network rules
         * @description Takes effect on the running sandbox at once, and survives pause, resume and a restart of the server. Everything is replaced: an absent
         *     key is cleared. A TCP connection that the new rules deny is reset by its next packet; at level gvisor its packets are dropped.
         *     Connections for a domain that they no longer allow are reset at once, at both levels.
         *     Refused with 404 for a paused sandbox, and with 501 for one of level gvisor that started with no address allowed.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Writes the sandbox to disk and stops it; a response means that it is safe there. With memory, processes continue
         *     after a resume, with their connections to each other, while connections to the outside are lost. Without it,
         *     only files are kept and a resume starts without processes. A paused sandbox has no time to live. Its open
         *     connections are reset at once, and its host names answer 502 until it runs again. When the capture fails, the
         *     sandbox still runs and you get the error.
         *
         *     The call joins a pause of the same kind in progress. The body is optional. A server whose host cannot
         *     keep memory refuses to keep it with 400 and never keeps less than requested; one that cannot pause at all
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description The sandbox lives for at least `duration` seconds from now, and for at least 15. A later end
         *     stays. The end is capped silently at the longest run that the server allows.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description The form of early clients; `POST /v2/sandboxes/{sandboxID}/connect` does the same and also accepts a running
         *     sandbox. Here a running one is a 409. The call waits for a transition in progress. The body is optional.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Makes a template from a running or paused sandbox, which does not change its state; a running one is frozen for
         *     a moment. A response means that the snapshot is safe on disk. Create sandboxes from it by `snapshotID`, list it
         *     with `GET /snapshots`, delete it with `DELETE /templates/{templateID}`. With the name of an existing snapshot,
         *     the same template gets a new build, to which the tag then points.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description The sandbox ends `timeout` seconds from now, sooner or later than before; 0 ends it now. The end is capped
         *     silently at the longest run that the server allows; a sandbox already past that is refused with 400. A paused
         *     sandbox has no end and is answered 404. Traffic never extends the time to live.
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
         * Get the latest metrics of several sandboxes
         * @description The latest sample of each sandbox. Sandboxes that do not exist, or have no sample yet, are omitted.
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
    "/skerry/v1/build-cache": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the cache of builds
         * @description What builds have kept for later ones: images of registries and their layers, and the files after steps. The one that was used last is the first.
         */
        get: operations["listBuildCache"];
        put?: never;
        post?: never;
        /**
         * Remove results from the cache of builds
         * @description Removes the results that no build has used for a time, and all that were made on them. Templates and sandboxes do not change.
         */
        delete: operations["pruneBuildCache"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/build-cache/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a result from the cache of builds
         * @description Removes one result and all that were made on it: the next build runs its step again, and all after that.
         */
        delete: operations["removeFromBuildCache"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Load an image
         * @description Begins a build of a template from an image in an archive, without a registry: an OCI image layout in a tar archive, or
         *     what `docker save` writes, plain, gzip or zstd. Follow the build with `GET
         *     /templates/{templateID}/builds/{buildID}/status`. The archive may have 16 GiB. Nothing of it is kept but the template.
         */
        post: operations["loadImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/images/{templateID}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Save an image
         * @description Returns the file system and the variables of a template as an OCI image layout of one layer in a tar archive, with owners, modes,
         *     links, times and extended attributes. The same template makes the same bytes. A snapshot is refused with 400.
         */
        get: operations["saveImage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List nodes
         * @description The machines that make sandboxes for this server, by name. Empty for a server that makes them on its own machine.
         */
        get: operations["listNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/nodes/{nodeName}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget a node
         * @description Deletes the record of a node that does not come back, and ends its sandboxes as lost, also the paused ones. Refused with 409 while
         *     the node answers, and while snapshots are on it: delete their templates first.
         */
        delete: operations["forgetNode"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/nodes/{nodeName}/cordon": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Place nothing on a node
         * @description No new sandbox is placed on the node. What is on it continues, and paused sandboxes resume there.
         */
        post: operations["cordonNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/nodes/{nodeName}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a node
         * @description Cordons the node and reports what has to leave it before the machine can be stopped. With a blob store the server moves
         *     sandboxes meanwhile: ask again until `moving` is false. Running ones are paused with their memory and resume on another node,
         *     without their connections; paused ones stay in the blob store. Without a blob store nothing is moved.
         */
        post: operations["drainNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/nodes/{nodeName}/uncordon": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Place sandboxes on a node again
         * @description Reverts a cordon or a drain.
         */
        post: operations["uncordonNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/sandboxes/{sandboxID}/explanation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Explain where a sandbox is
         * @description The node of a sandbox, why it was placed there, and what the service has recorded of it since. For seven days after its end.
         */
        get: operations["explainSandbox"];
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
         * Get the history of a snapshot
         * @description The snapshot, then the one that its sandbox was created from, and so on back to the image of a template, or to the first
         *     that the key may not use.
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
         * @description Reads a whole snapshot and compares it with the hashes recorded when it was made.
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
         * @description The differences from the files of `from` to those of `to`, ordered by path. Both are a snapshot, a template, or
         *     a running or paused sandbox in its present state; they must be made from the same image. Refused with 400 if the
         *     response would exceed 32 MiB, and ended with 409 when a sandbox ends meanwhile. A sandbox cannot be paused meanwhile,
         *     so a read-only key may compare none (403).
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
    "/skerry/v1/system/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove what nothing uses
         * @description Removes uploaded files that no build needs or may wait for, logs of builds without a tag that ended an hour ago, and images and
         *     snapshots that nothing refers to. With `all`, also every built template that no sandbox, no snapshot and no build in progress uses.
         */
        post: operations["pruneStorage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/system/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the use of the disk
         * @description What the server keeps on its disk and on those of its nodes that answer, by kind. `reclaimableBytes` is what `POST /skerry/v1/system/prune` with `all` removes.
         */
        get: operations["getStorageUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/templates/{templateID}/builds/{buildID}": {
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
         * Cancel a build
         * @description Ends a build that waits or runs: its status becomes `error`, with a reason that says so. Nothing of it runs any more when this
         *     answers. A build that has ended stays as it is.
         */
        delete: operations["cancelTemplateBuild"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/skerry/v1/templates/{templateID}/files/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Hash of a set of files, computed by the client. The server does not interpret it.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Upload files of a build
         * @description The target of the link of `GET /templates/{templateID}/files/{hash}`, which is the only authorization. The body is
         *     a tar archive, plain or gzip, with paths relative to the folder that the steps of the build name; its headers are
         *     not interpreted. The archive is on the disk of the server when this answers, and nothing is kept of one that is cut
         *     off. It may have the size of the disk of a sandbox.
         */
        put: operations["uploadTemplateFiles"];
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
         * @description Snapshots, newest first. For an unknown name or sandbox the list is empty. Pages work as in
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
    "/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List teams
         * @description The project of the key is its only team, `local` for a key of none.
         */
        get: operations["listTeams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/teams/{teamID}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the team, which is the project of the key or `local`; for another one 403 is answered.
                 * @example local
                 */
                teamID: components["parameters"]["TeamID"];
            };
            cookie?: never;
        };
        /**
         * Get the metrics of a team
         * @description How many sandboxes ran, and how many were started a second, in steps of 30 seconds. If the window begins more than an hour ago the steps are
         *     1 minute, and if more than a day ago 15 minutes. A step counts each sandbox that ran in it, also those that ended.
         */
        get: operations["getTeamMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/teams/{teamID}/metrics/max": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the team, which is the project of the key or `local`; for another one 403 is answered.
                 * @example local
                 */
                teamID: components["parameters"]["TeamID"];
            };
            cookie?: never;
        };
        /**
         * Get the maximum of a metric of a team
         * @description The first step of `GET /teams/{teamID}/metrics` with the highest value.
         */
        get: operations["getTeamMetricsMax"];
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
         * @description All templates of the caller, in one response. To page, use `GET /v2/templates`.
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Get a template
         * @description A template and its builds, newest first. `X-Next-Token` is present only when more builds exist.
         */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /**
         * Delete a template or snapshot
         * @description Accepts an id, a name, or the id of a snapshot. With a tag, only that tag is deleted, with a build id all tags of the build, without
         *     either the whole template. What no tag needs is removed. Refused with 400 while running or paused sandboxes use it, and for the templates of the
         *     installation.
         */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        /**
         * Change a template
         * @deprecated
         * @description The older form of `PATCH /v2/templates/{templateID}`, with an empty reply.
         */
        patch: operations["updateTemplateV1"];
        trace?: never;
    };
    "/templates/{templateID}/builds/{buildID}/logs": {
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Search the log of a build
         * @description The same entries as the status of the build returns, in either direction and filtered.
         *
         *     A page has more entries than `limit` where its last millisecond would be incomplete, or be that of `cursor`: callers who
         *     continue at the time of the last entry miss none.
         */
        get: operations["getTemplateBuildLogs"];
        put?: never;
        post?: never;
        delete?: never;
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Follow a build
         * @description State and log of a build. Pass the number of entries received so far as `logsOffset`. After `ready` or `error`,
         *     continue until a page has no entries.
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
                 * @description Hash of a set of files, computed by the client. The server does not interpret it.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * Get an upload link for files of a build
         * @description Returns whether the server has the files, and where to `PUT` them as a tar archive, plain or gzip. The link
         *     needs no key and is valid for at least 30 minutes. It is returned also when the files are present, so that
         *     clients can replace them. Files that no build uses are removed a day after the last such request.
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        /**
         * List the tags of a template
         * @description Each tag and the build that it points to.
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
         * @description Names belong to a project: one of another project that is not public is 404, and does not prevent that yours gives the same.
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
         * @description Points tags to the build that `target` names, by default the one tagged `default`. A tag in use moves: the last
         *     assignment holds, also against a build that was registered before it and ends later. A tag must not be a UUID. 404
         *     for an unknown target. The templates of the installation and snapshots cannot be tagged; that is a 400.
         */
        post: operations["assignTemplateTags"];
        /**
         * Delete tags
         * @description The only DELETE with a body. The tag `default` cannot be deleted; that is a 400. An unknown tag is a 404, and
         *     none is deleted. Sandboxes of the builds live on.
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
         *     sandboxes that match, before paging, and is present only when the listing includes running ones.
         */
        get: operations["listSandboxes"];
        put?: never;
        /**
         * Create a sandbox
         * @description Starts a sandbox from a template. 201 means usable: the agent answers and has variables and token, so do not
         *     poll. Without `timeout` it lives for 300 seconds. It is always secured: keep `envdAccessToken`, the sandbox API
         *     refuses calls without it.
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Makes sure that a sandbox is running and lives for at least `timeout` seconds more, by default 300. On a
         *     running sandbox it only extends: a shorter `timeout` does not change the end. A paused one is resumed
         *     and lives for `timeout`, by default for as long as before the pause. The body is optional.
         */
        post: operations["connectSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes/{sandboxID}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
         * @description Captures a running sandbox once and starts `count` copies from that moment. The source keeps its id and its end
         *     and keeps running; the copies have their own ids and are independent. Each copy succeeds or fails separately, so
         *     check every entry. A `count` above the concurrency limit is refused with 400. The body is optional.
         *
         *     With `memory: false` only the files are captured, and the copies start without processes, as after a pause without memory.
         */
        post: operations["forkSandbox"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        /**
         * Search the log of a sandbox
         * @description The same entries as the other operation returns, in either direction and filtered.
         *
         *     A page has more entries than `limit` where its last millisecond would be incomplete, or be that of `cursor`: callers who
         *     continue at the time of the last entry miss none.
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
        /**
         * List templates in pages
         * @description Templates of the caller, newest first, without snapshots. `X-Next-Token` is present only when more templates exist.
         */
        get: operations["listTemplatePages"];
        put?: never;
        /**
         * Register a build
         * @deprecated
         * @description The form of early clients of `POST /v3/templates`. It returns the whole template.
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
         * @description Makes a template public, so that keys of every project may use it, or private. Only keys of its own project, or of none, may change it.
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
         * @description Starts a build that waits; a second start is refused with 400. From this response on the status is `building`.
         *
         *     Exactly one of `fromImage` and `fromTemplate` names the base of the build. Steps run in order. The first runs as the user and in
         *     the directory of the base, by default as `user` in its home; the last user and directory are those of sandboxes. Then `startCmd` is
         *     started and captured running in the template, once `readyCmd` succeeds. Where the host cannot keep memory, each create starts it again
         *     and waits for it. With `fromTemplate` a build has the variables of the template's steps, and without a start command those of the template. A snapshot is a template too: the build begins
         *     with its files, without its processes, and has the start command of the template below it.
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
         * @description First step of a build: names the template and returns a build id. Then request an upload link for each set of
         *     files with `GET /templates/{templateID}/files/{hash}`, start the build with `POST
         *     /v2/templates/{templateID}/builds/{buildID}` and follow its status.
         *
         *     The name of your own template adds a build to it; builds of it that were never started then fail as superseded. A
         *     tag inside `name` is added to `tags`; without any, the tag is `default`.
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
        /** @description A key without its secret. */
        ApiKey: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /** @description Always null; an installation has no accounts. */
            createdBy: null;
            /**
             * Format: uuid
             * @description Id of the key, which is no secret.
             */
            id: string;
            /**
             * Format: date-time
             * @description When it was last used, up to a minute early; null if never.
             */
            lastUsed: string | null;
            limits: components["schemas"]["KeyLimits"];
            mask: components["schemas"]["ApiKeyMask"];
            name: components["schemas"]["ApiKeyName"];
            /** @description The only project that the key reaches; null if it reaches all. */
            project: string | null;
            /** @description Whether the key changes nothing. */
            readOnly: boolean;
        };
        /** @description The parts of a key that may be shown. */
        ApiKeyMask: {
            /** @description The first of them. */
            maskedValuePrefix: string;
            /** @description The last of them. */
            maskedValueSuffix: string;
            /** @description What every key begins with. */
            prefix: string;
            /** @description How many characters follow. */
            valueLength: number;
        };
        /** @description What the key is for, of one line. Names need not differ. */
        ApiKeyName: string;
        /** @description Tags, and the build that they will point to. */
        AssignTags: {
            /** @description Tags to set. */
            tags: components["schemas"]["Tag"][];
            /** @description Alias, `namespace/alias` or id, each with an optional `:tag` or `:buildID`. */
            target: string;
        };
        /** @description The state of a build, and a page of its log. */
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
                /** @description The error, for people. */
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
        /** @description A part of the log of a build. */
        BuildLogs: {
            /** @description The entries, in the requested direction. */
            logs: components["schemas"]["BuildLogEntry"][];
        };
        /**
         * @description Files that a command has in place of those at a path, an extension. After it the path is as it was. In strings, but for a source of
         *     uploaded files, variables are replaced as with `dockerfile` of a step.
         */
        BuildMount: {
            /** @description For `bind`, the hash of the uploaded files. */
            filesHash?: string;
            /** @description For `bind`, and for `cache` as its first content: the index of the stage whose files are copied. */
            fromStage?: number;
            /** @description For `cache`: the group of a new one. The default is root. */
            gid?: number;
            /** @description For `cache`: its name within the template. The default is the path. */
            id?: string;
            /**
             * @description For `cache`: commands with it wait for each other. Otherwise each has a copy, and the last one is stored.
             * @default false
             */
            locked?: boolean;
            /** @description For `cache`: the mode of a new one. The default is 0755. */
            mode?: number;
            /**
             * @description For `cache`: what the command has changed is not stored.
             * @default false
             */
            readOnly?: boolean;
            /** @description For `fromStage` and `filesHash`, the path of what is copied. The default is all. */
            source?: string;
            /** @description The path, relative to the working directory. */
            target: string;
            /**
             * @description - `bind`: a copy of files of a stage or of uploaded files; what the command changes in it is lost
             *     - `cache`: a directory that later builds of the template get as the last command has left it
             *     - `tmpfs`: an empty directory
             * @enum {string}
             */
            type: "bind" | "cache" | "tmpfs";
            /** @description For `cache`: the owner of a new one. The default is root. */
            uid?: number;
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
             * @description An extension: the level that each sandbox has at least, and that the steps run at. Default: none is demanded. A build
             *     that begins with a template or a snapshot of a higher level is refused; without the field it has that level.
             */
            isolation?: components["schemas"]["IsolationLevel"];
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
             * @description The key decides. Another team than its project, or `local` for a key of none, is refused with 400.
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
            /** @description Tags that will point to the build. */
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
             * @description The key decides. Another team than its project, or `local` for a key of none, is refused with 400.
             */
            teamID?: string;
        };
        /**
         * @description One stage of a build, an extension. It begins with an image, a template or an earlier stage. It is built once, beside
         *     others that do not need it, and its files are removed after the build.
         */
        BuildStage: {
            /** @description Base image. `scratch` is the empty one. */
            fromImage?: string;
            fromImageRegistry?: components["schemas"]["ImageRegistry"];
            /** @description Index of the stage to continue, with its user, directory and variables. */
            fromStage?: number;
            /** @description Base template, or a snapshot by its name or id. */
            fromTemplate?: string;
            /**
             * @description Run steps as `root` and in `/` where the base names no user and no directory, as in Docker. Without start command,
             *     entrypoint and command, those of the image are started.
             * @default false
             */
            imageConfig?: boolean;
            /** @description Steps to run, in this order. */
            steps?: components["schemas"]["BuildStep"][];
        } & (unknown | unknown | unknown);
        /** @description The base and the steps of a build. */
        BuildStart: {
            /**
             * @description An extension: the words after `entrypoint`. Default: those of the image with `imageConfig`, unless there is
             *     `entrypoint`.
             */
            command?: string[];
            /**
             * @description An extension, in place of `startCmd`: the first words of the start command, which need no shell. Default: those of
             *     the image with `imageConfig`, unless there is `command`.
             */
            entrypoint?: string[];
            /**
             * @description An extension: the TCP ports on which the start command listens, beside those of the image with `imageConfig`, where words of
             *     the start command are of the image. Without a check the template is ready when something listens on each, and after 20
             *     seconds in any case.
             */
            exposedPorts?: number[];
            /**
             * @description Run the whole build regardless of the cache.
             * @default false
             */
            force?: boolean;
            /** @description Base image. Either this or `fromTemplate`. `scratch` is the empty one. */
            fromImage?: string;
            fromImageRegistry?: components["schemas"]["ImageRegistry"];
            /** @description An extension, in place of an image or a template, as in `BuildStage`. */
            fromStage?: number;
            /** @description Base template, or a snapshot by its name or id. Either this or `fromImage`. */
            fromTemplate?: string;
            /**
             * @description An extension, in place of `readyCmd`: the words of the check. Default: that of the image with `imageConfig`, where words of
             *     the start command are of the image. Empty: none.
             */
            healthcheck?: string[];
            /**
             * @description An extension, as in `BuildStage`.
             * @default false
             */
            imageConfig?: boolean;
            /** @description An extension: what the steps were written for. A server of another architecture refuses the build. */
            platform?: string;
            /**
             * @description A check that is repeated every 2 seconds until it succeeds. Without it, the template is ready 20 seconds
             *     after a start command, or at once if there is none.
             */
            readyCmd?: string;
            /**
             * @description An extension: what is built before, for steps with `fromStage`. The numbers of steps in the log count the steps of
             *     the stages first.
             */
            stages?: components["schemas"]["BuildStage"][];
            /** @description Command started after the steps and captured running. */
            startCmd?: string;
            /** @description Steps to run, in this order. */
            steps?: components["schemas"]["BuildStep"][];
        } & (unknown | unknown | unknown);
        /**
         * @description The state of a build.
         * @enum {string}
         */
        BuildStatus: "waiting" | "building" | "ready" | "error";
        /** @description One step of a build. */
        BuildStep: {
            /** @description Arguments of the step, by `type`. */
            args: string[];
            /**
             * @description An extension, for `COPY`, in place of `filesHash`: what is in the file that is written. Variables are replaced as with
             *     `dockerfile`. The source is the name of the file.
             */
            content?: string;
            /**
             * @description An extension. The step does what the instruction of a Dockerfile does:
             *
             *     - `COPY`, `ADD`: without a user, what is copied keeps its owners and its extended attributes of the namespace
             *       `user`; directories that exist get the mode and the owner of those that are copied; the mode may be symbolic, such as
             *       `u=rwX,go=rX`
             *     - `USER`: a name or number that is not created, optionally with `:` and a group
             *
             *     In values of `ENV` and `ARG`, paths, users and modes, but not in a source of uploaded files, quotes and `\` protect characters, and
             *     `$NAME` and `${NAME}` are replaced, also with the operators `:-`, `-`, `:+`, `+`, `:?`, `?`, `#`, `##`, `%`, `%%`, `/` and `//`.
             *     All values of one `ENV` are from before it.
             * @default false
             */
            dockerfile?: boolean;
            /** @description Hash of the uploaded files. */
            filesHash?: string;
            /**
             * @description Run this and all later steps regardless of the cache.
             * @default false
             */
            force?: boolean;
            /**
             * @description An extension, for `COPY`, in place of `filesHash`: the index of the stage whose files are copied. The source is a
             *     path in it, which may have `*`, `?` and `[…]`.
             */
            fromStage?: number;
            /** @description An extension, for `RUN`: files that are there while the command runs, and are not in the template. */
            mounts?: components["schemas"]["BuildMount"][];
            /**
             * @description An extension, for `RUN`: the words before the command, which is then the last word. They need no shell. The
             *     default is `/bin/bash`, `-l`, `-c`.
             */
            shell?: string[];
            /**
             * @description - `COPY`, `ADD`: source, destination, user or empty, octal mode or empty; requires `filesHash`
             *     - `RUN`: a command for `/bin/bash -l -c`, and optionally a user
             *     - `ENV`, `ARG`: names and values in turn, for the build only
             *     - `WORKDIR`: a directory, created if missing
             *     - `USER`: a user, created if missing
             *     - `VOLUME`, an extension: directories of root, created if missing
             * @enum {string}
             */
            type: "COPY" | "ADD" | "RUN" | "ENV" | "ARG" | "WORKDIR" | "USER" | "VOLUME";
        };
        /** @description The files after a step of a build, an image of a registry that later builds begin with, or a layer of one, which later pulls do not request. */
        CachedResult: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            createdAt: string;
            /** @description The step, without the values of variables and cut at 200 characters. */
            description: string;
            /** @description Equal for equal work. */
            key: string;
            /**
             * Format: date-time
             * @description When a build made it, or began with it or with one that was made on it.
             */
            lastUsedAt: string;
            /** @description The key of the result that it was made on. Absent for the first. */
            parent?: string;
            /**
             * Format: int64
             * @description The space that its removal frees. An image that a template needs too does not count.
             */
            sizeBytes: number;
        };
        /**
         * @description `full` keeps memory, `filesystem` only files. Must not contradict `memory`.
         * @enum {string}
         */
        CaptureMode: "full" | "filesystem";
        /** @description The new time to live. */
        ConnectSandbox: {
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now. The default is 300, and for a paused sandbox the time to live that it had when that is
             *     longer.
             */
            timeout?: number;
        };
        /** @description The new time to live, in the older form. */
        ConnectSandboxV1: {
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now.
             */
            timeout: number;
        };
        /** @description A key with its secret. */
        CreatedApiKey: components["schemas"]["ApiKey"] & {
            /** @description The value for `X-API-Key`. It is not shown again. */
            key: string;
        };
        /** @description Tags to delete. */
        DeleteTags: {
            /** @description Alias, `namespace/alias` or id of the template. */
            name: string;
            /** @description Tags to delete. */
            tags: components["schemas"]["Tag"][];
        };
        /** @description A SOCKS5 proxy for all outgoing connections. */
        EgressProxy: {
            /** @description `host:port` */
            address: string;
            /** @description Never returned. */
            password?: string;
            /** @description TLS to the proxy. */
            tls?: {
                /** @description Certificate of the authority, as PEM. */
                caCert?: string;
                /** @description `true` enables it. */
                enabled: boolean;
                /** @description Name that the certificate must have. */
                serverName?: string;
            };
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
            /** @description A more specific cause, if there is one. New values may appear. */
            error_code?: string;
            /** @description For people; may change. Programs branch on `code`. */
            message: string;
            obstacle?: components["schemas"]["Obstacle"];
        };
        /** @description One file that differs between the two sides. */
        FileDifference: {
            /**
             * @description The kind of difference.
             * @enum {string}
             */
            change: "added" | "removed" | "changed";
            /** @description The properties that differ for a changed file. Times are not compared. */
            fields?: ("type" | "mode" | "uid" | "gid" | "sizeBytes" | "target" | "device" | "xattrs" | "content")[];
            /** @description Absolute. Bytes that are not UTF-8 appear as lone surrogates, U+DC80 to U+DCFF. */
            path: string;
        };
        /** @description The copy, or its error. */
        ForkResult: {
            sandbox: components["schemas"]["Sandbox"];
        } | {
            error: components["schemas"]["ErrorBody"];
        };
        /** @description The number of copies to start, their time to live, and what they begin with. */
        ForkSandbox: {
            /**
             * Format: int32
             * @description Copies to start.
             * @default 1
             */
            count?: number;
            /**
             * @description Copy memory and processes as well as files.
             * @default true
             */
            memory?: boolean;
            /**
             * Format: int32
             * @description Time to live of each copy in seconds.
             * @default 300
             */
            timeout?: number;
        };
        /** @description The number of copies to start, and their time to live, in the older form. */
        ForkSandboxV1: {
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
         * @description Credentials for a private registry, by `type`; without `type` the AWS fields apply. Never logged and never
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
        /**
         * @description An extension: what separates a sandbox from the kernel of its host. `container` shares it behind a filter; `gvisor` serves
         *     system calls in user space.
         * @enum {string}
         */
        IsolationLevel: "container" | "gvisor";
        /**
         * @description An extension: how much of what was made with a key may exist at the same time; what has no field is not limited. A sandbox counts for
         *     the key that created it, also when another key or traffic resumes it. A call that would exceed a limit is 429, and 403 when the
         *     limit never allows it.
         */
        KeyLimits: {
            /** @description Their memory together, in MiB. */
            memoryMB?: number;
            /**
             * @description Calls of the API in one second, for each server. Each answer to a key with this limit has the headers `RateLimit-Limit`,
             *     `RateLimit-Remaining` and `RateLimit-Reset`, and `RateLimit-Policy` and `RateLimit` of the IETF's draft.
             */
            requestsPerSecond?: number;
            /** @description Sandboxes that are starting, running, pausing or resuming. */
            sandboxes?: number;
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
             * @description When it expires. When paused, the time of the pause.
             */
            endAt: string;
            /** @description Version of the agent inside, by which clients decide which features to use. */
            envdVersion: string;
            isolation: components["schemas"]["IsolationLevel"];
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
             * @description Start of the present run or, when paused, of the last.
             */
            startedAt: string;
            state: components["schemas"]["SandboxState"];
            /** @description Template that the sandbox was created from. */
            templateID: string;
            /** @description Volumes of the sandbox. */
            volumeMounts?: components["schemas"]["VolumeMount"][];
        };
        /** @description One entry of a log. */
        LogEntry: {
            /** @description Details, by name; `logger` is the part that wrote the entry. */
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
         * @description The severity of an entry, from the least to the most.
         * @enum {string}
         */
        LogLevel: "debug" | "info" | "warn" | "error";
        /** @description The highest value of a metric. */
        MaxTeamMetric: {
            /**
             * Format: date-time
             * @description The begin of the step.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description The same moment in seconds.
             */
            timestampUnix: number;
            /** @description The value. */
            value: number;
        };
        /** @description Arbitrary key-value pairs, by which listings can be filtered. At most 64 KiB in total. */
        Metadata: {
            [key: string]: string;
        };
        /**
         * @description Rules for incoming and outgoing connections. Allow takes precedence over deny, deny over the default, which is
         *     open to the internet. Private, loopback and link-local ranges are never reachable.
         */
        NetworkConfig: {
            /**
             * @description IPv4 addresses, CIDR ranges and domains; at most 256. `*.domain` allows all names below the domain, at any depth, and
             *     not the domain itself. A domain needs `0.0.0.0/0` in `denyOut`, or `allow_internet_access: false`. It allows TLS with that server
             *     name and HTTP with that host, on ports 443 and 80, to an address that DNS has for the name, and looking that name up. Refused are
             *     domains without root, `*.` with a public suffix, IPv6, and ranges that are closed to every sandbox.
             */
            allowOut?: string[];
            /**
             * @description `false` makes every port except the agent's require the header `e2b-traffic-access-token`, with the value of
             *     `trafficAccessToken`; `X-Access-Token` counts as well. Others get 403. Programs inside do not see the token. Refused
             *     for a sandbox without `secure`.
             * @default true
             */
            allowPublicTraffic?: boolean;
            /**
             * @description IP addresses or CIDR ranges; at most 256. With `0.0.0.0/0` also the name servers are denied unless `allowOut` has them; names that it
             *     has resolve in any case.
             */
            denyOut?: string[];
            egressProxy?: components["schemas"]["EgressProxy"];
            /** @description Ports on which the sandbox speaks TLS; at most 128, each once. Certificates are not verified. 49983 is refused. */
            httpsPorts?: number[];
            /**
             * @description Host header that programs in the sandbox see instead of the public one; `${PORT}` in it becomes the port.
             *     ASCII, at most 255 characters. The public one is in `X-Forwarded-Host`. The agent sees the public one.
             */
            maskRequestHost?: string;
            rules?: components["schemas"]["NetworkRules"];
        };
        /**
         * @description Changes to matching HTTPS requests, by domain: an exact name, or `*.` and a name for any depth below it. An
         *     exact name takes precedence over a wildcard, a longer suffix over a shorter one. A rule does not allow access by
         *     itself.
         */
        NetworkRules: {
            [key: string]: {
                /** @description How a request is changed. */
                transform?: {
                    /**
                     * @description Headers to set, replacing those of the same name. A value may contain `${e2b.secrets.NAME}` or
                     *     `${e2b.identity.tokens.NAME}`, which are replaced outside the sandbox.
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
        /** @description A key to create. */
        NewApiKey: {
            limits?: components["schemas"]["KeyLimits"];
            name: components["schemas"]["ApiKeyName"];
            project?: components["schemas"]["ProjectName"];
            /**
             * @description Whether the key changes nothing. It gets no tokens of sandboxes either.
             * @default false
             */
            readOnly?: boolean;
        };
        /** @description A sandbox to create. */
        NewSandbox: components["schemas"]["NewSandboxCommon"] & {
            /**
             * @description Sandboxes created here are always secured, so only `true` is accepted.
             * @constant
             */
            secure?: true;
            /**
             * Format: int32
             * @description Time to live in seconds, up to the longest run that the server allows.
             * @default 300
             */
            timeout?: number;
        };
        /** @description Fields of both forms of a create. */
        NewSandboxCommon: {
            /**
             * @description `false` is the same as denying `0.0.0.0/0`. Private, loopback and link-local ranges are never reachable.
             *     The only key here in snake case.
             * @default true
             */
            allow_internet_access?: boolean;
            /**
             * @description When the time to live is over, pause the sandbox instead of killing it.
             * @default false
             */
            autoPause?: boolean;
            /**
             * @description `false` keeps only the files at that automatic pause, so that a resume starts without processes. Refused
             *     without `autoPause`, and together with `autoResume.enabled`.
             * @default true
             */
            autoPauseMemory?: boolean;
            /**
             * @description The first request to a port of the sandbox while it is paused with its memory resumes it, and waits for that. It then lives
             *     for `timeout`, and at least 300 seconds. A pause that keeps only files is not resumed by requests.
             */
            autoResume?: {
                /** @description `true` enables it. */
                enabled: boolean;
            };
            envVars?: components["schemas"]["EnvVars"];
            /** @description Identity tokens for the sandbox, by name. Planned: any token is refused with 400. */
            iam?: {
                /** @description The options of each token, by its name. */
                tokens?: {
                    [key: string]: {
                        /** @description The service that the token is for. */
                        audience: string;
                        /** @description Kind of the token. */
                        tokenType: string;
                    };
                };
            };
            /**
             * @description An extension: the level of the sandbox, which never starts below it. Default: the level of the snapshot, or that of the
             *     server. One below the minimum of the server is refused.
             */
            isolation?: components["schemas"]["IsolationLevel"];
            /** @description Configuration of an MCP gateway. Planned: one that is not empty is refused with 400. */
            mcp?: {
                [key: string]: unknown;
            } | null;
            metadata?: components["schemas"]["Metadata"];
            /**
             * @description Rules for incoming and outgoing connections. `egressProxy` and `rules` are planned: other values than the defaults are refused
             *     with 400.
             */
            network?: components["schemas"]["NetworkConfig"];
            /** @description Containers beside the sandbox. Planned: a list that is not empty is refused with 400. */
            sidecars?: {
                [key: string]: unknown;
            }[];
            /** @description Id, alias or `namespace/alias` of a template, each with an optional `:tag`, or the id of a snapshot. */
            templateID: string;
            /** @description Volumes to mount. Planned: a list that is not empty is refused with 400. */
            volumeMounts?: components["schemas"]["VolumeMount"][];
        };
        /** @description A sandbox to create, in the older form. */
        NewSandboxV1: components["schemas"]["NewSandboxCommon"] & {
            /**
             * @description `false` creates a sandbox whose API requires no token. Refused together with
             *     `network.allowPublicTraffic: false`.
             * @default true
             */
            secure?: boolean;
            /**
             * Format: int32
             * @description Time to live in seconds, up to the longest run that the server allows.
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
            /** @description Name of the template, `[namespace/]alias[:tag]`. Without one the template has only an id. */
            name?: string;
        };
        /** @description A machine that makes sandboxes for the server. */
        Node: {
            /** @description Host and port at which the server reaches it. */
            address: string;
            /** @description Whether no new sandbox is placed on it. */
            cordoned: boolean;
            /**
             * Format: int64
             * @description Rises with each server that becomes the owner of the node. The node refuses those with a lower one.
             */
            epoch: number;
            /**
             * Format: date-time
             * @description When it last answered, up to half a minute late. Absent if it never has.
             */
            lastSeenAt?: string;
            load: components["schemas"]["NodeLoad"];
            /** @description The name in its certificate. */
            name: string;
            owner?: components["schemas"]["NodeOwner"];
            /** @description Why it cannot be reached. */
            problem?: string;
            room?: components["schemas"]["NodeRoom"];
            state: components["schemas"]["NodeState"];
            /** @description Whether the cluster that lists the nodes has ordered to place nothing on it, as `kubectl cordon` does. Absent without one. */
            unschedulable?: boolean;
            /** @description Of its skerry. */
            version?: string;
        };
        /** @description The result of a drain. */
        NodeDrain: {
            /** @description Whether the server is moving sandboxes from the node. */
            moving: boolean;
            node: components["schemas"]["Node"];
            /** @description The sandboxes that are on the node. */
            remaining: components["schemas"]["RemainingSandbox"][];
        };
        /** @description What is on it. */
        NodeLoad: {
            /**
             * Format: int32
             * @description The limits of their memory together, in MiB.
             */
            memoryMB: number;
            /**
             * Format: int32
             * @description Sandboxes that are paused or being ended.
             */
            paused: number;
            /**
             * Format: int32
             * @description Sandboxes that start or run.
             */
            sandboxes: number;
            /**
             * Format: int32
             * @description Snapshots whose files are on it.
             */
            snapshots: number;
        };
        /** @description The server that acts for the node. Absent where one server has all nodes, and while none of several has the lease. */
        NodeOwner: {
            /** @description Host and port at which the other servers reach it. */
            address: string;
            /**
             * Format: int64
             * @description How long ago it renewed its lease, in milliseconds, by the clock of the database.
             */
            leaseAgeMs: number;
        };
        /** @description What the sandboxes that run on it may take together. */
        NodeRoom: {
            /**
             * Format: int32
             * @description Its memory in MiB, by which sandboxes are spread. Their limits may exceed it together.
             */
            memoryMB: number;
            /**
             * Format: int32
             * @description How many may start or run at a time.
             */
            sandboxes: number;
        };
        /**
         * @description `ready` takes sandboxes; `settling` has just come back; `unreachable` does not answer; `lost` has not for so long that what ran
         *     on it is lost; `unlisted` is not in the list with which the server was started.
         * @enum {string}
         */
        NodeState: "ready" | "settling" | "unreachable" | "lost" | "unlisted";
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
        /** @description What a pause keeps. */
        PauseSandbox: {
            /**
             * @description Keep memory and processes as well as files.
             * @default true
             */
            memory?: boolean;
            mode?: components["schemas"]["CaptureMode"];
        };
        /**
         * @description The only project whose sandboxes, snapshots and templates a key reaches; those of others are 404. A project is made by its first key.
         *     Without it, a key reaches all, and what it makes belongs to the project `local`.
         */
        ProjectName: string;
        /** @description The minimum time to live. */
        RefreshSandbox: {
            /**
             * Format: int32
             * @description Seconds from now; less than 15 counts as 15.
             * @default 15
             */
            duration?: number;
        };
        /** @description A sandbox that is on the node. */
        RemainingSandbox: {
            /** @description Why it could not be moved at the last attempt. Text for a person. */
            problem?: string;
            /** @description Id of the sandbox. */
            sandboxID: string;
            state: components["schemas"]["SandboxState"];
        };
        /**
         * @description `false` resumes from the files alone, without processes; the checkpoint stays unchanged. A server
         *     that cannot do so refuses it with 400.
         * @default true
         */
        ResumeMemory: boolean;
        /** @description How to resume a paused sandbox. */
        ResumeSandbox: {
            /**
             * @deprecated
             * @description Early clients always send it. It does not change the value chosen at creation.
             */
            autoPause?: boolean;
            memory?: components["schemas"]["ResumeMemory"];
            /**
             * Format: int32
             * @description Time to live in seconds from now. The default is 15, or the time to live that the sandbox had when that is longer.
             */
            timeout?: number;
        };
        /** @description The data that a program needs to use a sandbox. */
        Sandbox: {
            /** @description Alias of the template. */
            alias?: string;
            /**
             * @deprecated
             * @description A constant.
             */
            clientID: string;
            /**
             * @description Domain of the sandbox's host names, with its port: the agent is at `49983-{sandboxID}.{domain}`. Null means
             *     the domain of the platform API.
             */
            domain?: string | null;
            /** @description Token for the sandbox API. Absent when the sandbox was created with `secure` false. */
            envdAccessToken?: string;
            /** @description Version of the agent inside, by which clients decide which features to use. */
            envdVersion: string;
            /** @description Id of the sandbox, also the second part of its host names. */
            sandboxID: string;
            /** @description Template that the sandbox was created from. */
            templateID: string;
            /** @description Token for the sandbox's own ports when public traffic is off, else null. */
            trafficAccessToken?: string | null;
        };
        /** @description Everything about one sandbox. */
        SandboxDetail: components["schemas"]["ListedSandbox"] & {
            /** @description The value at creation; null when it was absent. */
            allowInternetAccess?: boolean | null;
            /** @description Domain of the sandbox's host names, with its port. Null means the domain of the platform API. */
            domain?: string | null;
            /** @description Token for the sandbox API. Absent when the sandbox was created with `secure` false. */
            envdAccessToken?: string;
            /** @description The automatic actions on the sandbox. */
            lifecycle?: {
                /** @description Whether traffic resumes it when it is paused. */
                autoResume: boolean;
                /**
                 * @description What happens when the time to live is over.
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
        /** @description Where a sandbox is or was, and why. */
        SandboxExplanation: {
            /** @description What the service has recorded of it, the oldest first. */
            history: components["schemas"]["LogEntry"][];
            isolation: components["schemas"]["IsolationLevel"];
            /** @description The node on which it is. Absent if the server makes sandboxes on its own machine. */
            node?: string;
            nodeState?: components["schemas"]["NodeState"];
            /** @description Why it could not be stored at the last attempt. Text for a person. */
            problem?: string;
            /**
             * @description Why it was placed there: what decided, the share of the memory of each node that would have been reserved, and why others
             *     were left out. Text for a person.
             */
            reason?: string;
            /** @description Its id. */
            sandboxID: string;
            /**
             * @description Whether the blob store has the sandbox as it is paused, so that it can be resumed on another node. Absent unless it is
             *     paused and the server has a blob store.
             */
            stored?: boolean;
            /** @description Why traffic could not resume it at the last attempts. Text for a person. */
            wakeProblem?: string;
        };
        /** @description The same entries in two forms. */
        SandboxLogs: {
            /** @description The entries as objects. */
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
        /** @description The usage of a sandbox at one moment. */
        SandboxMetric: {
            /**
             * Format: int32
             * @description CPU cores available to it.
             */
            cpuCount: number;
            /** @description Since the previous sample. 100 when all `cpuCount` cores are busy. */
            cpuUsedPct: number;
            /**
             * Format: int64
             * @description Disk space available to it.
             */
            diskTotal: number;
            /**
             * Format: int64
             * @description Disk space that its files take.
             */
            diskUsed: number;
            /**
             * Format: int64
             * @description The page cache.
             */
            memCache: number;
            /**
             * Format: int64
             * @description Memory available to it.
             */
            memTotal: number;
            /**
             * Format: int64
             * @description In bytes, like the following fields. Without pages of files that were not used lately: they are evicted
             *     before an allocation fails.
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
        /** @description The rules in force, without the password of a proxy. */
        SandboxNetwork: {
            /** @description Addresses and domains it may reach. */
            allowOut?: string[];
            /** @description Whether its ports answer requests without a traffic token. */
            allowPublicTraffic?: boolean;
            /** @description Addresses it may not reach. */
            denyOut?: string[];
            /** @description The proxy for outgoing connections. */
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
        /**
         * @description `running`, or `paused`: kept on disk, with no process running.
         * @enum {string}
         */
        SandboxState: "running" | "paused";
        /** @description The new end of the sandbox. */
        SandboxTimeout: {
            /**
             * Format: int32
             * @description Seconds from now.
             */
            timeout: number;
        };
        /** @description One snapshot. */
        SnapshotInfo: {
            /** @description Full names, each with namespace and tag. Empty without a name. */
            names: string[];
            /**
             * @description Id of the snapshot with its tag: `namespace/alias:tag` when it has a name, else `templateID:tag`.
             *     Percent-encode it in paths.
             */
            snapshotID: string;
        };
        /** @description One step in the history of a snapshot. */
        SnapshotLogEntry: {
            /**
             * Format: uuid
             * @description Id of this snapshot, which never points to another one.
             */
            buildID: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            createdAt: string;
            /** @description The sandbox that it was made from. */
            sandboxID: string;
            /** @description As in `SnapshotInfo`. Absent when no tag points to it any more. */
            snapshotID?: string;
            /**
             * @description `removed` when its files are removed, or being removed.
             * @enum {string}
             */
            state: "ready" | "removed";
        };
        /** @description The result of the verification of a snapshot. */
        SnapshotVerification: {
            /** @description Descriptions of what has changed since the snapshot was made. Empty when it is intact. */
            problems: string[];
        };
        /**
         * @description What is kept.
         *
         *     - `templates`: file systems of built templates
         *     - `buildCache`: what only the cache of builds needs: file systems, and files that steps have made
         *     - `baseImages`: that of the installation, and programs beside it
         *     - `contexts`: uploaded files for builds
         *     - `snapshots`: snapshots, and checkpoints of start commands
         *     - `sandboxes`: disks and memory of running and paused sandboxes
         *     - `buildLogs`, `sandboxLogs`: entries of logs
         * @enum {string}
         */
        StorageKind: "templates" | "buildCache" | "baseImages" | "contexts" | "snapshots" | "sandboxes" | "buildLogs" | "sandboxLogs";
        /** @description What to remove. */
        StoragePrune: {
            /**
             * @description Also the cache of builds, and then built templates that no sandbox uses.
             * @default false
             */
            all?: boolean;
        };
        /** @description What was removed. */
        StoragePruned: {
            /** @description One entry for each kind and place of which something was removed. */
            removed: components["schemas"]["StorageRemoval"][];
            /** @description Names of the templates that were removed, or their ids. */
            templates: string[];
        };
        /** @description What was removed of one kind. */
        StorageRemoval: {
            /**
             * Format: int64
             * @description How many there are; of logs, entries.
             */
            count: number;
            kind: components["schemas"]["StorageKind"];
            /** @description Name of the node that has it. Absent for what the server itself has. */
            node?: string;
            /**
             * Format: int64
             * @description The space that they take on the disk; of logs, their text.
             */
            sizeBytes: number;
        };
        /** @description What the server keeps of one kind. */
        StorageUsage: {
            /**
             * Format: int64
             * @description How many there are; of logs, entries.
             */
            count: number;
            kind: components["schemas"]["StorageKind"];
            /** @description Name of the node that has it. Absent for what the server itself has. */
            node?: string;
            /**
             * Format: int64
             * @description The space that these take.
             */
            reclaimableBytes: number;
            /**
             * Format: int64
             * @description How many of them nothing uses.
             */
            reclaimableCount: number;
            /**
             * Format: int64
             * @description The space that they take on the disk; of logs, their text.
             */
            sizeBytes: number;
        };
        /** @description A name that points to one build of a template. */
        Tag: string;
        /** @description Who owns sandboxes and templates. */
        Team: {
            /** @description The API key with which this call was made. */
            apiKey: string;
            /** @description Whether calls without a team mean it. */
            isDefault: boolean;
            /** @description Its name. */
            name: string;
            /** @description Id of the team. */
            teamID: string;
        };
        /** @description What the sandboxes of a team did in one step. */
        TeamMetric: {
            /**
             * Format: int32
             * @description How many sandboxes ran.
             */
            concurrentSandboxes: number;
            /** @description How many sandboxes were started a second. */
            sandboxStartRate: number;
            /**
             * Format: date-time
             * @description The begin of the step.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description The same moment in seconds.
             */
            timestampUnix: number;
        };
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
            /** @description The user who registered it; null when unknown. */
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
            /** @description An extension: the level that each sandbox has at least. Absent where none is demanded. */
            isolation?: components["schemas"]["IsolationLevel"];
            /**
             * Format: date-time
             * @description When a sandbox was last created from it; null when there was none.
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
        /** @description One build of a template. */
        TemplateBuild: {
            /**
             * Format: uuid
             * @description Id of the build.
             */
            buildID: string;
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
            /**
             * Format: int32
             * @description Disk of each sandbox in MiB.
             */
            diskSizeMB?: number;
            /** @description Version of the agent in its sandboxes. */
            envdVersion?: string;
            /**
             * Format: date-time
             * @description When it ended. Absent until then.
             */
            finishedAt?: string;
            /** @description An extension: the level that each sandbox has at least. Absent where none is demanded. */
            isolation?: components["schemas"]["IsolationLevel"];
            /**
             * Format: int32
             * @description Memory of each sandbox in MiB.
             */
            memoryMB: number;
            /**
             * @description Where the process of its start command comes from in a new sandbox: it runs in a checkpoint that is restored, or
             *     the command is started again before the create responds. Absent without a start command.
             * @enum {string}
             */
            startsFrom?: "checkpoint" | "command";
            status: components["schemas"]["BuildStatus"];
            /**
             * Format: date-time
             * @description When its state last changed.
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
        /** @description A tag and the build that it points to. */
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
        /** @description The changes to a template. */
        TemplateUpdate: {
            /** @description Whether every team may use the template. */
            public?: boolean;
        };
        /** @description One template and a page of its builds. */
        TemplateWithBuilds: {
            /** @description Names of the template without namespace. */
            aliases: string[];
            /** @description Its builds, newest first. */
            builds: components["schemas"]["TemplateBuild"][];
            /**
             * Format: date-time
             * @description When it was registered.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When a sandbox was last created from it; null when there was none.
             */
            lastSpawnedAt: string | null;
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
        /** @description A volume, and its mount path. */
        VolumeMount: {
            /** @description Name of the volume. */
            name: string;
            /** @description Mount path inside the sandbox. */
            path: string;
        };
    };
    responses: {
        /**
         * @description Another server of the installation has the call and did not answer, so it may have acted. The call is harmless to repeat, or takes
         *     `Idempotency-Key` and is with that.
         */
        BadGateway: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request is invalid. The message names the field, its place in the request and the allowed values. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
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
        /** @description The present state, or a transition in progress, rules out the request. */
        Conflict: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
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
        /** @description The caller is known but not allowed to do this. */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The start took too long and was undone. */
        GatewayTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The `Idempotency-Key` was used for another request, or the first request with it is still running. */
        IdempotencyConflict: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
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
        /** @description The resource does not exist, or belongs to another project. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description This server, or its host, does not support the operation. */
        NotImplemented: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The server stopped during the first request with this `Idempotency-Key`, which may have acted. */
        OutcomeUnknown: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The sandbox runs and is usable. */
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
        /** @description The sandbox was already running. */
        SandboxWasRunning: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Sandbox"];
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
        /**
         * @description A limit is reached, which the message states. At the concurrency limit `Retry-After` is the time until the next end of a sandbox,
         *     at most 30; a kill or a pause makes room sooner.
         */
        TooManyRequests: {
            headers: {
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
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
         * @description Id of the key.
         * @example 6f4b1c1e-3a53-4f0c-9c05-5c3f3f2f7a10
         */
        ApiKeyID: string;
        /**
         * @description Id of the build.
         * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
         */
        BuildID: string;
        /**
         * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
         *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
         *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
         *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
         *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
         *     call.
         * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
         */
        IdempotencyKey: string;
        /** @description Rows in a page. */
        Limit: number;
        /**
         * @description Pairs `key=value` joined by `&`; a sandbox must have all of them exactly. Percent-encode each key and value, and
         *     then the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Parts that
         *     were encoded twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400,
         *     and so are more than 256 pairs. Empty means no filter.
         * @example app=prod&user=a%20b
         */
        MetadataFilter: string;
        /** @description Value of `X-Next-Token` of the previous page. Opaque; a token that this server did not issue is refused with 400. */
        NextToken: string;
        /**
         * @description Name of the node.
         * @example a
         */
        NodeName: string;
        /**
         * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
         * @example i4k2m9x7q1w8e3r5t6y0z
         */
        SandboxID: string;
        /**
         * @description Id or name of a snapshot, with an optional `:tag`; `/` and `:` percent-encoded.
         * @example team/prepared:default
         */
        SnapshotID: string;
        /**
         * @description Id of the team, which is the project of the key or `local`; for another one 403 is answered.
         * @example local
         */
        TeamID: string;
        /**
         * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
         * @example team/data-science:v2
         */
        TemplateID: string;
    };
    requestBodies: never;
    headers: {
        /** @description Pass it as `nextToken` to get the next page. Absent on the last page. */
        NextToken: string;
        /** @description The calls that a key with a rate may make in one second. */
        RateLimitLimit: number;
        /** @description The calls that are left of this second. */
        RateLimitRemaining: number;
        /** @description The seconds until all calls are allowed again. */
        RateLimitReset: number;
        /** @description Identifies the request in the log of the server. The value of the request's own header if it consists of 1 to 64 letters, digits, `_`, `.` and `-`, else a new one. */
        RequestId: string;
        /** @description Whole seconds to wait before the same call may succeed. Each 429 and 503 of the platform API and the edge has it, and a 409 while a first request with the same `Idempotency-Key` runs. */
        RetryAfter: number;
        /** @description Running sandboxes that match the filter, over all pages. Absent when the listing excludes running ones. */
        TotalRunning: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listApiKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewApiKey"];
            };
        };
        responses: {
            /** @description The key, with its secret. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the key.
                 * @example 6f4b1c1e-3a53-4f0c-9c05-5c3f3f2f7a10
                 */
                apiKeyID: components["parameters"]["ApiKeyID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is revoked. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    renameApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the key.
                 * @example 6f4b1c1e-3a53-4f0c-9c05-5c3f3f2f7a10
                 */
                apiKeyID: components["parameters"]["ApiKeyID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    limits?: components["schemas"]["KeyLimits"];
                    name?: components["schemas"]["ApiKeyName"];
                };
            };
        };
        responses: {
            /** @description It is changed. */
            200: {
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
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
    listSandboxesV1: {
        parameters: {
            query?: {
                /**
                 * @description Pairs `key=value` joined by `&`; a sandbox must have all of them exactly. Percent-encode each key and value, and
                 *     then the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Parts that
                 *     were encoded twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400,
                 *     and so are more than 256 pairs. Empty means no filter.
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
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSandboxV1: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
                 *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
                 *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
                 *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
                 *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
                 *     call.
                 * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
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
            409: components["responses"]["IdempotencyConflict"];
            422: components["responses"]["OutcomeUnknown"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    connectSandboxV1: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    forkSandboxV1: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
                 *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
                 *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
                 *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
                 *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
                 *     call.
                 * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForkSandboxV1"];
            };
        };
        responses: {
            /** @description One entry for each copy. */
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["OutcomeUnknown"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSandboxLogsV1: {
        parameters: {
            query?: {
                /** @description The maximum number of entries to return, but for whole milliseconds. */
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pauseSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    refreshSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    resumeSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createSnapshot: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
                 *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
                 *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
                 *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
                 *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
                 *     call.
                 * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["OutcomeUnknown"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    setSandboxTimeout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
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
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listBuildCache: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All results. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CachedResult"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pruneBuildCache: {
        parameters: {
            query?: {
                /**
                 * @description In seconds. The default is 0, which removes all.
                 * @example 86400
                 */
                unusedFor?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results that were removed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CachedResult"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    removeFromBuildCache: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Key of the result, as in the log of a build.
                 * @example 3f2a9c1b7d0446a2b6f1c0d8e9a75310
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    loadImage: {
        parameters: {
            query: {
                /**
                 * @description CPU cores of each sandbox, 1 or an even number.
                 * @example 2
                 */
                cpuCount?: number;
                /**
                 * @description Name or digest of an image in the archive, as its index has it. Without it the build of an archive of several images fails, and
                 *     the reason has their names.
                 * @example example/app:v2
                 */
                image?: string;
                /**
                 * @description An extension: the level that each sandbox has at least. Default: none is demanded.
                 * @example gvisor
                 */
                isolation?: components["schemas"]["IsolationLevel"];
                /**
                 * @description Memory of each sandbox in MiB.
                 * @example 1024
                 */
                memoryMB?: number;
                /**
                 * @description `[namespace/]alias[:tag]` of the template.
                 * @example data-science:v2
                 */
                name: string;
                /**
                 * @description More tags for this build.
                 * @example [
                 *       "latest"
                 *     ]
                 */
                tags?: components["schemas"]["Tag"][];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": Blob;
            };
        };
        responses: {
            /** @description The server has the archive, and the build runs. */
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
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            /** @description The archive is larger than an image may be. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            /** @description The archive would take from the reserve of free space on the disk of the server. */
            507: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    saveImage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": Blob;
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
            /** @description The archive would take from the reserve of free space on the disk of the server. */
            507: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    listNodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All nodes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    forgetNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is forgotten. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cordonNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    drainNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node, and what is on it. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeDrain"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    uncordonNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the node.
                 * @example a
                 */
                nodeName: components["parameters"]["NodeName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    explainSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
                 * @example i4k2m9x7q1w8e3r5t6y0z
                 */
                sandboxID: components["parameters"]["SandboxID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The explanation. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxExplanation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
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
            403: components["responses"]["Forbidden"];
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
            /** @description The result. */
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    diffSnapshots: {
        parameters: {
            query: {
                /**
                 * @description Id or name of a snapshot or template, or id of a sandbox. The default is the state that `to` was created from; 404 when the key may not use that.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    pruneStorage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StoragePrune"];
            };
        };
        responses: {
            /** @description What was removed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoragePruned"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getStorageUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One entry for each kind, in this order. With nodes, the entries of the server are the first, and those of each node follow. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StorageUsage"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cancelTemplateBuild: {
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does not run. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    uploadTemplateFiles: {
        parameters: {
            query?: {
                /**
                 * @description Of the link, in seconds since the epoch.
                 * @example 1795420800
                 */
                expires?: string;
                /**
                 * @description Of the link.
                 * @example 1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014
                 */
                signature?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Hash of a set of files, computed by the client. The server does not interpret it.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": Blob;
            };
        };
        responses: {
            /** @description The server has the archive. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            /** @description The link is not one of this server, or has expired. Request a new one. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The archive is larger than the disk of a sandbox. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            /** @description The archive would take from the reserve of free space on the disk of the server. */
            507: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Alias, `namespace/alias` or id, each with an optional `:tag`. With a tag, the list has the snapshot of that tag, without one only
                 *     the newest of the name.
                 * @example team/prepared
                 */
                name?: string;
                /** @description Value of `X-Next-Token` of the previous page. Opaque; a token that this server did not issue is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
                /**
                 * @description Only snapshots of this sandbox.
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
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTeams: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The team. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTeamMetrics: {
        parameters: {
            query?: {
                /**
                 * @description Unix time in seconds. The default is now.
                 * @example 1795169100
                 */
                end?: number;
                /**
                 * @description Unix time in seconds. The default is an hour before `end`. What is older than 7 days is not kept.
                 * @example 1795168800
                 */
                start?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the team, which is the project of the key or `local`; for another one 403 is answered.
                 * @example local
                 */
                teamID: components["parameters"]["TeamID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The steps, oldest first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMetric"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTeamMetricsMax: {
        parameters: {
            query: {
                /**
                 * @description Unix time in seconds. The default is now.
                 * @example 1795169100
                 */
                end?: number;
                /**
                 * @description Which metric.
                 * @example concurrent_sandboxes
                 */
                metric: "concurrent_sandboxes" | "sandbox_start_rate";
                /**
                 * @description Unix time in seconds. The default is an hour before `end`. What is older than 7 days is not kept.
                 * @example 1795168800
                 */
                start?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the team, which is the project of the key or `local`; for another one 403 is answered.
                 * @example local
                 */
                teamID: components["parameters"]["TeamID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The step with the highest value. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MaxTeamMetric"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /**
                 * @description Team whose templates to list. A key has one team, its project, or `local` for a key of none, and that is the default; another one is
                 *     refused with 400.
                 * @example local
                 */
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
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplate: {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                limit?: components["parameters"]["Limit"];
                /** @description Value of `X-Next-Token` of the previous page. Opaque; a token that this server did not issue is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
            };
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template and a page of its builds. */
            200: {
                headers: {
                    "X-Next-Token": components["headers"]["NextToken"];
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateWithBuilds"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateTemplateV1: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
            /** @description It is changed. */
            200: {
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplateBuildLogs: {
        parameters: {
            query?: {
                /**
                 * @description Unix time in milliseconds to start at; entries of that millisecond are included. The default is the newest
                 *     entry for direction backward and the oldest for forward.
                 * @example 1795168800000
                 */
                cursor?: number;
                /**
                 * @description Backward starts with the newest entry, forward with the oldest.
                 * @example forward
                 */
                direction?: "forward" | "backward";
                /**
                 * @description The lowest level to return.
                 * @example info
                 */
                level?: components["schemas"]["LogLevel"];
                /**
                 * @description The maximum number of entries to return, but for whole milliseconds.
                 * @example 20
                 */
                limit?: number;
                /**
                 * @description Where entries are kept. All of them are `persistent`, also while the build runs; `temporary` is refused with 400.
                 * @example persistent
                 */
                source?: "temporary" | "persistent";
            };
            header?: never;
            path: {
                /**
                 * @description Id of the build.
                 * @example 0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10
                 */
                buildID: components["parameters"]["BuildID"];
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
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
                    "application/json": components["schemas"]["BuildLogs"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTemplateBuildStatus: {
        parameters: {
            query?: {
                /** @description Omit entries below this level. */
                level?: components["schemas"]["LogLevel"];
                /** @description The maximum number of entries to return. */
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
            403: components["responses"]["Forbidden"];
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
                 * @description Hash of a set of files, computed by the client. The server does not interpret it.
                 * @example 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                hash: string;
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
                 * @example team/data-science:v2
                 */
                templateID: components["parameters"]["TemplateID"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether to upload, and where. */
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
            403: components["responses"]["Forbidden"];
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
            /** @description The template of the alias. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether every project may use the template. */
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
            /** @description The tags and their build. */
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
                        /** @description Tags that point to the build now. */
                        tags: string[];
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
            502: components["responses"]["BadGateway"];
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
            /** @description The tags are deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listSandboxes: {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Pairs `key=value` joined by `&`; a sandbox must have all of them exactly. Percent-encode each key and value, and
                 *     then the whole as the value of a query parameter: `{"user": "a b"}` is `metadata=user%3Da%2520b`. Parts that
                 *     were encoded twice, as some clients do, mean the same. A pair without `=` or with several is refused with 400,
                 *     and so are more than 256 pairs. Empty means no filter.
                 * @example app=prod&user=a%20b
                 */
                metadata?: components["parameters"]["MetadataFilter"];
                /** @description Value of `X-Next-Token` of the previous page. Opaque; a token that this server did not issue is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
                /** @description By start time; sandboxes that started at the same moment are ordered by id. */
                order?: "asc" | "desc";
                /**
                 * @description Only sandboxes started at this moment or later. A time from a listing includes its own row.
                 * @example 2026-11-20T10:00:00.000Z
                 */
                startedAfter?: string;
                /**
                 * @description States to include, joined by commas; repeating the parameter works too. The default is both.
                 * @example [
                 *       "running",
                 *       "paused"
                 *     ]
                 */
                state?: components["schemas"]["SandboxState"][];
                /**
                 * @description Id or alias of the template, without a tag. A tag is refused with 400. For an unknown template the list is
                 *     empty.
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
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createSandbox: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
                 *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
                 *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
                 *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
                 *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
                 *     call.
                 * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
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
            409: components["responses"]["IdempotencyConflict"];
            422: components["responses"]["OutcomeUnknown"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
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
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    forkSandbox: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes the call safe to repeat, as after a lost connection: calls with the same key and the same request act once, and each gets the
                 *     first status and body, errors included. Only answers of 429 and 503, after which nothing has changed, are not kept. Use a new
                 *     key, such as a UUID, for each new request; the server keeps the keys of an API key apart from those of others, and for 24 hours.
                 *     With another request the key is refused with 409 and `error_code` `idempotency_request_mismatch`, while the first call is running
                 *     with 409 and `idempotency_in_progress`, and with 422 and `idempotency_outcome_unknown` when the server was killed during the first
                 *     call.
                 * @example 0f9c1d5e-7a64-4b5c-9d0f-2f1f6f0f6c11
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
            /** @description One entry for each copy. */
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["OutcomeUnknown"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getSandboxLogs: {
        parameters: {
            query?: {
                /**
                 * @description Unix time in milliseconds to start at; entries of that millisecond are included. The default is the newest
                 *     entry for direction backward and the oldest for forward.
                 * @example 1795168800000
                 */
                cursor?: number;
                /** @description Backward starts with the newest entry, forward with the oldest. */
                direction?: "forward" | "backward";
                /** @description The lowest level to return. */
                level?: components["schemas"]["LogLevel"];
                /** @description The maximum number of entries to return, but for whole milliseconds. */
                limit?: number;
                /** @description A part of the message or of a field, case-sensitive. */
                search?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the sandbox. `{sandboxID}-{clientID}`, the form of older programs, is accepted too.
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
                        /** @description The entries, in the requested direction. */
                        logs: components["schemas"]["LogEntry"][];
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTemplatePages: {
        parameters: {
            query?: {
                /** @description Rows in a page. */
                limit?: components["parameters"]["Limit"];
                /** @description Value of `X-Next-Token` of the previous page. Opaque; a token that this server did not issue is refused with 400. */
                nextToken?: components["parameters"]["NextToken"];
                /**
                 * @description Team whose templates to list. A key has one team, its project, or `local` for a key of none, and that is the default; another one is
                 *     refused with 400.
                 * @example local
                 */
                teamID?: string;
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
                    "application/json": components["schemas"]["Template"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
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
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
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
                 * @description Id, alias or `namespace/alias`, each with an optional `:tag` or `:buildID`; `/` and `:` percent-encoded.
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
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            501: components["responses"]["NotImplemented"];
            502: components["responses"]["BadGateway"];
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
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
