// JSON documents of issuers, through the one way out.
import { parseStrictJson } from '../util/strict-json.ts'
import type { FetchJson } from './oidc-keys.ts'

/** What is used of the way out. */
export interface Outgoing {
  send(request: {
    readonly url: string
    readonly headers?: Readonly<Record<string, string>>
    readonly timeoutMs?: number
    readonly maxBytes?: number
  }): Promise<{ readonly status: number; readonly body: Uint8Array }>
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 256 * 1024

export function createFetchJson(egress: Outgoing): FetchJson {
  return async (url) => {
    const headers = { accept: 'application/json' }
    const { status, body } = await egress.send({ url, headers, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES })
    if (status !== 200) throw new Error(`it answered with status ${status}`)
    const parsed = parseStrictJson(body)
    if (!parsed.ok) throw new Error('it answered with something that is no JSON')
    return parsed.value
  }
}
