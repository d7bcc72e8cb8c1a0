// What a tool reports about long work by itself: on any replica, after any restart. The first end counts; what comes later
// is answered politely, and changes nothing but what was in question (S28).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import type { CallbackReport, ReportResult } from '../contract/callback-report.ts'
import { type Entry, isInQuestion } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import { sendAbout } from '../pipeline/send-about.ts'
import { settleAccepted } from '../pipeline/settle-accepted.ts'
import { settleByReply } from '../pipeline/settle-by-reply.ts'
import { isSigned } from '../transport/callback-address.ts'
import type { CallbackAddress, Reply } from '../transport/transport.ts'
import type { DriverKit } from './timers.ts'

/** How often somebody else may be faster before the tool is asked to come again. */
const TRIES = 5
const COME_AGAIN_MS = 1_000

/** `onTaken` hears of entries that were settled by it. */
export function createReports(
  kit: DriverKit,
  callbacks: CallbackAddress | undefined,
  onTaken: (entryId: string) => void,
): (report: CallbackReport) => Promise<ReportResult> {
  return async (report) => {
    const { namespace, callId } = report
    const record = await kit.ledger.call(namespace, callId)
    const entry = await entryOf(record, kit)
    const key = entry === undefined ? '' : toolKeyOf(entry.scope, entry.key)
    // A call that is not known takes the same way as a wrong signature: nobody learns which calls there are.
    const token = callbacks?.token({ namespace, callId, key }) ?? ''
    const signed = isSigned(report.body, report, token, kit.world.clock.now())
    if (!signed || callbacks === undefined || record === undefined || entry === undefined) {
      return { kind: 'refused', failure: createFailure('callback-invalid') }
    }
    return take(report, record, entry, 1)
  }

  async function take(
    report: CallbackReport,
    record: CallRecord,
    entry: Entry,
    tries: number,
  ): Promise<ReportResult> {
    if (entry.erased || !(isAtTool(entry) || isInQuestion(entry))) return ignored('already settled')
    if (entry.callId !== record.id) return ignored('another attempt was sent since')
    const target = await buildOf(entry, kit)
    const operation = target?.tool.operations[entry.operation]
    if (target === undefined || operation === undefined) return comeAgain('the build of the tool is not here')
    // What was prepared is waited for by whoever sent it, and a commit has its own answer (S26).
    if (operation.effect.twoPhase !== undefined) return ignored('its end is asked for')
    const reply = await read(report, record, entry, target)
    if (reply === undefined) return ignored('its end is asked for')
    if (reply.kind === 'accepted')
      return reply.missed === undefined
        ? { kind: 'noted' }
        : comeAgain('it cannot be read for the time being')
    if (reply.kind === 'failure' && reply.failure === 'reply-malformed') return malformed(reply.details)
    const moved = isInQuestion(entry)
      ? await settleByReply(entry, target, reply, kit)
      : await settleAccepted(entry, target, reply, kit, 'callback')
    if (moved === undefined) return ignored('it is no definite answer, and the effect stays in question')
    if (moved.kind === 'moved') {
      onTaken(entry.id)
      return { kind: 'taken' }
    }
    const now = await kit.ledger.get(entry.namespace, entry.id)
    if (now === undefined) return ignored('already settled')
    return tries < TRIES ? take(report, record, now, tries + 1) : comeAgain('others work on it')
  }

  /** Undefined where tools of this type report nothing. */
  async function read(
    { body }: CallbackReport,
    { id: callId, requestId }: CallRecord,
    entry: Entry,
    { tool }: CatalogTool,
  ): Promise<Reply | undefined> {
    const transport = kit.transport(tool.type)
    const operation = tool.operations[entry.operation]
    if (transport?.receive === undefined || operation === undefined) return undefined
    const send = sendAbout(entry, tool, operation, operation.timeoutMs, kit.stopping, kit.world)
    return transport.receive(body, { ...send, callId, requestId }, entry.outcome?.handle)
  }
}

async function entryOf(record: CallRecord | undefined, kit: DriverKit): Promise<Entry | undefined> {
  return record?.entryId === undefined ? undefined : kit.ledger.get(record.namespace, record.entryId)
}

/** Declared by another replica a moment ago, it may not be known here yet. */
async function buildOf(entry: Entry, kit: DriverKit): Promise<CatalogTool | undefined> {
  const find = () => kit.catalog.kept(entry.namespace, entry.tool, entry.digest)
  return find() ?? ((await kit.refresh?.()) === true ? find() : undefined)
}

/** Before its answer to the request is on record, a fast tool may have reported the end. */
function isAtTool({ state }: Entry): boolean {
  return state === 'sent' || state === 'intended'
}

function ignored(reason: string): ReportResult {
  return { kind: 'ignored', reason }
}

function comeAgain(message: string): ReportResult {
  const details = { retry_after_ms: COME_AGAIN_MS }
  return { kind: 'refused', failure: createFailure('tool-unhealthy', { message, details }) }
}

function malformed(details: Failure['details'] = {}): ReportResult {
  const message = 'the body is no envelope that ends this request'
  return { kind: 'refused', failure: createFailure('envelope-invalid', { message, details }) }
}
