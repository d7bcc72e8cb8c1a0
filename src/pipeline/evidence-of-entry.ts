// What goes into evidence about the end of a call that nobody holds any more: made from what its entry keeps (S40).
import type { CatalogTool } from '../catalog/catalog.ts'
import { type Entry, inlineOf } from '../contract/entry.ts'
import { serialize } from '../ledger/fingerprint.ts'
import type { Fact } from '../ledger/ledger.ts'
import { sha256Hex } from '../util/canonical.ts'
import type { JsonObject } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import { ENDED } from './evidence.ts'
import type { CallResult } from './stages.ts'

export function endedEntryFact(entry: Entry, target: CatalogTool, result: CallResult): Fact {
  const { output, failure, sideEffects } = result
  return {
    type: ENDED[result.state],
    body: {
      entry_id: entry.id,
      request_id: entry.requestId,
      trace_id: entry.trace.traceId,
      actor: entry.caller.actor,
      tool: entry.tool,
      version: entry.version,
      digest: entry.digest,
      operation: entry.operation,
      payload_hash: entry.payloadHash,
      attempt: result.attempt,
      effect: result.effect,
      ...(failure === undefined ? {} : { failure: failure.id }),
      ...(output === undefined ? {} : { output_hash: sha256Hex(serialize(output)) }),
      ...(sideEffects.length === 0
        ? {}
        : {
            side_effects: sideEffects.length,
            side_effects_hash: sha256Hex(JSON.stringify(sideEffects)),
          }),
      ...auditFields(entry, target),
    },
  }
}

/** Evidence is never erased: what is sensitive must not get into it (S5, S40). */
function auditFields(entry: Entry, { tool, masks }: CatalogTool): JsonObject {
  if (tool.auditFields.length === 0) return {}
  const input = inlineOf(entry.payload)
  const shown = input === undefined ? undefined : (masks.get(entry.operation)?.(input) ?? input)
  const audit = Object.fromEntries(
    tool.auditFields.map((field) => [field, readPointer(shown, field) ?? null]),
  )
  return { audit_fields: audit }
}
