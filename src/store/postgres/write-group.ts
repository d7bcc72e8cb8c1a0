// Cuts a batch into groups that set-based statements can take at once: in a group no two writes touch one entry, one
// identity, one approval or one saga, so that the order within it does not matter. The order of groups is that of the batch.
import { type EncodedOp, type EncodedOther, type EncodedWrite, pair } from './encode.ts'

/** An operation and its place in the batch. */
export interface Placed<T> {
  readonly index: number
  readonly op: T
}

export type Step =
  | { readonly kind: 'writes'; readonly writes: readonly Placed<EncodedWrite>[] }
  | { readonly kind: 'other'; readonly other: Placed<EncodedOther> }

/** `alone` makes a step of every operation: to find the one that is at fault. */
export function stepsOf(ops: readonly EncodedOp[], alone = false): readonly Step[] {
  const steps: Step[] = []
  let writes: Placed<EncodedWrite>[] = []
  let touched = new Set<string>()
  const close = () => {
    if (writes.length > 0) steps.push({ kind: 'writes', writes })
    writes = []
    touched = new Set()
  }
  for (const [index, op] of ops.entries()) {
    if (op.kind === 'other') {
      close()
      steps.push({ kind: 'other', other: { index, op } })
      continue
    }
    const { marks, needs } = marksOf(op)
    const single = alone || (op.entry?.kind === 'update' && op.entry.update.uniqueSince !== undefined)
    if (single || [...marks, ...needs].some((mark) => touched.has(mark))) close()
    for (const mark of marks) touched.add(mark)
    writes.push({ index, op })
    if (single) close()
  }
  close()
  return steps
}

/** What a write changes, and what it only needs to be as it was before: many may need one saga to be open. */
function marksOf({ entry, write, approval }: EncodedWrite): { marks: string[]; needs: string[] } {
  const marks: string[] = []
  const needs = write.openSaga === undefined ? [] : [`saga ${pair(write.namespace, write.openSaga)}`]
  if (entry !== undefined) marks.push(`entry ${entry.slot}`)
  if (entry?.kind === 'insert') {
    marks.push(`id ${entry.id}`)
    if (entry.unique !== undefined) marks.push(`identity ${entry.unique.identity}`)
  }
  if (approval !== undefined) marks.push(`approval ${approval.at}`)
  if (write.saga !== undefined) {
    const id = write.saga.kind === 'insert' ? write.saga.saga.id : write.saga.id
    marks.push(`saga ${pair(write.namespace, id)}`)
  }
  return { marks, needs }
}
