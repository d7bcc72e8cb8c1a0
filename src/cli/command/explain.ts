// writ explain call: what every stage would answer, without a call.
import type { ExplainReply } from '../../client/api.ts'
import { isFailureId, violationsOf } from '../../client/exchange.ts'
import { exitCode, failureRow } from '../../contract/failures.ts'
import { buildCallRequest, CALL_FLAGS } from '../call-request.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { renderDecision, renderGoverning } from '../explain-text.ts'
import { detailLines, violationLines } from '../failure-text.ts'
import { clean, printResult, renderTable, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { INPUT_FLAGS, readInput } from '../read-input.ts'
import { suggestTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'explain',
  summary: 'Say what every stage would answer to a call',
  details: [
    'The decision, every rule that matched or was one clause away from it, and what would have to change for the call to be sent at once. Policies in monitor mode say what they would have done.',
    'Nothing is reserved, sent or spent. The exit code is the one that the call would have, as far as that can be known.',
  ],
  args: [
    { name: 'what', description: 'What to explain.', values: ['call'] },
    { name: 'tool', description: 'The name of the tool.' },
    {
      name: 'dash',
      description: 'Read the input as JSON from standard input.',
      optional: true,
      values: ['-'],
    },
  ],
  flags: { ...INPUT_FLAGS, ...CALL_FLAGS, ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [
    { line: 'writ explain call transfer --set amount=5000', does: 'See why a call would wait for approval' },
  ],
  async run({ flags, args, terminal }) {
    const input = await readInput(terminal, flags, args.dash === '-')
    const request = buildCallRequest(terminal, 'v1', { ...flags, tool: args.tool, input, dryRun: false })
    const { reply, fix } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'explaining', async () => {
        const reply = await client.explain(request)
        const unknown = flags.output === 'table' && reply.error?.details.failure === 'tool-unknown'
        return { reply, fix: unknown ? await suggestTool(client, args.tool) : undefined }
      }),
    )
    await printResult(terminal, flags.output, reply, () => renderExplanation(reply, fix, styleOf(terminal)))
    if (reply.error === undefined) return WAITS.has(reply.decision) ? EXIT.waiting : EXIT.ok
    const id = String(reply.error.details.failure)
    return isFailureId(id) ? exitCode(failureRow(id).state, reply.error.retryable) : EXIT.failed
  },
})

const WAITS: ReadonlySet<ExplainReply['decision']> = new Set(['require-approval', 'escalate'])

/** Shown in the table above, or said by the rules further down. */
const TOLD: ReadonlySet<string> = new Set(['stages', 'dry_run', 'policy_ref', 'reasons', 'missing', 'code'])

function renderExplanation(reply: ExplainReply, fix: string | undefined, style: Style): string {
  const stages = renderTable(
    reply.stages,
    [
      { title: 'STAGE', value: ({ stage }) => stage },
      { title: 'VERDICT', value: ({ verdict }) => verdict },
      { title: 'REASON', value: ({ reason }) => reason },
    ],
    style,
    'No stage was reached.',
  )
  const { error } = reply
  const decision = renderDecision(reply, style)
  const governing = renderGoverning(reply, style)
  if (error === undefined) return `${decision}\n${stages}${governing}`
  const { details } = error
  const rest = Object.fromEntries(Object.entries(details).filter(([name]) => !TOLD.has(name)))
  const lines = [...violationLines(violationsOf(details), '(input)'), ...detailLines(rest)]
  const mend = fix ?? details.fix
  return [
    decision,
    `${stages}\n${clean(error.message)}`,
    ...lines.map((line) => `  ${clean(line)}`),
    ...(typeof mend === 'string' ? [`Fix: ${clean(mend)}`] : []),
    governing,
  ].join('\n')
}
