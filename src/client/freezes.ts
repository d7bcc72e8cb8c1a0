// What a client can do about the kill switch: freeze, thaw, and see what is frozen.
import type { FreezeTarget } from '../contract/freeze.ts'
import type { JsonObject } from '../util/json.ts'
import { ask, segment, type Target } from './exchange.ts'

/** Something that an operator has stopped. */
export interface FreezeResource {
  readonly what: FreezeTarget['what']
  /** Of the tool or the caller. */
  readonly name?: string
  /** `*` where it holds everywhere. */
  readonly namespace: string
  readonly reason: string
  readonly by: string
  readonly at: string
  readonly in_flight: 'finish' | 'end'
}

export interface FreezeClient {
  listFreezes(): Promise<readonly FreezeResource[]>
  /** Nothing that is claimed afterwards is sent. `reason` is kept in evidence. */
  freeze(
    target: FreezeTarget,
    options: { readonly reason: string; readonly inFlight?: 'finish' | 'end' },
  ): Promise<FreezeResource>
  thaw(target: FreezeTarget, options: { readonly reason: string }): Promise<void>
}

export function freezeClient(target: Target, timeoutMs: number): FreezeClient {
  return {
    async listFreezes() {
      const got = await ask(target, { method: 'GET', path: 'v1/freezes', timeoutMs })
      return as<{ readonly freezes: readonly FreezeResource[] }>(got.body).freezes
    },
    async freeze(what, { reason, inFlight }) {
      const body = { ...what, reason, ...(inFlight === undefined ? {} : { in_flight: inFlight }) }
      const got = await ask(target, {
        method: 'POST',
        path: 'v1/freezes',
        body: JSON.stringify(body),
        timeoutMs,
      })
      return as<FreezeResource>(got.body)
    },
    async thaw(what, { reason }) {
      const name = 'name' in what ? `/${segment(what.name)}` : ''
      await ask(target, {
        method: 'DELETE',
        path: `v1/freezes/${what.what}${name}`,
        query: { reason },
        timeoutMs,
      })
    },
  }
}

/** The server's own schemas promise these shapes. */
function as<T>(body: JsonObject): T {
  return body as unknown as T
}
