// writ calls: the calls a server knows, or one of them.

import { readResource } from '../../client/call-reply.ts'
import { OPEN_STATES, OUTCOMES } from '../../contract/answer.ts'
import { exitCodeOf } from '../../contract/projection.ts'
import type { CallResource } from '../../contract/schema/call-resource.ts'
import { undoText } from '../act-on-call.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { detailLines, violationLines } from '../failure-text.ts'
import { PAGE_FLAGS, printPage, readPage } from '../paging.ts'
import { type Column, printResult, renderAge, renderFields } from '../print.ts'
import { withProgress } from '../progress.ts'

const MAX_WAIT_MS = 300_000

export const command = defineCommand({
  name: 'calls',
  summary: 'List calls, or show one',
  details: [
    'Lists the newest calls first. With an id, shows that call and exits by its state, so that a script can look until it ended.',
  ],
  args: [{ name: 'id', description: "Writ's own id of a call.", optional: true }],
  flags: {
    state: {
      type: 'string',
      values: [...OUTCOMES, ...OPEN_STATES],
      description: 'Only calls in this state.',
      placeholder: 'STATE',
    },
    tool: { type: 'string', description: 'Only calls of this tool.', placeholder: 'NAME' },
    'request-id': { type: 'string', description: 'Only calls that were given this id.', placeholder: 'ID' },
    ...PAGE_FLAGS,
    wait: {
      type: 'duration',
      description: 'With an id: wait so long for its end, in whole seconds, up to 300s.',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: 'writ calls --state unknown',
      does: 'Calls whose effect may have happened, for a person to find out',
    },
    { line: 'writ calls 0193a1b2-0000-7000-8000-000000000000 -o yaml', does: 'Everything about one call' },
    { line: 'writ calls 0193a1b2-0000-7000-8000-000000000000 --wait 60s', does: 'Wait for its end' },
  ],
  async run({ flags, args, terminal }) {
    const { id } = args
    const { state, tool, cursor } = flags
    const wanted = readPage(flags)
    if (id !== undefined) {
      if (state ?? tool ?? cursor ?? flags['request-id']) {
        throw usageError('an id and a filter exclude each other', 'give one of them')
      }
      const { wait } = flags
      if (wait !== undefined && (wait <= 0 || wait > MAX_WAIT_MS))
        throw usageError('--wait must be more than 0 and at most 300s', 'ask again for longer')
      const call = await withClient(terminal, flags, (client) =>
        withProgress(terminal, 'asking for the call', () =>
          client.getCall(id, wait === undefined ? {} : { waitMs: wait }),
        ),
      )
      await printResult(terminal, flags.output, call, () => renderCall(call))
      return exitCodeOf(readResource(call))
    }
    if (flags.wait !== undefined) throw usageError('--wait belongs to an id', 'give the id of a call')
    const page = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the calls', () =>
        client.listCalls({
          ...wanted,
          ...(state === undefined ? {} : { state }),
          ...(tool === undefined ? {} : { tool }),
          ...(flags['request-id'] === undefined ? {} : { requestId: flags['request-id'] }),
        }),
      ),
    )
    await printPage(terminal, flags.output, page, { rows: page.calls, columns, none: 'No calls.' })
    return EXIT.ok
  },
})

function columns(now: number): readonly Column<CallResource>[] {
  return [
    { title: 'ID', value: (call) => call.id },
    { title: 'TOOL', value: (call) => call.tool.name },
    { title: 'OPERATION', value: (call) => call.tool.operation },
    { title: 'STATE', value: (call) => call.state },
    { title: 'EFFECT', value: (call) => call.effect },
    { title: 'ACTOR', value: (call) => call.actor },
    { title: 'AGE', value: (call) => renderAge(now - Date.parse(call.created_at)) },
  ]
}

function linesOf(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join('\n')
}

export function renderCall(call: CallResource): string {
  const { failure, output, attempt, durationMs, warnings, commitBy } = readResource(call)
  const { compensation } = call
  return renderFields([
    ['Id', call.id],
    ['Request id', call.request_id],
    ['Tool', `${call.tool.name} ${call.tool.version ?? ''}`.trim()],
    ['Operation', call.tool.operation],
    ['Digest', call.tool.digest],
    ['State', `${call.state}${call.final ? '' : ' (open)'}`],
    ['Effect', call.effect],
    ['Effect now', call.entry_state],
    ['Commit by', commitBy],
    ['Undone by', compensation && `${compensation.call_id} (try ${compensation.tries})`],
    ['Not undone', compensation?.error && `${compensation.error.failure}: ${compensation.error.message}`],
    ['Actor', call.actor],
    ['Namespace', call.namespace],
    ['Dialect', call.dialect],
    ['Created', call.created_at],
    ['Ended', call.ended_at],
    ['Attempt', call.answer === undefined ? undefined : String(attempt)],
    ['Duration', call.answer === undefined ? undefined : `${durationMs} ms`],
    ['Failure', failure && `${failure.id}: ${failure.message}`],
    ['Violations', linesOf(violationLines(failure?.violations ?? [], '(input)'))],
    ['Details', linesOf(detailLines(failure?.details ?? {}))],
    ['Fix', failure?.fix ?? (call.entry_state === 'compensation-failed' ? undoText(call.id) : undefined)],
    ['Warnings', linesOf(warnings)],
    ['Output', output === undefined ? undefined : JSON.stringify(output, null, 2)],
  ])
}
