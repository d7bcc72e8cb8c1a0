// Where tools report the end of long work, and how a report is known to be theirs.
//
// The token of a call is a code of the server's key over the call: every replica with the key makes the same one, and
// nobody has to keep it. A report is signed with it over its time and its body, so that neither can be exchanged.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackSignature } from '../contract/callback-report.ts'
import type { CallbackAddress } from './transport.ts'

export interface ToolCallbacks {
  /** By which tools reach this server, such as `https://writ.example.com`. */
  readonly publicUrl: string
  /** Servers that share a store share it. */
  readonly key: string
}

const PURPOSE = 'writ tool callback 1\n'
const PATH = '/v1/callbacks/'
/** How far the clock of a tool may be off. */
const SKEW_MS = 300_000

export function createCallbackAddress({ publicUrl, key }: ToolCallbacks): CallbackAddress {
  const base = publicUrl.replace(/\/+$/, '') + PATH
  return {
    url: ({ namespace, callId }) =>
      namespace === 'default' ? base + callId : `${base}${callId}?namespace=${encodeURIComponent(namespace)}`,
    token: ({ namespace, callId, key: toolKey }) =>
      createHmac('sha256', key)
        .update(PURPOSE + JSON.stringify([namespace, callId, toolKey]))
        .digest('base64url'),
  }
}

/** Takes as long for a wrong code as for the right one. */
export function isSigned(
  body: Uint8Array,
  { timestamp, signature }: CallbackSignature,
  token: string,
  now: number,
): boolean {
  const time = timestamp ?? ''
  const given = /^v1=([0-9a-f]{64})$/.exec(signature ?? '')?.[1] ?? '0'.repeat(64)
  const real = createHmac('sha256', token).update(`${time}.`).update(body).digest()
  const same = timingSafeEqual(Buffer.from(given, 'hex'), real)
  return same && /^\d{1,11}$/.test(time) && Math.abs(now - Number(time) * 1000) <= SKEW_MS
}
