// What a tool reports about long work by itself, and what came of it.
import type { Failure } from './failure.ts'

/** What a report says of itself beside its body, as its headers have it. */
export interface CallbackSignature {
  /** Seconds since 1970, as text. */
  readonly timestamp: string | undefined
  /** `v1=` and the HMAC-SHA256 of `timestamp.body` with the token of the call, in hexadecimal digits. */
  readonly signature: string | undefined
}

export interface CallbackReport extends CallbackSignature {
  readonly namespace: string
  readonly callId: string
  readonly body: Uint8Array
}

export type ReportResult =
  /** It ended the call. */
  | { readonly kind: 'taken' }
  /** The work has not ended: nothing changed. */
  | { readonly kind: 'noted' }
  /** Signed, and of no use any more. */
  | { readonly kind: 'ignored'; readonly reason: string }
  | { readonly kind: 'refused'; readonly failure: Failure }
