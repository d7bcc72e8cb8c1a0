// How an effect would be undone: which operation of which tool, with which input, under which key (S29).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Call } from '../contract/call.ts'
import { traceOf } from '../contract/dialect/decoding.ts'
import type { EffectState } from '../contract/effect.ts'
import { EFFECT_OF_STATE, type Entry, type EntryState, inlineOf, sentPayloadOf } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import { isTombstone } from '../store/store.ts'
import type { Json } from '../util/json.ts'
import type { Kit } from './kit.ts'
import type { Undoes } from './stages.ts'
import { makeUndoInput } from './undo-template.ts'

export interface UndoPlan {
  readonly kind: 'plan'
  readonly tool: string
  /** Pinned where it is an operation of the same tool. */
  readonly version?: string
  readonly operation: string
  readonly input: Json
  readonly undoes: Undoes
}

export interface UndoRefused {
  readonly kind: 'refused'
  readonly failure: Failure
}

export type UndoPlanned =
  | UndoPlan
  | UndoRefused
  /** The build that ran is not here; another process may have it, or this one later. */
  | { readonly kind: 'absent'; readonly failure: Failure }

/** States in which there is something to undo, or somebody is at it. */
const WITH_EFFECT: ReadonlySet<EntryState> = new Set<EntryState>([
  'done',
  'committed',
  'compensating',
  'compensation-failed',
])

export function planUndo(entry: Entry, kit: Kit): UndoPlanned {
  const state: EffectState = entry.readOnly ? 'none' : EFFECT_OF_STATE[entry.state]
  const no = (message: string, details = {}) => undoRefusal(entry, state, message, details)
  if (entry.readOnly) return no('it only read: there is nothing to undo')
  if (entry.state === 'compensated') return no('it was already undone')
  if (!WITH_EFFECT.has(entry.state)) return no(`there is nothing to undo: the call is ${entry.state}`)
  if (isTombstone(entry)) return no('what it did is no longer kept, so it cannot be undone from here')
  const target = kit.catalog.kept(entry.namespace, entry.tool, entry.digest)
  if (target === undefined) {
    const { failure } = no(`the build of ${entry.tool} ${entry.version} that ran is not here to say how`)
    return { kind: 'absent', failure }
  }
  return planOf(entry, target, no)
}

function planOf(
  entry: Entry,
  { tool }: CatalogTool,
  no: (message: string, details?: { readonly missing: readonly string[] }) => UndoRefused,
): UndoPlanned {
  const rule = tool.operations[entry.operation]?.effect.compensation
  if (rule === undefined) return no(`${tool.name} ${tool.version} declares no compensation`)
  const toolKey = toolKeyOf(entry.scope, entry.key)
  const made = makeUndoInput(rule.inputMap, {
    input: inlineOf(sentPayloadOf(entry)),
    output: inlineOf(entry.outcome?.output),
    toolKey,
  })
  if (made.kind === 'missing') {
    const places = made.pointers.join(', ')
    return no(`compensation.input_map: ${places} finds nothing in this call`, { missing: made.pointers })
  }
  return {
    kind: 'plan',
    tool: rule.tool ?? tool.name,
    ...(rule.tool === undefined ? { version: tool.version } : {}),
    operation: rule.operation,
    input: made.input,
    undoes: {
      entryId: entry.id,
      toolKey,
      needsApproval: rule.requiresApproval,
    },
  }
}

/** Keys that begin with this are the runtime's own: a caller's must not meet them. */
export const UNDO_KEY_PREFIX = 'compensation:'

/** One key per try: a try that may have had its effect is never made again under another one. */
export function undoKey(entryId: string, tries: number): string {
  return `${UNDO_KEY_PREFIX}${entryId}:${tries}`
}

export function undoCall(plan: UndoPlan, id: string, key: string, entry: Entry, kit: Kit): Call {
  return {
    id,
    requestId: id,
    freshId: true,
    dialect: 'v1',
    tool: plan.tool,
    ...(plan.version === undefined ? {} : { version: plan.version }),
    operation: plan.operation,
    input: plan.input,
    key,
    dryRun: false,
    // The trace of what it undoes goes on.
    trace: traceOf(entry.trace.traceId, undefined, kit.world.id),
    constraints: {},
    claims: {},
    warnings: [],
  }
}

/** Why an effect is not undone. */
export function undoRefusal(
  entry: Entry,
  effect_state: EffectState,
  message: string,
  details: { readonly missing?: readonly string[] },
): UndoRefused {
  const { compensation } = entry.outcome ?? {}
  return {
    kind: 'refused',
    failure: createFailure('not-compensable', {
      message: `call ${entry.callId} cannot be undone: ${message}`,
      details: {
        call_id: entry.callId,
        effect_state,
        ...details,
        ...(compensation === undefined ? {} : { compensation_call_id: compensation.callId }),
      },
    }),
  }
}
