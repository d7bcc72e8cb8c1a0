// What every dialect needs to read a tool's reply.
import { isJsonObject, type Json, type JsonObject, type Violation } from '../../util/json.ts'
import type { ToolUsage } from '../answer.ts'
import { EFFECT_STATES, type EffectState } from '../effect.ts'
import type { Dialect, ToolReply } from './dialect.ts'

export type ReplyReader = Pick<Dialect, 'recognisesReply' | 'decodeReply' | 'looksLikeEnvelope'>

/** Text of a tool that goes into an answer is cut here: messages are for people. */
const MAX_MESSAGE = 2_000

export function malformed(violations: readonly Violation[]): ToolReply {
  return { kind: 'malformed', violations }
}

/** Status and error say the same, or the reply says nothing definite: no mixing of success with error. */
export function mixedViolations(success: boolean, error: Json | undefined): readonly Violation[] {
  const hasError = isJsonObject(error)
  if (success && hasError) return [{ path: '/error', message: 'must be absent when the status is a success' }]
  if (!success && !hasError) return [{ path: '/error', message: 'must say what failed' }]
  return []
}

/**
 * Side effects, warnings and usage (`metrics` in four-outcome), which never spoil a reply: what cannot be read of them
 * becomes a warning.
 */
export function readExtras(
  body: JsonObject,
  usageField: 'usage' | 'metrics' = 'usage',
): { sideEffects?: JsonObject[]; warnings?: string[]; usage?: ToolUsage } {
  const warnings: string[] = []
  const usage = readUsage(body, usageField, warnings)
  const texts = listOf(body, 'warnings', (item) => typeof item === 'string', warnings)
  const sideEffects = listOf(body, 'side_effects', isJsonObject, warnings)
  const all = [...(texts as string[]), ...warnings]
  return {
    ...(sideEffects.length === 0 ? {} : { sideEffects: sideEffects as JsonObject[] }),
    ...(all.length === 0 ? {} : { warnings: all }),
    ...usage,
  }
}

/** Only what a tool knows better than we do: its duration and its attempt are counted here. */
function readUsage(body: JsonObject, field: string, warnings: string[]): { usage?: ToolUsage } {
  const said = body[field]
  if (said === undefined || said === null) return {}
  const { cpu_ms: cpuMs, memory_peak_mb: memoryPeakMb } = isJsonObject(said) ? said : {}
  const given = [cpuMs, memoryPeakMb].filter((one) => one !== undefined && one !== null)
  if (!isJsonObject(said) || !given.every(isAmount)) {
    warnings.push(`the tool sent ${field} that could not be read and were left out`)
  }
  const usage = { ...(isAmount(cpuMs) ? { cpuMs } : {}), ...(isAmount(memoryPeakMb) ? { memoryPeakMb } : {}) }
  return Object.keys(usage).length === 0 ? {} : { usage }
}

function isAmount(value: Json | undefined): value is number {
  return typeof value === 'number' && value >= 0
}

function listOf(
  body: JsonObject,
  name: string,
  fits: (item: Json) => boolean,
  warnings: string[],
): readonly Json[] {
  const list = body[name]
  if (list === undefined || list === null) return []
  const items = Array.isArray(list) ? (list as readonly Json[]) : undefined
  const kept = items?.filter(fits) ?? []
  if (items === undefined || kept.length < items.length) {
    warnings.push(`the tool sent ${name} that could not be read and were left out`)
  }
  return kept
}

/** The token of a prepared effect; null and '' mean none. */
export function readCommitToken(body: JsonObject): { commitToken?: string } {
  const token = body.commit_token
  return typeof token === 'string' && token !== '' ? { commitToken: token } : {}
}

/** Whether the tool itself states that nothing happened (S23). */
export function saysHarmless(...places: readonly (Json | undefined)[]): boolean {
  return places.some((place) => isEffectState(place) && (place === 'none' || place === 'not-done'))
}

function isEffectState(value: Json | undefined): value is EffectState {
  return (EFFECT_STATES as readonly unknown[]).includes(value)
}

/** Details may be any JSON on the wire; inside they are an object. */
export function readDetails(details: Json | undefined): { details?: JsonObject } {
  if (details === undefined || details === null) return {}
  return { details: isJsonObject(details) ? details : { value: details } }
}

export function readMessage(...candidates: readonly (Json | undefined)[]): string {
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate !== '')
  return typeof found === 'string' ? found.slice(0, MAX_MESSAGE) : 'the tool gave no reason'
}

/** Whether every top-level field is one of `known`. */
export function hasOnly(body: JsonObject, known: ReadonlySet<string>): boolean {
  return Object.keys(body).every((name) => known.has(name))
}
