// Asks a tool whether an effect happened (S27). Any answer that cannot be read for certain is none.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Scalar, StatusQuery } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import type { Abort } from '../util/abort.ts'
import type { Json } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import { runErrand } from './errand.ts'
import type { Kit } from './kit.ts'

export type StatusAnswer =
  | { readonly kind: 'done'; readonly output?: Json; readonly hasOutput: boolean }
  | { readonly kind: 'not-done' }
  | { readonly kind: 'running' }
  | { readonly kind: 'no-answer'; readonly why: string }

export async function askStatus(
  entry: Entry,
  target: CatalogTool,
  kit: Kit,
  abort?: Abort,
  timeoutMs?: number,
): Promise<StatusAnswer> {
  const query = target.tool.operations[entry.operation]?.effect.statusQuery
  if (query === undefined) return { kind: 'no-answer', why: 'the tool declares no status_query' }
  const toolToken = entry.outcome?.toolToken
  const { reply, aborted } = await runErrand(
    {
      entry,
      target,
      operation: query.operation,
      ...(toolToken === undefined ? {} : { toolToken }),
      ...(abort === undefined ? {} : { abort }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
    kit,
  )
  if (reply === undefined)
    return { kind: 'no-answer', why: `the tool did not answer (${aborted ?? 'stopped'})` }
  if (reply.kind === 'failure') return { kind: 'no-answer', why: reply.message ?? reply.failure }
  return readAnswer(query, reply.output)
}

function readAnswer(query: StatusQuery, output: Json): StatusAnswer {
  const state = readPointer(output, query.state)
  if (isOneOf(state, query.done)) {
    const found = readPointer(output, query.output)
    return found === undefined
      ? { kind: 'done', hasOutput: false }
      : { kind: 'done', output: found, hasOutput: true }
  }
  if (isOneOf(state, query.notDone)) return { kind: 'not-done' }
  if (isOneOf(state, query.running)) return { kind: 'running' }
  // The value itself is not quoted: it may be anything that the tool put there.
  const why =
    state === undefined ? `the answer has no ${query.state}` : `${query.state} is no state that is declared`
  return { kind: 'no-answer', why }
}

/** Exactly: 1 is not true, and not '1'. */
function isOneOf(state: Json | undefined, states: readonly Scalar[]): boolean {
  return states.some((one) => one === state)
}
