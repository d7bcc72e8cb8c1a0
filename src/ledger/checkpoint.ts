// A checkpoint: a signed text that says where every chain ended (S39).
//
//   text  = canonical JSON {version, number, at, prev, complete, dropped, heads, keys?}
//   hash  = sha256 of the text
//   prev  = hash of the checkpoint before, '' for the first
//
// A chain whose life has ended is listed once more, as closed, and then left out. A complete checkpoint lists every chain
// of which anything is kept, and every key in use so far: it can be the first one that is left after old ones are dropped.
// That they may be dropped is signed for beforehand: what somebody takes out is not taken for what retention dropped.
import { hash } from 'node:crypto'
import type { ChainEnd, CheckpointRow } from '../store/store.ts'
import { canonicalJson } from '../util/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import type { AuditKey } from './audit-key.ts'

export interface CheckpointText {
  readonly number: number
  readonly at: number
  readonly prev: string
  /** Number of the last complete checkpoint; its own where it is complete. */
  readonly complete: number
  /** Evidence up to the complete checkpoint of this number may be dropped because it is old; 0: nothing yet. */
  readonly dropped: number
  /** In the order in which their lives began. */
  readonly heads: readonly ChainEnd[]
  /** Public keys by id; in complete checkpoints only. */
  readonly keys?: Readonly<Record<string, string>>
}

/** A checkpoint as it is kept outside the store, and in an export: JSON of one line. */
export interface CheckpointLine {
  readonly kind: 'checkpoint'
  readonly number: number
  readonly at: number
  readonly hash: string
  readonly key_id: string
  readonly signature: string
  readonly body: string
}

/** What somebody keeps to hold a ledger to: a checkpoint with the key it can be checked with. */
export interface KeptHead extends CheckpointLine {
  readonly public_key: string
}

export function hashCheckpoint(body: string): string {
  return hash('sha256', body, 'hex')
}

export function signCheckpoint(text: CheckpointText, key: AuditKey): CheckpointRow {
  const { number, at } = text
  const body = canonicalJson({ version: 1, ...text } as unknown as Json)
  return {
    number,
    at,
    hash: hashCheckpoint(body),
    body,
    keyId: key.keyId,
    signature: key.sign(body),
  }
}

export function lineOf({ number, at, hash: own, keyId, signature, body }: CheckpointRow): CheckpointLine {
  return { kind: 'checkpoint', number, at, hash: own, key_id: keyId, signature, body }
}

export function headOf(row: CheckpointRow, publicKey: string): KeptHead {
  return { ...lineOf(row), public_key: publicKey }
}

/** Undefined for a text that is none of ours. */
export function readCheckpoint(body: string): CheckpointText | undefined {
  const value = parseObject(body)
  if (value === undefined || value.version !== 1) return undefined
  const { number, at, prev, complete, dropped, heads, keys } = value
  if (!isCount(number, 1) || typeof at !== 'number' || typeof prev !== 'string') return undefined
  if (!isCount(complete, 1) || complete > number || !Array.isArray(heads) || !heads.every(isEnd))
    return undefined
  if (!isCount(dropped, 0) || dropped > number) return undefined
  if ((complete === number) !== (keys !== undefined)) return undefined
  if (keys === undefined) return { number, at, prev, complete, dropped, heads }
  if (!isJsonObject(keys) || !Object.values(keys).every((one) => typeof one === 'string')) return undefined
  return { number, at, prev, complete, dropped, heads, keys: keys as Readonly<Record<string, string>> }
}

/** Undefined for JSON that is no kept head, or whose own parts do not fit together. */
export function readKeptHead(text: string): KeptHead | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { number, at, hash: own, key_id, signature, body, public_key } = value
  if (!isCount(number, 1) || typeof at !== 'number' || typeof own !== 'string' || typeof body !== 'string')
    return undefined
  if (typeof key_id !== 'string' || typeof signature !== 'string' || typeof public_key !== 'string')
    return undefined
  if (hashCheckpoint(body) !== own || readCheckpoint(body)?.number !== number) return undefined
  return { kind: 'checkpoint', number, at, hash: own, key_id, signature, body, public_key }
}

function isEnd(value: unknown): value is ChainEnd {
  if (!isJsonObject(value)) return false
  const { epoch, batch, seq, hash: link, closed } = value
  return (
    typeof epoch === 'string' &&
    isCount(batch, 0) &&
    isCount(seq, 0) &&
    typeof link === 'string' &&
    typeof closed === 'boolean'
  )
}

export function isCount(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least
}

export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
