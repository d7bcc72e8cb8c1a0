// From what an HTTP exchange came to, to a refusal. The one place where statuses and network errors become rows.
import type { FailureId } from '../contract/failures.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { JsonObject } from '../util/json.ts'
import { type Exchange, headerText, isProtocolError } from './http-exchange.ts'
import type { BodyFlaw } from './response-body.ts'
import type { Refusal, Send } from './transport.ts'

type Answered = Extract<Exchange, { kind: 'answered' }>

export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status < 300
}

/** S23: this status says that the tool did nothing, unless `effect.refused_on` says otherwise. */
export function isDefiniteStatus(status: number, operation: ResolvedOperation): boolean {
  return operation.effect.refusedOn.includes(status)
}

function failureOfStatus(status: number): FailureId {
  if (status === 401) return 'upstream-unauthorized'
  if (status === 403) return 'upstream-forbidden'
  if (status === 429) return 'upstream-throttled'
  if (status === 409 || status === 412) return 'upstream-conflict'
  // The server gave up waiting for us; it says nothing about what it had done by then.
  if (status === 408 || status >= 500) return 'upstream-error'
  return 'upstream-rejected'
}

/** The refusal that a status other than 2xx means. The body is not quoted: it may hold secrets. */
export function statusRefusal(answered: Answered, operation: ResolvedOperation, now: number): Refusal {
  const { status, headers, flaw } = answered
  const failure = failureOfStatus(status)
  const { retryAfterMs } = retryAfterOf(answered, now)
  const location = status >= 300 && status < 400 ? originOf(headerText(headers, 'location')) : undefined
  return {
    kind: 'failure',
    failure,
    message: messageOfStatus(status, location),
    details: {
      http_status: status,
      upstream_status: status,
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
      ...(location === undefined ? {} : { location }),
      ...(flaw === undefined ? {} : { body: flaw }),
    },
    // A cut or oversize refusal is no definite one (S23).
    definite: flaw === undefined && isDefiniteStatus(status, operation),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function messageOfStatus(status: number, location: string | undefined): string {
  if (status < 300 || status >= 400) return `the tool answered HTTP ${status}`
  // S25: a redirect is a send of its own, to a place that nobody has declared.
  const where = location === undefined ? '' : ` to ${location}`
  return `the tool answered HTTP ${status}, a redirect${where}; redirects are not followed`
}

const FLAWS: Record<BodyFlaw, { readonly failure: FailureId; readonly message: string }> = {
  'too-large': {
    failure: 'output-too-large',
    message: 'the reply is larger than the limit; reading stopped there',
  },
  cut: { failure: 'connect-failed', message: 'the connection ended in the middle of the reply' },
  malformed: {
    failure: 'reply-malformed',
    message: 'the body of the reply is not framed or encoded as it says',
  },
}

/** A 2xx whose body cannot be used: the tool may have done everything. */
export function flawRefusal(flaw: BodyFlaw, status: number, send: Send): Refusal {
  const row = FLAWS[flaw]
  return {
    kind: 'failure',
    failure: row.failure,
    message: row.message,
    details: {
      http_status: status,
      ...(flaw === 'too-large' ? { limit_bytes: send.tool.limits.outputBytes } : {}),
    },
    definite: false,
  }
}

/** No status came at all. */
export function brokenRefusal(broken: Extract<Exchange, { kind: 'broken' }>): Refusal {
  const details: JsonObject = { network_error: broken.code }
  if (!broken.sent && broken.code === 'UND_ERR_INVALID_ARG') {
    return {
      kind: 'failure',
      failure: 'config-invalid',
      message:
        'the request for this tool cannot be formed: its endpoint or the name of a header is not valid HTTP',
      details: { ...details, path: 'spec.endpoint' },
      definite: true,
    }
  }
  if (isProtocolError(broken.code)) {
    return {
      kind: 'failure',
      failure: 'reply-malformed',
      message: 'the reply is not HTTP',
      details,
      definite: false,
    }
  }
  return {
    kind: 'failure',
    failure: 'connect-failed',
    message: broken.sent
      ? `the connection to the tool ended before its reply (${broken.code})`
      : `the connection to the tool failed before anything was sent (${broken.code})`,
    details,
    definite: !broken.sent,
  }
}

/** The guard said no at the address that would have been dialled. */
export function blockedRefusal(blocked: Extract<Exchange, { kind: 'blocked' }>, origin: string): Refusal {
  return {
    kind: 'failure',
    failure: 'egress-denied',
    message: `${origin}: ${blocked.why}, which this tool may not reach`,
    details: { path: 'spec.egress', origin },
    definite: true,
  }
}

/** Honoured where HTTP defines it: for a throttled caller and for a service that is away for a while. */
export function retryAfterOf(answered: Answered, now: number): { readonly retryAfterMs?: number } {
  if (answered.status !== 429 && answered.status !== 503) return {}
  const retryAfterMs = parseRetryAfter(headerText(answered.headers, 'retry-after'), now)
  return retryAfterMs === undefined ? {} : { retryAfterMs }
}

/** Seconds or an HTTP date, as milliseconds from now; anything else is as if it were not there. */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000
  if (!text.endsWith('GMT')) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

function originOf(location: string | undefined): string | undefined {
  if (location === undefined || !URL.canParse(location)) return undefined
  const { origin } = new URL(location)
  return origin === 'null' ? undefined : origin
}
