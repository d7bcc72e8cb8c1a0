// Evidence as it is kept: links of chains, and what was signed about them.
import type { EvidenceRecord } from './write.ts'

export interface LinkedRecord extends EvidenceRecord {
  readonly seq: number
  readonly hash: string
  /** What is kept in place of the body, where somebody changed it so that the body does not give the same text again. */
  readonly text?: string
}

/** One link of the evidence chain of a process life: sha256(prev, root(batch)) (S39). */
export interface EvidenceLink {
  readonly epoch: string
  readonly batch: number
  readonly prev: string
  readonly root: string
  readonly hash: string
  readonly records: readonly LinkedRecord[]
}

/** Where a chain ended when somebody looked. */
export interface ChainEnd {
  readonly epoch: string
  readonly batch: number
  readonly seq: number
  readonly hash: string
  /** Its life has ended: the chain does not grow any more. */
  readonly closed: boolean
}

/** A signed statement about where all chains ended (S39). The store keeps it as it is given. */
export interface CheckpointRow {
  /** 1 for the first. */
  readonly number: number
  readonly at: number
  /** SHA-256 of `body`. */
  readonly hash: string
  /** The signed text. */
  readonly body: string
  readonly keyId: string
  readonly signature: string
}

export interface EvidenceStore {
  /** In order, from `fromBatch` on; the first batch of an epoch is 1. */
  links(epoch: string, fromBatch: number, limit: number): Promise<readonly EvidenceLink[]>
  /** In the order in which they started. */
  epochs(): Promise<readonly string[]>
  /** Oldest first. */
  forCall(namespace: string, callId: string): Promise<readonly EvidenceRecord[]>
  /** The end of every chain of which a link is kept, by ordinal of its life. */
  ends(): Promise<readonly ChainEnd[]>
  /** From `fromNumber` on, in order. */
  checkpoints(fromNumber: number, limit: number): Promise<readonly CheckpointRow[]>
  lastCheckpoint(): Promise<CheckpointRow | undefined>
  /** False when this number was taken meanwhile. */
  addCheckpoint(row: CheckpointRow): Promise<boolean>
  /** Drops links of one chain up to and including a batch, oldest first, at most `limit` links. Returns how many went. */
  prune(epoch: string, upToBatch: number, limit: number): Promise<number>
  /** Drops checkpoints with a smaller number, at most `limit`. Returns how many went. */
  pruneCheckpoints(before: number, limit: number): Promise<number>
}
