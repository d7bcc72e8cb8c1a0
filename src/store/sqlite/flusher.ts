// Where a batch becomes durable: the seam between the queue and the disk. A simulator crashes here.
import type { Batch, EncodedResult } from './codec.ts'

export interface Flusher {
  /** Resolves once the batch is committed and on disk. A rejection ends the store (S37). */
  flush(batch: Batch): Promise<readonly EncodedResult[]>
  close(): Promise<void>
}
