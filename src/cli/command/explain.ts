// writ explain call: what every stage would answer, without a call.
import type { ExplainReply } from '../../client/api.ts'
import { isFailureId, violationsOf } from '../../client/exchange.ts'
import { exitCode, failureRow } from '../../contract/failures.ts'
import { buildCallRequest, CALL_FLAGS } from '../call-request.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { detailLines, violationLines } from '../failure-text.ts'
import { clean, printResult, renderTable, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { INPUT_FLAGS, readInput } from '../read-input.ts'
import { suggestTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'explain',
  summary: 'Say what every stage would answer to a call',
  details: [
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
    if (reply.error === undefined) return reply.decision === 'require-approval' ? EXIT.waiting : EXIT.ok
    const id = String(reply.error.details.failure)
    return isFailureId(id) ? exitCode(failureRow(id).state, reply.error.retryable) : EXIT.failed
  },
})

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
  if (error === undefined) {
    const paint = reply.decision === 'allow' ? style.good : style.warn
    return `Decision: ${paint(reply.decision)}\n\n${stages}`
  }
  const { details } = error
  const lines = [...violationLines(violationsOf(details), '(input)'), ...detailLines(details)]
  const mend = fix ?? details.fix
  return [
    `Decision: ${style.bad(reply.decision)}\n`,
    `${stages}\n${clean(error.message)}`,
    ...lines.map((line) => `  ${clean(line)}`),
    ...(typeof mend === 'string' ? [`Fix: ${clean(mend)}`] : []),
    '',
  ].join('\n')
}
