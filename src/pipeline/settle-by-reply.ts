// What a tool says about an effect that was in question: asked for it, or by itself (S28, S36).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Entry } from '../contract/entry.ts'
import type { MoveResult } from '../ledger/ledger.ts'
import type { FinalReply } from '../transport/transport.ts'
import type { Kit } from './kit.ts'
import { settleUnknown } from './settle-unknown.ts'

const WITHHELD = 'the output is not for this caller, and was not kept'

/** Undefined where that is no definite answer: it stays in question. */
export async function settleByReply(
  entry: Entry,
  { tool, outputs }: CatalogTool,
  reply: FinalReply,
  kit: Kit,
): Promise<MoveResult | undefined> {
  if (reply.kind === 'failure') {
    return reply.definite ? settleUnknown(entry, { as: 'not-done', by: 'late-reply' }, kit) : undefined
  }
  const { output, bytes } = reply
  if (bytes > tool.limits.outputBytes) return undefined
  if ((outputs.get(entry.operation)?.check(output) ?? []).length > 0) return undefined
  const shown = entry.outcome?.accepted?.withheld ? { warning: WITHHELD } : { output }
  return settleUnknown(entry, { as: 'done', by: 'late-reply', ...shown }, kit)
}
