// What came of telling somebody, and what an HTTP status means for it.
import type { Egress, EgressReply, EgressRequest } from '../egress/egress.ts'
import { EgressFailed } from '../egress/egress-failed.ts'

/** No word of it holds an address or a secret. */
export type Delivery =
  | { readonly kind: 'delivered'; readonly detail: string }
  /** It will not be taken, however often it is sent. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'later'; readonly why: string; readonly afterMs?: number }

export const DELIVERY_TIMEOUT_MS = 10_000
const MOST_AFTER_MS = 3_600_000

/** `now` is wall time: a receiver may say until when to wait by its calendar. */
export async function post(
  egress: Egress,
  now: () => number,
  request: Pick<EgressRequest, 'url' | 'headers'> & { readonly body: string },
): Promise<Delivery> {
  try {
    const reply = await egress.send({
      ...request,
      method: 'POST',
      headers: { ...request.headers, 'content-type': 'application/json' },
      timeoutMs: DELIVERY_TIMEOUT_MS,
    })
    return judge(reply, now())
  } catch (error) {
    if (!(error instanceof EgressFailed)) throw error
    const { reason, message: why } = error
    return reason === 'refused' ? { kind: 'refused', why } : { kind: 'later', why }
  }
}

function judge({ status, headers }: EgressReply, now: number): Delivery {
  const why = `status ${status}`
  if (status >= 200 && status < 300) return { kind: 'delivered', detail: why }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) return { kind: 'refused', why }
  const afterMs = retryAfterMs(headers['retry-after'], now)
  return { kind: 'later', why, ...(afterMs === undefined ? {} : { afterMs }) }
}

/** Seconds or a date, as RFC 9110 has it; nobody can put it off for longer than an hour at a time. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, MOST_AFTER_MS) : undefined
}
