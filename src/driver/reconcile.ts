// An effect is in question and nobody waits for it any more: find out, by what its effect rule allows (S22, S27, S36).
import type { CatalogTool } from '../catalog/catalog.ts'
import { isOutcome } from '../contract/answer.ts'
import type { EffectRule, StatusQuery } from '../contract/effect.ts'
import { type Entry, isInQuestion } from '../contract/entry.ts'
import { createFailure } from '../contract/projection.ts'
import { permit } from '../governance/permit.ts'
import type { MoveResult } from '../ledger/ledger.ts'
import { askStatus } from '../pipeline/ask.ts'
import { mayRepeat } from '../pipeline/classify.ts'
import { attach, canAttach } from '../pipeline/handle.ts'
import { NO_OUTPUT } from '../pipeline/inquire.ts'
import { nextReconcile, type ReconcileData, readReconcile } from '../pipeline/reconcile-timer.ts'
import { settleByReply } from '../pipeline/settle-by-reply.ts'
import { type Finding, settleUnknown } from '../pipeline/settle-unknown.ts'
import { standingOf } from '../pipeline/standing.ts'
import type { DueTimer } from '../store/store.ts'
import type { DriverKit, TimerEnd } from './timers.ts'

/** How long something that is harmless to repeat is sent again by itself; after that its caller may still ask. */
const RESEND_FOR_MS = 600_000
/** How long a build that is not here is waited for. */
const BUILD_WAIT_MS = 30 * 86_400_000
/** How long accepted work is asked for. */
const ATTACH_FOR_MS = 7 * 86_400_000

export async function reconcile(timer: DueTimer, kit: DriverKit): Promise<TimerEnd> {
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  if (entry === undefined || !isInQuestion(entry)) return { kind: 'done' }
  const data = readReconcile(timer.data, kit.world)
  const target = kit.catalog.kept(entry.namespace, entry.tool, entry.digest)
  const rule = target?.tool.operations[entry.operation]?.effect
  if (target === undefined || rule === undefined) return later(entry, data, BUILD_WAIT_MS, kit)
  // S36: nothing is sent for a caller who may no longer; what was sent stays in question.
  if (permit(entry.caller, target.tool, standingOf(entry.caller, kit).held).kind === 'denied') {
    return later(entry, data, BUILD_WAIT_MS, kit)
  }
  if (!kit.ledger.maySend) return { kind: 'again', inMs: 1_000 }
  if (canAttach(entry, target, kit)) return takeUp(entry, target, data, kit)
  if (data.resend && (await mayResend(entry, rule, data, kit))) return resend(entry, data, kit)
  return rule.statusQuery === undefined ? giveUp(entry, kit) : ask(entry, target, rule.statusQuery, data, kit)
}

/** The tool is asked whether it happened (S27). */
async function ask(
  found: Entry,
  target: CatalogTool,
  query: StatusQuery,
  data: ReconcileData,
  kit: DriverKit,
): Promise<TimerEnd> {
  const moved =
    found.state === 'unknown' ? await kit.ledger.move(found, { path: ['reconciling'] }) : undefined
  if (moved?.kind === 'conflict') return { kind: 'again', inMs: 0 }
  const entry = moved?.entry ?? found
  const said = await askStatus(entry, target, kit)
  const quiet = query.fencing || data.waitedMs >= data.quietMs
  if (said.kind !== 'done' && !(said.kind === 'not-done' && quiet)) {
    return later(entry, data, query.deadlineMs, kit)
  }
  const facts = { asks: data.asks + 1 }
  const finding: Finding =
    said.kind === 'not-done'
      ? { as: 'not-done', by: 'status-query', facts }
      : {
          as: 'done',
          by: 'status-query',
          ...(said.hasOutput ? { output: said.output ?? null } : { warning: NO_OUTPUT }),
          facts,
        }
  return settled(await settleUnknown(entry, finding, kit))
}

/** The tool has taken the work on: what became of it is heard from the tool itself (S36). */
async function takeUp(
  entry: Entry,
  target: CatalogTool,
  data: ReconcileData,
  kit: DriverKit,
): Promise<TimerEnd> {
  const { reply } = await attach(entry, target, kit)
  const moved = reply && (await settleByReply(entry, target, reply, kit))
  return moved === undefined ? later(entry, data, ATTACH_FOR_MS, kit) : settled(moved)
}

/** A repeat is harmless, somebody still wants it, and nobody was told yet that the call is over. */
async function mayResend(
  entry: Entry,
  rule: EffectRule,
  data: ReconcileData,
  kit: DriverKit,
): Promise<boolean> {
  if (entry.state !== 'unknown' || rule.repeat === 'query' || data.waitedMs >= RESEND_FOR_MS) return false
  if (!mayRepeat(rule, entry.createdAt, kit.steadyNow())) return false
  const until = entry.request?.deadlineUnixMs
  if (until !== undefined && until <= kit.world.clock.now()) return false
  const call = await kit.ledger.call(entry.namespace, entry.callId)
  return call === undefined || !isOutcome(call.state)
}

/** The process that sent it is gone, and sending it again is harmless: that brings its answer. */
async function resend(entry: Entry, data: ReconcileData, kit: DriverKit): Promise<TimerEnd> {
  await kit.resume(entry)
  const now = await kit.store.entries.get(entry.namespace, entry.id)
  // Refused before a send, or still in question after it: the next look sees what is left to do.
  if (now === undefined || isInQuestion(now)) return { kind: 'again', ...nextReconcile(data, kit.world) }
  const ids = { entry_id: entry.id, call_id: entry.callId, tool_id: entry.tool }
  kit.events.emit('entry:settled', { ...ids, state: now.state, by: 'repeat' })
  return { kind: 'done' }
}

/** Looks again, unless it has done so for long enough. */
function later(
  entry: Entry,
  data: ReconcileData,
  forMs: number,
  kit: DriverKit,
): TimerEnd | Promise<TimerEnd> {
  return data.waitedMs < forMs ? { kind: 'again', ...nextReconcile(data, kit.world) } : giveUp(entry, kit)
}

/** Left to a person, and on record as such. */
async function giveUp(entry: Entry, kit: DriverKit): Promise<TimerEnd> {
  const { outcome } = entry
  const { asking: _, ...failure } = outcome?.failure ?? createFailure('outcome-unknown')
  return settled(
    await kit.ledger.move(entry, {
      path: entry.state === 'reconciling' ? ['unknown'] : [],
      ...(outcome?.failure === undefined ? {} : { set: { outcome: { ...outcome, failure } } }),
      facts: [{ type: 'effect.unsettled', body: { entry_id: entry.id, tool: entry.tool } }],
      timers: [{ kind: 'reconcile', subject: entry.id }],
    }),
  )
}

/** Where it changed meanwhile, the next look sees what there is to do. */
function settled(moved: MoveResult): TimerEnd {
  return moved.kind === 'moved' ? { kind: 'written' } : { kind: 'again', inMs: 0 }
}
