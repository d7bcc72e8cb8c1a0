// What can be wrong with evidence, each with where it is.

export const FAULT_KINDS = {
  'line-unreadable': 'a line is not what an export holds',
  'export-incomplete': 'the export was cut short, or lines were taken out of it or put into it',
  'record-changed': 'a record is not as it was written',
  'record-missing': 'records are missing',
  'record-moved': 'a record is not where it was written: out of order, or in another batch',
  'record-extra': 'a record is there twice',
  'link-changed': 'a link of a chain is not as it was written',
  'link-missing': 'links of a chain are missing, with their records',
  'link-moved': 'links of a chain are not in the order in which they were written',
  'chain-missing': 'a whole chain is missing',
  'chain-cut': 'the end of a chain is missing',
  'chain-moved': 'chains are not in the order in which their lives began, or one is there twice',
  'chain-grown': 'a chain goes on after its life had ended',
  'chain-unlisted': 'a chain was put in: checkpoints made after it began do not list it',
  'checkpoint-changed': 'a checkpoint is not as it was written',
  'checkpoint-signature': 'a checkpoint is not signed by the key that it names',
  'checkpoint-missing': 'checkpoints are missing',
  'checkpoint-moved': 'checkpoints are not in their order, or one is there twice',
  'checkpoint-contradicted': 'a checkpoint lists another link than the chain has',
  'key-unknown': 'a checkpoint is signed by a key that is not trusted',
  'tail-cut': 'the end is missing: the kept head was made after all that is there',
  'head-unknown': 'the kept head cannot be found',
  'other-ledger':
    'the kept head belongs to another ledger, or the export is from before every chain that it lists',
} as const
export type FaultKind = keyof typeof FAULT_KINDS

export interface Fault {
  readonly kind: FaultKind
  /** Number of the line, from 1, where it is about one. */
  readonly line?: number
  readonly epoch?: string
  readonly batch?: number
  readonly seq?: number
  readonly checkpoint?: number
  readonly detail: string
}

/** So many are named; the rest are counted. */
const MAX_FAULTS = 1_000

export class FaultList {
  readonly list: Fault[] = []
  count = 0

  add(kind: FaultKind, where: Omit<Fault, 'kind' | 'detail'>, detail: string): void {
    this.count += 1
    if (this.list.length < MAX_FAULTS) this.list.push({ kind, ...where, detail })
  }
}
