// What makes two requests the same call, and two calls the same effect.
import type { EffectRule } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import { canonicalJson, sha256Base64url, sha256Hex } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import { parseStrictJson } from '../util/strict-json.ts'

/** S13: keys of two callers, tools or operations never meet. */
export function scopeOf(namespace: string, actor: string, tool: string, operation: string): string {
  return JSON.stringify([namespace, actor, tool, operation])
}

/** S19: what the tool is given in place of the caller's own key. */
export function toolKeyOf(scope: string, key: string): string {
  return sha256Base64url(scope, key)
}

/** The payload as it is kept and sent. Absent input is kept apart from null. */
export function serialize(input: Json | undefined): string {
  return input === undefined ? '' : JSON.stringify(input)
}

export interface Fingerprint {
  readonly payloadHash: string
  readonly fingerprint: string
  readonly fields: readonly string[]
  /** S14's second constraint, where the tool declares one. */
  readonly identity?: string
}

export function fingerprintOf(
  rule: EffectRule,
  where: { readonly namespace: string; readonly tool: string; readonly operation: string },
  input: Json | undefined,
  payloadText: string,
): Fingerprint {
  const payloadHash = sha256Hex(payloadText)
  if (rule.identity === undefined) return { payloadHash, fingerprint: payloadHash, fields: [] }
  const fields = rule.identity.fields
  const values = valuesOf(input, fields)
  return {
    payloadHash,
    fingerprint: sha256Hex(values),
    fields,
    identity: sha256Hex(where.namespace, where.tool, where.operation, values),
  }
}

export type Sameness = 'same' | 'same-but-reworded' | 'different'

/** What a request asks to run. `inputRaw` is JSON or text, which only the tool's schema decides; both readings count. */
export interface Asked {
  readonly input?: Json
  readonly inputRaw?: string
}

/** Whether a new request with an entry's key asks for that entry (S13). */
export function compareWithEntry(entry: Entry, asked: Asked): Sameness {
  if (asked.inputRaw === undefined) return compareInput(entry, asked.input)
  const asText = compareInput(entry, asked.inputRaw)
  if (asText !== 'different') return asText
  const parsed = parseStrictJson(asked.inputRaw)
  return parsed.ok ? compareInput(entry, parsed.value) : 'different'
}

function compareInput(entry: Entry, input: Json | undefined): Sameness {
  if (entry.payloadHash === sha256Hex(serialize(input))) return 'same'
  if (entry.fingerprintFields.length > 0) {
    return entry.fingerprint === sha256Hex(valuesOf(input, entry.fingerprintFields))
      ? 'same-but-reworded'
      : 'different'
  }
  // Field order does not make another payload; the costly comparison runs only when the texts differ.
  if (entry.payload === undefined || !('inline' in entry.payload) || input === undefined) return 'different'
  return canonicalJson(entry.payload.inline) === canonicalJson(input) ? 'same' : 'different'
}

function valuesOf(input: Json | undefined, fields: readonly string[]): string {
  return canonicalJson(fields.map((field) => [field, readPointer(input, field) ?? null]))
}
