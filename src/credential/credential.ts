// Credentials of tools: resolved fresh for each send, presented to the tool, and taken out of everything that comes back.
// The model, the logs and the ledger only ever know the name of a secret.

import type { FailureId } from '../contract/failures.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Abort } from '../util/abort.ts'
import type { Reach } from '../util/address-class.ts'
import type { Json } from '../util/json.ts'
import type { ShownOf } from './shown-note.ts'

/** `[namespace/]name[:key]`, read. */
export interface SecretRef {
  readonly namespace: string
  readonly name: string
  /** Which of its values; absent: `value`, or the only one there is. */
  readonly key?: string
}

export interface SecretMaterial {
  readonly values: Readonly<Record<string, string>>
  /** Another one after each rotation; says nothing of the values. */
  readonly version: string
  /** Other namespaces whose tools may use it. */
  readonly sharedWith?: readonly string[]
}

/** Where values come from. */
export interface SecretProvider {
  readonly name: string
  /** undefined: it knows no such secret, and the next provider is asked. Throws `SecretUnavailable` when it cannot say. */
  read(ref: SecretRef): Promise<SecretMaterial | undefined>
  close?(): Promise<void>
}

export interface UnavailableOptions {
  /** For the operator alone: addresses and paths. No value either. */
  readonly detail?: string
  /** It stays so until somebody mends it: a second try does not help. */
  readonly lasting?: boolean
}

/** The provider could not be asked. `message` is for callers: it names no value, no address and no path. */
export class SecretUnavailable extends Error {
  override readonly name = 'SecretUnavailable'
  readonly detail: string
  readonly lasting: boolean

  constructor(message: string, { detail = message, lasting = false }: UnavailableOptions = {}) {
    super(message)
    this.detail = detail
    this.lasting = lasting
  }
}

/** What the operator is told where a secret or a token could not be had. */
export interface CredentialTrouble {
  readonly namespace: string
  /** Of the secret. */
  readonly name: string
  /** Who was asked: a provider, or `token endpoint`. */
  readonly provider: string
  /** With the address that was asked, and never with a value. */
  readonly why: string
}

/** Takes the values of secrets, in every form they may come back in, out of whatever it is given. */
export interface Redactor {
  /** There is nothing to take out. */
  readonly empty: boolean
  text(text: string): string
  /** Keys of objects too. The same value where nothing was found. */
  json<T extends Json>(value: T): T
  /** For what comes in pieces: a value that is split between two of them is found. */
  stream(): { push(part: string): string; end(): string }
}

/** What one send presents. */
export interface Presented {
  /** Headers over HTTP, metadata over gRPC: names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** For programs: `cli.env_from`. */
  readonly env: Readonly<Record<string, string>>
  /** Of the secrets it is made from. */
  readonly version: string
  readonly redactor: Redactor
  /** The tool did not take it (401): forgets what was cached for it. True where a second try may get on. */
  rejected(): boolean
  /** Sealed, to be kept with the intent and with work that the tool takes on; undefined, or absent, where nothing can be sealed. */
  note?(of: ShownOf): Promise<string | undefined>
}

/** What was shown with the first send, or when the tool took its work on: still taken out of what it says about it. */
export interface ShownBefore extends ShownOf {
  readonly note: string
}

export interface NotPresented {
  readonly failure: Extract<
    FailureId,
    'secret-missing' | 'secret-out-of-scope' | 'token-exchange-failed' | 'egress-denied'
  >
  readonly message: string
  /** What to do in this very case. */
  readonly fix?: string
  readonly details?: { readonly [name: string]: Json }
  /** A token endpoint or a provider that is away for now. */
  readonly transient: boolean
}

export type PresentResult =
  | { readonly ok: true; readonly presented: Presented }
  | { readonly ok: false; readonly refusal: NotPresented }

/** What a tool or a server declares of its credentials. */
export interface CredentialNeed {
  readonly namespace: string
  readonly auth?: ResolvedTool['auth']
  /** Name of a variable, and the secret it is filled from. */
  readonly env?: readonly { readonly name: string; readonly secretRef: string; readonly key?: string }[]
  /** How far in a token endpoint may lie: as far as what declares it. @default 'public' */
  readonly reach?: Reach
}

export interface Credentials {
  /** Never throws for anything a provider can do. Ends soon after the abort. */
  present(need: CredentialNeed, abort: Abort, before?: readonly ShownBefore[]): Promise<PresentResult>
  /** What `Presented.version` would be, without a token being asked for; undefined where nothing would be presented. */
  version(need: CredentialNeed, abort: Abort): Promise<string | undefined>
  /** The values of one secret, for those who need more than a header: registries, OAuth clients, mounts. */
  read(ref: SecretRef): Promise<SecretMaterial | undefined>
  close(): Promise<void>
}
