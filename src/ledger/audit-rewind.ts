// Whether a store is the one that a kept checkpoint was made of, or was set back, as by an old backup (S39).
//
// A store that was set back has forgotten keys: what they stood for can be done a second time. Nothing inside the store
// shows that; a checkpoint that is kept outside does.
import type { CheckpointRow, EvidenceStore } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { type KeptHead, readCheckpoint } from './checkpoint.ts'

export interface Rewound {
  readonly kept: KeptHead
  /** The last checkpoint that the store has; what came after it is not there. */
  readonly found: CheckpointRow | undefined
  readonly why: string
}

/** Undefined where the store has all that the kept checkpoint vouches for. */
export async function findRewind(evidence: EvidenceStore, kept: KeptHead): Promise<Rewound | undefined> {
  const found = await evidence.lastCheckpoint()
  if (found === undefined || found.number < kept.number) {
    const what = found === undefined ? 'no checkpoint' : `checkpoints up to number ${found.number} only`
    return { kept, found, why: `it has ${what}, and number ${kept.number} was made` }
  }
  const [first] = await evidence.checkpoints(1, 1)
  const [same] = await evidence.checkpoints(kept.number, 1)
  // Dropped since, with everything that it vouches for: the ones that are left were made after it.
  if (first !== undefined && first.number > kept.number) return undefined
  if (same?.number !== kept.number || same.hash !== kept.hash) {
    return { kept, found, why: `its checkpoint ${kept.number} is another one than was made` }
  }
  const why = await shortChain(evidence, kept, first)
  return why === undefined ? undefined : { kept, found, why }
}

async function shortChain(
  evidence: EvidenceStore,
  kept: KeptHead,
  first: CheckpointRow | undefined,
): Promise<string | undefined> {
  const ends = new Map((await evidence.ends()).map((end) => [end.epoch, end.batch]))
  const dropped = new Map(
    (readCheckpoint(first?.body ?? '')?.heads ?? []).map((head) => [head.epoch, head.batch]),
  )
  for (const { epoch, batch } of readCheckpoint(kept.body)?.heads ?? []) {
    const end = ends.get(epoch) ?? dropped.get(epoch) ?? 0
    if (end < batch) return `its chain ${epoch} ends at batch ${end}, and went on to ${batch}`
  }
  return undefined
}

export function describeRewind({ kept, found, why }: Rewound): string {
  const until = new Date(kept.at).toISOString()
  const since = found === undefined ? undefined : new Date(found.at).toISOString()
  return (
    `the store was set back, as by an old backup: ${why}. Calls made ` +
    `${since === undefined ? `up to ${until}, or later,` : `after ${since}, up to ${until} or later,`} are forgotten here: ` +
    'what they did may be done again when somebody asks again. Restore the newest copy of the store; or, when you know ' +
    'that no such call will be repeated, start once with --accept-rewound (audit.acceptRewound in a program), which is ' +
    'put into evidence'
  )
}

/** What is put into evidence when somebody goes on all the same. */
export function rewindBody({ kept, found, why }: Rewound): JsonObject {
  return {
    kept_checkpoint: { number: kept.number, hash: kept.hash, at: kept.at },
    found_checkpoint: found === undefined ? null : { number: found.number, hash: found.hash, at: found.at },
    why,
  }
}
