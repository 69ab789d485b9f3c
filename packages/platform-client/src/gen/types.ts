// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
import type { components } from './schema.ts';

/** A key without its secret. */
export type ApiKey = components['schemas']['ApiKey'];

/** The parts of a key that may be shown. */
export type ApiKeyMask = components['schemas']['ApiKeyMask'];

/** What the key is for, of one line. Names need not differ. */
export type ApiKeyName = components['schemas']['ApiKeyName'];

/** Tags, and the build that they will point to. */
export type AssignTags = components['schemas']['AssignTags'];

/** The state of a build, and a page of its log. */
export type BuildInfo = components['schemas']['BuildInfo'];

/** One entry of the log of a build. */
export type BuildLogEntry = components['schemas']['BuildLogEntry'];

/** A part of the log of a build. */
export type BuildLogs = components['schemas']['BuildLogs'];

/** Files that a command has in place of those at a path, an extension. After it the path is as it was. In strings, but for a source of uploaded files, variables are replaced as with `dockerfile` of a step. */
export type BuildMount = components['schemas']['BuildMount'];

/** A build to register. */
export type BuildRequest = components['schemas']['BuildRequest'];

/** A build to register, in the form of early clients. */
export type BuildRequestV2 = components['schemas']['BuildRequestV2'];

/** The build that was registered. */
export type BuildRequested = components['schemas']['BuildRequested'];

/** One stage of a build, an extension. It begins with an image, a template or an earlier stage. It is built once, beside others that do not need it, and its files are removed after the build. */
export type BuildStage = components['schemas']['BuildStage'];

/** The base and the steps of a build. */
export type BuildStart = components['schemas']['BuildStart'];

/** The state of a build. */
export type BuildStatus = components['schemas']['BuildStatus'];

/** One step of a build. */
export type BuildStep = components['schemas']['BuildStep'];

/** The files after a step of a build, an image of a registry that later builds begin with, or a layer of one, which later pulls do not request. */
export type CachedResult = components['schemas']['CachedResult'];

/** `full` keeps memory, `filesystem` only files. Must not contradict `memory`. */
export type CaptureMode = components['schemas']['CaptureMode'];

/** The new time to live. */
export type ConnectSandbox = components['schemas']['ConnectSandbox'];

/** The new time to live, in the older form. */
export type ConnectSandboxV1 = components['schemas']['ConnectSandboxV1'];

/** A key with its secret. */
export type CreatedApiKey = components['schemas']['CreatedApiKey'];

/** Tags to delete. */
export type DeleteTags = components['schemas']['DeleteTags'];

/** A SOCKS5 proxy for all outgoing connections. */
export type EgressProxy = components['schemas']['EgressProxy'];

/** Environment variables for every process of the sandbox. Each command may override them. */
export type EnvVars = components['schemas']['EnvVars'];

/** Every error of the platform API and of the sandbox API. */
export type ErrorBody = components['schemas']['ErrorBody'];

/** One file that differs between the two sides. */
export type FileDifference = components['schemas']['FileDifference'];

/** The copy, or its error. */
export type ForkResult = components['schemas']['ForkResult'];

/** The number of copies to start, their time to live, and what they begin with. */
export type ForkSandbox = components['schemas']['ForkSandbox'];

/** The number of copies to start, and their time to live, in the older form. */
export type ForkSandboxV1 = components['schemas']['ForkSandboxV1'];

/** Credentials for a private registry, by `type`; without `type` the AWS fields apply. Never logged and never returned. */
export type ImageRegistry = components['schemas']['ImageRegistry'];

/** An extension: what separates a sandbox from the kernel of its host. `container` shares it behind a filter; `gvisor` serves system calls in user space. */
export type IsolationLevel = components['schemas']['IsolationLevel'];

/** An extension: how much of what was made with a key may exist at the same time; what has no field is not limited. A sandbox counts for the key that created it, also when another key or traffic resumes it. A call that would exceed a limit is 429, and 403 when the limit never allows it. */
export type KeyLimits = components['schemas']['KeyLimits'];

/** One sandbox in a list. */
export type ListedSandbox = components['schemas']['ListedSandbox'];

/** One entry of a log. */
export type LogEntry = components['schemas']['LogEntry'];

/** The severity of an entry, from the least to the most. */
export type LogLevel = components['schemas']['LogLevel'];

/** The highest value of a metric. */
export type MaxTeamMetric = components['schemas']['MaxTeamMetric'];

/** Arbitrary key-value pairs, by which listings can be filtered. At most 64 KiB in total. */
export type Metadata = components['schemas']['Metadata'];

/** Rules for incoming and outgoing connections. Allow takes precedence over deny, deny over the default, which is open to the internet. Private, loopback and link-local ranges are never reachable. */
export type NetworkConfig = components['schemas']['NetworkConfig'];

/** Changes to matching HTTPS requests, by domain: an exact name, or `*.` and a name for any depth below it. An exact name takes precedence over a wildcard, a longer suffix over a shorter one. A rule does not allow access by itself. */
export type NetworkRules = components['schemas']['NetworkRules'];

/** Rules that replace those of the sandbox. */
export type NetworkUpdate = components['schemas']['NetworkUpdate'];

/** A key to create. */
export type NewApiKey = components['schemas']['NewApiKey'];

/** A sandbox to create. */
export type NewSandbox = components['schemas']['NewSandbox'];

/** Fields of both forms of a create. */
export type NewSandboxCommon = components['schemas']['NewSandboxCommon'];

/** A sandbox to create, in the older form. */
export type NewSandboxV1 = components['schemas']['NewSandboxV1'];

/** What a snapshot keeps, and its name. */
export type NewSnapshot = components['schemas']['NewSnapshot'];

/** A machine that makes sandboxes for the server. */
export type Node = components['schemas']['Node'];

/** The result of a drain. */
export type NodeDrain = components['schemas']['NodeDrain'];

/** What is on it. */
export type NodeLoad = components['schemas']['NodeLoad'];

/** The server that acts for the node. Absent where one server has all nodes, and while none of several has the lease. */
export type NodeOwner = components['schemas']['NodeOwner'];

/** What the sandboxes that run on it may take together. */
export type NodeRoom = components['schemas']['NodeRoom'];

/** `ready` takes sandboxes; `settling` has just come back; `unreachable` does not answer; `lost` has not for so long that what ran on it is lost; `unlisted` is not in the list with which the server was started. */
export type NodeState = components['schemas']['NodeState'];

/** What inside the sandbox prevents keeping its memory, with `error_code` `memory_not_kept`. The sandbox runs on. With status 503 it ends by itself within seconds, with 409 it does not. */
export type Obstacle = components['schemas']['Obstacle'];

/** What a pause keeps. */
export type PauseSandbox = components['schemas']['PauseSandbox'];

/** The only project whose sandboxes, snapshots and templates a key reaches; those of others are 404. A project is made by its first key. Without it, a key reaches all, and what it makes belongs to the project `local`. */
export type ProjectName = components['schemas']['ProjectName'];

/** The minimum time to live. */
export type RefreshSandbox = components['schemas']['RefreshSandbox'];

/** A sandbox that is on the node. */
export type RemainingSandbox = components['schemas']['RemainingSandbox'];

/** `false` resumes from the files alone, without processes; the checkpoint stays unchanged. A server that cannot do so refuses it with 400. */
export type ResumeMemory = components['schemas']['ResumeMemory'];

/** How to resume a paused sandbox. */
export type ResumeSandbox = components['schemas']['ResumeSandbox'];

/** The data that a program needs to use a sandbox. */
export type Sandbox = components['schemas']['Sandbox'];

/** Everything about one sandbox. */
export type SandboxDetail = components['schemas']['SandboxDetail'];

/** Where a sandbox is or was, and why. */
export type SandboxExplanation = components['schemas']['SandboxExplanation'];

/** The same entries in two forms. */
export type SandboxLogs = components['schemas']['SandboxLogs'];

/** The usage of a sandbox at one moment. */
export type SandboxMetric = components['schemas']['SandboxMetric'];

/** The rules in force, without the password of a proxy. */
export type SandboxNetwork = components['schemas']['SandboxNetwork'];

/** Sent by the edge for a sandbox that cannot respond. Both spellings of the id have the same value. */
export type SandboxNotFoundError = components['schemas']['SandboxNotFoundError'];

/** Sent by the edge for a paused sandbox that a request has not resumed. Both spellings of the id have the same value. */
export type SandboxNotResumedError = components['schemas']['SandboxNotResumedError'];

/** `running`, or `paused`: kept on disk, with no process running. */
export type SandboxState = components['schemas']['SandboxState'];

/** The new end of the sandbox. */
export type SandboxTimeout = components['schemas']['SandboxTimeout'];

/** The latest sample of several sandboxes. */
export type SandboxesMetrics = components['schemas']['SandboxesMetrics'];

/** One snapshot. */
export type SnapshotInfo = components['schemas']['SnapshotInfo'];

/** One step in the history of a snapshot. */
export type SnapshotLogEntry = components['schemas']['SnapshotLogEntry'];

/** The result of the verification of a snapshot. */
export type SnapshotVerification = components['schemas']['SnapshotVerification'];

/** What is kept. - `templates`: file systems of built templates - `buildCache`: what only the cache of builds needs: file systems, and files that steps have made - `baseImages`: that of the installation, and programs beside it - `contexts`: uploaded files for builds - `snapshots`: snapshots, and checkpoints of start commands - `sandboxes`: disks and memory of running and paused sandboxes - `buildLogs`, `sandboxLogs`: entries of logs */
export type StorageKind = components['schemas']['StorageKind'];

/** What to remove. */
export type StoragePrune = components['schemas']['StoragePrune'];

/** What was removed. */
export type StoragePruned = components['schemas']['StoragePruned'];

/** What was removed of one kind. */
export type StorageRemoval = components['schemas']['StorageRemoval'];

/** What the server keeps of one kind. */
export type StorageUsage = components['schemas']['StorageUsage'];

/** A name that points to one build of a template. */
export type Tag = components['schemas']['Tag'];

/** Who owns sandboxes and templates. */
export type Team = components['schemas']['Team'];

/** What the sandboxes of a team did in one step. */
export type TeamMetric = components['schemas']['TeamMetric'];

/** One template and its latest build. */
export type Template = components['schemas']['Template'];

/** One build of a template. */
export type TemplateBuild = components['schemas']['TemplateBuild'];

/** Whether files have to be uploaded, and where. */
export type TemplateFiles = components['schemas']['TemplateFiles'];

/** A tag and the build that it points to. */
export type TemplateTag = components['schemas']['TemplateTag'];

/** The changes to a template. */
export type TemplateUpdate = components['schemas']['TemplateUpdate'];

/** One template and a page of its builds. */
export type TemplateWithBuilds = components['schemas']['TemplateWithBuilds'];

/** Sent by the edge for a busy sandbox. Both spellings of the id have the same value. */
export type TooManyConnectionsError = components['schemas']['TooManyConnectionsError'];

/** A volume, and its mount path. */
export type VolumeMount = components['schemas']['VolumeMount'];
