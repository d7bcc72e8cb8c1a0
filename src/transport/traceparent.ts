// The W3C trace context header of a send.
import type { Trace } from '../contract/call.ts'
import { sha256Hex } from '../util/canonical.ts'

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

/** Ids that are not hexadecimal are hashed, so that every send of one trace still carries one id. */
export function traceparent(trace: Trace): string {
  return `00-${hexId(trace.traceId, TRACE_ID, 32)}-${hexId(trace.spanId, SPAN_ID, 16)}-01`
}

function hexId(id: string, pattern: RegExp, length: number): string {
  if (pattern.test(id)) return id
  const bare = id.replaceAll('-', '').toLowerCase()
  return pattern.test(bare) ? bare : sha256Hex(id).slice(0, length)
}
