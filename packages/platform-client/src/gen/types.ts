// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
import type { components } from './schema.ts';

/** Tags, and the build that they are to lead to. */
export type AssignTags = components['schemas']['AssignTags'];

/** Where a build stands, and a page of its log. */
export type BuildInfo = components['schemas']['BuildInfo'];

/** One entry of the log of a build. */
export type BuildLogEntry = components['schemas']['BuildLogEntry'];

/** A build to register. */
export type BuildRequest = components['schemas']['BuildRequest'];

/** A build to register, in the form of early clients. */
export type BuildRequestV2 = components['schemas']['BuildRequestV2'];

/** The build that was registered. */
export type BuildRequested = components['schemas']['BuildRequested'];

/** What to build. */
export type BuildStart = components['schemas']['BuildStart'];

/** Where a build stands. */
export type BuildStatus = components['schemas']['BuildStatus'];

/** One step of a build. */
export type BuildStep = components['schemas']['BuildStep'];

/** `full` keeps memory, `filesystem` only files. Must not contradict `memory`. */
export type CaptureMode = components['schemas']['CaptureMode'];

/** How long the sandbox is to live. */
export type ConnectSandbox = components['schemas']['ConnectSandbox'];

/** How long the sandbox is to live, in the older form. */
export type ConnectSandboxV1 = components['schemas']['ConnectSandboxV1'];

/** Tags to delete. */
export type DeleteTags = components['schemas']['DeleteTags'];

/** A SOCKS5 proxy that all outgoing connections take. */
export type EgressProxy = components['schemas']['EgressProxy'];

/** Environment variables for every process of the sandbox. Each command may override them. */
export type EnvVars = components['schemas']['EnvVars'];

/** Every error of the platform API and of the sandbox API. */
export type ErrorBody = components['schemas']['ErrorBody'];

/** One file that is not the same on both sides. */
export type FileDifference = components['schemas']['FileDifference'];

/** The copy, or why there is none. */
export type ForkResult = components['schemas']['ForkResult'];

/** How many copies to start, and how long they live. */
export type ForkSandbox = components['schemas']['ForkSandbox'];

/** Credentials for a private registry, by `type`; without `type` the AWS fields are meant. Never logged and never returned. */
export type ImageRegistry = components['schemas']['ImageRegistry'];

/** One sandbox in a list. */
export type ListedSandbox = components['schemas']['ListedSandbox'];

/** One entry of a log. */
export type LogEntry = components['schemas']['LogEntry'];

/** How serious an entry is, from the least to the most. */
export type LogLevel = components['schemas']['LogLevel'];

/** Free key-value pairs, by which listings can be filtered. At most 64 KiB in all. */
export type Metadata = components['schemas']['Metadata'];

/** What may go in and out. Allow beats deny, deny beats the default, which is open to the internet. Private, loopback and link-local ranges are never reachable. */
export type NetworkConfig = components['schemas']['NetworkConfig'];

/** Changes to matching HTTPS requests, by domain: an exact name, or `*.` and a name for any depth below it. An exact name beats a wildcard, a longer suffix a shorter one. A rule grants no access by itself. */
export type NetworkRules = components['schemas']['NetworkRules'];

/** Rules that replace those of the sandbox. */
export type NetworkUpdate = components['schemas']['NetworkUpdate'];

/** A sandbox to create. */
export type NewSandbox = components['schemas']['NewSandbox'];

/** What both forms of a create take. */
export type NewSandboxCommon = components['schemas']['NewSandboxCommon'];

/** A sandbox to create, in the older form. */
export type NewSandboxV1 = components['schemas']['NewSandboxV1'];

/** What a snapshot keeps, and its name. */
export type NewSnapshot = components['schemas']['NewSnapshot'];

/** What a pause keeps. */
export type PauseSandbox = components['schemas']['PauseSandbox'];

/** How long the sandbox is to live at least. */
export type RefreshSandbox = components['schemas']['RefreshSandbox'];

/** `false` resumes from the files alone, with a fresh boot and no processes; the checkpoint stays as it is. A server that cannot do so refuses it with 400. */
export type ResumeMemory = components['schemas']['ResumeMemory'];

/** How to restore a paused sandbox. */
export type ResumeSandbox = components['schemas']['ResumeSandbox'];

/** What a program needs to use a sandbox. */
export type Sandbox = components['schemas']['Sandbox'];

/** Everything about one sandbox. */
export type SandboxDetail = components['schemas']['SandboxDetail'];

/** The same entries in two forms. */
export type SandboxLogs = components['schemas']['SandboxLogs'];

/** What a sandbox used at one moment. */
export type SandboxMetric = components['schemas']['SandboxMetric'];

/** The rules in force. The password of a proxy is not among them. */
export type SandboxNetwork = components['schemas']['SandboxNetwork'];

/** Answered by the edge in place of a sandbox that cannot. Both spellings of the id hold the same value. */
export type SandboxNotFoundError = components['schemas']['SandboxNotFoundError'];

/** `running`, or `paused`: kept on disk, with no process running. */
export type SandboxState = components['schemas']['SandboxState'];

/** When the sandbox is to end. */
export type SandboxTimeout = components['schemas']['SandboxTimeout'];

/** The latest sample of several sandboxes. */
export type SandboxesMetrics = components['schemas']['SandboxesMetrics'];

/** One snapshot. */
export type SnapshotInfo = components['schemas']['SnapshotInfo'];

/** One step of the way by which a snapshot came about. */
export type SnapshotLogEntry = components['schemas']['SnapshotLogEntry'];

/** What a check of a snapshot has found. */
export type SnapshotVerification = components['schemas']['SnapshotVerification'];

/** A name that leads to one build of a template. */
export type Tag = components['schemas']['Tag'];

/** One template and its latest build. */
export type Template = components['schemas']['Template'];

/** Whether files have to be uploaded, and where. */
export type TemplateFiles = components['schemas']['TemplateFiles'];

/** A tag and the build that it leads to. */
export type TemplateTag = components['schemas']['TemplateTag'];

/** What to change in a template. */
export type TemplateUpdate = components['schemas']['TemplateUpdate'];

/** Answered by the edge in place of a busy sandbox. Both spellings of the id hold the same value. */
export type TooManyConnectionsError = components['schemas']['TooManyConnectionsError'];

/** A volume, and where it appears. */
export type VolumeMount = components['schemas']['VolumeMount'];
