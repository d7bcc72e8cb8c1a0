// An implementation under test: a whole runtime with a tool behind it, as the cases see it.
import type { EventMap, EventName } from '../event/event.ts'
import type { IsolationMode } from '../resource/resolved-tool.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { RequirementId } from './requirements.ts'
import type { Declaration, OperationName, ToolName } from './tools.ts'

/** A call under way. */
export interface StartedCall {
  /** The envelope that the caller gets, as parsed JSON. */
  answer(): Promise<JsonObject>
  cancel(): void
  /** Resolves when the call is being sent to the tool, or has ended without that. */
  sending(): Promise<void>
}

/** One send as the tool itself saw it. */
export interface ToolSend {
  readonly operation: OperationName
  readonly input: Json
  /** What the tool was given to recognise a repeat by. */
  readonly key: string
  readonly attempt: number
  /** As the tool got it; 32 hexadecimal digits over HTTP. */
  readonly traceId: string
  /** The credentials that it was shown: by header, in lower case, or by variable of its environment. */
  readonly credentials: Readonly<Record<string, string>>
  /** The tool was told to stop, or lost its caller, before it had answered. */
  readonly stopped: boolean
}

export type SubjectEvent = {
  readonly [N in EventName]: { readonly name: N; readonly event: EventMap[N] }
}[EventName]

/** Who calls. Everything is permitted but what is taken away. */
export interface CallerChoice {
  readonly without: readonly string[] | 'everything'
}

/** What the runtime knows of a tool when it decides about a call. */
export interface Declared {
  readonly capabilities: readonly string[]
  readonly riskLevel: string
}

/** What a backend says about the boundary around its tools. */
export interface IsolationFacts {
  /** Modes that calls run in; every other one must be refused. */
  readonly provided: readonly IsolationMode[]
  readonly boundary: string
}

/**
 * What a tool of a backend can be shown: each auth profile; one value of a secret, which is declared as `bearer` here and
 * comes as a variable of its environment; or nothing, so that a tool that declares a credential is refused.
 */
export type Presents = 'profiles' | 'value' | 'nothing'

export interface SecretChoice {
  readonly name: string
  readonly values: Readonly<Record<string, string>>
  /** @default the one of the tools */
  readonly namespace?: string
  /** Other namespaces whose tools may use it. @default none */
  readonly shareWith?: readonly string[]
}

export interface Subject {
  /** A backend, or the address of a service. */
  readonly name: string
  /** What it cannot do yet: by requirement, why. Such a requirement is limited, even when its cases pass. */
  readonly limitations: Readonly<Partial<Record<RequirementId, string>>>
  readonly isolation: IsolationFacts
  /** The tool is reached at an endpoint, so network constraints apply to it. */
  readonly hasEndpoint: boolean
  /** `fail` answers with the HTTP status it is asked for, so that a redirect can be tried. */
  readonly givesStatus: boolean
  readonly presents: Presents
  /** The header of profile api_key_header where none is named; absent where one has to be. */
  readonly defaultHeader?: string
  readonly world: Pick<World, 'clock' | 'after'>
  /** A new id on each call. */
  mint(): string
  /** Sends a request in any dialect through the whole runtime. */
  start(request: JsonObject, as?: CallerChoice): StartedCall
  /** What would be wrong with a tool that is declared like this; empty when it would be taken. */
  declare(tool: Declaration): Promise<readonly string[]>
  /** Keeps a secret in place of the one that had this name. */
  putSecret(secret: SecretChoice): Promise<void>
  /** A tool of `TOOLS` as decisions see it. */
  declared(tool: ToolName): Declared | undefined
  /** Everything emitted so far, oldest first. */
  events(): readonly SubjectEvent[]
  /** Everything that was written down for operators so far: events and log lines, as text. */
  said(): Promise<string>
  /** What reached the tool with this mark in its input; undefined where the tool cannot be looked into. */
  sends(mark: string): readonly ToolSend[] | undefined
  /** Another life of the runtime in front of the same tool, which remembers nothing. */
  reborn(): Promise<Subject>
  close(): Promise<void>
}
