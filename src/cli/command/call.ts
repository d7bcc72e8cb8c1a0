// writ call: calls a tool, prints its output, and exits by how the call ended.
import type { CallReply } from '../../client/call-reply.ts'
import { ClientError } from '../../client/client-error.ts'
import { DIALECT_NAMES } from '../../contract/call.ts'
import { exitCodeOf } from '../../contract/projection.ts'
import { buildCallRequest, CALL_FLAGS } from '../call-request.ts'
import { CliError, EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { detailLines, violationLines } from '../failure-text.ts'
import { renderOutput } from '../output-text.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'
import { INPUT_FLAGS, readInput } from '../read-input.ts'
import { suggestTool } from '../suggest-tool.ts'
import type { Terminal } from '../terminal.ts'

export const command = defineCommand({
  name: 'call',
  summary: 'Call a tool',
  details: [
    'The output of the tool goes to stdout; how the call ended, what is known of its effect and how to mend a failure go to stderr. The exit code says the same.',
    'A call that is cut off or may be tried again is safe to run again with the same --key, or with the --request-id that stderr names: it joins the call under way, gets the outcome that was kept, or is the next attempt of the same effect. Without either, every run is a new call.',
  ],
  args: [
    { name: 'tool', description: 'The name of the tool.' },
    {
      name: 'dash',
      description: 'Read the input as JSON from standard input.',
      optional: true,
      values: ['-'],
    },
  ],
  flags: {
    ...INPUT_FLAGS,
    ...CALL_FLAGS,
    'dry-run': { type: 'boolean', description: 'Say what would happen; reserve, send and spend nothing.' },
    async: { type: 'boolean', description: 'Do not wait for the outcome.' },
    wait: {
      type: 'duration',
      description: 'Wait so long at most, in whole seconds. Default: until the call ends.',
    },
    dialect: {
      type: 'string',
      values: DIALECT_NAMES,
      default: 'v1',
      description: 'The wire shape to ask in.',
      placeholder: 'NAME',
    },
    raw: { type: 'boolean', description: 'Print the answer of the server on one line, as it came.' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: `writ call weather --set city=Oslo`, does: 'Call a tool with one input field' },
    {
      line: `writ call transfer --input-file payment.json --key invoice-4711`,
      does: 'Send an effect at most once',
    },
    {
      line: `echo '{"city": "Oslo"}' | writ call weather - -o json`,
      does: 'Input from a pipe, the whole answer as JSON',
    },
  ],
  async run({ flags, args, terminal }) {
    if (flags.async && flags.wait !== undefined)
      throw usageError('--async and --wait exclude each other', 'give one of them')
    const input = await readInput(terminal, flags, args.dash === '-')
    const request = buildCallRequest(terminal, flags.dialect, {
      ...flags,
      tool: args.tool,
      input,
      dryRun: flags['dry-run'],
    })
    const requestId = String(request.request_id ?? request.call_id)
    const forPerson = flags.output === 'table'
    const { reply, fix } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, `calling ${args.tool}`, async () => {
        const reply = await client.call(request, {
          async: flags.async,
          ...(flags.wait === undefined ? {} : { waitMs: flags.wait }),
        })
        const unknown = forPerson && reply.failure?.id === 'tool-unknown'
        return { reply, fix: unknown ? await suggestTool(client, args.tool) : undefined }
      }),
    ).catch((error: unknown) => {
      throw cutOff(error, requestId)
    })
    if (flags.raw) terminal.out(`${JSON.stringify(reply.body)}\n`)
    else
      await printResult(terminal, flags.output, reply.body, () =>
        renderOutput(reply.output, terminal.outIsTty),
      )
    if (forPerson) tell(terminal, reply, fix)
    const exit = exitCodeOf(reply)
    // Beside data as well: whoever repeats the line as it is would make a new call (S13).
    const again = againText(exit, { key: flags.key, given: flags['request-id'], requestId })
    if (again !== undefined) terminal.err(`${again}\n`)
    return exit
  },
})

/** Whether the call ran is not known here, but the same id finds out without running it twice (S13). */
function cutOff(error: unknown, requestId: string): unknown {
  if (!(error instanceof ClientError) || error.kind !== 'interrupted') return error
  return new CliError(error.message, {
    exit: EXIT.unknown,
    lines: ['the call may have run'],
    fix: `run the same command with --request-id ${requestId}, or look with 'writ calls --request-id ${requestId}'`,
  })
}

/** How to ask again for this very effect, after an end that invites it (exit 6) or forbids to guess (exit 8). */
function againText(
  exit: number,
  named: { readonly key: string | undefined; readonly given: string | undefined; readonly requestId: string },
): string | undefined {
  if (exit !== EXIT.retryable && exit !== EXIT.unknown) return undefined
  const how =
    named.key !== undefined
      ? 'with the same --key'
      : `with --request-id ${named.requestId}${named.given === undefined ? '' : ', as before'}`
  return exit === EXIT.retryable
    ? `Run it again ${how}: it is then the same effect, and cannot happen twice.`
    : `Ask again ${how}: nothing is sent while the effect is unknown.`
}

function tell(terminal: Terminal, reply: CallReply, fix: string | undefined): void {
  const { failure, state } = reply
  const facts = [
    `effect: ${reply.effect}`,
    `attempt: ${reply.attempt}`,
    `${reply.durationMs} ms`,
    ...(reply.replayed ? ['replayed'] : []),
    reply.callId === undefined ? 'dry run' : `call: ${reply.callId}`,
  ]
  terminal.err(`${clean(`${state}  ${facts.join('  ')}`)}\n`)
  for (const warning of reply.warnings) terminal.err(`Warning: ${clean(warning)}\n`)
  if (failure !== undefined) {
    terminal.err(`${clean(`${failure.id}: ${failure.message}`)}\n`)
    for (const line of [...violationLines(failure.violations, '(input)'), ...detailLines(failure.details)])
      terminal.err(`  ${clean(line)}\n`)
    const mend = fix ?? failure.fix
    if (mend !== '') terminal.err(`Fix: ${clean(mend)}\n`)
    if (state === 'awaiting-approval' && reply.callId !== undefined) {
      const approval = failure.details.approval_id
      if (typeof approval === 'string')
        terminal.err(`See what is asked: writ approvals show ${clean(approval)}\n`)
      terminal.err(`Wait for it: writ calls ${reply.callId} --wait 300s\n`)
    } else if (state === 'reconciling' || failure.details.asking === true) {
      if (reply.callId !== undefined) terminal.err(`Wait for it: writ calls ${reply.callId} --wait 60s\n`)
    } else if (state === 'unknown' && reply.callId !== undefined)
      terminal.err(`When you know: writ calls settle ${reply.callId} --as done|not-done --reason TEXT\n`)
  } else if (state === 'prepared' && reply.callId !== undefined) {
    const by =
      reply.commitBy === undefined ? '' : `; not committed by ${clean(reply.commitBy)}, it is rolled back`
    terminal.err(`Nothing has happened yet${by}.\n`)
    if (reply.commitToken !== undefined) terminal.err(`Commit token: ${clean(reply.commitToken)}\n`)
    // Not as a part of the line: other users see the arguments of a process, and shells remember them.
    terminal.err(`Commit it, with the token on standard input: writ calls commit ${reply.callId} --token -\n`)
    terminal.err(`Or give it up: writ calls rollback ${reply.callId}\n`)
  } else if (reply.callId !== undefined && !reply.final) {
    terminal.err(`See how it goes on: writ calls ${reply.callId}\n`)
  }
}
