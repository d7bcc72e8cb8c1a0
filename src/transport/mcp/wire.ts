// What carries the messages of one connection: the Transport of the SDK, with what a governed call has to know beside.
import type { Transport as SdkTransport } from '@modelcontextprotocol/client'
import type { Presented } from '../../credential/credential.ts'
import type { JsonObject, Violation } from '../../util/json.ts'

/** What a wire found wrong with the reply to one call. */
export type Flaw =
  | { readonly kind: 'too-large' }
  | { readonly kind: 'malformed'; readonly violations: readonly Violation[] }
  | { readonly kind: 'cut'; readonly why: string }

/** The HTTP answer that a call got, where there is such a thing. */
export interface CallStatus {
  readonly status: number
  readonly headers: Record<string, string>
}

/** One `tools/call` on its way, as its wire sees it. */
export interface WireCall {
  /** Bytes of a reply that are read at most. */
  readonly maxBytes: number
  /** A second send does no harm (S22). */
  readonly repeatHarmless: boolean
  /** What is shown with it over HTTP. */
  readonly presented: Presented | undefined
  /** Over, by whatever came first; what is still under way for it stops. */
  readonly signal: AbortSignal
  /** Exactly before the first byte of the message may leave. Throws when it must not. */
  sending(): void
  /** The reply cannot be used; ends the call. */
  flawed(flaw: Flaw): void
  answered(status: CallStatus): void
}

export interface Wire {
  readonly transport: SdkTransport
  /** Everything that `run` sends, and first of all its `tools/call`, belongs to this call. */
  during<T>(call: WireCall, run: () => Promise<T>): Promise<T>
  /** Whether something can be sent over it, as far as is known. */
  isOpen(): boolean
  /** What the peer said outside the protocol, without secrets. */
  stderr(): string
  /** Resolves when nothing of it is left. */
  close(): Promise<void>
}

/** Whether a message is a call of a tool. */
export function isToolCall(message: unknown): boolean {
  return (message as JsonObject | undefined)?.method === 'tools/call'
}
