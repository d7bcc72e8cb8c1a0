// The hash chain over evidence: one chain per process life, one link per group commit (S39).
//
//   record hash = sha256(epoch, seq, namespace, call id, type, at, body)    body is the JSON text that is kept
//   root        = sha256 of the record hashes of one batch, joined
//   link hash   = sha256(link hash before, root)                            '' before the first
//
// Several parts are hashed length-prefixed, so that no two lists of parts give the same bytes.
import type { EvidenceType } from '../contract/evidence.ts'
import { sha256Hex } from '../util/canonical.ts'
import { isJsonObject } from '../util/json.ts'
import type { CheckpointRow, EvidenceRecord, LinkedRecord } from './store.ts'

/** Where a chain ends: the last link and the number of the last record. */
export interface ChainHead {
  readonly batch: number
  readonly seq: number
  readonly hash: string
}

export const EMPTY_CHAIN: ChainHead = Object.freeze({ batch: 0, seq: 0, hash: '' })

/** An evidence record whose body is already the JSON text that is kept. */
export interface EvidenceText extends Omit<EvidenceRecord, 'body'> {
  readonly body: string
}

export function hashRecord(epoch: string, seq: number, record: EvidenceText): string {
  const { namespace, callId, type, at, body } = record
  return sha256Hex(epoch, String(seq), namespace, callId, type, String(at), body)
}

function hashRoot(recordHashes: readonly string[]): string {
  return sha256Hex(recordHashes.join(''))
}

function hashLink(prev: string, root: string): string {
  return sha256Hex(prev, root)
}

interface ChainLink {
  readonly batch: number
  readonly prev: string
  readonly root: string
  readonly hash: string
}

/** The link that a batch of records adds, and where the chain then ends. */
export function linkBatch(
  head: ChainHead,
  recordHashes: readonly string[],
): { link: ChainLink; head: ChainHead } {
  const root = hashRoot(recordHashes)
  const hash = hashLink(head.hash, root)
  const batch = head.batch + 1
  return {
    link: { batch, prev: head.hash, root, hash },
    head: { batch, seq: head.seq + recordHashes.length, hash },
  }
}

/** Says how records are built and hashed, for whoever verifies them later. */
const EVIDENCE_VERSION = 1

/**
 * The first record of a life. It names the end of the life before as it is found on disk: written-behind records that a
 * kill lost are missing before it, and nothing can be slipped in there later (S34). It also names the last checkpoint, so
 * that a store which was set back is noticed (S39). It belongs to no namespace or call.
 */
export function startRecord(
  at: number,
  before: { readonly epoch: string; readonly head: ChainHead } | undefined,
  checkpoint: Pick<CheckpointRow, 'number' | 'hash'> | undefined,
): EvidenceText {
  const previous =
    before === undefined
      ? { previous_epoch: null }
      : {
          previous_epoch: before.epoch,
          previous_batch: before.head.batch,
          previous_seq: before.head.seq,
          previous_hash: before.head.hash,
        }
  const body = {
    evidence_version: EVIDENCE_VERSION,
    ...previous,
    last_checkpoint: checkpoint === undefined ? null : { number: checkpoint.number, hash: checkpoint.hash },
  }
  return {
    namespace: '',
    callId: '',
    type: 'runtime.started' satisfies EvidenceType,
    at,
    body: JSON.stringify(body),
  }
}

/**
 * A body as it is read back. Somebody may have changed it so that it is no JSON any more, or other text for the same
 * JSON: then what is kept is shown as it is, for whoever verifies it, and reading goes on.
 */
export function readBody(text: string): Pick<LinkedRecord, 'body' | 'text'> {
  try {
    const body: unknown = JSON.parse(text)
    if (isJsonObject(body)) return JSON.stringify(body) === text ? { body } : { body, text }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return { body: {}, text }
}
